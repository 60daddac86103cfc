"""UAI models: evidence, packed files, MPE solutions, and models that other people made."""

import gzip
import json

import numpy as np
import pytest
from tests.shared_data import DATA

import policrf as pc
from policrf.crf.io import compressed
from policrf.errors import InvalidFile, TooLarge
from policrf.testing import random_crf
from policrf.testing.reference import all_labelings

FOREIGN = DATA / "foreign"


def _model(tmp_path, name="m.uai"):
    crf = random_crf(3, n_nodes=4, groups=("potts", "tables"))
    pc.write(crf, tmp_path / name)
    return crf, tmp_path / name


@pytest.mark.parametrize("text", ["2 1 0 3 1", "1\n2 1 0 3 1\n"])
@pytest.mark.parametrize("name", ["m.uai.evid", "m.evid", "m.uai.evid.gz"])
def test_evidence_beside_a_model_forbids_all_other_labels(tmp_path, text, name):
    crf, path = _model(tmp_path)
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    given, free = pc.read(path), pc.read(path, evidence=None)
    for labels in all_labelings(crf):
        right = labels[1] == 0 and labels[3] == 1
        wanted = crf.energy(labels) if right else np.inf
        assert given.energy(labels) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert free.energy(labels) == pytest.approx(crf.energy(labels), rel=1e-9, abs=1e-9)
    assert all(1 not in clique and 3 not in clique for g in given.potentials
               for clique in getattr(g, "cliques", []))  # fmt: skip


def test_evidence_may_be_given_and_may_be_none_at_all(tmp_path):
    crf, path = _model(tmp_path)
    (tmp_path / "other.txt").write_text("1 0 1")
    assert pc.read(path, evidence=tmp_path / "other.txt").energy([0] * 4) == np.inf
    (tmp_path / "m.evid").write_text("0\n")
    assert pc.read(path).energy([0] * 4) == pytest.approx(crf.energy([0] * 4))
    pc.write(crf, tmp_path / "m.cfn")
    with pytest.raises(InvalidFile, match="evidence goes with a UAI model"):
        pc.read(tmp_path / "m.cfn", evidence=tmp_path / "other.txt")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 9 0", "observation 0 names node 9"),
        ("1 0 7", "observation 0 gives node 0 label 7"),
        ("2\n0 0\n0 1", "line 3: observation 1 gives node 0 a second label"),
        ("2 0 0", "ends inside observation 1"),
        ("3\n1 0 0", "3 samples of evidence"),
        ("1 0 0 1 1", "2 values after the last observation"),
        ("1 0 a", "holds 'a'"),
    ],
)
def test_damaged_evidence_is_explained(tmp_path, text, says):
    _, path = _model(tmp_path)
    (tmp_path / "m.evid").write_text(text)
    with pytest.raises(InvalidFile, match=says):
        pc.read(path)


@pytest.mark.parametrize("name", ["m.uai", "m.wcsp", "m.cfn", "m.npz"])
@pytest.mark.parametrize("packed", [".gz", ".xz", ".bz2"])
def test_every_format_is_read_packed(tmp_path, name, packed):
    crf, path = _model(tmp_path, name + packed)
    again = pc.read(path)
    for labels in all_labelings(crf):
        assert again.energy(labels) == pytest.approx(crf.energy(labels), rel=1e-5, abs=1e-5)
    whole = path.read_bytes()
    pc.write(crf, path)
    assert path.read_bytes() == whole
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidFile, match="cannot be read"):
        pc.read(path)


def test_a_packed_file_that_outgrows_memory_is_refused_while_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "bomb.uai.gz"
    path.write_bytes(gzip.compress(b"1 " * 2_000_000))
    monkeypatch.setattr(compressed, "free_bytes", lambda: 8e6)
    with pytest.raises(TooLarge, match="a quarter of the memory"):
        pc.read(path)


def test_mpe_solutions_are_written_and_read(tmp_path):
    crf, _ = _model(tmp_path)
    pc.write_mpe(crf, [0, 1, 0, 1], tmp_path / "m.MPE")
    assert (tmp_path / "m.MPE").read_text() == "MPE\n4 0 1 0 1\n"
    assert pc.read_mpe(crf, tmp_path / "m.MPE").tolist() == [0, 1, 0, 1]
    (tmp_path / "m.MPE").write_text("MPE\n1\n4 0 0 0 1\n")
    assert pc.read_mpe(crf, tmp_path / "m.MPE").tolist() == [0, 0, 0, 1]
    for text, says in [("MAR\n", "starts with 'MAR'"), ("MPE\n3 0 0 0", "labels of 3 nodes")]:
        (tmp_path / "m.MPE").write_text(text)
        with pytest.raises(InvalidFile, match=says):
            pc.read_mpe(crf, tmp_path / "m.MPE")


def _reference_energy(path, labels):
    """−Σ log factor, word by word, with nothing of the reader."""
    words = iter(compressed.read_text(path, "a model").split())
    assert next(words) in ("MARKOV", "BAYES")
    cards = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    energy = 0.0
    for scope in scopes:
        values = [float(next(words)) for _ in range(int(next(words)))]
        at = 0
        for node in scope:
            at = at * cards[node] + labels[node]
        energy -= np.log(values[at]) if values[at] > 0 else -np.inf
    return energy


@pytest.mark.data
@pytest.mark.skipif(not FOREIGN.is_dir(), reason="models of others are not beside the checkout")
def test_models_of_others_have_the_energies_of_their_files():
    best = json.loads((FOREIGN / "best.json").read_text())
    assert len(best) == 24
    generator = np.random.default_rng(0)
    for name, known in best.items():
        crf = pc.read(FOREIGN / name)
        assert crf.n_nodes == known["nodes"]
        assert crf.n_labels == known["max_labels"]
        for _ in range(2):
            labels = generator.integers(0, crf.cardinalities)
            labels = np.where(np.isinf(crf.unary[np.arange(len(labels)), labels]),
                              np.argmin(crf.unary, axis=1), labels)  # fmt: skip
            wanted = _reference_energy(FOREIGN / name, labels)
            assert crf.energy(labels) == pytest.approx(wanted, rel=1e-9, abs=1e-9), name


@pytest.mark.data
@pytest.mark.skipif(not FOREIGN.is_dir(), reason="models of others are not beside the checkout")
@pytest.mark.parametrize(
    ("original", "converted", "scale"),
    [
        ("CELAR6-SUB1.wcsp.xz", "CELAR6-SUB1.uai.xz", 10.0),
        ("celar6sub0.wcsp.xz", "celar6sub0.uai.xz", 10.0),
        ("GEOM40_6.wcsp", "GEOM40_6.uai", 1.0),
        ("cap131.wcsp", "cap131.uai.xz", 40000.0),
        ("spot505.wcsp", "spot505.uai", 1000.0),
        ("1aho_design.cfn.xz", "1aho_design.uai.xz", 8.0),
    ],
)
def test_networks_of_costs_are_their_conversions_times_a_scale(original, converted, scale):
    """Finite labelings by ICM from random ones where there are any, and forbidden ones."""
    costs, crf = pc.read(FOREIGN / original), pc.read(FOREIGN / converted)
    assert costs.cardinalities.tolist() == crf.cardinalities.tolist()
    generator = np.random.default_rng(1)
    for _ in range(5):
        start = generator.integers(0, crf.cardinalities)
        for labels in (start, pc.solve(crf, "icm", initial=start).labels):
            wanted = crf.energy(labels) * scale
            assert costs.energy(labels) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
