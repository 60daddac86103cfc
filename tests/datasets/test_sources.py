import numpy as np
import pytest
from tests.vision.builders import prepared_scenes

from policrf import make_scene
from policrf.datasets.sources import load_instances
from policrf.errors import InvalidFile, InvalidOption
from policrf.scenes import make_family
from policrf.vision.energy.weights import Energy


def test_one_model_file_is_a_list_of_one(tmp_path):
    scene = make_scene(20, "A", seed=1)
    scene.save(tmp_path / "scene.npz")
    (found,) = load_instances(tmp_path / "scene.npz")
    assert found.crf.energy(found.true_labels.clip(0)) == scene.crf.energy(
        scene.true_labels.clip(0)
    )
    (plain,) = load_instances(tmp_path / "scene.npz", potentials="u+p")
    assert len(plain.crf.potentials) == 1
    (tmp_path / "model.txt").write_text("MARKOV")
    with pytest.raises(InvalidFile, match=r"ends in \.uai, \.wcsp, \.cfn or \.npz"):
        load_instances(tmp_path / "model.txt")


def test_prepared_folders_take_an_energy_or_its_file(tmp_path):
    folder = prepared_scenes(tmp_path, 3) / "prepared"
    energy = Energy(alpha=0.4, long_range=0, sigma_colour=20)
    energy.save(tmp_path / "energy.yaml")
    strong = load_instances(folder, energy=tmp_path / "energy.yaml", potentials="u+p", count=2)
    same = load_instances(folder, energy=energy, potentials="u+p")
    weak = load_instances(str(folder), energy=energy.replace(alpha=0.2), potentials="u+p")
    assert (len(strong), len(same)) == (2, 3)
    weights = [part[0].crf.potentials[0].weights.sum() for part in (strong, same, weak)]
    assert weights[0] == weights[1] == pytest.approx(2 * weights[2], rel=1e-6)
    assert all(instance.positions is not None for instance in same)


def test_families_are_a_source_and_take_turns():
    found = load_instances("family:parity+order:36+64", count=5, seed=3)
    assert [instance.crf.n_nodes for instance in found] == [36, 64, 36, 64, 36]
    np.testing.assert_array_equal(found[0].crf.unary, make_family("parity", 36, seed=3).unary)
    with pytest.raises(InvalidOption, match="family:NAME:NODES"):
        load_instances("family:parity:many")


def test_sources_take_turns_and_families_have_numbers_of_labels():
    found = load_instances("synthetic:A:20:4,family:parity:16:3+5", count=5)
    sizes = [(instance.crf.n_nodes, instance.crf.n_labels) for instance in found]
    assert sizes == [(20, 4), (16, 3), (20, 4), (16, 5), (20, 4)]
    with pytest.raises(InvalidOption, match=r"family:parity:144:6\+12"):
        load_instances("family:parity:x", count=1)
