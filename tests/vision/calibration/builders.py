"""Prepared folders of tiny images on a grid, whose truth decides which terms help."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policrf.crf.io.json_text import write_json
from policrf.datasets.store import shard_path, write_shard
from policrf.vision.recipe import Recipe, library_versions
from policrf.vision.record import Record

LABELS = ("background", "cat", "dog")
SIDE = 6  # superpixels a side
PIXELS = 100  # of a superpixel


def grid_edges() -> np.ndarray:
    nodes = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    return np.concatenate([across, down]).astype(np.int32)


def record(seed: int, *, smooth: bool, box: bool = False) -> Record:
    """One image: halves of one label with errors of the net here and there, or labels by chance.

    Smoothing repairs the halves and spoils what is by chance. The box of the right half has its
    label and covers it.
    """
    rng = np.random.default_rng(seed)
    count, n_labels = SIDE * SIDE, len(LABELS)
    labels = rng.integers(0, n_labels, count)
    if smooth:
        left, right = rng.permutation(n_labels)[:2] if not box else (0, rng.integers(1, n_labels))
        labels = np.where(np.arange(count) % SIDE < SIDE // 2, left, right)
    seen = np.where(rng.random(count) < 0.15, rng.integers(0, n_labels, count), labels)
    distribution = np.full((count, n_labels), 0.2, np.float32)
    distribution[np.arange(count), seen] = 0.6
    truth = np.zeros((count, n_labels), np.int64)
    truth[np.arange(count), labels] = PIXELS
    edges = grid_edges()
    members = np.flatnonzero(np.arange(count) % SIDE >= SIDE // 2) if box else np.zeros(0, int)
    boxes = int(box)
    y, x = np.divmod(np.arange(count), SIDE)
    return Record(
        name=f"image{seed:03d}",
        height=SIDE * 10,
        width=SIDE * 10,
        distribution=distribution,
        log_probability=np.log(distribution),
        colour=np.zeros((count, 3), np.float32) + 50,
        position=np.stack([(y + 0.5) / SIDE, (x + 0.5) / SIDE], axis=1).astype(np.float32),
        size=np.full(count, PIXELS, np.int32),
        pixels=np.full(count, PIXELS, np.int32),
        appearance=np.zeros((count, 0), np.float32),
        edges=edges,
        length=np.full(len(edges), 10, np.int32),
        product=np.full(len(edges), 0.8, np.float32),
        far_edges=np.stack([np.arange(count - 2), np.arange(2, count)], axis=1).astype(np.int32),
        boxes=np.asarray([[0.5, 0, 1, 1]] * boxes, np.float32).reshape(boxes, 4),
        box_scores=np.ones(boxes, np.float32),
        box_labels=labels[-1:][:boxes].astype(np.int32),
        box_support=np.full(boxes, -1, np.int32),
        box_distribution=np.zeros((boxes, n_labels), np.float32),
        box_ptr=np.asarray([0, len(members)][: boxes + 1], np.int32),
        box_nodes=members.astype(np.int32),
        box_shares=np.ones(len(members), np.float32),
        truth=truth,
        net_confusion=np.zeros((n_labels, n_labels), np.int64),
    )


def write_records(folder: Path, records: list[Record]) -> Path:
    """A prepared folder that holds these records."""
    (folder / "shards").mkdir(parents=True)
    write_shard(shard_path(folder, 0), records, [])
    recipe = Recipe(
        labels=LABELS, net_classes=LABELS, components=0, keep_pixels=False, dataset={"name": "grid"}
    )
    content = {"recipe": recipe.as_dict(), "versions": library_versions()}
    write_json(folder / "recipe.json", content)
    index = {
        "names": [record.name for record in records],
        "nodes": [record.n_nodes for record in records],
        "places": [[0, row] for row in range(len(records))],
    }
    write_json(folder / "index.json", index)
    return folder
