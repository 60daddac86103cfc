"""DenseCRF (Krähenbühl and Koltun 2011, pydensecrf2) on the pixels of the same net, as a peer.

    python benchmarks/densecrf.py VOC2012 --split val --net deeplab.tflite --out results/densecrf

Mean field, ten iterations, DeepLab's settings: Gaussian 3 with weight 3, bilateral 4 / 67 / 3 (or
4 / 50 / 5). Results have the form of `policrf evaluate`, so that they join its tables: one line an
image, with the confusion of its pixels and the seconds of the inference alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pydensecrf.densecrf as dcrf
from pydensecrf.utils import unary_from_softmax

from policrf.datasets.layouts.voc import Voc
from policrf.datasets.workers import each
from policrf.evaluation.results import Result, read_results, to_line
from policrf.evaluation.summary import ResultGrid
from policrf.evaluation.summary_tables import summary_markdown
from policrf.metrics import pair_counts, sparse_rows
from policrf.vision.images import read_image
from policrf.vision.nets.segmentation_net import SegmentationNet
from policrf.vision.unaries import pixel_distribution

SETTINGS = {"densecrf-4-67-3": (4.0, 67.0, 3.0), "densecrf-4-50-5": (4.0, 50.0, 5.0)}


def refine(image, distribution, weight, position, colour, iterations=10):
    """Labels `[H, W]` after mean field on the fully connected CRF."""
    height, width = image.shape[:2]
    model = dcrf.DenseCRF2D(width, height, len(distribution))
    model.setUnaryEnergy(unary_from_softmax(np.ascontiguousarray(distribution)))
    model.addPairwiseGaussian(sxy=3, compat=3)
    model.addPairwiseBilateral(
        sxy=position, srgb=colour, rgbim=np.ascontiguousarray(image), compat=weight
    )
    return np.asarray(model.inference(iterations)).argmax(axis=0).reshape(height, width)


def confusion(truth, labels, n_labels):
    known = truth >= 0
    matrix = pair_counts(truth[known], labels[known], (n_labels, n_labels))
    return sparse_rows(matrix).tolist()


def work(shared, sample, cache):
    dataset, net_path = shared
    if "net" not in cache:
        cache["net"] = SegmentationNet(net_path, len(dataset.labels))
    image, truth = read_image(sample.image), dataset.truth(sample)
    height, width = image.shape[:2]
    distribution = pixel_distribution(cache["net"](image).scores, height, width, "logits")
    n_labels = len(dataset.labels)
    matrix = confusion(truth, distribution.argmax(axis=0), n_labels)
    out = [Result("net", sample.name, height * width, pixels=matrix)]
    for name, (weight, position, colour) in SETTINGS.items():
        start, cpu = time.perf_counter(), time.process_time()
        labels = refine(image, distribution, weight, position, colour)
        spent = {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
        }
        matrix = confusion(truth, labels, n_labels)
        out.append(Result(name, sample.name, height * width, pixels=matrix, **spent))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--split", default="val")
    parser.add_argument("--net", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    dataset = Voc(options.root, options.split)
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "results.jsonl"
    known = read_results(log)
    done = {result.name for result in known}
    samples = [s for s in dataset.samples()[: options.limit] if s.name not in done]
    with log.open("a", encoding="utf-8") as file:
        for results in each(work, (dataset, options.net), samples, options.jobs):
            file.write("".join(to_line(result) + "\n" for result in results))
            file.flush()
            known += results
    grid = ResultGrid(known, dataset.labels)
    rows = [grid.row(solver) for solver in grid.solvers()]
    pairs = [grid.compare(name, "net") for name in SETTINGS]
    text = summary_markdown(rows, pairs)
    (options.out / "summary.md").write_text(text, encoding="utf-8")
    print(text)
    for name in SETTINGS:
        seconds = np.mean([(r.seconds, r.cpu_seconds) for r in grid.by_solver[name]], axis=0)
        print(f"{name}: {seconds[0]:.3f} s an image, {seconds[1]:.3f} s of CPU")


if __name__ == "__main__":
    main()
