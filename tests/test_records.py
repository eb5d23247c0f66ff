"""Records are frozen, own their arrays, and refuse what does not fit."""

import numpy as np
import pytest

from infocal.arrays import check_count
from infocal.records import RECORDS, Facts, IntVector, Vector, record


@record
class Pair:
    """Two arrays for the tests."""

    values: Vector
    places: IntVector

    def check(self) -> None:
        if len(self.values) != len(self.places):
            raise ValueError("Pair: expected as many values as places")


def test_arrays_are_copies_that_cannot_change() -> None:
    values = np.array([1, 2])
    pair = Pair(values, [0, 1])  # type: ignore[arg-type]
    values[0] = 9
    assert pair.values.tolist() == [1.0, 2.0]
    assert (pair.values.dtype, pair.places.dtype) == (np.float64, np.int64)
    assert not pair.values.flags.writeable
    assert RECORDS["Pair"] is Pair


@pytest.mark.parametrize("values", [[[1.0]], ["a"], 1.0, [None]])
def test_other_things_are_refused(values: object) -> None:
    with pytest.raises(ValueError, match=r"Pair.values: expected 1-dimensional numbers"):
        Pair(values, [0])  # type: ignore[arg-type]


def test_the_record_checks_itself() -> None:
    with pytest.raises(ValueError, match="as many values as places"):
        Pair([1.0], [0, 1])  # type: ignore[arg-type]


def test_repr_is_short() -> None:
    assert repr(Pair(np.arange(5.0), np.arange(5))) == "Pair(values=[0, 1, 2, ...] (5,), places=[0, 1, 2, ...] (5,))"
    assert repr(Facts({"n": 1, "x": 0.25, "name": "a"})) == "{n=1, x=0.25, name='a'}"


def test_facts_are_a_mapping() -> None:
    facts = Facts({"n": 1})
    assert (dict(facts), len(facts), facts["n"]) == ({"n": 1}, 1, 1)


@pytest.mark.parametrize(("value", "most"), [(0, None), (1.5, None), (True, None), ("3", None), (9, 8)])
def test_counts(value: object, most: int | None) -> None:
    with pytest.raises(ValueError, match="n: expected a whole number"):
        check_count("n", value, 1, most)
