"""What a chosen energy gives on images it was not chosen on, against the net and DenseCRF.

    python benchmarks/segmentation_table.py DATA --work tables
    python benchmarks/segmentation_table.py DATA --work tables --chosen-on train --sizes 1000
    python benchmarks/segmentation_table.py DATA --work tables --boxes --sizes 1000
    python benchmarks/segmentation_table.py DATA --work tables --dataset mots --nets full

VOC: val in two halves. prepare and calibrate run on each, and the energy of one is reported on the
other; or chosen on train, reported on val. MOTS: chosen on 0000, reported on 0002. `--boxes` adds
those of a detector that has not seen the images. All steps go on where they were stopped.

Rows: the net, the superpixels' unaries alone, the default energy, the chosen one, each with the
pixels decided at the end, and DenseCRF in the same run. Differences are paired by image (bootstrap,
95 %). CPU seconds are those of everything after the net, one thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from command import run
from densecrf import SETTINGS, confusion
from densecrf import refine as dense_labels
from voc_halves import NETS, voc_halves

from policrf.datasets.layouts.mots import Mots
from policrf.datasets.layouts.voc import Voc
from policrf.datasets.store import Prepared
from policrf.evaluation.results import Result, read_results, to_line
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import sparse_rows
from policrf.solvers import solve
from policrf.vision.classes import MOTS_LABELS, VOC_LABELS
from policrf.vision.energy.build import to_instance, unary
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image
from policrf.vision.pixels.stage import refined_labels, stage_of
from policrf.vision.segment import Segmenter
from policrf.vision.superpixels.project import enlarged, project

LABELS = {"voc": VOC_LABELS, "mots": MOTS_LABELS}
DETECTOR = "yolo-fastest-1.1-xl.cfg"  # learned on COCO: it has seen neither VOC nor MOTS
NET, UNARY, DEFAULT, CHOSEN = "net", "unary", "default", "chosen"
BEFORE = ("decode", "net")  # steps that no row is charged with
SOLVER = "alpha_expansion"


def parts_of(options) -> dict[str, str]:
    """Where an energy is reported -> where it is chosen."""
    if options.dataset == "mots":
        return {"0002": "0000"}
    if options.chosen_on == "train":
        return {"val": "train"}
    return {"half1": "half2", "half2": "half1"}


def folder_of(options, net, size, split) -> Path:
    return options.work / f"{net}-{size}-{split}{'-boxes' if options.boxes else ''}"


def prepare(options, root, net, size, split) -> Path:
    out, nets = folder_of(options, net, size, split), options.data / "nets"
    detector = ["--detector", nets / DETECTOR] if options.boxes else []
    more = [] if options.dataset == "voc" else ["--net-names", "voc", "--net-fit", "fill"]
    if not (out / "index.json").exists():
        run(
            "prepare", options.dataset, "--root", root, "--split", split, "--net", nets / NETS[net],
            "--superpixels", size, "--out", out, "--jobs", options.jobs, *more, *detector,
        )  # fmt: skip
    return out


def calibrate(options, folder) -> Path:
    out = folder.with_name(folder.name + ".yaml")
    if not out.exists():
        run("calibrate", folder, "--out", out, "--jobs", options.jobs)
    return out


def report(options, root, net, folder, split, energy) -> list[Result]:
    """Every row on every image of a split; DenseCRF only once for all sizes."""
    log = folder.with_name(f"{folder.name}-chosen-on-{energy.stem}.jsonl")
    peers = options.work / f"{net}-{split}-densecrf.jsonl"
    known, dense = read_results(log), read_results(peers)
    done, peered = {r.name for r in known}, {r.name for r in dense}
    nets, recipe = options.data / "nets", Prepared(folder).recipe
    segmenter = Segmenter(
        nets / NETS[net], nets / DETECTOR if options.boxes else None, energy=energy, recipe=recipe
    )
    segmenter.timer = time.process_time
    dataset = (Voc if options.dataset == "voc" else Mots)(root, split)
    for sample in dataset.samples():
        asked = options.dataset == "voc" and sample.name not in peered
        if sample.name in done and not asked:
            continue
        image, truth = read_image(sample.image), dataset.truth(sample)
        made = segmenter(image, SOLVER, name=sample.name, truth=truth)
        if sample.name not in done:
            known += append(log, rows_of(segmenter, made, image, truth))
        if asked:
            dense += append(peers, dense_rows(made, image, truth))
    return known + [result for result in dense if options.dataset == "voc"]


def append(log, results) -> list[Result]:
    with log.open("a", encoding="utf-8") as file:
        file.write("".join(to_line(result) + "\n" for result in results))
    return results


def rows_of(segmenter, made, image, truth) -> list[Result]:
    view, shape = made.view, image.shape[:2]
    spent = {step: s for step, s in made.seconds.items() if step not in (*BEFORE, "total")}
    pixels = spent.pop("pixels")
    chosen = sum(spent.values())
    shared = chosen - spent["solver"]
    best = unary(view.record, segmenter.energy).argmin(axis=1)
    maps = {UNARY: (project(best, view.segments, image.shape), shared)}
    maps |= default_rows(view, shape, shared - spent["instance"])
    maps[CHOSEN] = (project(made.solution.labels, view.segments, image.shape), chosen)
    maps[f"{CHOSEN} + pixels"] = (made.labels, chosen + pixels)
    rows = {NET: (sparse_rows(view.record.net_confusion).tolist(), 0.0)}
    n_labels = view.record.n_labels
    rows |= {name: (confusion(truth, labels, n_labels), s) for name, (labels, s) in maps.items()}
    return [result_of(view, name, counts, s) for name, (counts, s) in rows.items()]


def default_rows(view, shape, before) -> dict:
    """The energy of a user who has not calibrated."""
    begun, energy = time.process_time(), Energy()
    labels = solve(to_instance(view.record, energy), SOLVER).labels
    solved = time.process_time()
    fine = refined_labels(view, labels, stage_of(energy, "u+p", SOLVER))
    ended = time.process_time()
    return {
        DEFAULT: (project(labels, view.segments, shape), before + solved - begun),
        f"{DEFAULT} + pixels": (enlarged(fine, shape), before + ended - begun),
    }


def dense_rows(made, image, truth) -> list[Result]:
    found = []
    for name, setting in SETTINGS.items():
        begun = time.process_time()
        labels = dense_labels(image, made.view.distribution, *setting)
        spent = time.process_time() - begun
        counts = confusion(truth, labels, made.view.record.n_labels)
        found.append(result_of(made.view, name, counts, spent))
    return found


def result_of(view, solver, counts, seconds) -> Result:
    record = view.record
    return Result(
        solver, record.name, record.n_nodes, pixels=counts, seconds=seconds, cpu_seconds=seconds
    )


def table_of(title, grid) -> Table:
    """IoU, gains over the net and over DenseCRF, CPU time."""
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


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with voc/, mots/ and nets/")
    parser.add_argument("--dataset", default="voc", choices=list(LABELS))
    parser.add_argument("--chosen-on", default="halves", choices=["halves", "train"], help="VOC")
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=list(NETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 250, 1000, 2000])
    parser.add_argument("--boxes", action="store_true", help="with the detector of COCO's classes")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder of the tables; --work if not given")
    parser.add_argument("--name", default="segmentation")
    return parser.parse_args()


def main() -> None:
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    root = voc_halves(options) if options.dataset == "voc" else options.data / "mots" / "KITTI_MOTS"
    made = []
    for net in options.nets:
        for size in options.sizes:
            found: list[Result] = []
            for split, source in parts_of(options).items():
                energy = calibrate(options, prepare(options, root, net, size, source))
                folder = prepare(options, root, net, size, split)
                found += report(options, root, net, folder, split, energy)
            found.sort(key=lambda result: result.name)
            title = f"{options.dataset}, {net} net, N = {size}"
            made.append(table_of(title, ResultGrid(found, LABELS[options.dataset])))
            print(made[-1].markdown(), flush=True)
    names = ("dataset", "chosen_on", "nets", "sizes", "boxes")
    config = {name: getattr(options, name) for name in names}
    write_tables(options.out or options.work, options.name, made, config)


if __name__ == "__main__":
    main()
