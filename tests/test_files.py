"""Files in every format say the same; what is wrong with others is said in one line, and nothing is run or lost."""

import contextlib
import io
import json
import os
import stat
import struct
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import infocal
from infocal.arrays import Array, check_logits
from infocal.calibrator import Calibrator, Identity
from infocal.files import Data, check_output, read_data, replaced, write_arrays, write_probs
from infocal.numerics import softmax
from infocal.records import Facts
from sources import random_samples

LOGITS, LABELS = random_samples(n=40)
NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")
FORMATS = (".npz", ".npy", ".csv", ".parquet")


def save(folder: Path, suffix: str, classes: tuple[str, ...] | None = NAMES) -> Path:
    """The samples in a file of this format."""
    path = folder / f"val_logits{suffix}"
    known = {} if classes is None else {"classes": np.array(classes)}
    if suffix == ".npz":
        np.savez(path, logits=LOGITS, labels=LABELS, w=np.arange(40), **known)
    elif suffix == ".npy":
        for name, array in {"logits": LOGITS, "labels": LABELS, "w": np.arange(40), **known}.items():
            np.save(folder / f"val_{name}.npy", array)
    else:
        pandas = pytest.importorskip("pandas", reason="writes the tables")
        frame = pandas.DataFrame(LOGITS, columns=list(classes or range(6))).assign(w=np.arange(40))
        frame["label"] = LABELS if classes is None else np.array(classes)[LABELS]
        frame.columns = frame.columns.astype(str)
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    return path


def table(text: str, **options: object) -> Data:
    """Data of the text of a table."""
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        return read_data("-", **options)  # type: ignore[arg-type]


class TestFormats:
    @pytest.mark.parametrize("suffix", FORMATS)
    def test_every_format_says_the_same(self, suffix: str, tmp_path: Path) -> None:
        if suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="reads Parquet")
        data = read_data(save(tmp_path, suffix), weights="w")
        assert_array_equal(data.logits, LOGITS)
        assert_array_equal(data.require_labels(), LABELS)
        assert data.classes == NAMES
        assert_array_equal(data.weights, np.arange(40.0))  # type: ignore[arg-type]
        assert data.probs is None

    @pytest.mark.parametrize("suffix", FORMATS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("classes", [None, NAMES])
    def test_results_are_read_back_to_the_last_bit(
        self, suffix: str, dtype: type, classes: tuple[str, ...] | None, tmp_path: Path
    ) -> None:
        if suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="reads Parquet")
        probs = softmax(LOGITS).astype(dtype)
        write_probs(tmp_path / f"probs{suffix}", probs, LABELS, classes)
        data = read_data(tmp_path / f"probs{suffix}")
        assert data.probs is not None
        assert_array_equal(data.probs.astype(dtype), probs)
        if suffix != ".npy":
            assert_array_equal(data.require_labels(), LABELS)
            assert data.classes in (classes, tuple("012345"))

    def test_the_content_tells_the_format_not_the_name(self, tmp_path: Path) -> None:
        save(tmp_path, ".npz").rename(tmp_path / "data.csv")
        assert_array_equal(read_data(tmp_path / "data.csv").logits, LOGITS)

    def test_npy_on_disk_is_not_read_into_memory(self, tmp_path: Path) -> None:
        logits = read_data(save(tmp_path, ".npy")).logits
        assert isinstance(logits.base, np.memmap)

    def test_a_pipe_is_read_like_a_file(self, tmp_path: Path) -> None:
        path, pipe = save(tmp_path, ".npz"), tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
        writer.start()
        assert_array_equal(read_data(pipe).logits, LOGITS)
        writer.join()

    def test_probs_are_kept_beside_their_logits(self, tmp_path: Path) -> None:
        write_arrays(tmp_path / "in.npz", probs=np.array([[0.2, 0.8]], dtype=np.float32))
        data = read_data(tmp_path / "in.npz")
        assert data.probs is not None
        assert_array_equal(np.exp(data.logits).astype(np.float32), data.probs)

    def test_names_put_classes_in_order(self) -> None:
        data = table("a,b,c,label\n1,2,3,c\n4,5,6,a\n")
        turned = data.ordered(("c", "a", "b"))
        assert_array_equal(turned.logits, [[3, 1, 2], [6, 4, 5]])
        assert_array_equal(turned.require_labels(), [0, 1])
        assert_array_equal(turned.ordered(("a", "b", "c")).require_labels(), data.require_labels())
        with pytest.raises(ValueError, match="expected the classes of the fit, differs in c, d"):
            data.ordered(("a", "b", "d"))


def packed(folder: Path, way: str, **arrays: Array) -> Path:
    """The arrays in an `.npz` file that holds them in this way."""
    path = folder / f"{way}.npz"
    if way == "compressed":
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    elif way == "columns":
        np.savez(path, **{name: np.asfortranarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    else:
        np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


@pytest.fixture
def nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """All matrices of archives stay on disk, and are read seven rows at a time."""
    monkeypatch.setattr("infocal.files.npy.HELD", 0)
    monkeypatch.setattr("infocal.mapped.BLOCK", 7 * LOGITS.shape[1])


WAYS = ("plain", "compressed", "columns")


@pytest.mark.usefixtures("nothing_held")
class TestLargeArchives:
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8", np.int64])
    def test_logits_are_those_of_the_file(self, way: str, dtype: Any, tmp_path: Path) -> None:
        logits = LOGITS.astype(dtype)
        data = read_data(packed(tmp_path, way, logits=logits, labels=LABELS))
        expected = check_logits(logits)
        assert data.rows.dtype == expected.dtype
        assert_array_equal(data.logits, expected)
        for _ in range(2):  # as often as is wanted
            parts = {rows.start: block for rows, block in data.rows}
            assert all(block.flags.aligned and block.dtype == expected.dtype for block in parts.values())
            assert_array_equal(np.concatenate(list(parts.values())), expected)
        assert_array_equal(data.ordered(NAMES).logits, expected)

    @pytest.mark.parametrize("way", WAYS)
    def test_probabilities_become_logits_as_they_are_read(self, way: str, tmp_path: Path) -> None:
        probs = softmax(LOGITS).astype(np.float32)
        data = read_data(packed(tmp_path, way, probs=probs, labels=LABELS, classes=np.array(NAMES)))
        assert not data.held or way == "columns"
        assert_array_equal(data.probs, probs)  # type: ignore[arg-type]
        assert_array_equal(data.logits, np.log(probs.astype(np.float64)))
        turned = data.ordered(NAMES[::-1])
        assert_array_equal(turned.logits, data.logits[:, ::-1])
        assert_array_equal(turned.require_labels(), 5 - LABELS)

    def test_only_what_lies_well_is_mapped(self, tmp_path: Path) -> None:
        for name, mapped in {"logits": True, "probs": False}.items():
            rows = read_data(packed(tmp_path, "plain", **{name: softmax(LOGITS).astype(np.float32)})).rows
            assert (rows.array is not None) == mapped  # the name alone shifts what follows it in the file
            assert not rows.held

    @pytest.mark.parametrize("way", ["plain", "compressed"])
    def test_bad_rows_are_told_by_their_number(self, way: str, tmp_path: Path) -> None:
        for row, message in {23: "expected numbers from 0 to 1, got 2.0 in row 23, class 4", 31: "row 31 is 0"}.items():
            probs = softmax(LOGITS)
            probs[row] *= 0
            probs[row, 4] += 2.0 * (row == 23)
            path = packed(tmp_path, way, probs=probs)
            with pytest.raises(ValueError, match=f"^{path}: probs: {message}"):
                read_data(path).logits  # noqa: B018

    @pytest.mark.parametrize("way", WAYS)
    def test_no_damage_does_more_than_be_refused(self, way: str, tmp_path: Path) -> None:
        path, rng = packed(tmp_path, way, logits=LOGITS, labels=LABELS), np.random.default_rng(0)
        whole = path.read_bytes()
        for _ in range(200):
            spoiled = bytearray(whole)
            ends = (0, min(400, len(whole))) if rng.random() < 0.4 else (0, len(whole))
            for place in rng.integers(*ends, size=3):
                spoiled[place] = rng.integers(256)
            path.write_bytes(spoiled[: len(whole) if rng.random() < 0.7 else rng.integers(len(whole))])
            with contextlib.suppress(ValueError):
                read_data(path).logits  # noqa: B018

    def test_what_changed_since_it_was_packed_is_refused(self, tmp_path: Path) -> None:
        path = packed(tmp_path, "compressed", logits=LOGITS)
        data, whole = read_data(path), path.read_bytes()
        for place in (400, whole.rindex(b"PK\x01\x02") + 16):  # of the numbers; of their checksum
            content = bytearray(whole)
            content[place] ^= 255
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"compressed\.npz: expected an \.npz file that is whole, got"):
                data.logits  # noqa: B018

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_results_are_written_block_by_block(self, suffix: str, tmp_path: Path) -> None:
        if suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="writes Parquet")
        rows = read_data(packed(tmp_path, "compressed", logits=LOGITS)).rows.through(softmax)
        write_probs(tmp_path / f"probs{suffix}", rows, LABELS, NAMES)
        data = read_data(tmp_path / f"probs{suffix}")
        assert_array_equal(data.probs, softmax(LOGITS))  # type: ignore[arg-type]
        if suffix != ".npy":
            assert_array_equal(data.require_labels(), LABELS)
        if suffix == ".npz":
            with np.load(tmp_path / "probs.npz") as file:
                assert file.files == ["probs", "labels", "classes"]


class TestTables:
    @pytest.mark.parametrize("sign", [",", ";", "\t"])
    @pytest.mark.parametrize("line", ["\n", "\r\n"])
    def test_signs_and_line_ends(self, sign: str, line: str) -> None:
        rows = [["a", "b", "label"], ["1.5", "-2", "b"], ["-inf", "1e3", "a"]]
        data = table(line.join(sign.join(row) for row in rows) + line + line)
        assert_array_equal(data.logits, [[1.5, -2], [-np.inf, 1000]])
        assert_array_equal(data.require_labels(), [1, 0])

    def test_quotes_and_the_mark_of_a_spreadsheet(self) -> None:
        data = table('\ufeff"cat, black",dog,label\n1,2,"cat, black"\n')
        assert data.classes == ("cat, black", "dog")
        assert_array_equal(data.require_labels(), [0])

    def test_a_quoted_name_over_two_lines(self) -> None:
        assert table('"cat\nblack",dog,label\n1,2,dog\n').classes == ("cat\nblack", "dog")

    @pytest.mark.parametrize(
        ("header", "labels", "expected"),
        [
            ("a,b,c", "c,a", [2, 0]),  # names
            ("a,b,c", "2,0", [2, 0]),  # or places
            ("0,1,2", "2,0", [2, 0]),
            ("1,2,3", "3,1", [2, 0]),  # but names alone where names are numbers
            ("2,1,0", "2,0", [0, 2]),
        ],
    )
    def test_labels(self, header: str, labels: str, expected: list[int]) -> None:
        rows = "".join(f"-1,2,3,{label}\n" for label in labels.split(","))
        assert_array_equal(table(f"{header},label\n{rows}").require_labels(), expected)

    def test_named_columns_leave_out_all_others(self) -> None:
        data = table("id,logits:a,logits:b,label\n7,0.1,0.2,b\n")
        assert data.classes == ("a", "b")
        assert_array_equal(data.logits, [[0.1, 0.2]])

    def test_probabilities_are_never_guessed(self) -> None:
        with pytest.raises(ValueError, match=r"numbers from 0 to 1 alone; for probabilities say --probs"):
            table("a,b,label\n0.1,0.9,a\n")
        assert_array_equal(table("a,b,label\n0.1,0.9,a\n", probs=True).probs, [[0.1, 0.9]])  # type: ignore[arg-type]
        assert_array_equal(table("probs:a,probs:b,label\n0.1,0.9,a\n").probs, [[0.1, 0.9]])  # type: ignore[arg-type]

    def test_columns_of_other_names(self) -> None:
        data = table("truth,a,mass,b\n1,-1,0.5,2\n", label="truth", weights="mass")
        assert_array_equal(data.logits, [[-1, 2]])
        assert_array_equal(data.require_labels(), [1])
        assert_array_equal(data.weights, [0.5])  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "got an empty file"),
            ("a,b,label\n", "a header alone"),
            ("0.1,0.9,1\n2,3,1\n", "names of the columns in the first line, got the number 0.1"),
            ("a,,label\n1,2,a\n", "expected a name for each column, got none for column 2"),
            ("a,b,a\n1,2,a\n", "different names of columns, got 'a' twice"),
            ("a,b,label\n-1,2,a\n3,4\n", "expected 3 cells as in the first line, got 2 in line 3"),
            ("a,b,label\n-1,many,a\n", "expected numbers, got 'many' in line 2, column b"),
            ("a,b,label\n-1,,a\n", "expected numbers, got '' in line 2, column b"),
            ("a;b;label\n-1;0,5;a\n", "expected numbers, got '0,5' in line 2, column b"),
            ("a,b,label\n-1,2,c\n", "labels: expected one of the classes a, b, got 'c' in row 0"),
            ("a,b,label\n-1,2,2\n", "labels: expected one of the classes a, b, got '2' in row 0"),
            ("1,2,label\n-1,2,0\n", "labels: expected one of the classes 1, 2, got '0' in row 0"),
            ("a,label\n-1,a\n", "a column for each of 2 or more classes, got a, label"),
            ("logits:a,probs:b,label\n1,1,a\n", "columns of logits or of probs, got both"),
            ('a,b,label\n-1,"2,a\n', "expected 3 cells"),
            (f"a,b,label\n-1,{'9' * 200_000},a\n", "field larger than field limit"),
        ],
    )
    def test_bad_text(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match="^standard input: .*" + message):
            table(text)

    @pytest.mark.parametrize("option", ["label", "weights"])
    def test_missing_columns(self, option: str) -> None:
        with pytest.raises(ValueError, match="expected a column named mass, got a, b, label"):
            table("a,b,label\n-1,2,a\n", **{option: "mass"})


class TestParquet:
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"a": [1.0, None], "b": [1.0, 2.0]}, "1 missing ones in column a"),
            ({"a": ["x", "y"], "b": [1.0, 2.0]}, "expected numbers, got string in column a"),
            ({"a": [-1.0], "b": [1.0], "label": ["c"]}, "expected one of the classes a, b, got 'c'"),
            ({"a": [], "b": []}, "expected rows"),
            ({"label": ["a"]}, "2 or more classes"),
        ],
    )
    def test_bad_tables(self, columns: dict[str, list[object]], message: str, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), tmp_path / "bad.parquet")
        with pytest.raises(ValueError, match=rf"bad\.parquet: .*{message}"):
            read_data(tmp_path / "bad.parquet")

    def test_categories_are_names(self, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
        labels = pyarrow.array(["b", "a"]).dictionary_encode()
        made = pyarrow.table({"a": [1.0, 2.0], "b": [-1.0, 3.0], "label": labels})
        pytest.importorskip("pyarrow.parquet").write_table(made, tmp_path / "val.parquet")
        assert_array_equal(read_data(tmp_path / "val.parquet").require_labels(), [1, 0])

    def test_a_few_bytes_may_not_fill_the_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("infocal.files.npy.LARGE", 1 << 24)
        pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = pyarrow.table({"a": np.zeros(1 << 20), "b": np.zeros(1 << 20)})
        with parquet.ParquetWriter(tmp_path / "bomb.parquet", rows.schema) as writer:
            for _ in range(8):
                writer.write_table(rows)
        with pytest.raises(ValueError, match="bytes that claim to unpack to"):
            read_data(tmp_path / "bomb.parquet")

    def test_without_pyarrow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "val.parquet").write_bytes(b"PAR1....PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'infocal\[parquet\]'"):
            read_data(tmp_path / "val.parquet")
        with pytest.raises(ValueError, match=r"needs pyarrow"):
            write_probs(tmp_path / "out.parquet", softmax(LOGITS), None, None)


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    """The beginning of an `.npy` file that claims this shape."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def zipped(content: bytes, **options: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        archive.writestr("logits.npy", content)
    return file.getvalue()


BAD_ARRAYS: dict[str, tuple[Callable[[], bytes], str]] = {
    "gigantic": (lambda: zipped(header((10**13, 10))), "claims the shape"),
    "overflowing": (lambda: zipped(header((2**62, 2**62))), "claims the shape"),
    "negative": (lambda: zipped(header((-1, 2)) + bytes(16)), "expected an .npz file"),
    "short": (lambda: zipped(header((3, 2)) + bytes(16)), "claims the shape"),
    "pickled": (lambda: zipped(header((2,), "|O") + b"\x80\x04."), "Python objects, which are not read"),
    "magic": (lambda: zipped(b"not an array"), "expected an .npz file"),
    "version": (lambda: zipped(b"\x93NUMPY\x09\x00" + bytes(100)), "version"),
    "bomb": (lambda: zipped(header((1 << 18, 16)) + bytes(1 << 25), compression=8), "bytes that claim to unpack to"),
    "noise": (lambda: b"PK\x03\x04" + bytes(range(256)) * 8, "expected an .npz file"),
    "half": (lambda: zipped(header((3, 2)) + bytes(48))[:150], "expected an .npz file"),
    "binary": (lambda: bytes(range(1, 256)) * 8, "expected an .npz, .npy, .csv or .parquet file"),
    "parquet": (lambda: b"PAR1" + bytes(100), "x_logits"),
}


class TestBadArrays:
    @pytest.mark.parametrize("kind", BAD_ARRAYS)
    def test_archives(self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("infocal.files.npy.LARGE", 1 << 24)
        make, message = BAD_ARRAYS[kind]
        path = tmp_path / "x_logits.npz"
        path.write_bytes(make())
        with pytest.raises(ValueError, match=message) as caught:
            read_data(path)
        assert str(caught.value).startswith(f"{path}: ")

    @pytest.mark.parametrize("claimed", [(10**13, 10), (2**62, 2**62), (3, 2)])
    def test_single_arrays(self, claimed: tuple[int, ...], tmp_path: Path) -> None:
        (tmp_path / "x_logits.npy").write_bytes(header(claimed) + bytes(16))
        with pytest.raises(ValueError, match="claims the shape"):
            read_data(tmp_path / "x_logits.npy")

    def test_the_name_of_a_single_array_says_what_it_is(self, tmp_path: Path) -> None:
        np.save(tmp_path / "val.npy", LOGITS)
        with pytest.raises(ValueError, match=r"expected logits or probs in the name of an \.npy file"):
            read_data(tmp_path / "val.npy")

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"logits": LOGITS, "probs": softmax(LOGITS)[:, :5]}, "probs: expected the shape"),
            ({"logits": LOGITS, "classes": np.array(NAMES[:5])}, "classes: expected 6 different names"),
            ({"logits": LOGITS, "classes": np.array(["a"] * 6)}, "classes: expected 6 different names"),
            ({"logits": LOGITS, "labels": np.array(NAMES)[LABELS]}, "labels: expected integers"),
        ],
    )
    def test_what_does_not_fit_together(self, arrays: dict[str, Array], message: str, tmp_path: Path) -> None:
        np.savez(tmp_path / "bad.npz", **arrays)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=message):
            read_data(tmp_path / "bad.npz")

    def test_missing_weights(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="expected weights named mass"):
            read_data(save(tmp_path, ".npz"), weights="mass")

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_no_damage_does_more_than_be_refused(self, suffix: str, tmp_path: Path) -> None:
        if suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="reads Parquet")
        whole, rng = save(tmp_path, suffix).read_bytes(), np.random.default_rng(0)
        path = tmp_path / f"other_logits{suffix}"
        for _ in range(200):
            spoiled = bytearray(whole)
            for place in rng.integers(min(len(whole), 400) if rng.random() < 0.5 else len(whole), size=3):
                spoiled[place] = rng.integers(256)
            path.write_bytes(spoiled[: len(whole) if rng.random() < 0.7 else rng.integers(len(whole))])
            with contextlib.suppress(ValueError):
                read_data(path)


class TestOutputs:
    def test_a_killed_write_leaves_what_was_there(self, tmp_path: Path) -> None:
        path = tmp_path / "out.npz"
        write_arrays(path, probs=LOGITS)
        before = path.read_bytes()

        def write_and_fail() -> None:
            with replaced(path) as file:
                file.write(b"half")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["out.npz"]

    def test_others_may_read_what_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "plain").write_text("")
        write_arrays(tmp_path / "out.npz", probs=LOGITS)
        assert (tmp_path / "out.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_links_are_followed(self, tmp_path: Path) -> None:
        (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
        write_arrays(tmp_path / "link.npz", probs=LOGITS)
        assert (tmp_path / "link.npz").is_symlink()
        assert not (tmp_path / "real.npz").is_symlink()

    def test_a_device_is_written_to_and_stays_one(self) -> None:
        with replaced("/dev/null") as file:
            file.write(b"gone")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    def test_a_long_name(self, tmp_path: Path) -> None:
        name = "x" * 240 + ".npz"
        write_arrays(tmp_path / name, probs=LOGITS)
        assert os.listdir(tmp_path) == [name]

    def test_what_a_file_may_not_replace(self, tmp_path: Path) -> None:
        (tmp_path / "in.npz").write_text("")
        (tmp_path / "same.npz").symlink_to(tmp_path / "in.npz")
        check_output("-", tmp_path / "in.npz")
        check_output(tmp_path / "new.npz", tmp_path / "in.npz")
        for output, message in {
            ".": "got a folder",
            "in.npz": "is read as well and would be lost",
            "same.npz": "is read as well and would be lost",
            "no/out.npz": "no such file or directory",
            "in.npz/out.npz": "no such file or directory",
        }.items():
            with pytest.raises(ValueError, match=message):
                check_output(tmp_path / output, tmp_path / "in.npz")

    @pytest.mark.parametrize("name", ["out", "out.txt", "out.json"])
    def test_formats_that_nobody_reads(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"expected a name that ends in \.npz, \.npy, \.csv, \.parquet"):
            write_probs(tmp_path / name, softmax(LOGITS), None, None)


class TestCalibratorFiles:
    def test_facts_are_read_back(self, tmp_path: Path) -> None:
        facts = {"classes": ("a", "b"), "nested": {"rows": [[1, 2.5], ["x"]], "none": None}}
        Calibrator("identity", 2, Identity(), Facts(facts)).save(tmp_path / "cal.json")
        read = infocal.load(tmp_path / "cal.json").fit_info
        assert read["classes"] == ("a", "b")
        assert read["nested"]["rows"] == ((1, 2.5), ("x",))
        assert read["nested"]["none"] is None

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('"temperature", "n_classes": 2, "inverse": 1e999', "expected finite numbers, got 1e999"),
            ('"temperature", "n_classes": 2, "inverse": -Infinity', "expected finite numbers, got -Infinity"),
        ],
    )
    def test_numbers_without_end(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "cal.json").write_text(f'{{"format": "infocal calibrator", "version": 1, "recipe": {text}}}')
        with pytest.raises(ValueError, match=rf"cal\.json: {message}"):
            infocal.load(tmp_path / "cal.json")

    def test_calibrators_inside_calibrators(self, tmp_path: Path) -> None:
        method: Any = Identity()
        for _ in range(100):
            method = Calibrator("identity", 2, method, Facts({}))
        method.save(tmp_path / "cal.json")
        with pytest.raises(ValueError, match="nested too deeply"):
            infocal.load(tmp_path / "cal.json")

    def test_other_files_are_not_read_to_their_end(self, tmp_path: Path) -> None:
        with open(tmp_path / "huge.npz", "wb") as file:
            file.write(b"PK\x03\x04\xff")
            file.truncate(1 << 40)
        with pytest.raises(ValueError, match="got a file that is not text"):
            infocal.load(tmp_path / "huge.npz")

    def test_no_change_of_a_value_does_more_than_be_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "cal.json"
        for recipe in ("imax", "gp", "imax+isotonic", "sms"):
            infocal.fit(recipe, LOGITS, LABELS, n_bins=3).save(path)
            whole = json.loads(path.read_text())
            for place in places(whole):
                for value in WRONG:
                    path.write_text(json.dumps(changed(whole, place, value)))
                    with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                        infocal.load(path)


WRONG: tuple[Any, ...] = (None, True, -1, 10**30, 1.5, "x", [], {}, [[1.0]], [1e308, 1.0], {"record": "Identity"})


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a file's content, in lists the first alone."""
    if path:
        yield path
    if isinstance(content, dict):
        for name in content:
            yield from places(content[name], (*path, name))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*path, 0))


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(content))
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return copy
