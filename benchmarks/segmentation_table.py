"""The segmentation tables: nets, sizes, kinds of energy, solvers, and DenseCRF as a peer on VOC.

    python benchmarks/segmentation_table.py ../shared/data --work tables/voc --nets half --sizes 250
    python benchmarks/segmentation_table.py ../shared/data --dataset mots --work tables/mots

Everything is made by the product's own commands, each of which goes on where it was stopped:
prepare (train and val), calibrate (train only), evaluate (val), then densecrf.py beside this file.
`--steps` picks some of them. The table joins all results: NAME.md, NAME.csv (with IoU per class)
and NAME.json in --out.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from command import run

from policrf.evaluation.results import read_results
from policrf.evaluation.summary import ResultGrid
from policrf.vision.classes import MOTS_LABELS, VOC_LABELS

LABELS = {"voc": VOC_LABELS, "mots": MOTS_LABELS}
SPLITS = {"voc": {"train": "train", "val": "val"}, "mots": {"train": "0000", "val": "0002"}}
NETS = {
    "half": "deeplabv3_mnv2_dm05_pascal_quant.tflite",
    "full": "deeplabv3_mnv2_pascal_quant.tflite",
}
# The VOC detector has very likely seen the boxes of VOC val; the COCO one has not.
DETECTORS = {"voc": "MobileNetV2-YOLOv3-Nano-voc.cfg", "coco": "yolo-fastest-1.1-xl.cfg"}
HYPERCOLUMNS = (
    "MobilenetV2/expanded_conv_2/add,MobilenetV2/expanded_conv_5/add,"
    "MobilenetV2/expanded_conv_12/add,concat_projection/Relu"
)
KINDS = ("u", "u+p", "u+p+hop1", "u+p+hop1+hop2")
SOLVERS = (
    "icm", "highest_confidence_first", "alpha_expansion", "belief_propagation", "tree_reweighted",
    "dual_decomposition", "mean_field", "lazy_flipper", "refine",
)  # fmt: skip
STEPS = ("prepare", "calibrate", "evaluate", "densecrf", "table")


def prepare(options, net, size) -> None:
    nets = options.data / "nets"
    if options.dataset == "voc":
        root, detector = options.data / "voc" / "VOC2012", DETECTORS[options.detector]
        more = ["--threshold", 0.2]
    else:
        # Four windows: pedestrians vanish when a frame of 1242 pixels is shrunk to the net's 513.
        root, detector = options.data / "mots" / "KITTI_MOTS", DETECTORS["coco"]
        more = ["--threshold", 0.3, "--net-names", "voc", "--net-windows", 4, "--net-fit", "fill"]
    for split, name in SPLITS[options.dataset].items():
        out = options.work / f"{net}-{size}-{split}"
        if (out / "index.json").exists():
            continue
        like = [] if split == "train" else ["--like", options.work / f"{net}-{size}-train"]
        run(
            "prepare", options.dataset, "--root", root, "--split", name,
            "--net", nets / NETS[net], "--detector", nets / detector,
            "--hypercolumns", HYPERCOLUMNS, "--superpixels", size, "--out", out,
            "--jobs", options.jobs, *more, *like,
        )  # fmt: skip


def calibrate(options, net, size) -> None:
    out = options.work / f"{net}-{size}-energy.yaml"
    if not out.exists():
        run(
            "calibrate", options.work / f"{net}-{size}-train", "--out", out,
            "--images", options.images, "--jobs", options.jobs,
        )  # fmt: skip


def evaluate(options, net, size) -> None:
    for kind in KINDS:
        solvers = ["unary"] if kind == "u" else options.solvers
        if options.exact and size <= 250 and kind != "u":
            solvers = [*solvers, "exact"]
        run(
            "evaluate", options.work / f"{net}-{size}-val", "--solvers", *solvers,
            "--energy", options.work / f"{net}-{size}-energy.{kind}.yaml", "--potentials", kind,
            "--seconds", options.seconds, "--jobs", options.jobs,
            "--out", options.work / f"{net}-{size}-results-{kind}",
        )  # fmt: skip


def densecrf(options, net) -> None:
    script = Path(__file__).with_name("densecrf.py")
    subprocess.run(
        [sys.executable, script, options.data / "voc" / "VOC2012", "--net",
         options.data / "nets" / NETS[net], "--out", options.work / f"{net}-densecrf"],
        check=True,
    )  # fmt: skip


def by_name(results):
    return sorted(results, key=lambda result: result.name)


def results_of(options, net, size, kind) -> dict[str, list]:
    """Results of one kind of energy by solver, all on the same images in the same order."""
    found: dict[str, list] = {}
    for result in read_results(options.work / f"{net}-{size}-results-{kind}" / "results.jsonl"):
        if not result.failed:
            found.setdefault(result.solver, []).append(result)
    whole = len(found.get("net", []))
    return {solver: by_name(rows) for solver, rows in found.items() if len(rows) == whole}


def peers_of(options, net, images) -> dict[str, list]:
    found: dict[str, list] = {}
    for result in read_results(options.work / f"{net}-densecrf" / "results.jsonl"):
        if result.solver != "net" and result.name in images:
            found.setdefault(result.solver, []).append(result)
    return {name: by_name(rows) for name, rows in found.items() if len(rows) == len(images)}


def rows_of(options, net, size) -> tuple[list[dict], list[str]]:
    """All rows of one net and size, with gains over the net, and pairs against the peers."""
    rows, pairs = [], []
    labels = LABELS[options.dataset]
    kinds = {kind: results_of(options, net, size, kind) for kind in KINDS}
    base = kinds["u"]
    peers = peers_of(options, net, {result.name for result in base["net"]})
    for kind, solvers in [*kinds.items(), ("pixels", {"net": base["net"]} | peers)]:
        grid = ResultGrid([], labels)
        grid.by_solver = solvers
        for solver in solvers:
            if solver in ("net", "oracle") and kind != "u":
                continue
            shown = "" if solver in ("net", "oracle") else kind
            row = grid.row(solver) | {"net": net, "size": size, "kind": shown}
            seconds = [result.cpu_seconds for result in solvers[solver]]
            if np.isfinite(seconds).all():
                row["cpu_seconds"] = float(np.mean(seconds))
            for classes in ("all", "frequent"):
                row[f"gain_{classes}"] = vars(grid.compare(solver, "net", classes))
            rows.append(row)
        for peer in peers if "alpha_expansion" in solvers else ():
            grid.by_solver = solvers | peers
            for classes in ("all", "frequent"):
                pair = grid.compare("alpha_expansion", peer, classes)
                pairs.append(
                    f"| {net} | {size} | alpha_expansion {kind} − {peer} | {classes} "
                    f"| {100 * pair.difference:+.2f} "
                    f"({100 * pair.low:+.2f} … {100 * pair.high:+.2f}) | {100 * pair.wins:.0f} % |"
                )
    return rows, pairs


def table(options) -> None:
    rows, pairs, labels = [], [], LABELS[options.dataset]
    for net in options.nets:
        for size in options.sizes:
            if (options.work / f"{net}-{size}-results-u" / "results.jsonl").exists():
                more_rows, more_pairs = rows_of(options, net, size)
                rows += more_rows
                pairs += more_pairs
    lines = [
        "| net | N asked | nodes | energy | solver | IoU (p) | gain over the net (95 %) "
        "| frequent | gain | IoU (sp) | energy | gap % | CPU s |",
        "|" + " --- |" * 13,
    ]
    for row in rows:
        gain, frequent = row["gain_all"], row["gain_frequent"]
        cells = [
            row["net"], str(row["size"]), f"{row['nodes']:.0f}", row["kind"], row["solver"],
            f"{100 * row['pixels_all']['iou']:.2f}",
            f"{100 * gain['difference']:+.2f} "
            f"({100 * gain['low']:+.2f} … {100 * gain['high']:+.2f})",
            f"{100 * row['pixels_frequent']['iou']:.2f}",
            f"{100 * frequent['difference']:+.2f} "
            f"({100 * frequent['low']:+.2f} … {100 * frequent['high']:+.2f})",
            f"{100 * row['superpixels_all']['iou']:.2f}" if "superpixels_all" in row else "–",
            f"{row['energy']:.2f}" if "energy" in row else "–",
            f"{100 * row['gap']:.3f}" if "gap" in row else "–",
            f"{row['cpu_seconds']:.4f}" if "cpu_seconds" in row else "–",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    if pairs:
        header = "| net | N asked | pair | classes | difference in IoU (p), 95 % | ahead in |"
        lines += ["", header, "|" + " --- |" * 6, *pairs]
    target = (options.out or options.work) / f"{options.name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target.with_suffix(".json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    with target.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["net", "size", "kind", "solver", "all", "frequent", *labels])
        for row in rows:
            classes = [row["pixels_classes"][name] for name in labels]
            means = [row["pixels_all"]["iou"], row["pixels_frequent"]["iou"]]
            writer.writerow([row["net"], row["size"], row["kind"], row["solver"], *means, *classes])
    print("\n".join(lines))


def data_parser(description) -> argparse.ArgumentParser:
    """The options that say on what: data, nets, and where the work goes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder with voc/, mots/ and nets/")
    parser.add_argument("--dataset", default="voc", choices=list(LABELS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=list(NETS))
    return parser


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--detector", default="voc", choices=list(DETECTORS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 250, 500, 2000])
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=STEPS)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--exact", action="store_true", help="proven optima, up to N = 250")
    parser.add_argument("--seconds", type=float, default=2.0, help="limit of a solver")
    parser.add_argument("--images", type=int, default=150, help="training images to calibrate on")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, help="folder of the tables; the work folder if not given"
    )
    parser.add_argument("--name", default="table", help="name of the tables")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for net in options.nets:
        for size in options.sizes:
            for step in (prepare, calibrate, evaluate):
                if step.__name__ in options.steps:
                    step(options, net, size)
        if "densecrf" in options.steps and options.dataset == "voc":
            densecrf(options, net)
    if "table" in options.steps:
        table(options)


if __name__ == "__main__":
    main()
