"""Reading and writing picture files: the one place that touches Pillow.

Images come as uint8 `[H, W, 3]` whatever the file holds: greyscale, palette, CMYK, 16 bits a
channel (the high byte), EXIF-rotated (turned upright). Transparent pixels are laid over white, as a
browser shows them; the colour that a file hides under them does not count. Masks come as stored,
one integer a pixel.
"""

from __future__ import annotations

import os
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidFile
from policrf.optional import need
from policrf.plots.colours import label_colours
from policrf.types import LabelMap, Pixels

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm")


def read_image(path: str | Path) -> Pixels:
    """An image file as upright RGB."""
    pillow = _open(path)
    try:
        if pillow.mode.startswith(("I", "F")):
            return _deep_grey(np.asarray(pillow), path)
        upright = need("PIL.ImageOps", "Pillow").exif_transpose(pillow)
        if upright.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in upright.info:
            upright = _over_white(upright.convert("RGBA"))
        return np.array(upright.convert("RGB"), np.uint8, order="C")
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError) as error:
        raise InvalidFile(f"{path}: the image cannot be decoded ({error})") from None


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
    try:
        if pillow.mode not in ("P", "L", "1") and not pillow.mode.startswith("I"):
            raise InvalidFile(
                f"{path}: a mask holds one label a pixel (palette or greyscale PNG), "
                f"this is {pillow.mode}"
            )
        return np.asarray(pillow).astype(np.int32)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{path}: the mask cannot be decoded ({error})") from None


def _open(path: str | Path, *, load: bool = True) -> Any:
    image_module = need("PIL.Image", "Pillow")
    if not os.path.exists(path):
        raise InvalidFile(f"{path}: there is no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # Pillow's own size warning; the limit itself is an error
            pillow = image_module.open(path)
            if load:
                pillow.load()
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, IndexError) as error:
        size = os.path.getsize(path) if os.path.isfile(path) else -1
        why = "it is empty" if size == 0 else str(error).replace(str(path), "the file")
        raise InvalidFile(f"{path}: not a readable picture ({why})") from None
    except image_module.DecompressionBombError as error:
        raise InvalidFile(f"{path}: too large a picture ({error})") from None
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
    target = Path(path)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        # The lowest level of PNG takes a fifth of the time of the default, for a fifth more bytes.
        image.save(temporary, **({"compress_level": 1} if target.suffix == ".png" else {}))
        os.replace(temporary, target)
    except (OSError, ValueError) as error:
        temporary.unlink(missing_ok=True)
        raise InvalidFile(f"{path}: the picture cannot be written ({error})") from None
