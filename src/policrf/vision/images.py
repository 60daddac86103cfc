"""Reading and writing picture files: the one place that touches Pillow.

Images come as uint8 `[H, W, 3]` whatever the file holds: greyscale, palette, CMYK, 16 bits a
channel (the high byte), EXIF-rotated (turned upright). Transparent pixels are laid over white, as a
browser shows them; the colour that a file hides under them does not count. Masks come as stored,
one integer a pixel.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf import limits
from policrf.crf.io.files import atomic_write, existing_file
from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile, TooLarge
from policrf.optional import need
from policrf.plots.colours import label_colours
from policrf.types import LabelMap, Pixels

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm")


def read_image(path: str | Path) -> Pixels:
    """An image file as upright RGB."""
    pillow = _open(path)
    if pillow.mode.startswith(("I", "F")):
        return _deep_grey(np.asarray(pillow), path)
    with parsing(path, "the image cannot be decoded"):
        upright = need("PIL.ImageOps", "Pillow").exif_transpose(pillow)
        if upright.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in upright.info:
            upright = _over_white(upright.convert("RGBA"))
        return np.array(upright.convert("RGB"), np.uint8, order="C")


def _over_white(image: Any) -> Any:
    """An RGBA picture over a white ground."""
    ground = need("PIL.Image", "Pillow").new("RGBA", image.size, "white")
    ground.alpha_composite(image)
    return ground


def image_size(path: str | Path) -> tuple[int, int]:
    """Height and width of an image file as stored, without reading its pixels."""
    width, height = _open(path, load=False).size
    return height, width


def _deep_grey(values: NDArray[Any], path: str | Path) -> Pixels:
    """16- and 32-bit greyscale: 16-bit files by their high byte, others as they are if 0 … 255."""
    if values.ndim != 2 or not np.isfinite(values).all():
        raise InvalidFile(f"{path}: the image holds values that are not numbers")
    high, low = float(values.max()), float(values.min())
    if low < 0 or high > 65535:
        raise InvalidFile(f"{path}: grey values run from {low:g} to {high:g}, not within 0 … 65535")
    eight = (values / 257.0 if high > 255 else values).round().astype(np.uint8)
    return np.repeat(eight[:, :, None], 3, axis=2)


def read_mask(path: str | Path) -> LabelMap:
    """A mask file as stored: palette indices, or 8- or 16-bit values."""
    pillow = _open(path)
    if pillow.mode not in ("P", "L", "1") and not pillow.mode.startswith("I"):
        raise InvalidFile(
            f"{path}: a mask holds one label a pixel (palette or greyscale PNG), "
            f"this is {pillow.mode}"
        )
    with parsing(path, "the mask cannot be decoded"):
        return np.asarray(pillow).astype(np.int32)


def _open(path: str | Path, *, load: bool = True) -> Any:
    image_module = need("PIL.Image", "Pillow")
    if existing_file(path).stat().st_size == 0:
        raise InvalidFile(f"{path}: not a readable picture (it is empty)")
    with parsing(path, "not a readable picture"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's own size warning; the limit is below
        try:
            pillow = image_module.open(path)
        except image_module.DecompressionBombError as error:  # Pillow has a limit of its own
            raise TooLarge(f"{path}: too large a picture ({error})") from None
        width, height = pillow.size
        if not 0 < width * height <= limits.IMAGE_PIXELS:
            raise TooLarge(
                f"{path}: too large a picture, its header says {width}×{height} pixels; the limit "
                f"is {limits.IMAGE_PIXELS:,} (policrf.limits.IMAGE_PIXELS)"
            )
        if load:
            pillow.load()
    return pillow


def write_labels(labels: NDArray[Any], path: str | Path) -> None:
    """A palette PNG of a label map with labels below 256."""
    image = need("PIL.Image", "Pillow").fromarray(labels.astype(np.uint8), mode=None)
    image.putpalette(label_colours(256).reshape(-1).tolist())
    _save(image, path)


def write_image(pixels: Pixels, path: str | Path) -> None:
    """An RGB image file; the suffix says the format."""
    _save(need("PIL.Image", "Pillow").fromarray(np.ascontiguousarray(pixels)), path)


def _save(image: Any, path: str | Path) -> None:
    suffix = Path(path).suffix.lower()
    kind = need("PIL.Image", "Pillow").registered_extensions().get(suffix)
    if kind is None:
        raise InvalidFile(f"{path}: pictures are not written as {suffix or 'files without suffix'}")
    with atomic_write(path) as file:
        # The lowest level of PNG takes a fifth of the time of the default, for a fifth more bytes.
        image.save(file, format=kind, **({"compress_level": 1} if kind == "PNG" else {}))
