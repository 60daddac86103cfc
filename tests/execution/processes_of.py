"""Processes by what they have inherited: whom a test may kill, and who is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def processes_with(name: str, value: str, *, patience: float = 0.0, title: str = "") -> dict:
    """Titles by process id of others that have inherited NAME=value; waits until there is none."""
    wanted = f"{name}={value}".encode()
    until = time.monotonic() + patience
    while True:
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    text = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if "Z" not in (folder / "stat").read_text().rpartition(")")[2].split()[0]:
                        found[int(folder.name)] = text.strip()
            except (OSError, UnicodeDecodeError):
                continue
        found.pop(os.getpid(), None)
        found = {pid: text for pid, text in found.items() if text.startswith(title)}
        if not found or time.monotonic() >= until:
            return found
        time.sleep(0.2)


def kill_one(name: str, value: str, title: str, *, patience: float = 20.0) -> str:
    """Kill one process whose title begins so, as soon as there is one; returns its title."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for pid, text in processes_with(name, value, title=title).items():
            os.kill(pid, signal.SIGKILL)
            return text
        time.sleep(0.02)
    raise AssertionError(f"nobody is called {title}")
