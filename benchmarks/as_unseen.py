"""Training images degraded until a net does on them as on new images: better to choose on?

    python benchmarks/as_unseen.py DATA --work tables --net full --out benchmarks/results

A net is right on more of the images it was trained on, and surer. Here these are made smaller and
enlarged again (and get noise), by the factor at which the net's accuracy on them is closest to that
on val. An energy is chosen on them, and one on the plain training images; both are reported on val,
which `segmentation_table.py` has prepared in the same work folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from command import run
from voc_halves import NETS, voc_halves

from policrf.datasets.instances import load_prepared
from policrf.datasets.store import Prepared
from policrf.evaluation.runner import evaluate
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import pixel_accuracy
from policrf.vision.images import read_image, write_image
from policrf.vision.opencv import resize

FACTORS = (1.0, 0.7, 0.5, 0.4, 0.3)
NOISE = 4.0  # grey levels, of the smaller image
PROBED = 120  # images that a factor is tried on
HALVES = ("half1", "half2")


def degraded_root(options, factor: float) -> Path:
    """A VOC folder whose training images are degraded; the factor 1 is the plain one."""
    plain = voc_halves(options)
    if factor == 1.0:
        return plain
    root = options.work / f"voc-{factor:g}"
    images = root / "JPEGImages"
    images.mkdir(parents=True, exist_ok=True)
    for folder in ("SegmentationClass", "ImageSets"):
        if not (root / folder).exists():
            (root / folder).symlink_to((plain / folder).resolve())
    for name in (plain / "ImageSets" / "Segmentation" / "train.txt").read_text().split():
        target = images / f"{name}.jpg"
        if not target.exists():
            image = read_image(plain / "JPEGImages" / f"{name}.jpg")
            write_image(degraded(image, factor, seed=int(name[-4:])), target)
    return root


def degraded(image, factor: float, seed: int):
    height, width = image.shape[:2]
    small = resize(image, max(1, round(height * factor)), max(1, round(width * factor)))
    noise = np.random.default_rng(seed).normal(0, NOISE, small.shape)
    noisy = np.clip(small + noise, 0, 255).astype(np.uint8)
    return resize(noisy, height, width)


def prepare(options, factor: float, *, limit: int | None = None) -> Path:
    out = options.work / f"{options.net}-{options.size}-train-{factor:g}-{limit or 'all'}"
    if not (out / "index.json").exists():
        run(
            "prepare", "voc", "--root", degraded_root(options, factor), "--split", "train",
            "--net", options.data / "nets" / NETS[options.net], "--superpixels", options.size,
            "--out", out, "--jobs", options.jobs, *(["--limit", limit] if limit else []),
        )  # fmt: skip
    return out


def net_on(folders) -> tuple[float, float]:
    """The net's pixel accuracy and its mean confidence."""
    confusions, surest = [], []
    for folder in folders:
        data = Prepared(folder)
        for position in range(len(data)):
            record = data.record(position)
            confusions.append(record.net_confusion)
            surest.append(np.average(record.distribution.max(axis=1), weights=record.pixels))
    return pixel_accuracy(np.sum(confusions, axis=0)), float(np.mean(surest))


def chosen_on(options, factor: float) -> Path:
    folder = prepare(options, factor)
    out = folder.with_name(folder.name + ".yaml")
    if not out.exists():
        run(
            "calibrate", folder, "--out", out, "--images", options.images, "--jobs", options.jobs,
            "--gates", "contrast",
        )  # fmt: skip
    return out


def reported(options, energy: Path):
    found = []
    for half in HALVES:
        data = load_prepared(options.work / f"{options.net}-{options.size}-{half}", energy)
        found += evaluate(data, ["net", "alpha_expansion"]).results
    return sorted(found, key=lambda result: result.name), data.prepared.labels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with voc/ and nets/")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--net", default="full", choices=list(NETS))
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--images", type=int, default=150, help="to choose on")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    val = net_on(options.work / f"{options.net}-{options.size}-{half}" for half in HALVES)
    tried = {f: net_on([prepare(options, f, limit=PROBED)]) for f in FACTORS}
    match = min(FACTORS, key=lambda f: abs(tried[f][0] - val[0]))
    rows = [("val", f"{100 * val[0]:.1f}", f"{val[1]:.3f}", "")]
    for factor, (accuracy, confidence) in tried.items():
        said = ""
        if factor in (1.0, match):
            results, labels = reported(options, chosen_on(options, factor))
            pair = ResultGrid(results, labels).compare("alpha_expansion", "net", "frequent")
            said = f"{100 * pair.difference:+.2f} [{100 * pair.low:+.2f}, {100 * pair.high:+.2f}]"
        rows.append((f"train × {factor:g}", f"{100 * accuracy:.1f}", f"{confidence:.3f}", said))
    note = (
        f"{options.net}-width net, N = {options.size}; accuracy in % of the pixels, of {PROBED} "
        f"images of train; energies chosen on {options.images}, reported on all of val "
        "with the pixels at the end: gain over the net on the frequent classes."
    )
    columns = ("images", "net's accuracy", "its confidence", "energy chosen there, on val")
    made = [Table("Training images as if unseen", columns, tuple(rows), note)]
    write_tables(options.out, f"as-unseen-{options.net}", made, {"factors": FACTORS})
    print(made[0].markdown())


if __name__ == "__main__":
    main()
