import numpy as np
import pytest

from policrf.datasets.packed import pack, unpack


@pytest.mark.parametrize(
    "values",
    [
        np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1),
        np.full((3, 5), -1, np.int32),
        np.zeros((0, 7), np.int32),
        np.asarray([np.nan, -0.0, np.inf], np.float32),
    ],
)
def test_arrays_come_back_with_kind_and_shape(values):
    found = unpack(pack(values))
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    assert found.tobytes() == values.tobytes()


@pytest.mark.parametrize("change", ["short", "size", "huge", "other", "empty"])
def test_damage_is_noticed(change):
    content = pack(np.arange(1000))
    damaged = {
        "short": content[:-9],
        "size": (7).to_bytes(8, "little") + content[8:],
        "huge": b"\xff" * 8 + content[8:],
        "other": content[:8] + b"no Zstandard at all",
        "empty": b"",
    }[change]
    with pytest.raises(ValueError, match="not a packed array"):
        unpack(damaged)
