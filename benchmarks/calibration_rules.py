"""Which rule of choice holds on images it was not chosen on: `calibrate`'s against others.

    python benchmarks/calibration_rules.py tables --out benchmarks/results

The folder is one that `segmentation_table.py` has worked in. Every half of val is searched once;
then its images are split at random, each rule chooses on one part and is scored on the other. Terms
are allowed by folds, as `calibrate` does it, or all at once.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from pathlib import Path

import numpy as np

from policrf.evaluation.tables import Table, write_tables
from policrf.vision.calibration.calibrate import calibrate
from policrf.vision.calibration.choice import Scored, assign_folds, choose
from policrf.vision.calibration.scores import errors, scores, scores_without
from policrf.vision.calibration.stages import TERMS, terms_of

NETS, HALVES = ("half", "full"), ("half1", "half2")
FORM = ("gate", "unary", "support", "penalty")  # weights mean the same only where these agree


def near_best(scored, members):
    """Scores, and which are within one standard error of the best, paired."""
    counts = scored.counts.settings(members)
    values, without = scores(counts), scores_without(counts)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True
    return values, near


def best_score(scored, members):
    return members[int(scores(scored.counts.settings(members)).argmax())]


def fewest_terms(scored, members, *, smallest):
    """Within one standard error of the best: fewest terms, then smallest weights or best score."""
    values, near = near_best(scored, members)
    terms = [terms_of(scored.energies[m]) for m in members]
    fewest = min((its for its, close in zip(terms, near, strict=True) if close), key=simplicity)
    equals = [k for k, its in enumerate(terms) if its == fewest and (near[k] or not smallest)]
    best = max(equals, key=lambda k: values[k])
    if not smallest:
        return members[best]
    form = form_of(scored.energies[members[best]])
    alike = [members[k] for k in equals if form_of(scored.energies[members[k]]) == form]
    return min(alike, key=lambda s: strength(scored.energies[s]))


def surest(scored, members, *, sure):
    """The highest gain over the net minus some standard errors."""
    counts = scored.counts.settings([0, *members])
    values, without = scores(counts), scores_without(counts)
    bound = values - values[0] - sure * errors(without, without[0])
    bound[[k for k, member in enumerate(members, start=1) if member == 0]] = 0.0
    return members[int(bound[1:].argmax())]


def simplicity(terms):
    order = list(TERMS.values())
    return len(terms), tuple(order.index(term) for term in reversed(terms))


def form_of(energy):
    return tuple(getattr(energy, name) for name in FORM)


def strength(energy):
    weights = [getattr(energy, name) for name in reversed(TERMS)]
    return (*weights, energy.band or math.inf, energy.sigma_colour, energy.sigma_feature, -energy.C)


RULES = {
    "best score": best_score,
    "fewest terms within 1 error, smallest weights": partial(fewest_terms, smallest=True),
    "fewest terms within 1 error, best score": partial(fewest_terms, smallest=False),
    **{f"gain − {k} errors": partial(surest, sure=k) for k in (1, 2, 3)},
}
OWN = "calibrate: gain − 2 errors, terms by folds"


def search(options, net, half) -> Scored:
    folder = options.work / f"{net}-{options.size}-{half}"
    journal = folder.with_name(folder.name + ".rules.jsonl")
    return calibrate(folder, gates=("contrast",), journal=journal, jobs=options.jobs).scored


def gains(scored, options, rng) -> dict[str, list[float]]:
    """Of every rule on the images it did not choose on, in points, one a split."""
    found: dict[str, list[float]] = {}
    for _ in range(options.splits):
        order = rng.permutation(scored.counts.images)
        inside, outside = np.split(order, [int(options.part * len(order))])
        folds = assign_folds(len(inside), 5)
        seen = Scored(scored.energies, scored.counts.on(inside), folds)
        values = scores(scored.counts.on(outside))
        every = list(range(len(scored.energies)))
        chosen = {name: rule(seen, every) for name, rule in RULES.items()} | {OWN: choose(seen)}
        for name, setting in chosen.items():
            found.setdefault(name, []).append(100 * float(values[setting] - values[0]))
    return found


def table(options, found) -> Table:
    rows = []
    for name in (*RULES, OWN):
        by_net = [np.concatenate([found[net, half][name] for half in HALVES]) for net in NETS]
        means = [f"{values.mean():+.2f}" for values in by_net]
        rows.append((name, *means, f"{min(values.min() for values in by_net):+.2f}"))
    note = (
        f"Mean gain over the net on the frequent classes, points, N = {options.size}: "
        f"{options.splits} random splits of each half of val, chosen on {100 * options.part:.0f} % "
        "of its images, scored on the rest. Worst: of all splits of both nets."
    )
    columns = ("rule", *(f"{net}-width net" for net in NETS), "worst")
    return Table("Which rule holds on the next images", columns, tuple(rows), note)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="work folder of segmentation_table.py")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--part", type=float, default=0.75, help="share of images to choose on")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    found = {
        (net, half): gains(search(options, net, half), options, rng)
        for net in NETS
        for half in HALVES
    }
    made = [table(options, found)]
    config = {name: getattr(options, name) for name in ("size", "splits", "part")}
    write_tables(options.out, "calibration-rules", made, config)
    print(made[0].markdown())


if __name__ == "__main__":
    main()
