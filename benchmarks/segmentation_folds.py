"""What a chosen energy gives on images it was not chosen on, against the net and DenseCRF.

    python benchmarks/segmentation_folds.py ../shared/data --work folds --nets half --sizes 1000
    python benchmarks/segmentation_folds.py ../shared/data --work folds-mots --dataset mots

VOC: val in two halves. prepare and calibrate run on each, and the energy of one is reported on the
other. MOTS: chosen on 0000, reported on 0002. Rows: the net, the superpixels' unaries alone, the
chosen energy, the same with the pixels decided at the end, and DenseCRF in the same run.
Differences are paired by image (bootstrap, 95 %). All steps go on where they were stopped. CPU
seconds are those of everything after the net, one thread.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from command import run
from densecrf import SETTINGS, confusion
from densecrf import refine as dense_labels
from segmentation_table import DETECTORS, LABELS, NETS, data_parser

from policrf.datasets.layouts.mots import Mots
from policrf.datasets.layouts.voc import Voc
from policrf.datasets.store import Prepared
from policrf.evaluation.results import Result, read_results, to_line
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import sparse_rows
from policrf.vision.build import unary
from policrf.vision.images import read_image
from policrf.vision.segment import Segmenter
from policrf.vision.superpixels.project import project

NET, UNARY, CHOSEN, PIXELS = "net", "unary", "chosen", "chosen + pixels"
BEFORE = ("decode", "net")  # steps that no row is charged with


def halves(options) -> Path:
    """A VOC folder whose splits half1 and half2 are those of val, drawn once."""
    root, source = options.work / "halves", (options.data / "voc" / "VOC2012").resolve()
    lists = root / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True, exist_ok=True)
    for folder in ("JPEGImages", "SegmentationClass"):
        if not (root / folder).exists():
            (root / folder).symlink_to(source / folder)
    names = (source / "ImageSets" / "Segmentation" / "val.txt").read_text().split()
    order = np.random.default_rng(0).permutation(len(names))
    for half, part in (("half1", order[::2]), ("half2", order[1::2])):
        (lists / f"{half}.txt").write_text("\n".join(names[k] for k in sorted(part)) + "\n")
    return root


def parts_of(options) -> dict[str, str]:
    """Where an energy is reported -> where it is chosen."""
    if options.dataset == "voc":
        return {"half1": "half2", "half2": "half1"}
    return {"0002": "0000"}


def prepare(options, root, net, size, split) -> Path:
    out = options.work / f"{net}-{size}-{split}"
    nets = options.data / "nets"
    detector = ["--detector", nets / DETECTORS["coco"]] if options.boxes else []
    more = [] if options.dataset == "voc" else ["--net-names", "voc"]
    run(
        "prepare", options.dataset, "--root", root, "--split", split, "--net", nets / NETS[net],
        "--superpixels", size, "--out", out, "--jobs", options.jobs, *more, *detector,
    )  # fmt: skip
    return out


def report(options, root, net, size, split, energy) -> list[Result]:
    """Every row on every image of a split."""
    log = options.work / f"{net}-{size}-{split}-results.jsonl"
    known = read_results(log)
    done = {result.name for result in known}
    recipe = Prepared(options.work / f"{net}-{size}-{split}").recipe
    nets = options.data / "nets"
    segmenter = Segmenter(
        nets / NETS[net], nets / DETECTORS["coco"] if options.boxes else None, energy=energy,
        recipe=recipe,
    )  # fmt: skip
    segmenter.timer = time.process_time
    dataset = (Voc if options.dataset == "voc" else Mots)(root, split)
    with log.open("a", encoding="utf-8") as file:
        for sample in dataset.samples():
            if sample.name not in done:
                found = rows_of(segmenter, sample, dataset.truth(sample), options)
                file.write("".join(to_line(result) + "\n" for result in found))
                file.flush()
                known += found
    return known


def rows_of(segmenter, sample, truth, options) -> list[Result]:
    image = read_image(sample.image)
    made = segmenter(image, "alpha_expansion", name=sample.name, truth=truth)
    view, n_labels = made.view, len(segmenter.pipeline.recipe.labels)
    spent = {step: s for step, s in made.seconds.items() if step not in (*BEFORE, "total")}
    pixels = spent.pop("pixels")
    chosen = sum(spent.values())
    best = unary(view.record, segmenter.energy).argmin(axis=1)
    maps = {
        UNARY: (project(best, view.segments, image.shape), chosen - spent["solver"]),
        CHOSEN: (project(made.solution.labels, view.segments, image.shape), chosen),
        PIXELS: (made.labels, chosen + pixels),
    }
    for name, setting in SETTINGS.items() if options.dataset == "voc" else ():
        begun = time.process_time()
        labels = dense_labels(image, view.distribution, *setting)
        maps[name] = (labels, time.process_time() - begun)
    rows = {NET: (sparse_rows(view.record.net_confusion).tolist(), 0.0)}
    rows |= {name: (confusion(truth, labels, n_labels), s) for name, (labels, s) in maps.items()}
    return [
        Result(name, sample.name, view.record.n_nodes, pixels=counts, seconds=s, cpu_seconds=s)
        for name, (counts, s) in rows.items()
    ]


def tables(options, found) -> list[Table]:
    """One table a net and size: IoU, gains over the net and over DenseCRF, CPU time."""
    return [
        table_of(f"{options.dataset}, {net} net, N = {size}", ResultGrid(
            sorted(results, key=lambda result: result.name), LABELS[options.dataset]
        ))
        for (net, size), results in found.items()
    ]  # fmt: skip


def table_of(title, grid) -> Table:
    peers = [name for name in SETTINGS if name in grid.by_solver]
    dearest = max((cpu_of(grid, name) for name in peers), default=0.0)
    rows = []
    for solver in grid.solvers():
        row, own = grid.row(solver), cpu_of(grid, solver)
        cells = [f"{100 * row[f'pixels_{kind}']['iou']:.2f}" for kind in ("all", "frequent")]
        for other in (NET, *peers):
            cells += [gain(grid, solver, other, kind) for kind in ("all", "frequent")]
        share = f"1/{dearest / own:.1f}" if dearest and own else ""
        rows.append((solver, *cells, f"{1000 * own:.0f}", share))
    columns = ["row", "IoU all", "frequent"]
    columns += [f"− {other}, {kind}" for other in (NET, *peers) for kind in ("all", "frequent")]
    results = grid.by_solver[NET]
    nodes = np.mean([result.nodes for result in results])
    note = (
        f"{len(results)} images, {nodes:.0f} superpixels an image. CPU: milliseconds of one thread "
        "after the net, and as a share of the dearer DenseCRF's."
    )
    return Table(title, (*columns, "CPU ms", "share"), tuple(rows), note)


def cpu_of(grid, solver) -> float:
    return float(np.mean([result.cpu_seconds for result in grid.by_solver[solver]]))


def gain(grid, solver, other, classes) -> str:
    """The paired difference with its 95 % interval, in points."""
    if solver == other:
        return ""
    pair = grid.compare(solver, other, classes)
    return f"{100 * pair.difference:+.2f} [{100 * pair.low:+.2f}, {100 * pair.high:+.2f}]"


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 250, 1000, 2000])
    parser.add_argument("--boxes", action="store_true", help="with the detector of COCO's classes")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder of the tables; --work if not given")
    parser.add_argument("--name", default="segmentation-folds")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    root = halves(options) if options.dataset == "voc" else options.data / "mots" / "KITTI_MOTS"
    found: dict[tuple[str, int], list[Result]] = {}
    for net in options.nets:
        for size in options.sizes:
            for split, chosen_on in parts_of(options).items():
                prepare(options, root, net, size, split)
                source = prepare(options, root, net, size, chosen_on)
                energy = options.work / f"{net}-{size}-{chosen_on}.yaml"
                if not energy.exists():
                    run(
                        "calibrate", source, "--out", energy, "--gates", "contrast",
                        "--jobs", options.jobs,
                    )  # fmt: skip
                found.setdefault((net, size), []).extend(
                    report(options, root, net, size, split, energy)
                )
    made = tables(options, found)
    config = {name: getattr(options, name) for name in ("dataset", "nets", "sizes", "boxes")}
    write_tables(options.out or options.work, options.name, made, config)
    print("\n".join(table.markdown() for table in made))


if __name__ == "__main__":
    main()
