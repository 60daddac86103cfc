"""Alpha-expansion: every move against all 2^n of them, exactness, refusals, quotas and gaps."""

import itertools

import numpy as np
import pytest
from tests.shared_data import DATA
from tests.timing import best_of_several, lateness

import policrf as pc
from policrf.errors import InvalidOption, UnsupportedPotential
from policrf.solvers.cuts.alpha_expansion import alpha_expansion
from policrf.solvers.cuts.expansion_move import expand, expand_each
from policrf.solvers.cuts.expansion_problem import move_problem
from policrf.solvers.cuts.maxflow import PATIENCE
from policrf.solvers.cuts.move_state import move_state
from policrf.solvers.run import Run

UAI = DATA / "uai"


def metric_table(rng, rows, columns) -> np.ndarray:
    """f(x) + g(y) + |position(x) − position(y)|: submodular in every move."""
    position = rng.normal(size=max(rows, columns))
    distance = np.abs(position[:, None] - position[None])[:rows, :columns]
    return rng.normal(size=(rows, 1)) + rng.normal(size=(1, columns)) + 2 * distance


def metric_crf(seed, *, n_nodes=7, n_labels=3, quotas=False, equal=False) -> pc.CRF:
    """Potts, HOP1, tables of order 1 and 2, forbidden labels and unequal cardinalities."""
    rng = np.random.default_rng(seed)
    unary = rng.normal(size=(n_nodes, n_labels))
    cards = np.full(n_nodes, n_labels) if equal else rng.integers(1, n_labels + 1, n_nodes)
    unary[np.arange(n_labels) >= cards[:, None]] = np.inf
    unary[np.arange(1, n_nodes), 0] = np.where(
        (cards[1:] > 1) & (rng.random(n_nodes - 1) < 0.2), np.inf, unary[1:, 0]
    )
    pairs = np.array([p for p in itertools.combinations(range(n_nodes), 2) if rng.random() < 0.5])
    is_table = rng.random(len(pairs)) < 0.3
    scopes = [*pairs[is_table].tolist(), [0]]
    tables = [metric_table(rng, cards[i], cards[j]) for i, j in pairs[is_table]]
    tables.append(rng.normal(size=cards[0]))
    boxes = [rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)] for _ in range(3)]
    labels = rng.integers(0, int(cards.max()), 3)
    groups = [
        pc.Potts(pairs[~is_table], rng.random(int((~is_table).sum()))),
        pc.BoxAgreement(boxes, labels, rng.random(3)),
        pc.Tables(scopes, tables),
    ]
    if quotas:
        counts = [len(box) / 2 for box in boxes[:2]]
        groups.append(pc.BoxSupport(boxes[:2], labels[:2], 2 * rng.random(2), counts))
    return pc.CRF(unary, *groups, cardinalities=cards)


def allowed_labelings(crf) -> list[tuple[int, ...]]:
    return list(itertools.product(*(np.flatnonzero(np.isfinite(row)) for row in crf.unary)))


def minimum(crf) -> float:
    return min(crf.energy(list(labels)) for labels in allowed_labelings(crf))


@pytest.mark.parametrize("seed", range(25))
def test_a_move_is_the_best_of_all_moves(seed):
    crf = metric_crf(seed)
    rng = np.random.default_rng(seed)
    problem = move_problem(crf)
    for alpha in range(crf.n_labels):
        start = np.array([rng.choice(np.flatnonzero(np.isfinite(row))) for row in crf.unary])
        choices = [
            (label, alpha) if np.isfinite(crf.unary[i, alpha]) else (label,)
            for i, label in enumerate(start)
        ]
        lowest = min(crf.energy(list(labels)) for labels in itertools.product(*choices))
        state = move_state(problem, start)
        gain = expand(problem, state, alpha)
        assert crf.energy(state.labels) == pytest.approx(lowest, abs=1e-9)
        assert crf.energy(start) - gain == pytest.approx(lowest, abs=1e-9)
        boxes = crf.groups(pc.BoxAgreement)[0]
        matches = [
            np.count_nonzero(state.labels[box] == label)
            for box, label in zip(boxes, boxes.labels, strict=True)
        ]
        assert state.matches.tolist() == matches


@pytest.mark.parametrize("tied", [True, False])
def test_moves_of_boxes_that_stand_at_the_half(tied):
    # 2 of 4 (or of 5) members match: either value of z_b is (nearly) as good before the move.
    size = 4 if tied else 5
    for seed in range(20):
        rng = np.random.default_rng(seed)
        crf = pc.CRF(
            rng.normal(size=(size, 3)),
            pc.BoxAgreement([list(range(size))] * 2, [1, 2], 2 * rng.random(2)),
        )
        problem = move_problem(crf)
        start = np.array([1, 1, 0, 2, 2][:size])
        for alpha in range(3):
            state = move_state(problem, start)
            expand(problem, state, alpha)
            choices = itertools.product(*((label, alpha) for label in start))
            lowest = min(crf.energy(list(labels)) for labels in choices)
            assert crf.energy(state.labels) == pytest.approx(lowest, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_is_a_minimum_of_every_move(seed):
    crf = metric_crf(seed, n_nodes=9, n_labels=4)
    solution = pc.solve(crf, "alpha_expansion")
    assert solution.info["converged"]
    problem = move_problem(crf)
    for alpha in range(crf.n_labels):
        assert expand(problem, move_state(problem, solution.labels), alpha) == 0.0
    assert solution.energy >= minimum(crf) - 1e-9


@pytest.mark.parametrize("seed", range(15))
def test_two_labels_are_solved_and_proven(seed):
    crf = metric_crf(seed, n_nodes=9, n_labels=2, equal=True)
    solution = pc.solve(crf, "alpha_expansion")
    assert solution.energy == pytest.approx(minimum(crf), abs=1e-9)
    assert solution.optimal
    assert solution.lower_bound == pytest.approx(solution.energy)


@pytest.mark.parametrize("hop2", ["repair", "lagrangian", "ignore"])
@pytest.mark.parametrize("seed", range(8))
def test_two_labels_with_quotas_come_with_a_bound(seed, hop2):
    crf = metric_crf(seed, n_nodes=8, n_labels=2, quotas=True, equal=True)
    solution = pc.solve(crf, "alpha_expansion", hop2=hop2)
    lowest = minimum(crf)
    assert solution.energy >= lowest - 1e-9
    assert -np.inf < solution.lower_bound <= lowest + 1e-9


def test_independent_nodes_and_a_single_label_are_proven():
    unary = np.random.default_rng(0).normal(size=(6, 4))
    assert pc.solve(pc.CRF(unary), "alpha_expansion").optimal
    assert pc.solve(pc.CRF(unary[:1]), "alpha_expansion").optimal
    assert pc.solve(pc.CRF(unary[:, :1], pc.Potts([[0, 1]], 1.0)), "alpha_expansion").optimal


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_scale_of_the_energy_changes_nothing(scale):
    scene = pc.make_scene(120, "B", seed=4, potentials="u+p+hop1+hop2").crf
    potts, agree, support = scene.potentials
    scaled = pc.CRF(
        scale * scene.unary,
        pc.Potts(potts.edges, scale * potts.weights),
        pc.BoxAgreement(agree.cliques, agree.labels, scale * agree.weights),
        pc.BoxSupport(support.cliques, support.labels, scale * support.penalties, support.counts),
    )
    here = pc.solve(scene, "alpha_expansion")
    there = pc.solve(scaled, "alpha_expansion")
    assert there.energy == pytest.approx(scale * here.energy, rel=1e-9)


def test_refusals_name_the_potential():
    unary = np.zeros((3, 3))
    with pytest.raises(UnsupportedPotential, match=r"negative weights: weights\[1\] is -2.0"):
        pc.solve(pc.CRF(unary, pc.Potts([[0, 1], [1, 2]], [1.0, -2.0])), "alpha_expansion")
    truncated = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    zeros = np.zeros((3, 3))
    crf = pc.CRF(unary, pc.Potts([[0, 1]], 1.0), pc.Tables([[0, 1], [1, 2]], [zeros, truncated]))
    with pytest.raises(UnsupportedPotential, match=r"table 1 \(nodes \[1, 2\]\) is non-metric"):
        pc.solve(crf, "alpha_expansion")
    with pytest.raises(UnsupportedPotential, match="order 3"):
        pc.solve(pc.CRF(unary, pc.Tables([[0, 1, 2]], [np.zeros((3, 3, 3))])), "alpha_expansion")
    with pytest.raises(UnsupportedPotential, match="cannot take Custom"):
        pc.solve(pc.CRF(unary, pc.Custom([[0, 1]], lambda y, _: 0.0)), "alpha_expansion")
    infinite = np.where(np.eye(3) > 0, 0.0, np.inf)
    with pytest.raises(UnsupportedPotential, match="infinite"):
        pc.solve(pc.CRF(unary, pc.Tables([[0, 1]], [infinite])), "alpha_expansion")


def test_a_table_need_only_be_metric_on_labels_its_nodes_may_have():
    bad = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, np.inf]])
    unary = np.random.default_rng(0).normal(size=(2, 3))
    unary[:, 2] = np.inf
    crf = pc.CRF(unary, pc.Tables([[0, 1]], [bad]))
    solution = pc.solve(crf, "alpha_expansion")
    assert solution.optimal
    assert solution.energy == pytest.approx(minimum(crf))


def test_options_out_of_range_are_explained():
    crf = pc.CRF([[0.0, 1.0]])
    with pytest.raises(InvalidOption, match="hop2 must be one of repair, lagrangian, ignore"):
        pc.solve(crf, "alpha_expansion", hop2="both")
    with pytest.raises(InvalidOption, match="orders must be a whole number ≥ 1, not 0"):
        pc.solve(crf, "alpha_expansion", orders=0)


def test_an_initial_labeling_may_be_forbidden_and_is_left():
    unary = [[0.0, np.inf], [1.0, 0.0]]
    solution = pc.solve(pc.CRF(unary, pc.Potts([[0, 1]], 0.5)), "alpha_expansion", initial=[1, 1])
    assert solution.labels.tolist() == [0, 1]


def test_the_same_seed_gives_the_same_answer_in_random_orders():
    crf = pc.make_scene(300, "B", seed=1, potentials="u+p+hop1+hop2").crf
    runs = [pc.solve(crf, "alpha_expansion", orders=4, seed=5) for _ in range(2)]
    assert runs[0].labels.tolist() == runs[1].labels.tolist()
    assert runs[0].energy <= pc.solve(crf, "alpha_expansion", orders=1).energy * 1.001


@pytest.mark.parametrize("looks", [1, 5])
def test_stops_when_the_time_is_up(looks):
    crf = pc.make_scene(1000, "B", seed=0, potentials="u+p+hop1+hop2").crf
    run = Run(crf, "alpha_expansion")
    asked = itertools.count(1)
    run.expired = lambda: next(asked) > looks
    alpha_expansion(run, hop2="lagrangian", iterations=1000)
    # Nested loops each ask once more on the way out.
    assert next(asked) <= looks + 30
    stopped = run.solution()
    assert np.isfinite(stopped.energy)
    assert stopped.energy > pc.solve(crf, "alpha_expansion", hop2="lagrangian").energy


@pytest.mark.parametrize("seed", range(12))
def test_quotas_against_brute_force(seed):
    crf = metric_crf(seed, n_nodes=8, quotas=True)
    lowest = minimum(crf)
    energy = {
        hop2: pc.solve(crf, "alpha_expansion", hop2=hop2).energy
        for hop2 in ("ignore", "repair", "lagrangian")
    }
    assert lowest - 1e-9 <= energy["lagrangian"] <= energy["repair"] <= energy["ignore"]


def test_a_quota_is_met_when_it_pays_and_left_when_it_does_not():
    unary = np.array([[0.0, 1.0]] * 6)
    chain = pc.Potts([[i, i + 1] for i in range(5)], 0.5)

    def solved(penalty):
        crf = pc.CRF(unary, chain, pc.BoxSupport([[0, 1, 2, 3]], [1], [penalty], [2]))
        return pc.solve(crf, "alpha_expansion")

    # Two nodes at the end of the chain cost 2 × 1 and one edge.
    assert solved(2.4).labels.tolist() == [0] * 6
    assert solved(2.6).labels.tolist() == [1, 1, 0, 0, 0, 0]
    assert 0.0 < solved(2.6).lower_bound <= 2.5


@pytest.mark.parametrize("regime", ["A", "B"])
def test_gaps_with_hop1_stay_below_a_sixth_of_a_percent(regime):
    for seed in range(4):
        crf = pc.make_scene(400, regime, seed=seed, potentials="u+p+hop1").crf
        proven = pc.solve(crf, "exact", seconds=600)
        energy = pc.solve(crf, "alpha_expansion").energy
        assert proven.lower_bound <= energy + 1e-6
        assert energy <= proven.energy * 1.0015


def test_gaps_with_quotas():
    gaps = {"repair": [], "lagrangian": []}
    for seed in range(6):
        crf = pc.make_scene(200, "B", seed=seed, potentials="u+p+hop1+hop2").crf
        best = pc.solve(crf, "exact", seconds=600)
        for hop2, found in gaps.items():
            energy = pc.solve(crf, "alpha_expansion", hop2=hop2).energy
            found.append(energy / best.lower_bound - 1)
    assert min(gaps["repair"]) > -1e-9
    assert np.mean(gaps["repair"]) < 0.009
    assert np.mean(gaps["lagrangian"]) < 0.005


def test_moves_that_pause_are_the_same_moves():
    crf = pc.make_scene(300, "B", seed=1, potentials="u+p").crf
    start, order = np.argmin(crf.unary, axis=1), np.arange(crf.n_labels)
    found = []
    for patience in (3, 10**9):
        problem = move_problem(crf)
        problem.network.counts[PATIENCE] = patience
        state, cursor = move_state(problem, start, note_changes=True), np.zeros(2, np.int64)
        while cursor[1] < len(order):
            expand_each(problem, state, order, cursor, 10)
        found.append(state.labels.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("solver", ["alpha_expansion", "refine", "icm", "lazy_flipper"])
@best_of_several
def test_time_holds_on_a_large_grid(solver):
    rng = np.random.default_rng(0)
    crf = pc.grid(rng.uniform(size=(250, 250, 4)), 0.3)
    pc.solve(crf, solver, seconds=0.5)
    for seconds in (0.03, 0.1, 0.2):
        assert lateness(crf, solver, seconds) < max(0.015, 0.05 * seconds)


@pytest.mark.parametrize("regime", ["A", "B"])
def test_never_noticeably_above_gco(regime):
    gco = pytest.importorskip("gco", reason="gco-wrapper, a peer, is not installed")
    for seed in range(6):
        crf = pc.make_scene(300, regime, seed=seed, potentials="u+p").crf
        potts = crf.groups(pc.Potts)[0]
        theirs = gco.cut_general_graph(
            potts.edges.astype(np.int32), potts.weights.copy(), crf.unary.copy(),
            1.0 - np.eye(crf.n_labels), n_iter=-1, algorithm="expansion",
        )  # fmt: skip
        energy = pc.solve(crf, "alpha_expansion").energy
        assert energy <= crf.energy(theirs.astype(np.int64)) * 1.0005


@pytest.mark.data
def test_the_uai_segmentation_models():
    if not UAI.is_dir():
        pytest.skip(f"no UAI models beside the checkout ({UAI})")
    import json

    for name, optimum in json.loads((UAI / "optima.json").read_text()).items():
        solution = pc.solve(pc.read_uai(UAI / name), "alpha_expansion")
        assert solution.energy <= optimum * 1.005
        assert solution.energy >= optimum - 1e-6
