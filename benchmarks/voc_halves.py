"""Pascal VOC val in two halves: what is chosen or learned on one is reported on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

NETS = {
    "half": "deeplabv3_mnv2_dm05_pascal_quant.tflite",
    "full": "deeplabv3_mnv2_pascal_quant.tflite",
}


def voc_halves(options: Any) -> Path:
    """A VOC folder with two more splits, half1 and half2 of val, drawn once."""
    root, source = options.work / "voc", (options.data / "voc" / "VOC2012").resolve()
    lists = root / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True, exist_ok=True)
    for folder in ("JPEGImages", "SegmentationClass"):
        if not (root / folder).exists():
            (root / folder).symlink_to(source / folder)
    for split in ("train", "val"):
        text = (source / "ImageSets" / "Segmentation" / f"{split}.txt").read_text()
        (lists / f"{split}.txt").write_text(text)
    names = (lists / "val.txt").read_text().split()
    order = np.random.default_rng(0).permutation(len(names))
    for half, part in (("half1", order[::2]), ("half2", order[1::2])):
        (lists / f"{half}.txt").write_text("\n".join(names[k] for k in sorted(part)) + "\n")
    return root
