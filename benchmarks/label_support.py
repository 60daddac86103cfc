"""A price for labels that neither the net nor a box supports: does it help?

    python benchmarks/label_support.py tables --out benchmarks/results

The folder is one in which `segmentation_table.py --boxes` has prepared VOC val. A label that some
superpixel would choose is supported if a detection has it, or if the net is sure of it somewhere:
the mean probability of some superpixel is at least --sure. Every other label costs its price once,
in nats of so many per cent of the image's pixels. One energy, no band (it would hold labels fast),
alpha-expansion, superpixels only; gains over the same energy without a price, paired.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from policrf.crf.potentials import LabelCost
from policrf.datasets.store import Prepared
from policrf.evaluation.results import Result
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import pixel_confusion, sparse_rows
from policrf.solvers import solve
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy

HALVES = ("half1", "half2")
PRICES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
ENERGY = Energy(alpha=8.0, long_range=2.0, band=0)


def supported(record, sure: float):
    """Which labels the net or a box supports, `[L]`; the background always."""
    found = record.distribution.max(axis=0) >= sure
    found[record.box_labels[record.box_labels > 0]] = True
    found[0] = True
    return found


def labels_of(record, price: float, sure: float):
    crf = to_instance(record, ENERGY, potentials="u+p").crf
    if price > 0:
        costs = np.where(supported(record, sure), 0.0, price * record.pixels.sum() / 100)
        crf = crf.with_potentials(*crf.potentials, LabelCost([np.arange(crf.n_nodes)], costs))
    return solve(crf, "alpha_expansion").labels


def results_of(options, net) -> list[Result]:
    found = []
    for half in HALVES:
        data = Prepared(options.work / f"{net}-{options.size}-{half}-boxes")
        for position in range(len(data)):
            record = data.record(position)
            for price in PRICES:
                labels = labels_of(record, price, options.sure)
                counts = sparse_rows(pixel_confusion(record.truth, labels)).tolist()
                found.append(Result(f"{price:g}", record.name, record.n_nodes, pixels=counts))
    return sorted(found, key=lambda result: result.name), data.labels


def table_of(options, net) -> Table:
    results, labels = results_of(options, net)
    grid, rows = ResultGrid(results, labels), []
    for price in grid.solvers():
        cells = []
        for classes in ("all", "frequent"):
            cells.append(f"{100 * grid.row(price)[f'pixels_{classes}']['iou']:.2f}")
            if price == "0":
                cells.append("")
                continue
            pair = grid.compare(price, "0", classes)
            cells.append(
                f"{100 * pair.difference:+.2f} [{100 * pair.low:+.2f}, {100 * pair.high:+.2f}]"
            )
        rows.append((price, *cells))
    note = (
        f"VOC val, N = {options.size}; unsupported: no box of the label, no superpixel with a mean "
        f"probability of {options.sure:g}. Price: nats of this share of the pixels."
    )
    columns = ("price, %", "IoU all", "gain", "frequent", "gain, frequent")
    return Table(f"{net}-width net", columns, tuple(rows), note)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="work folder of segmentation_table.py --boxes")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--sure", type=float, default=0.8)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    made = [table_of(options, net) for net in ("half", "full")]
    config = {"size": options.size, "sure": options.sure, "prices": PRICES}
    write_tables(options.out, "label-support", made, config | {"energy": ENERGY.as_dict()})
    print("\n".join(table.markdown() for table in made))


if __name__ == "__main__":
    main()
