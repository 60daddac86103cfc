"""Validation: every malformed input is a typed error that names the group and the entry."""

import pickle

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidInstance, InvalidLabeling, InvalidOption, InvalidPotential
from policrf.testing import check_potential, random_crf

UNARY = np.zeros((4, 3))
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: pc.CRF([1.0, 2.0]), r"unary: it must have shape \[N, L\]"),
        (lambda: pc.CRF(np.zeros((0, 3))), r"unary: it must have shape"),
        (lambda: pc.CRF([[0.0, NAN]]), "unary: node 0, label 1 is nan"),
        (lambda: pc.CRF([[0.0, -INF]]), "unary: node 0, label 1 is -inf"),
        (lambda: pc.CRF([[0.0, 1.0], [INF, INF]]), "unary: node 1 has no allowed label"),
        (lambda: pc.CRF([["a", "b"]]), "unary: unary must be an array of real numbers"),
        (lambda: pc.CRF(UNARY, cardinalities=[3, 3, 3]), r"cardinalities: shape \(3,\)"),
        (lambda: pc.CRF(UNARY, cardinalities=[3, 3, 4, 3]), "cardinalities: node 2 has 4"),
        (lambda: pc.CRF(UNARY, cardinalities=[3, 2, 3, 3]), "node 1 has 2 labels, so label 2"),
        (lambda: pc.CRF(UNARY, "potts"), "potential 0 is a str"),
        (lambda: pc.Potts([[0, 1, 2]]), r"Potts: edges must have shape \[E, 2\]"),
        (lambda: pc.Potts([[0, 1.5]]), "Potts: edges must be an array of integers"),
        (lambda: pc.Potts([[0, 1], [2, 2]]), "Potts: edge 1 joins node 2 to itself"),
        (lambda: pc.Potts([[0, 1], [1, 2], [1, 0]]), r"Potts: edge 2 \[1, 0\] repeats edge 0"),
        (lambda: pc.Potts([[0, -1]]), r"Potts: edge 0 is \[0, -1\]"),
        (lambda: pc.Potts([[0, 1]], [1.0, 2.0]), r"Potts: weights has shape \(2,\)"),
        (lambda: pc.Potts([[0, 1], [1, 2]], [1.0, NAN]), r"Potts: weights\[1\] is nan"),
        (lambda: pc.Potts([[0, 1]], INF), r"Potts: weights\[0\] is inf"),
        (lambda: pc.CRF(UNARY, pc.Potts([[0, 1], [2, 4]])), r"Potts: edge 1 is \[2, 4\]"),
        (lambda: pc.BoxAgreement([[0], []], [0, 0], 1.0), "BoxAgreement: clique 1 is empty"),
        (lambda: pc.BoxAgreement([[0, 1, 0]], [0], 1.0), "BoxAgreement: clique 0 repeats node 0"),
        (lambda: pc.BoxAgreement([[0, 1]], [0, 1], 1.0), "BoxAgreement: labels has shape"),
        (lambda: pc.BoxAgreement([[0, 1]], [0], [-1.0]), r"BoxAgreement: weights\[0\] is -1.0"),
        (lambda: pc.BoxAgreement(3, [0], [1.0]), "cliques must be a sequence"),
        (
            lambda: pc.CRF(UNARY, pc.BoxAgreement([[0], [1, 9]], [0, 1], 1.0)),
            "clique 1 names node 9",
        ),
        (
            lambda: pc.CRF(UNARY, pc.BoxAgreement([[0]], [3], 1.0)),
            r"labels\[0\] is 3, outside 0 … 2",
        ),
        (lambda: pc.BoxSupport([[0, 1]], [0], NAN, 1), r"BoxSupport: penalties\[0\] is nan"),
        (lambda: pc.BoxSupport([[0, 1]], [0], 1.0, [-1]), r"BoxSupport: counts\[0\] is -1.0"),
        (lambda: pc.Tables([[0, 1]], [np.zeros(3)]), "Tables: table 0 has 1 axes"),
        (
            lambda: pc.Tables([[0, 1]], np.zeros((2, 3, 3))),
            r"tables of shape \(2, 3, 3\) for 1 scopes",
        ),
        (lambda: pc.Tables([[0]], [[0.0, NAN, 0.0]]), r"Tables: table 0 at \[1\] is nan"),
        (
            lambda: pc.CRF(UNARY, pc.Tables([[0, 1]], np.zeros((1, 3, 2)))),
            r"table 0 has shape \(3, 2\)",
        ),
        (lambda: pc.Custom([[0]], 3), "Custom: function must be callable"),
        (lambda: pc.Custom([[0], [1]], max, [[1.0]]), "parameters for 1 cliques, but there are 2"),
        (lambda: pc.Custom([[0]], max, [[NAN]]), r"Custom: parameters\[0\] is nan"),
    ],
)
def test_malformed_potentials_are_named(build, says):
    with pytest.raises(InvalidPotential, match=says):
        build()


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 1, 2], r"shape \(4,\)"),
        ([0, 1, 2, 3], "label 3 of node 3 is outside 0 … 2"),
        ([0, 1, -1, 0], "label -1 of node 2"),
        ([0.0, 1.0, 2.0, 0.0], "labels must be integers"),
    ],
)
def test_malformed_labelings_are_named(labels, says):
    with pytest.raises(InvalidLabeling, match=says):
        pc.CRF(UNARY).energy(labels)


def test_everything_is_immutable_and_the_callers_arrays_stay_his():
    unary, edges = np.zeros((4, 3)), np.array([[0, 1], [1, 2]])
    potts = pc.Potts(edges, 1.0)
    crf = pc.CRF(unary, potts)
    unary[:] = 7.0
    edges[:] = 3
    assert crf.energy([0, 0, 0, 0]) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        crf.unary[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        crf.arrays.adj_weight[0] = 1.0
    with pytest.raises(AttributeError, match="immutable"):
        potts.weights = 3


def test_cliques_in_every_form_give_the_same_energy():
    lists = pc.BoxAgreement([[0, 1], [2, 3]], [0, 1], 1.0)
    array = pc.BoxAgreement(np.array([[0, 1], [2, 3]]), [0, 1], 1.0)
    csr = pc.BoxAgreement((np.array([0, 2, 4]), np.array([0, 1, 2, 3])), [0, 1], 1.0)
    energies = {pc.CRF(UNARY, group).energy([0, 1, 1, 2]) for group in (lists, array, csr)}
    assert energies == {2.0}


def test_groups_of_one_kind_add_up():
    one = pc.CRF(UNARY, pc.Potts([[0, 1], [1, 2]], [0.5, 0.25]))
    two = pc.CRF(UNARY, pc.Potts([[0, 1]], 0.5), pc.Potts([[1, 2]], 0.25))
    assert one.energy([0, 1, 2, 0]) == two.energy([0, 1, 2, 0]) == 0.75


@pytest.mark.parametrize(
    "group",
    [
        pc.Potts([[0, 1], [1, 2], [0, 3]], [0.5, -1.0, 2.0]),
        pc.BoxAgreement([[0, 1, 2], [3, 2]], [0, 2], [1.0, 0.3]),
        pc.BoxSupport([[0, 1, 2], [3, 2]], [0, 2], [1.0, 0.3], [2, 1]),
        pc.Tables([[0, 1], [2, 3]], np.random.default_rng(0).normal(size=(2, 3, 3))),
        pc.Custom([[0, 1, 3]], lambda labels, _: float(labels.max() - labels.min())),
    ],
    ids=lambda group: group.name,
)
def test_every_group_passes_the_public_check(group):
    check_potential(group, n_nodes=5, n_labels=3)


def test_a_crf_survives_pickling():
    crf = random_crf(1)
    assert pickle.loads(pickle.dumps(crf)).energy([0] * 6) == crf.energy([0] * 6)


def test_instance_from_crf_has_the_papers_features():
    crf = random_crf(3, n_nodes=7, n_labels=3)
    instance = pc.Instance.from_crf(crf)
    assert instance.features.shape == (7, 4 * 3 + 1)
    np.testing.assert_allclose(instance.features[:, :3].sum(axis=1), 1, rtol=1e-6)
    into = np.zeros(7)
    np.add.at(into, instance.edges.reshape(-1), instance.edge_weights.reshape(-1))
    linked = np.unique(instance.edges)
    np.testing.assert_allclose(into[linked], 1, rtol=1e-5)


def test_box_features_describe_the_most_confident_box():
    unary = -np.log(np.array([[0.8, 0.2], [0.6, 0.4], [0.5, 0.5]]))
    boxes = pc.BoxAgreement([[0, 1], [1, 2]], [0, 1], [1.0, 0.5])
    features = pc.Instance.from_crf(pc.CRF(unary, boxes)).features
    confidence, box_unary, overlap = features[:, 3:5], features[:, 5:7], features[:, 7:9]
    np.testing.assert_allclose(confidence, [[1, 0], [1, 0.5], [0, 0.5]])
    np.testing.assert_allclose(box_unary, [[0.7, 0.3], [0.7, 0.3], [0.55, 0.45]], rtol=1e-6)
    np.testing.assert_allclose(overlap, [[0, 0.25], [0, 0.25], [0.5, 0]])


def test_an_instance_that_does_not_fit_is_refused():
    crf = pc.CRF(UNARY)
    good = {"features": np.zeros((4, 2)), "edges": [[0, 1]], "edge_weights": [[1.0, 1.0]]}
    pc.Instance(crf, **good)
    for field, value, says in [
        ("features", np.zeros((3, 2)), r"features must have shape \[4, F\]"),
        ("features", np.full((4, 2), NAN), r"features\[0, 0\] is not finite"),
        ("edges", [[0, 4]], "outside 0 … 3"),
        ("edge_weights", [[1.0, 1.0], [1.0, 1.0]], "2 edge weights for 1 edges"),
        ("truth", np.zeros((4, 2)), r"truth must be counts ≥ 0 of shape \[4, 3\]"),
        ("label_names", ("a",), "label_names has 1 names for 3"),
    ]:
        with pytest.raises(InvalidInstance, match=says):
            pc.Instance(crf, **{**good, field: value})


def test_true_labels_are_majorities_and_void_is_marked():
    counts = [[3, 0, 1], [0, 0, 0], [1, 5, 5], [0, 0, 2]]
    instance = pc.Instance(
        pc.CRF(UNARY), np.zeros((4, 1)), np.zeros((0, 2)), np.zeros((0, 2)), truth=counts
    )
    assert instance.true_labels.tolist() == [0, -1, 1, 2]


def test_energies_by_name():
    from policrf.crf.selection import restrict_crf

    crf = random_crf(0)
    assert restrict_crf(crf, "u").potentials == ()
    assert [p.name for p in restrict_crf(crf, "U+P+hop1").potentials] == ["Potts", "BoxAgreement"]
    with pytest.raises(InvalidOption, match="'hop3' is unknown"):
        restrict_crf(crf, "u+hop3")
