"""Damage: what disks, kills, editors and people do to files, drawn from a seed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Callable

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]

NASTY = [
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"1e19", b"1e15", b"9223372036854775808",
    b"-9223372036854775809", b"1e308", b"-0.0", b"2147483648", b"99999999999999999999999", b"true",
    b"null", b'"x"', b"[]", b"{}", b"0x10", b"NaN", b"Infinity", b"1_000", b"",
]  # fmt: skip
NESTED = [
    b"[" * 100_000, b'{"a":' * 50_000, b"[[[[[[", b"- " * 3000, b"{a: " * 2000,
    b"&a [*a, *a]", b"a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\n",
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _place(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    """A random block, short more often than long."""
    start = int(rng.integers(len(content) + 1))
    return start, min(len(content), start + 1 + int(rng.exponential(12)))


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    if not content:
        return b"\x01"
    changed = bytearray(content)
    for at in rng.integers(len(content), size=int(rng.integers(1, 4))):
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def insert(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(content) + 1))
    extra = rng.choice(
        [b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"9", b" -", b"\xc3", b"\x1b"]
    )
    return content[:at] + bytes(extra) * int(rng.integers(1, 4)) + content[at:]


def delete(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _place(content, rng)
    return content[:start] + content[stop:]


def delete_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    start = int(rng.integers(len(lines)))
    return b"\n".join(lines[:start] + lines[start + int(rng.integers(1, 4)) :])


def truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def duplicate(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _place(content, rng)
    return content[:stop] + content[start:stop] + content[stop:]


def swap(content: bytes, rng: np.random.Generator) -> bytes:
    size = max(1, int(rng.exponential(len(content) / 16 + 1)))
    if len(content) < 2 * size:
        return content[::-1]
    one = int(rng.integers(len(content) - 2 * size + 1))
    other = int(rng.integers(one + size, len(content) - size + 1))
    between = content[one + size : other]
    return (
        content[:one] + content[other : other + size] + between + content[one : one + size]
        + content[other + size :]
    )  # fmt: skip


def overwrite(content: bytes, rng: np.random.Generator) -> bytes:
    """A block of zeros or of other bytes, as a lost sector leaves it."""
    start, stop = _place(content, rng)
    new = rng.bytes(stop - start) if rng.random() < 0.5 else bytes(stop - start)
    return content[:start] + new + content[stop:]


def numbers(content: bytes, rng: np.random.Generator) -> bytes:
    """One number, as text, by one that a reader may not expect."""
    found = list(NUMBER.finditer(content))
    if not found:
        return flip(content, rng)
    at = found[int(rng.integers(len(found)))]
    return content[: at.start()] + NASTY[int(rng.integers(len(NASTY)))] + content[at.end() :]


def nest(content: bytes, rng: np.random.Generator) -> bytes:
    """Deep nesting, in the place of a number or anywhere."""
    deep = NESTED[int(rng.integers(len(NESTED)))]
    found = list(NUMBER.finditer(content))
    if found and rng.random() < 0.7:
        at = found[int(rng.integers(len(found)))]
        return content[: at.start()] + deep + content[at.end() :]
    at = int(rng.integers(len(content) + 1))
    return content[:at] + deep + content[at:]


MUTATIONS: list[Mutation] = [
    flip, insert, delete, delete_lines, truncate, duplicate, swap, overwrite, numbers, numbers,
    nest,
]  # fmt: skip


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """One or two kinds of damage."""
    for _ in range(1 + int(rng.random() < 0.2)):
        content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, rng)
    return content


def mutated_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """A zip whose own checksums hold: a member is damaged before it is packed again."""
    if rng.random() < 0.4:
        return mutated(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    chosen = names[int(rng.integers(len(names)))]
    members[chosen] = mutated(members[chosen], rng)
    if rng.random() < 0.1:
        members.pop(chosen)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def mutated_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another entry, type or shape."""
    choice = rng.random()
    if choice < 0.6 and array.size and array.dtype.kind in "iufb":
        values = [np.nan, np.inf, -np.inf, -1, 0, 1, 7, 2**31, 2**62, 1e19, 1e300, -1e300, 0.5]
        wide = array.astype(np.float64 if rng.random() < 0.3 else array.dtype)
        with np.errstate(all="ignore"):
            new = np.array(values[int(rng.integers(len(values)))]).astype(wide.dtype)
        wide.reshape(-1)[int(rng.integers(array.size))] = new
        return wide
    if choice < 0.8:
        kinds = ["f4", "i1", "u8", "c16", "U3", "?", "f2", "M8[s]", ">f8", "S2", "V3", "i8,f8"]
        with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError):
            return array.astype(kinds[int(rng.integers(len(kinds)))])
    shapes = [
        lambda a: a.reshape(-1), lambda a: a[None], lambda a: a[..., None], lambda a: a.T,
        lambda a: a.reshape(-1)[:0], lambda a: a[:-1] if a.ndim else a,
        lambda a: np.zeros((0, 10**9)), lambda a: a.reshape(-1)[0],
        lambda a: np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
    ]  # fmt: skip
    with contextlib.suppress(IndexError, ValueError):
        return np.asarray(shapes[int(rng.integers(len(shapes)))](array))
    return array


def mutated_model(content: bytes, rng: np.random.Generator) -> bytes:
    """An .npz that NumPy reads, with another array or another value in its header."""
    if rng.random() < 0.25:
        return mutated_archive(content, rng)
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    names = [name for name in arrays if name != "header"]
    chosen = "header" if rng.random() < 0.3 else names[int(rng.integers(len(names)))]
    if chosen == "header":
        text = mutated_values(str(arrays["header"]).encode(), rng)
        arrays["header"] = np.array(text.decode(errors="replace"))
    else:
        arrays[chosen] = mutated_array(arrays[chosen], rng)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def mutated_safetensors(content: bytes, rng: np.random.Generator) -> bytes:
    """A safetensors file with the right length of a damaged header, or damaged anywhere."""
    if rng.random() < 0.4:
        return mutated(content, rng)
    size = int.from_bytes(content[:8], "little")
    header = mutated(content[8 : 8 + size], rng)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def mutated_policy(content: bytes, rng: np.random.Generator) -> bytes:
    """A safetensors file in whose metadata one value of one JSON text is another."""
    if rng.random() < 0.4:
        return mutated_safetensors(content, rng)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    about = header["__metadata__"]
    texts = [key for key in about if about[key].startswith("{")]
    chosen = "spec" if rng.random() < 0.7 else texts[int(rng.integers(len(texts)))]
    if len(about[chosen]) > 2:
        about[chosen] = mutated_values(about[chosen].encode(), rng).decode(errors="replace")
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def mutated_values(content: bytes, rng: np.random.Generator) -> bytes:
    """JSON in which one value, wherever it is, is another; or damaged anywhere."""
    if rng.random() < 0.4:
        return mutated(content, rng)
    loaded = json.loads(content)
    places = list(_places(loaded))
    holder, key = places[int(rng.integers(len(places)))]
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
    else:
        values = [
            None,
            True,
            -1,
            0,
            10**18,
            10**40,
            0.5,
            1e300,
            float("nan"),
            "x",
            "",
            [],
            {},
            [[]],
        ]
        holder[key] = values[int(rng.integers(len(values)))]
    return json.dumps(loaded).encode()


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
