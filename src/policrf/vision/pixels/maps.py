"""PixelMaps: what the pixel stage looks at, of an image just seen or rebuilt from prepared data."""

from __future__ import annotations

from dataclasses import dataclass

from policrf.types import Float32Array, Segments
from policrf.vision.record import Record


@dataclass(frozen=True, eq=False)
class PixelMaps:
    """A record with the pixel maps that it was made from, at the working size."""

    record: Record
    segments: Segments
    """The superpixel of every pixel, `[H, W]`."""
    distribution: Float32Array
    """Of the labels, `[L, H, W]`."""
    lab: Float32Array
    """After the blur, `[H, W, 3]`."""
