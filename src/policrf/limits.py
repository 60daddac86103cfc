"""How large what comes from a file may be: each is checked before anything is allocated.

A file that asks for more is refused with `TooLarge` or `InvalidFile`, which name the file, the size
and the limit. docs/reliability.md lists them; a program of your own may set others, as in
`policrf.limits.IMAGE_PIXELS = 400_000_000`.
"""

from __future__ import annotations

import os

GIB = 2**30

ARRAY_BYTES = 4 * GIB
"""All arrays of one .npz or .npy file together, decompressed."""
IMAGE_PIXELS = 150_000_000
"""Of one picture or mask; by its header, before a pixel is decoded."""
JSON_BYTES = GIB // 2
"""A JSON file, such as detections."""
YAML_BYTES = 2**18
"""A YAML file: PyYAML reads some 100 kB a second."""
YAML_NODES = 50_000
"""Values of a YAML file after its aliases are written out."""
NAMES_BYTES = 2**24
"""A file of names, one a line."""
TEXT_BYTES = 2 * GIB
"""Any other text: UAI models, results, journals, tracks."""
WORD_BYTES = 24
"""Memory that a byte of text takes once it is split into words, at most."""

STATES = 2**23
"""Nodes times the most labels of a model in a short text file; long ones list what they have."""
LARGEST_WEIGHT = 1e12
"""Of a number in an energy or a policy: no sum of such numbers overflows."""
FORESIGHT = 1000
"""Sweeps of mean field in a policy's file; ten are usual."""
LAYERS = 256
"""Layers of a policy's network."""
WIDTH = 65_536
"""Of one layer, of the head, and of labels and features."""
RINGS = 1_000_000
"""Of an energy's band; it is the whole image long before."""


def free_bytes() -> float:
    """Memory that is free now; 4 GiB where the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):  # not on this platform
        return 4.0 * GIB


def shown_bytes(count: float) -> str:
    """A number of bytes for people.

    >>> shown_bytes(6.3 * GIB), shown_bytes(1500)
    ('6.3 GiB', '1.5 KiB')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
