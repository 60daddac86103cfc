"""make_scene: a synthetic instance of any size in milliseconds, on a planar graph, without an image."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential, Potts
from policrf.crf.synthetic.boxes import inside_larger
from policrf.crf.synthetic.description import Description, describe
from policrf.crf.synthetic.features import feature_names, scene_features
from policrf.crf.synthetic.graph import lattice_points, planar_edges, softmax_weights
from policrf.crf.synthetic.recipe import SceneRecipe, chosen_recipe
from policrf.crf.synthetic.scores import probabilities
from policrf.errors import InvalidOption

FEWEST_NODES, MOST_NODES = 20, 100_000
GROUPS = ("u", "p", "hop1", "hop2")

# A node stands for five points: its centre and four around it, in units of the lattice's cell.
_SAMPLES = np.asarray([[0.0, 0.0], [0.25, 0.25], [-0.25, 0.25], [0.25, -0.25], [-0.25, -0.25]])


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
    n_nodes: from 20 to 100,000.
    preset: "A" (scores right on 85 % of the nodes) or "B" (50 %), see `SceneRecipe`.
    seed: the same arguments give the same arrays; `render_scene` shows the same objects, errors and
        boxes for the same seed.
    potentials: groups to put into the energy: "u" and any of "p", "hop1", "hop2", joined by "+".
    recipe: a recipe of your own, instead of a preset.

    >>> make_scene(50, "B", potentials="u+p").crf.n_labels
    21
    """
    n_nodes = checked_size(n_nodes)
    chosen = chosen_recipe(preset, recipe)
    groups = checked_groups(potentials)
    scene = describe(chosen, checked_seed(seed), checked_labels(n_labels))
    rng = np.random.default_rng([scene.seed, n_nodes])

    points = lattice_points(rng, n_nodes)
    edges = planar_edges(points)
    truth = _truth_counts(scene, points, rng)
    distribution = _distribution(scene, points, rng)
    similarity = _similarity(scene, points, edges, rng)
    cliques = _cliques(scene, points)

    crf = CRF(
        -np.log(np.maximum(distribution, 1e-12)),
        *_potentials(scene, groups, edges, similarity, cliques, n_nodes),
    )
    return Instance(
        crf,
        scene_features(distribution, scene.detections, cliques),
        edges,
        softmax_weights(edges, similarity, n_nodes, chosen.temperature),
        truth,
        feature_names=feature_names(scene.n_labels),
        source={
            "kind": "synthetic",
            "preset": chosen.name,
            "seed": scene.seed,
            "n_nodes": n_nodes,
            "n_labels": scene.n_labels,
            "potentials": "+".join(g for g in GROUPS if g in groups),
            "recipe": chosen.as_dict(),
        },
    )


def checked_size(n_nodes: int) -> int:
    """N, if it is one that scenes have."""
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, Integral):
        raise InvalidOption(f"n_nodes must be an integer, not {n_nodes!r}")
    if not FEWEST_NODES <= n_nodes <= MOST_NODES:
        raise InvalidOption(
            f"n_nodes is {n_nodes}; scenes have from {FEWEST_NODES} to {MOST_NODES:,} nodes"
        )
    return int(n_nodes)


def checked_labels(n_labels: int) -> int:
    """L, if it leaves a label besides the background."""
    if isinstance(n_labels, bool) or not isinstance(n_labels, Integral) or n_labels < 2:
        raise InvalidOption(f"n_labels must be an integer of at least 2, not {n_labels!r}")
    return int(n_labels)


def checked_seed(seed: int) -> int:
    """The seed, which must not be negative."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InvalidOption(f"seed must be an integer of at least 0, not {seed!r}")
    return int(seed)


def checked_groups(potentials: str) -> frozenset[str]:
    """The groups named by "u+p+hop1+hop2", in any order; the unary is always one of them."""
    names = [name.strip() for name in potentials.split("+")] if isinstance(potentials, str) else []
    if len(set(names)) != len(names) or not set(names) <= set(GROUPS) or "u" not in names:
        raise InvalidOption(
            f"potentials is {potentials!r}; give u and any of p, hop1, hop2 once, such as 'u+p+hop1'"
        )
    return frozenset(names)


def _sampled(points: FloatArray, n_nodes: int) -> FloatArray:
    """`[5 · N, 2]`: the five points of each node, node by node."""
    cell = 1.0 / np.sqrt(n_nodes)
    return np.asarray((points[:, None, :] + cell * _SAMPLES).reshape(-1, 2))


def _label_shares(labels: IntArray, keep: np.ndarray, n_nodes: int, n_labels: int) -> FloatArray:
    """`[N, L]`: how many of a node's five points are kept and have each label."""
    node = np.repeat(np.arange(n_nodes), len(_SAMPLES))
    codes = (node * n_labels + labels)[keep]
    return np.bincount(codes, minlength=n_nodes * n_labels).reshape(n_nodes, n_labels).astype(float)


def _truth_counts(scene: Description, points: FloatArray, rng: np.random.Generator) -> IntArray:
    """Pixels of every label in each node `[N, L]`: sizes vary, boundaries mix labels, void is left out."""
    n_nodes = len(points)
    region, void = scene.layout.paint(_sampled(points, n_nodes))
    shares = _label_shares(scene.layout.region_labels[region], ~void, n_nodes, scene.n_labels)
    pixels = scene.recipe.mixed_pixels * rng.lognormal(-0.045, 0.3, n_nodes)
    return np.rint(shares * (np.maximum(pixels, 5.0) / len(_SAMPLES))[:, None]).astype(np.int64)


def _distribution(scene: Description, points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The net's distribution in every node, `[N, L]`."""
    n_nodes = len(points)
    shift = scene.errors.seen_points(points, scene.recipe) - points
    samples = _sampled(points, n_nodes) + np.repeat(shift, len(_SAMPLES), axis=0)
    labels = scene.layout.region_labels[scene.layout.seen_regions(samples)]
    shares = _label_shares(labels, np.ones(len(labels), np.bool_), n_nodes, scene.n_labels)
    return probabilities(points, shares / len(_SAMPLES), scene.errors, scene.recipe, rng)


def _similarity(
    scene: Description, points: FloatArray, edges: IntArray, rng: np.random.Generator
) -> FloatArray:
    """g_i · g_j of every edge `[M]`: the Gaussian kernel of the nodes' colours."""
    region, _ = scene.layout.paint(points)
    colours = scene.appearance(points, region, scene.recipe.texture)
    colours += rng.normal(0.0, scene.recipe.colour_noise, colours.shape)
    gaps = ((colours[edges[:, 0]] - colours[edges[:, 1]]) ** 2).sum(axis=1)
    return np.asarray(np.exp(-gaps / (2 * scene.recipe.colour_scale**2)))


def _cliques(scene: Description, points: FloatArray) -> list[IntArray]:
    """I_b of every box: the nodes of its foreground, or the node nearest to its centre."""
    cliques = []
    for detection in scene.detections:
        mask = detection.foreground(points, scene.foreground_error, scene.recipe.foreground_error)
        nodes = np.flatnonzero(mask)
        if len(nodes) == 0:
            centre = 0.5 * (detection.box[:2] + detection.box[2:])
            nodes = np.argmin(((points - centre) ** 2).sum(axis=1), keepdims=True)
        cliques.append(nodes.astype(np.int64))
    return cliques


def _potentials(
    scene: Description,
    groups: frozenset[str],
    edges: IntArray,
    similarity: FloatArray,
    cliques: list[IntArray],
    n_nodes: int,
) -> list[Potential]:
    recipe, detections = scene.recipe, scene.detections
    out: list[Potential] = []
    if "p" in groups:
        out.append(Potts(edges[similarity > recipe.gate], recipe.pairwise_weight))
    if "hop1" in groups and detections:
        weights = [recipe.agreement_weight * d.confidence for d in detections]
        out.append(BoxAgreement(cliques, [d.label for d in detections], weights))
    if "hop2" in groups and detections:
        special = np.flatnonzero(inside_larger(np.stack([d.box for d in detections])))
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
