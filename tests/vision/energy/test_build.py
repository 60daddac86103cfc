import math
from dataclasses import replace

import numpy as np
import pytest
from tests.vision.builders import LABELS, recipe, record, scene

import policrf as pc
from policrf.crf.box_overlap import covered_share
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potts
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.energy.build import box_members, pairwise, to_instance, unary
from policrf.vision.energy.node_features import RIDDEN_NAMES, node_features
from policrf.vision.energy.weights import Energy
from policrf.vision.pipeline import Pipeline

RECORD = record(0)


def plain(**changes):
    """The paper's energy with a contrast gate: no long-range edges, no band, equal nodes."""
    settings = {"unary": "mean", "alpha": 0.1, "sigma_colour": 10.0, "long_range": 0.0, "band": 0}
    return Energy(**(settings | changes))


def group(instance, kind):
    (found,) = instance.crf.groups(kind)
    return found


def test_energy_files_round_trip(tmp_path):
    energy = Energy(gate="above", lambda_=3, sigma_feature=0.25)
    energy.save(tmp_path / "energy.yaml", {"images": 5})
    assert Energy.load(tmp_path / "energy.yaml") == energy
    assert "lambda: 3.0" in (tmp_path / "energy.yaml").read_text()
    Energy().save(tmp_path / "inf.yaml")
    assert math.isinf(Energy.load(tmp_path / "inf.yaml").sigma_feature)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate": "left"}, "below, above, contrast"),
        ({"alpha": -1}, "alpha is -1"),
        ({"pixels": -1}, "pixels is -1"),
        ({"pixels": math.inf}, "pixels is inf"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"C": 0.5}, "C is 0.5"),
        ({"lambda": math.nan}, "lambda is nan"),
        ({"foreground": 0}, "foreground"),
        ({"temperature": 0}, "temperature"),
        ({"gamma": 1}, "no weight 'gamma'"),
    ],
)
def test_wrong_energies(changes, message):
    with pytest.raises(InvalidOption, match=message):
        Energy.from_dict(changes)


@pytest.mark.parametrize("text", ["- 1", "alpha: [", "just words"])
def test_files_that_are_no_energies(tmp_path, text):
    (tmp_path / "energy.yaml").write_text(text)
    with pytest.raises(InvalidFile, match=r"energy\.yaml"):
        Energy.load(tmp_path / "energy.yaml")


def test_unary_is_the_negative_logarithm_of_the_mean_distribution():
    instance = to_instance(RECORD, plain(floor=1e-6), potentials="u")
    np.testing.assert_allclose(
        np.exp(-instance.crf.unary), np.maximum(RECORD.distribution, 1e-6), rtol=1e-5
    )


def test_the_hard_gates_split_the_edges():
    beta = float(np.median(RECORD.product))
    below = pairwise(RECORD, plain(gate="below", alpha=0.7, beta=beta))
    above = pairwise(RECORD, plain(gate="above", alpha=0.7, beta=beta))
    assert len(below.edges) + len(above.edges) == len(RECORD.edges)
    assert (below.weights == 0.7).all()
    lookup = {tuple(edge): p for edge, p in zip(RECORD.edges.tolist(), RECORD.product, strict=True)}
    assert all(abs(lookup[tuple(edge)]) < beta for edge in below.edges.tolist())
    assert all(abs(lookup[tuple(edge)]) >= beta for edge in above.edges.tolist())


def test_contrast_weights_follow_length_and_likeness():
    energy = plain(gate="contrast", alpha=0.5, sigma_colour=12, sigma_feature=0.3)
    found = pairwise(RECORD, energy)
    lookup = dict(zip(map(tuple, found.edges.tolist()), found.weights, strict=True))
    for k in range(0, len(RECORD.edges), 7):
        i, j = RECORD.edges[k].tolist()
        difference = RECORD.colour[i].astype(float) - RECORD.colour[j]
        expected = (
            0.5
            * RECORD.length[k]
            * math.exp(
                -(difference @ difference) / (2 * 12**2) - (1 - float(RECORD.product[k])) / 0.3
            )
        )
        assert lookup.get((i, j), 0.0) == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_hop1_is_weight_times_confidence_on_the_foreground():
    instance = to_instance(RECORD, plain(w=0.5), potentials="u+hop1")
    boxes = group(instance, BoxAgreement)
    members = box_members(RECORD, 0.5)
    labeled = np.flatnonzero(RECORD.box_labels > 0)
    np.testing.assert_allclose(boxes.weights, 0.5 * RECORD.box_scores[labeled], rtol=1e-6)
    for clique, b in zip(boxes, labeled, strict=True):
        np.testing.assert_array_equal(np.sort(clique), np.sort(members[b]))


def test_hop2_asks_special_boxes_for_a_share_of_their_nodes():
    assert (RECORD.box_support >= 0).any(), "the scene must have a box inside another"
    for energy, boxes in (
        (plain(C=3, lambda_=2), RECORD.box_support >= 0),
        (plain(C=3, lambda_=2, support="all"), RECORD.box_labels > 0),
    ):
        found = group(to_instance(RECORD, energy, potentials="u+hop2"), BoxSupport)
        sizes = found.cliques.sizes
        np.testing.assert_array_equal(found.counts, np.ceil(sizes / 3))
        np.testing.assert_allclose(found.penalties, 2 * sizes * RECORD.box_scores[boxes], rtol=1e-6)
    fixed = to_instance(RECORD, plain(lambda_=2, penalty="fixed"), potentials="u+hop2")
    assert (group(fixed, BoxSupport).penalties == 2).all()


def test_a_box_without_enough_foreground_keeps_its_best_superpixel():
    members = box_members(RECORD, 1.0)
    assert all(len(nodes) >= 1 for nodes in members)


def test_potentials_are_chosen_by_name():
    energy = plain()
    kinds = {
        "u": (),
        "u+p": (Potts,),
        "u+p+hop1": (Potts, BoxAgreement),
        "u+p+hop1+hop2": (Potts, BoxAgreement, BoxSupport),
    }
    for names, wanted in kinds.items():
        found = to_instance(RECORD, energy, potentials=names).crf.potentials
        assert tuple(type(p) for p in found) == wanted
    assert to_instance(RECORD, plain(w=0, lambda_=0)).crf.groups(BoxAgreement, BoxSupport) == []


def test_paper_features_have_four_l_plus_one_columns():
    instance = to_instance(RECORD, plain())
    n_labels = len(LABELS)
    assert instance.features.shape == (RECORD.n_nodes, 4 * n_labels + 1)
    names = instance.feature_names
    assert names[n_labels] == "entropy"
    best = int(RECORD.box_labels[0])  # boxes are sorted by confidence
    inside = box_members(RECORD, 0.5)[0]
    column = names.index(f"box_confidence:{best}")
    np.testing.assert_allclose(instance.features[inside, column], RECORD.box_scores[0])
    start = names.index("box_unary:0")
    composition = instance.features[inside][:, start : start + n_labels]
    np.testing.assert_allclose(
        composition, np.tile(RECORD.box_distribution[0], (len(inside), 1)), atol=1e-6
    )


def test_twenty_one_labels_give_the_papers_85():
    wide = record(0, labels=("background", *map(str, range(20))), net_classes=LABELS)
    values, names = node_features(wide, box_members(wide, 0.5), "paper")
    assert values.shape[1] == len(names) == 85


def test_appearance_is_a_further_set():
    instance = to_instance(RECORD, plain(), features="paper+appearance")
    assert instance.feature_names[-3:] == ("position:y", "position:x", "size")
    assert instance.features.shape[1] == 4 * len(LABELS) + 1 + 6
    with pytest.raises(InvalidOption, match="paper, appearance, ridden"):
        to_instance(RECORD, plain(), features="smell")


def test_edge_weights_into_a_node_sum_to_one():
    instance = to_instance(RECORD, plain(temperature=0.05))
    total = np.zeros(RECORD.n_nodes)
    np.add.at(total, instance.edges[:, 0], instance.edge_weights[:, 0])
    np.add.at(total, instance.edges[:, 1], instance.edge_weights[:, 1])
    np.testing.assert_allclose(total, 1, atol=1e-5)


def test_truth_counts_every_pixel_once():
    counts = RECORD.truth
    assert counts.sum() == RECORD.net_confusion.sum() <= RECORD.size.sum() == 72 * 96
    assert (counts.sum(axis=1) <= RECORD.size).all()


def test_positions_are_the_centres_of_superpixels_in_pixels():
    rendered = scene(0)
    view = Pipeline(recipe()).view(rendered.image, scores=rendered.scores)
    positions = to_instance(view.record, plain()).positions
    for node in (0, 7, view.record.n_nodes - 1):
        rows, columns = np.nonzero(view.segments == node)
        centre = [columns.mean() + 0.5, rows.mean() + 0.5]
        np.testing.assert_allclose(positions[node], centre, rtol=1e-4)


def test_the_crf_repairs_the_net():
    right = {"unary": 0, "icm": 0}
    for seed in range(4):
        instance = to_instance(record(seed), plain(alpha=0.1, sigma_colour=20))
        for solver in right:
            labels = pc.solve(instance, solver).labels
            right[solver] += instance.truth[np.arange(len(labels)), labels].sum()
    assert right["icm"] > right["unary"]


def test_unaries_by_pixels_are_sums_of_log_probabilities():
    rendered = scene(0)
    view = Pipeline(recipe()).view(rendered.image, scores=rendered.scores)
    found = unary(view.record, plain(unary="pixels", floor=1e-9))
    logs = -np.log(np.maximum(view.distribution, 1e-9))
    best = view.distribution.argmax(axis=0)
    label = found.argmin(axis=1)[view.segments]
    for node in range(0, view.record.n_nodes, 9):
        own = (view.segments == node) & (best == label)  # joined fragments have no say
        expected = logs[:, own].mean(axis=1) * (view.segments == node).sum()
        np.testing.assert_allclose(found[node], expected, rtol=1e-4)


def test_weights_by_pixels_grow_with_the_pixels():
    mean, pixels = plain(w=0.5, lambda_=2, C=3), plain(w=0.5, lambda_=2, C=3, unary="pixels")
    one, other = (to_instance(RECORD, e, potentials="u+hop1+hop2") for e in (mean, pixels))
    for kind, weights in ((BoxAgreement, "weights"), (BoxSupport, "penalties")):
        first, second = group(one, kind), group(other, kind)
        sizes = [RECORD.pixels[clique].mean() for clique in first]
        np.testing.assert_allclose(
            getattr(second, weights), getattr(first, weights) * sizes, rtol=1e-6
        )
    beta = float(np.median(RECORD.product))
    gate = plain(gate="above", alpha=0.7, beta=beta, unary="pixels")
    np.testing.assert_allclose(
        pairwise(RECORD, gate).weights, 0.7 * RECORD.length[np.abs(RECORD.product) >= beta]
    )


def test_ridden_boxes_are_seen_by_the_features_and_by_nothing_else():
    b = 1  # becomes a bicycle: no label, but its rider's box and its own nodes know of it
    labels = np.where(np.arange(len(RECORD.box_labels)) == b, -1, RECORD.box_labels)
    record = replace(RECORD, box_labels=labels.astype(np.int32))
    built = to_instance(record, plain(), features="paper+ridden")
    assert built.feature_names[-2:] == RIDDEN_NAMES
    on, cover = built.features[:, -2:].T
    nodes = box_members(record, plain().foreground)[b]
    assert len(nodes)
    np.testing.assert_array_equal(on[nodes], record.box_scores[b])
    assert on.sum() == pytest.approx(len(nodes) * record.box_scores[b], rel=1e-6)
    shares = covered_share(record.boxes)[:, b] * record.box_scores[b]
    assert cover.max() == pytest.approx(np.delete(shares, b).max(), rel=1e-6)
    without = to_instance(RECORD, plain(), features="paper+ridden").features
    assert not without[:, -2:].any()
    with pytest.raises(InvalidOption, match="joined by"):
        to_instance(record, plain(), features="paper+wheels")
