"""Types of kernels go to text and come back the same."""

import numba
import pytest
from numba.core import types

from policrf.ahead.type_texts import Tuples, UnknownType, from_text, to_text
from policrf.crf.model import CRF
from policrf.crf.state import new_state

ARRAYS = [
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C", readonly=True),
    types.Array(types.boolean, 1, "A"),
]


@pytest.mark.parametrize(
    "kind", [types.int64, types.boolean, types.float32, types.UniTuple(types.int64, 3), *ARRAYS]
)
def test_plain_types(kind: types.Type) -> None:
    assert from_text(to_text(kind, {}), {}) == kind


def test_tuples_of_the_core() -> None:
    crf, tuples = CRF([[0.0, 1.0]]), Tuples()
    for value in (crf.arrays, new_state(crf.arrays)):
        kind = numba.typeof(value)
        assert from_text(to_text(kind, tuples), tuples) == kind


def test_one_class_with_fields_of_several_types() -> None:
    from policrf.mdp.tournament import Tournament

    tuples = Tuples()
    kinds = [
        types.BaseTuple.from_types([item] * len(Tournament._fields), Tournament) for item in ARRAYS
    ]
    texts = [to_text(kind, tuples) for kind in kinds]
    assert len(set(texts)) == len(kinds)
    assert [from_text(text, tuples) for text in texts] == kinds
    assert [to_text(kind, tuples) for kind in kinds] == texts


def test_other_types_are_refused() -> None:
    with pytest.raises(UnknownType):
        to_text(types.unicode_type, {})
    with pytest.raises(UnknownType):
        from_text("complex512", {})
