"""A calibrator is frozen, ranks by the raw logits where it cannot tell, and survives a file to the last bit."""

import base64
import dataclasses
import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import infocal
from infocal.calibrator import Calibrator
from infocal.onevsrest import OneVsRest
from infocal.records import Facts, Square, record
from sources import random_samples

LOGITS, LABELS = random_samples()
CALIBRATOR = infocal.fit("imax", LOGITS, LABELS, groups=[0, 1, 0, 1, 0, 1])


class TestCalibrator:
    def test_is_frozen(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            CALIBRATOR.recipe = "other"  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            CALIBRATOR.edges[0][0] = 0.0
        with pytest.raises(TypeError):
            CALIBRATOR.fit_info["information"] = 1.0  # type: ignore[index]

    def test_reads_well(self) -> None:
        text = repr(CALIBRATOR)
        assert "recipe='imax'" in text
        assert "information=" in text
        assert len(text) < 700

    def test_what_a_method_lacks(self) -> None:
        identity = infocal.fit("identity", LOGITS, LABELS)
        for name in ("edges", "representatives", "groups", "temperature"):
            with pytest.raises(AttributeError, match=f"a calibrator fitted by 'identity' has no {name}"):
                getattr(identity, name)

    def test_ties_are_decided_by_the_raw_logits(self) -> None:
        coarse = infocal.fit("eqmass", LOGITS, LABELS, n_bins=2)
        probs, ranked = coarse(LOGITS), coarse.rank(LOGITS, 6)
        for row, order in enumerate(ranked):
            keys = [(probs[row, k], LOGITS[row, k]) for k in order]
            assert keys == sorted(keys, reverse=True)
        assert_array_equal(coarse.predict(LOGITS), ranked[:, 0])

    def test_integer_logits_and_lists_are_taken(self) -> None:
        assert CALIBRATOR([[1, 2, 3, 4, 5, 6]]).dtype == np.float64

    def test_can_be_pickled_by_those_who_must(self) -> None:
        assert_array_equal(pickle.loads(pickle.dumps(CALIBRATOR))(LOGITS), CALIBRATOR(LOGITS))


@record
class Matrix:
    """A large array for the tests."""

    values: Square

    def __call__(self, logits: Any) -> Any:
        return np.full(logits.shape, 0.5)


class TestFiles:
    @pytest.mark.parametrize("recipe", infocal.RECIPES)
    @pytest.mark.parametrize("groups", ["shared", "classwise"])
    def test_round_trip_to_the_last_bit(self, recipe: str, groups: str, tmp_path: Path) -> None:
        calibrator = infocal.fit(recipe, LOGITS, LABELS, groups=groups)
        calibrator.save(tmp_path / "cal.json")
        loaded = infocal.load(tmp_path / "cal.json")
        assert_array_equal(loaded(LOGITS), calibrator(LOGITS))
        assert repr(loaded) == repr(calibrator)
        loaded.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "cal.json").read_bytes()

    def test_a_large_matrix_loads_in_under_a_second(self, tmp_path: Path) -> None:
        values = np.random.default_rng(0).normal(size=(1000, 1000))
        values[0, 0] = np.inf
        made = Calibrator("matrix", 1000, Matrix(values), Facts({}))
        made.save(tmp_path / "cal.json")
        began = time.perf_counter()
        loaded = infocal.load(tmp_path / "cal.json")
        assert time.perf_counter() - began < 1.0
        assert_array_equal(loaded.method.values, values)  # type: ignore[attr-defined]

    def test_numbers_are_plain_json(self, tmp_path: Path) -> None:
        CALIBRATOR.save(tmp_path / "cal.json")
        content = json.loads((tmp_path / "cal.json").read_text())
        assert (content["format"], content["version"], content["recipe"]) == ("infocal calibrator", 1, "imax")
        assert content["method"]["members"][0]["edges"] == CALIBRATOR.edges[0].tolist()

    def test_a_failed_save_leaves_the_old_file(self, tmp_path: Path) -> None:
        CALIBRATOR.save(tmp_path / "cal.json")
        before = (tmp_path / "cal.json").read_bytes()
        bad = Calibrator("imax", 6, CALIBRATOR.method, Facts({"information": float("nan")}))
        with pytest.raises(ValueError, match="JSON"):
            bad.save(tmp_path / "cal.json")
        assert (tmp_path / "cal.json").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["cal.json"]


def spoiled(change: Any) -> Any:
    """A test of a saved file with a change to its content."""
    return pytest.param(change, id=change.__name__)


def other_format(c: dict[str, Any]) -> None:
    c["format"] = "something else"


def newer(c: dict[str, Any]) -> None:
    c["version"] = 2


def no_version(c: dict[str, Any]) -> None:
    del c["version"]


def unknown_record(c: dict[str, Any]) -> None:
    c["method"]["record"] = "os.system"


def record_is_a_list(c: dict[str, Any]) -> None:
    c["method"]["record"] = ["Identity"]


def missing_field(c: dict[str, Any]) -> None:
    del c["method"]["groups"]


def extra_field(c: dict[str, Any]) -> None:
    c["method"]["__class__"] = "x"


def top_is_no_calibrator(c: dict[str, Any]) -> None:
    method = c.pop("method")
    for key in list(c):
        if key not in ("format", "version"):
            del c[key]
    c.update(method)


def text_in_numbers(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"][0] = "1.0"


def ragged(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"][0] = [1.0, 2.0]


def unsorted_edges(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"].reverse()


def impossible_probability(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["representatives"][0] = 1.5


def too_few_groups(c: dict[str, Any]) -> None:
    c["method"]["groups"].pop()


def wild_group(c: dict[str, Any]) -> None:
    c["method"]["groups"][0] = 10**9


def fractional_group(c: dict[str, Any]) -> None:
    c["method"]["groups"][0] = 0.5


def huge_number(c: dict[str, Any]) -> None:
    c["method"]["groups"][0] = 10**30


def many_classes(c: dict[str, Any]) -> None:
    c["n_classes"] = 10**12
    c["method"] = {"record": "Identity"}


def wrong_number_of_classes(c: dict[str, Any]) -> None:
    c["n_classes"] = 7


def classes_are_text(c: dict[str, Any]) -> None:
    c["n_classes"] = "6"


def members_are_plain(c: dict[str, Any]) -> None:
    c["method"]["members"] = [1, 2]


def bad_base64(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"] = {"shape": [2], "base64": "!"}


def lying_shape(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"] = {"shape": [10**12], "base64": base64.b64encode(bytes(16)).decode()}


def not_an_array(c: dict[str, Any]) -> None:
    c["method"]["members"][0]["edges"] = {"pickle": "gASV"}


CHANGES = [
    other_format,
    newer,
    no_version,
    unknown_record,
    record_is_a_list,
    missing_field,
    extra_field,
    top_is_no_calibrator,
    text_in_numbers,
    ragged,
    unsorted_edges,
    impossible_probability,
    too_few_groups,
    wild_group,
    fractional_group,
    huge_number,
    many_classes,
    wrong_number_of_classes,
    classes_are_text,
    members_are_plain,
    bad_base64,
    lying_shape,
    not_an_array,
]


@pytest.mark.parametrize("change", [spoiled(change) for change in CHANGES])
def test_hostile_files_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    CALIBRATOR.save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"cal\.json: "):
        infocal.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "malformed JSON"),
        (b"{", "malformed JSON"),
        (b"[1, 2]", "another kind of JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe\x00", "not text"),
        (b'{"format": NaN}', "expected finite numbers, got NaN"),
        (b'{"format": ' + b"9" * 10_000 + b"}", "cal.json"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "cal.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        infocal.load(tmp_path / "cal.json")


def test_groups_must_have_members() -> None:
    with pytest.raises(ValueError, match=r"OneVsRest.groups: expected every number from 0 to 1"):
        OneVsRest(np.array([0, 0]), CALIBRATOR.method.members)  # type: ignore[attr-defined]
