"""make_scene: a synthetic instance of any size in milliseconds: a planar graph, no image."""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.argument_types import typed
from policrf.crf.box_overlap import covered_share, inside_larger
from policrf.crf.features import (
    FeatureBoxes,
    feature_names,
    paper_features,
    softmax_over_neighbours,
)
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential, Potts
from policrf.scenes.description import (
    SAMPLES,
    Description,
    describe,
    label_counts,
    sampled,
)
from policrf.scenes.planar_graph import lattice_points, planar_edges
from policrf.scenes.scene_options import checked_groups, checked_integer, checked_size
from policrf.scenes.scene_recipe import SceneRecipe, chosen_recipe
from policrf.types import BoolArray, Float32Array, FloatArray, IntArray

_WINDOW = 0.3
"""Width of the window over which a node averages its texture, in cells of the lattice."""
_SMALLEST_PROBABILITY = 1e-12


@typed()
def make_scene(
    n_nodes: int,
    preset: str = "A",
    *,
    seed: int = 0,
    potentials: str = "u+p+hop1+hop2",
    n_labels: int = 21,
    recipe: SceneRecipe | None = None,
) -> Instance:
    """A scene with a known truth, as the instance that a vision pipeline would build of it.

    Parameters
    ----------
    n_nodes
        From 20 to 100,000.
    preset
        "A" (scores right on 85 % of the nodes), "B" (50 %) or "C" (60 %, independently), see
        `SceneRecipe`.
    seed
        The same arguments give the same arrays; `render_scene` shows the same objects, errors and
        boxes for the same seed.
    potentials
        Groups to put into the energy: "u" and any of "p", "hop1", "hop2", joined by "+".
    n_labels
        L, at least 2; label 0 is the background.
    recipe
        A recipe of your own, instead of a preset.

    >>> make_scene(50, "B", potentials="u+p").crf.n_labels
    21
    """
    n_nodes = checked_size(n_nodes)
    groups = checked_groups(potentials)
    chosen = chosen_recipe(preset, recipe)
    scene = describe(
        chosen, checked_integer("seed", seed, 0), checked_integer("n_labels", n_labels, 2)
    )
    rng = _node_stream(scene.seed, n_nodes)
    points = lattice_points(rng, n_nodes)
    edges = planar_edges(points)
    cell = 1.0 / np.sqrt(n_nodes)

    region, void = scene.layout.paint(sampled(points, cell))
    truth = _truth_counts(scene, region, void, rng)
    distribution = scene.net(points, cell, rng, stray=chosen.stray)
    similarity = _similarity(_node_colours(scene, points, region, cell, rng), edges, chosen)
    cliques = [_clique(scene, b, points) for b in range(len(scene.detections))]

    crf = CRF(
        -np.log(np.maximum(distribution, _SMALLEST_PROBABILITY)),
        *_potentials(scene, groups, edges[similarity > chosen.gate], cliques, n_nodes),
    )
    return Instance(
        crf=crf,
        features=_features(distribution, scene, cliques),
        edges=edges,
        edge_weights=softmax_over_neighbours(edges, similarity / chosen.temperature, n_nodes),
        truth=truth,
        feature_names=feature_names(scene.n_labels),
        source=_source(scene, groups, n_nodes),
        positions=points.astype(np.float32),
    )


def _source(scene: Description, groups: tuple[str, ...], n_nodes: int) -> dict[str, Any]:
    """What it takes to make the scene again."""
    return {
        "kind": "synthetic",
        "preset": scene.recipe.name,
        "seed": scene.seed,
        "n_nodes": n_nodes,
        "n_labels": scene.n_labels,
        "potentials": "+".join(groups),
        "recipe": scene.recipe.as_dict(),
    }


def _node_stream(seed: int, n_nodes: int) -> np.random.Generator:
    """What is random from node to node; its first draws place the nodes."""
    return np.random.default_rng([seed, n_nodes])


def _truth_counts(
    scene: Description, region: IntArray, void: BoolArray, rng: np.random.Generator
) -> IntArray:
    """Pixels of every label in each node `[N, L]`: sizes vary, boundaries mix, void is left out."""
    shares = label_counts(scene.layout.region_labels[region], ~void, scene.n_labels)
    pixels = scene.recipe.node_pixels * rng.lognormal(-0.045, 0.3, len(shares))
    per_sample = np.maximum(pixels / len(SAMPLES), 1.0)
    return np.rint(shares * per_sample[:, None]).astype(np.int64)


def _node_colours(
    scene: Description,
    points: FloatArray,
    region: IntArray,
    cell: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Mean colour of every node, `[N, 3]`."""
    look = scene.appearance
    base = look.colours[region].reshape(len(points), len(SAMPLES), 3).mean(axis=1)
    middle = region[:: len(SAMPLES)]
    colours = look.shade(base, points, middle, scene.recipe.texture, _WINDOW * cell)
    return colours + rng.normal(0.0, scene.recipe.colour_noise, colours.shape)


def _similarity(colours: FloatArray, edges: IntArray, recipe: SceneRecipe) -> FloatArray:
    """g_i · g_j of every edge `[M]`: the Gaussian kernel of the nodes' colours."""
    gaps = ((colours[edges[:, 0]] - colours[edges[:, 1]]) ** 2).sum(axis=1)
    return np.asarray(np.exp(-gaps / (2 * recipe.colour_scale**2)))


def _clique(scene: Description, box: int, points: FloatArray) -> IntArray:
    """I_b: the nodes of a box's foreground, or at least the node nearest to its centre."""
    detection = scene.detections[box]
    nodes = np.flatnonzero(scene.foreground(detection, points))
    if len(nodes) == 0:
        centre = 0.5 * (detection.box[:2] + detection.box[2:])
        nodes = np.argmin(((points - centre) ** 2).sum(axis=1), keepdims=True)
    return nodes.astype(np.int64)


def _features(
    distribution: FloatArray, scene: Description, cliques: list[IntArray]
) -> Float32Array:
    found = scene.detections
    boxes = np.array([d.box for d in found]).reshape(-1, 4)
    composition = np.array([distribution[nodes].mean(axis=0) for nodes in cliques])
    return paper_features(
        distribution,
        FeatureBoxes(
            members=cliques,
            labels=np.array([d.label for d in found], np.int64),
            confidences=np.array([d.confidence for d in found]),
            composition=composition.reshape(-1, scene.n_labels),
            cover=covered_share(boxes),
        ),
    )


def _potentials(
    scene: Description,
    groups: tuple[str, ...],
    similar: IntArray,
    cliques: list[IntArray],
    n_nodes: int,
) -> list[Potential]:
    recipe, detections = scene.recipe, scene.detections
    out: list[Potential] = []
    if "p" in groups:
        out.append(Potts(similar, recipe.pairwise_weight))
    if "hop1" in groups and detections:
        weights = [recipe.agreement_weight * d.confidence for d in detections]
        out.append(BoxAgreement(cliques, [d.label for d in detections], weights))
    if "hop2" in groups and detections:
        special = _with_quota(scene, cliques)
        chosen = [cliques[b] for b in special]
        out.append(
            BoxSupport(
                chosen,
                [detections[b].label for b in special],
                recipe.support_penalty * n_nodes,
                [len(nodes) / recipe.support_divisor for nodes in chosen],
            )
        )
    return out


def _with_quota(scene: Description, cliques: list[IntArray]) -> list[int]:
    """The boxes inside a larger one, except those whose quota contradicts a more confident box's.

    Each quota can be met by nodes that no earlier box of another label has: so all can be at once.
    """
    boxes: list[int] = []
    for b in np.flatnonzero(inside_larger(np.stack([d.box for d in scene.detections]))).tolist():
        label = scene.detections[b].label
        taken = [cliques[a] for a in boxes if scene.detections[a].label != label]
        free = np.setdiff1d(cliques[b], np.concatenate(taken)) if taken else cliques[b]
        if len(free) >= len(cliques[b]) / scene.recipe.support_divisor:
            boxes.append(b)
    return boxes
