"""Files: round trips, and damaged ones named in one sentence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.shared_data import DATA

import policrf as pc
from policrf.errors import InvalidFile, PolicrfError, TooLarge
from policrf.testing import random_crf
from policrf.testing.random_crf import spread
from policrf.testing.reference import all_labelings
from policrf.testing.strategies import crfs

UAI = DATA / "uai"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 10**6), st.booleans())
def test_uai_round_trip_keeps_every_energy(tmp_path, seed, ragged):
    crf = random_crf(seed, n_nodes=4, ragged=ragged, forbidden=0.15)
    path = tmp_path / "model.uai"
    pc.write_uai(crf, path)
    again = pc.read_uai(path)
    assert again.cardinalities.tolist() == crf.cardinalities.tolist()
    for labels in all_labelings(crf):
        assert again.energy(labels) == pytest.approx(crf.energy(labels), rel=1e-9, abs=1e-9)


def test_uai_by_hand(tmp_path):
    """A file worked out by hand: unequal cardinalities, an order-3 table, a zero factor."""
    path = tmp_path / "hand.uai"
    path.write_text(
        "MARKOV\n3\n2 2 3\n3\n1 0\n3 0 1 2\n2 1 0\n\n2\n 0.5 1.0\n\n12\n"
        + " ".join(str(k) for k in range(12))
        + "\n\n4\n 1 2\n 2 1\n"
    )
    crf = pc.read_uai(path)
    assert [p.name for p in crf.potentials] == ["Potts", "Tables"]
    assert crf.energy([0, 0, 0]) == np.inf
    assert crf.energy([0, 1, 2]) == pytest.approx(-np.log(0.5) - np.log(5) - np.log(2))
    assert crf.energy([1, 1, 0]) == pytest.approx(-np.log(9))
    tables = pc.read_uai(path, detect_potts=False)
    assert [p.name for p in tables.potentials] == ["Tables"]
    assert tables.energy([0, 1, 2]) == pytest.approx(crf.energy([0, 1, 2]))


GOOD = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "ends inside the network type"),
        (GOOD.replace("MARKOV", "MARKOW"), "starts with 'MARKOW'"),
        (GOOD.replace("2 2\n1", "2 x\n1"), "the cardinalities holds 'x'"),
        (GOOD.replace("2 2\n1", "2 0\n1"), "variable 1 has 0 labels"),
        (GOOD.replace("2 0 1", "2 0 5"), "scope 0 names variable 5"),
        (GOOD.replace("2 0 1", "2 1 1"), "scope 0 repeats a variable"),
        (GOOD.replace("\n4\n", "\n3\n"), "factor 0 over .* has 3 entries"),
        (GOOD.replace("1 2 3 4", "1 2 3"), "ends inside factor 0"),
        (GOOD.replace("1 2 3 4", "1 2 three 4"), "factor 0 holds 'three'"),
        (GOOD.replace("1 2 3 4", "1 2 nan 4"), "factor 0 holds nan"),
        (GOOD.replace("1 2 3 4", "1 2 -3 4"), "factor 0 holds -3.0"),
        (GOOD + "7", "1 values after the last factor"),
        (GOOD.replace("2\n2 2", "-1\n"), "the number of variables is -1"),
    ],
)
def test_a_damaged_uai_file_is_explained(tmp_path, text, says):
    path = tmp_path / "bad.uai"
    path.write_text(text)
    with pytest.raises(InvalidFile, match=says) as error:
        pc.read_uai(path)
    assert str(path) in str(error.value)


def test_a_uai_file_too_large_for_memory_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.uai"
    path.write_text("MARKOV\n60\n" + "10 " * 60 + "\n1\n60 " + " ".join(map(str, range(60))) + "\n")
    with pytest.raises(TooLarge, match=r"1e\+60 entries"):
        pc.read_uai(path)


def test_write_refuses_what_would_read_back_as_something_else(tmp_path):
    path = tmp_path / "x.uai"
    with pytest.raises(InvalidFile, match="scale the energies down"):
        pc.write_uai(pc.CRF([[0.0, 1e9]]), path)
    wide = pc.CRF(np.zeros((30, 3)), pc.BoxAgreement([list(range(30))], [0], 1.0))
    with pytest.raises(TooLarge, match=r"Save as \.npz"):
        pc.write_uai(wide, path)
    assert list(tmp_path.iterdir()) == []


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(crf=crfs(max_nodes=5, max_labels=3))
def test_native_round_trip_is_exact(tmp_path, crf):
    path = tmp_path / "model.npz"
    crf.save(path)
    again = pc.CRF.load(path, functions={"spread": spread})
    for field in crf.arrays._fields:
        if field != "clique_address":
            np.testing.assert_array_equal(getattr(again.arrays, field), getattr(crf.arrays, field))


def test_instance_round_trip(tmp_path):
    crf = random_crf(1, groups=("potts", "hop1", "hop2"))
    instance = pc.Instance.from_crf(
        crf, truth=np.ones((6, 3)), label_names=("a", "b", "c"), source={"seed": 1}
    )
    instance = replace(instance, positions=np.arange(12).reshape(6, 2))
    path = tmp_path / "i.npz"
    instance.save(path)
    again = pc.Instance.load(path)
    np.testing.assert_array_equal(again.features, instance.features)
    np.testing.assert_array_equal(again.edge_weights, instance.edge_weights)
    np.testing.assert_array_equal(again.positions, instance.positions)
    assert again.label_names == ("a", "b", "c")
    assert again.source == {"seed": 1}
    assert pc.CRF.load(path).energy([0] * 6) == crf.energy([0] * 6)


def test_a_damaged_or_foreign_native_file_is_explained(tmp_path):
    crf = random_crf(1, groups=("potts", "custom"))
    path = tmp_path / "m.npz"
    crf.save(path)
    with pytest.raises(InvalidFile, match="custom function 'spread'"):
        pc.CRF.load(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidFile, match="damaged"):
        pc.CRF.load(path)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(InvalidFile, match="not one of policrf's"):
        pc.CRF.load(path)
    header = json.dumps({"format": "policrf", "schema": 99})
    np.savez(path, header=np.array(header))
    with pytest.raises(InvalidFile, match="schema 99"):
        pc.CRF.load(path)
    with pytest.raises(InvalidFile, match="no such file"):
        pc.CRF.load(tmp_path / "none.npz")
    with pytest.raises(InvalidFile, match="does not exist"):
        crf.save(tmp_path / "no/where.npz")
    pc.CRF(np.zeros((2, 2))).save(path)
    with pytest.raises(InvalidFile, match="without features"):
        pc.Instance.load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    pc.CRF([[1.0, 2.0]]).save(path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(PolicrfError, match="No space left on device"):
        pc.CRF([[3.0, 4.0]]).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.data
@pytest.mark.skipif(not UAI.is_dir(), reason="the UAI models are not beside the checkout")
def test_the_six_uai_models_score_their_optimum():
    """The exact solver's labeling, scored by the model, has the listed optimal energy."""
    optima = json.loads((UAI / "optima.json").read_text())
    assert len(optima) == 6
    for name, optimum in optima.items():
        crf = pc.read_uai(UAI / name)
        solution = pc.solve(crf, "exact", seconds=600)
        assert crf.energy(solution.labels) == pytest.approx(optimum, rel=1e-7)
        assert solution.optimal
