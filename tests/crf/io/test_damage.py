"""Model files and arrays that are damaged, or not what they say: refused before they are used."""

import io
import zipfile

import numpy as np
import pytest

import policrf as pc
from policrf import limits
from policrf.crf.io.npy import read_arrays
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption, InvalidPotential, TooLarge
from policrf.testing import random_crf

UNARY = np.zeros((4, 2))


def test_ptr_and_nodes_that_do_not_fit_are_not_two_cliques():
    nodes = np.array([0, 1, 2, 3])
    assert len(pc.LabelCost((np.array([0, 2, 4]), nodes), 1.0)) == 2
    for ptr in ([0, 2, 3], [1, 4], [0, 5], [], [0, 3, 2, 4]):
        with pytest.raises(InvalidPotential, match="ptr"):
            pc.LabelCost((np.array(ptr, int), nodes), 1.0)
    assert len(pc.LabelCost([np.array([0, 1]), np.array([2, 3])], 1.0)) == 2


@pytest.mark.parametrize("ptr", [[0, 1, 9], [1, 1, 2], [0, 2, 1], [0], [0.5, 1, 2], [[0, 1, 2]]])
def test_parameters_that_do_not_fit_their_cliques_are_refused(tmp_path, ptr):
    def spread(labels, parameters):
        return float(parameters[0])

    crf = pc.CRF(UNARY, pc.Custom([[0, 1], [2, 3]], spread, [[1.0], [2.0]]))
    path = tmp_path / "model.npz"
    crf.save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["header"] = np.array(str(arrays["header"]).split(', "sha256"')[0] + "}")
    arrays["group0_parameter_ptr"] = np.array(ptr)
    np.savez(path, **arrays)
    with pytest.raises(InvalidFile, match="parameter"):
        pc.read(path, functions={"spread": spread})


def test_counts_beyond_64_bits_are_refused():
    with pytest.raises(InvalidPotential, match="counts"):
        pc.BoxSupport([[0, 1]], labels=[1], penalties=1.0, counts=1e19)
    with pytest.raises(InvalidPotential, match=r"nodes|clique"):
        pc.LabelCost(np.array([[0, 2**63]], np.uint64), 1.0)
    crf = pc.CRF(UNARY)
    with pytest.raises(InvalidInstance, match="truth"):
        pc.Instance.from_crf(crf, truth=np.full((4, 2), 1e19))
    with pytest.raises(InvalidInstance, match="truth"):
        pc.Instance.from_crf(crf, truth=np.full((4, 2), 0.5))


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5, "x", True])
def test_a_seed_is_a_whole_number_from_0(seed):
    with pytest.raises(InvalidOption, match="seed"):
        pc.solve(pc.CRF(UNARY), "annealing", seed=seed)
    with pytest.raises(InvalidOption, match="seed"):
        pc.make_scene(30, "A", seed=seed)


def test_a_flipped_bit_of_a_model_is_noticed(tmp_path):
    path = tmp_path / "model.npz"
    random_crf(0, groups=("potts", "hop1")).save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["unary"][0, 0] += 1e-9
    np.savez(path, **arrays)
    with pytest.raises(InvalidFile, match="checksum is wrong"):
        pc.read(path)


def npy(descr: str, shape: str, body: bytes = b"") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("<f8", "(1000000000000,)"), "asks for 7450.6 GiB, 0 bytes follow"),
        (npy("<f8", "(2,)", bytes(8)), "asks for 16 bytes, 8 bytes follow"),
        (npy("<f8", "(1,)", bytes(16)), "asks for 8 bytes, 16 bytes follow"),
        (npy("<f8", "(-1,)", bytes(8)), "shape"),
        (npy("|O", "(1,)", bytes(8)), "Python objects"),
        (npy("<f8", "(" * 3000), "damaged"),
        (b"\x93NUMPY\x09\x00", "version"),
        (b"", "damaged"),
    ],
)
def test_headers_are_held_against_sizes(tmp_path, content, message):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InvalidFile, match=message):
        read_arrays(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("scores.npy", content)
    with pytest.raises(InvalidFile, match=message if content else "damaged"):
        read_arrays(tmp_path / "a.npz")


def test_an_archive_may_not_unpack_to_more_than_the_limit(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(10**6), b=np.zeros(10**6))
    assert (tmp_path / "a.npz").stat().st_size < 20_000
    assert set(read_arrays(tmp_path / "a.npz")) == {"a", "b"}
    monkeypatch.setattr(limits, "ARRAY_BYTES", 10 * 2**20)
    with pytest.raises(TooLarge, match=r"take 15\.3 MiB, more than the limit of 10\.0 MiB"):
        read_arrays(tmp_path / "a.npz")


def test_an_encrypted_archive_is_named(tmp_path):
    out = io.BytesIO()
    np.savez(out, a=np.zeros(3))
    content = bytearray(out.getvalue())
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InvalidFile, match="encrypted"):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i1", "U3", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_as_numpy_reads_them(tmp_path, dtype, order):
    array = np.asarray(np.arange(24).reshape(2, 3, 4).astype(dtype), order=order)
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", a=array, none=np.zeros((0, 3)))
    found = [read_arrays(tmp_path / "a.npy")[""], read_arrays(tmp_path / "a.npz")["a"]]
    for again in found:
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype
        assert again.flags.writeable
    assert read_arrays(tmp_path / "a.npz")["none"].shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("2 2", "2 -2"), "at least 1"),
        (("2 2", "2 99999999999999999999"), "whole number"),
        (("2 2", "2 1000000000000"), "fit in the|cut off|entries|labels in all"),
        (("0.5", "nan"), "finite"),
        (("0.5", "inf"), "finite"),
        (("0.5", "1e999"), "finite"),
        (("0.5", "-1"), "not negative"),
        (("0.5", "x"), "not a number"),
        (("1\n", "1000000000000\n"), "cut off|whole|size"),
        (("MARKOV", "MÄRKOV"), "starts with MARKOV"),
    ],
)
def test_tokens_of_a_uai_model_are_checked(tmp_path, change, message):
    text = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n0.5 1 1 0.25\n"
    path = tmp_path / "model.uai"
    path.write_text(text)
    assert pc.read(path).n_nodes == 2
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises((InvalidFile, TooLarge), match=message):
        pc.read(path)


def test_a_cfn_model_nested_too_deeply_is_named(tmp_path):
    path = tmp_path / "model.cfn"
    path.write_text('{"a":' * 100_000)
    with pytest.raises(InvalidFile, match="nested too deeply"):
        pc.read(path)


@pytest.mark.parametrize("ending", [".uai", ".wcsp", ".cfn"])
def test_a_byte_order_mark_is_no_part_of_a_model(tmp_path, ending):
    crf = pc.CRF([[0.0, 1.0], [2.0, 0.0]], pc.Potts([[0, 1]], 1.0))
    path = tmp_path / f"model{ending}"
    pc.write(crf, path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert pc.read(path).energy([0, 1]) == pytest.approx(crf.energy([0, 1]))


def test_a_short_model_cannot_ask_for_gigabytes(tmp_path):
    path = tmp_path / "model.wcsp"
    path.write_text("name 2 17255159 1 10\n3 17255159\n1 0 0 1\n1 2\n")
    with pytest.raises(TooLarge, match="2 nodes of up to 17255159 labels, in a file of"):
        pc.read(path)
