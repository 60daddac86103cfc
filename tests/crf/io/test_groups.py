"""Files hold every group: round trips, damaged fields named, UAI tables of what is small."""

import json

import numpy as np
import pytest

import policrf as pc
from policrf.crf.selection import restrict_crf
from policrf.errors import InvalidFile, TooLarge
from policrf.testing import random_crf
from policrf.testing.random_groups import BUILT_IN
from policrf.testing.reference import all_labelings

SQUARE = [[0, 1], [1, 3], [3, 2], [2, 0]]
PRICES = [[0.0, 1.0, np.inf], [1.0, 0.0, 2.0], [np.inf, 2.0, 0.0]]
ALL = [[0, 1, 2, 3]]
# Every group with each of its optional fields, and without.
GROUPS = [
    pc.Pairwise(SQUARE, PRICES, [0.5, 1.0, 2.0, 4.0]),
    pc.Pairwise.truncated_linear(SQUARE, 3, 1.5),
    pc.LabelCost([[0, 1], [1, 2, 3]], 2.0),
    pc.LabelCost([[0, 1], [1, 2, 3]], [[1.0, np.inf, 0.0], [0.0, 2.0, 3.0]]),
    pc.CountFunction(ALL, [0.0, 1.0, np.inf]),
    pc.CountFunction([[0, 1], [1, 2, 3]], lambda counts, size: counts % 2, labels=[2, 0]),
    pc.CoOccurrence(ALL, PRICES),
    pc.RobustPotts([[0, 1, 2], [1, 2, 3]], [3.0, 4.0], [1, 2], [0.0, 1.0, -1.0]),
    pc.Connectivity(ALL, SQUARE, 2.0),
    pc.Connectivity(ALL, SQUARE[:2], 2.0, labels=[1]),
    pc.LabelOrder(ALL, PRICES),
    pc.LabelOrder(ALL, np.abs(np.triu(np.ones((3, 3)))), cap=2.5),
]
names = pytest.mark.parametrize("group", GROUPS, ids=lambda group: repr(group))


def saved(tmp_path, group):
    crf = pc.CRF(np.arange(12.0).reshape(4, 3) % 5, group)
    crf.save(tmp_path / "model.npz")
    return crf, tmp_path / "model.npz"


@names
def test_a_group_reads_back_as_it_was(tmp_path, group):
    crf, path = saved(tmp_path, group)
    again = pc.CRF.load(path)
    assert [type(p) for p in again.potentials] == [type(group)]
    for field in crf.arrays._fields:
        np.testing.assert_array_equal(getattr(again.arrays, field), getattr(crf.arrays, field))
    for labels in all_labelings(crf):
        assert again.energy(labels) == crf.energy(labels)


def test_labels_that_were_left_out_stay_out(tmp_path):
    for group in (GROUPS[4], GROUPS[8]):
        again = pc.CRF.load(saved(tmp_path, group)[1]).potentials[0]
        assert again.labels is None
    for group in (GROUPS[5], GROUPS[9]):
        again = pc.CRF.load(saved(tmp_path, group)[1]).potentials[0]
        assert again.labels.tolist() == group.labels.tolist()


def rewritten(path, **changed):
    """Write the file again with some arrays replaced; None leaves one out."""
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    header = json.loads(str(arrays["header"]))
    header.pop("sha256", None)  # else nothing but the checksum would be refused
    arrays |= {"header": np.array(json.dumps(header))} | changed
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})


@names
def test_a_missing_field_is_named(tmp_path, group):
    for field in group.fields():
        _, path = saved(tmp_path, group)
        rewritten(path, **{f"group0_{field}": None})
        with pytest.raises(InvalidFile, match=f"group0_{field}' is missing") as error:
            pc.CRF.load(path)
        assert str(error.value).startswith(f"{path}: ")


@names
def test_a_field_of_another_type_is_named(tmp_path, group):
    for field, array in group.fields().items():
        for wrong in (np.full(array.shape, "x"), np.full(array.shape, 1j)):
            _, path = saved(tmp_path, group)
            rewritten(path, **{f"group0_{field}": wrong})
            with pytest.raises(
                InvalidFile, match=rf"{field}.*{group.name}|{group.name}.*{field}"
            ) as error:
                pc.CRF.load(path)
            assert str(error.value).startswith(f"{path}: ")


@names
def test_nan_in_a_field_is_named(tmp_path, group):
    for field, array in group.fields().items():
        _, path = saved(tmp_path, group)
        rewritten(path, **{f"group0_{field}": np.full(array.shape, np.nan)})
        with pytest.raises(InvalidFile, match=rf"{field}.*{group.name}|{group.name}.*{field}"):
            pc.CRF.load(path)


@names
def test_a_field_of_another_shape_is_refused(tmp_path, group):
    for field, array in group.fields().items():
        _, path = saved(tmp_path, group)
        rewritten(path, **{f"group0_{field}": np.ones((2, 3, 4, 5), array.dtype)})
        with pytest.raises(InvalidFile, match=str(path)):
            pc.CRF.load(path)


def test_an_array_of_objects_is_named_and_not_opened(tmp_path):
    _, path = saved(tmp_path, GROUPS[0])
    rewritten(path, group0_table=np.array([print, len], object))
    with pytest.raises(InvalidFile, match="field 'group0_table' is damaged"):
        pc.CRF.load(path)


def test_a_file_without_a_list_of_fields_is_read(tmp_path):
    """As files of before have it: what is required is still missed."""
    _, path = saved(tmp_path, GROUPS[5])
    with np.load(path) as archive:
        header = json.loads(str(archive["header"]))
    del header["groups"][0]["fields"], header["sha256"]
    rewritten(path, header=np.array(json.dumps(header)))
    assert pc.CRF.load(path).potentials[0].labels.tolist() == [2, 0]
    rewritten(path, group0_values=None)
    with pytest.raises(InvalidFile, match=r"CountFunction.*values"):
        pc.CRF.load(path)


@pytest.mark.parametrize("group", sorted(BUILT_IN))
@pytest.mark.parametrize("seed", range(4))
def test_uai_files_hold_the_groups_as_tables(tmp_path, group, seed):
    crf = random_crf(seed, n_nodes=4, groups=(group,), forbidden=0.2, ragged=seed % 2 == 1)
    pc.write_uai(crf, tmp_path / "model.uai")
    again = pc.read_uai(tmp_path / "model.uai")
    for labels in all_labelings(crf):
        assert again.energy(labels) == pytest.approx(crf.energy(labels), rel=1e-9, abs=1e-9)


def test_a_large_clique_is_no_uai_table(tmp_path):
    everything = [list(range(40))]
    for group in (
        pc.LabelCost(everything, 1.0),
        pc.CountFunction(everything, [0.0, 1.0]),
        pc.CoOccurrence(everything, PRICES),
        pc.RobustPotts(everything, 1.0),
        pc.Connectivity(everything, SQUARE, 1.0),
        pc.LabelOrder(everything, PRICES),
    ):
        crf = pc.CRF(np.zeros((40, 3)), pc.LabelCost([[0]], 1.0), group)
        with pytest.raises(TooLarge, match=f"clique 0 of {group.name} has 40 nodes") as error:
            pc.write_uai(crf, tmp_path / "model.uai")
        assert ".npz" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_groups_are_chosen_by_name():
    crf = random_crf(1, groups=("potts", "hop1", *BUILT_IN))
    kept = restrict_crf(crf, "u+p+label_cost")
    assert {p.name for p in kept.potentials} <= {"Potts", "Pairwise", "LabelCost"}
    assert "LabelCost" in {p.name for p in kept.potentials}
    short = {p.short_name for p in crf.potentials}
    assert restrict_crf(crf, "+".join(["u", *sorted(short)])) is crf
