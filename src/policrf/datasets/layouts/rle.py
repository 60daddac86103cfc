"""Run-length masks as COCO writes them: the one place that touches pycocotools."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidFile
from policrf.optional import need


def decode_mask(counts: str, height: int, width: int, where: str) -> NDArray[np.bool_]:
    """A compressed run-length mask as `[height, width]`."""
    coco: Any = need("pycocotools.mask", "pycocotools")
    if height < 1 or width < 1 or height * width > 1 << 28:
        raise InvalidFile(f"{where}: a mask of {width}×{height} pixels")
    if not counts or any(not 48 <= ord(letter) <= 111 for letter in counts):
        raise InvalidFile(f"{where}: not a run-length mask")
    encoded = {"size": [height, width], "counts": counts.encode()}
    try:
        covered = int(coco.area(encoded))
        if covered > height * width:
            raise ValueError("it covers more pixels than the image has")
        mask: NDArray[np.bool_] = coco.decode(encoded).astype(np.bool_)
    except (ValueError, TypeError, UnicodeError) as error:
        raise InvalidFile(f"{where}: not a run-length mask ({error})") from None
    return mask


def encode_mask(mask: NDArray[np.bool_]) -> str:
    """The compressed run-length form of a mask."""
    coco: Any = need("pycocotools.mask", "pycocotools")
    encoded: bytes = coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"]
    return encoded.decode()
