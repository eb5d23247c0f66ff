"""The command line as a person uses it: files in, files out, one clear line when something is wrong."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import infocal
from infocal.cli import main
from infocal.files import read_data, replaced, write_arrays
from sources import random_samples

LOGITS, LABELS = random_samples()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez("val.npz", logits=LOGITS, labels=LABELS)
    return tmp_path


class TestCommands:
    def test_fit_apply_evaluate(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fit", "val.npz", "-o", "cal.json", "--bins", "8", "--groups", "0,0,0,1,1,1"]) == 0
        assert "imax on 400 samples of 6 classes: the bins keep" in capsys.readouterr().out
        assert main(["apply", "cal.json", "val.npz", "-o", "probs.npz"]) == 0
        assert "400 samples of 6 classes written to probs.npz" in capsys.readouterr().out
        expected = infocal.fit("imax", LOGITS, LABELS, n_bins=8, groups=[0, 0, 0, 1, 1, 1])(LOGITS)
        with np.load("probs.npz") as file:
            assert_array_equal(file["probs"], expected)
            assert_array_equal(file["labels"], LABELS)
        assert main(["evaluate", "probs.npz", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == pytest.approx(dict(infocal.evaluate(expected, LABELS)))
        assert sorted(path.name for path in folder.iterdir()) == ["cal.json", "probs.npz", "val.npz"]

    @pytest.mark.parametrize("recipe", infocal.RECIPES)
    def test_every_recipe(self, recipe: str, folder: Path) -> None:
        assert main(["fit", "val.npz", "-o", "cal.json", "--recipe", recipe]) == 0
        assert infocal.load("cal.json").recipe == recipe

    def test_options_reach_the_fit(self, folder: Path) -> None:
        options = ["--solver", "alternating", "--posterior", "affine", "--representatives", "own", "--monotone"]
        assert main(["fit", "val.npz", "-o", "cal.json", *options, "--prior-count", "2", "--seed", "5"]) == 0
        expected = infocal.fit(
            "imax",
            LOGITS,
            LABELS,
            solver="alternating",
            posterior="affine",
            representatives="own",
            monotone=True,
            prior_count=2,
            rng=5,
        )
        assert_array_equal(infocal.load("cal.json")(LOGITS), expected(LOGITS))

    def test_evaluate_logits_and_without_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", "val.npz"]) == 0
        assert "top1_ece" in capsys.readouterr().out

    def test_probs_as_input_and_no_labels(self, folder: Path) -> None:
        main(["fit", "val.npz", "-o", "cal.json"])
        np.savez("test.npz", probs=np.full((3, 6), 1 / 6))
        assert main(["apply", "cal.json", "test.npz", "-o", "out.npz"]) == 0
        with np.load("out.npz") as file:
            assert file.files == ["probs"]

    def test_demo_fits_on_a_screen(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["demo"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 110
        assert any(line.startswith("imax") for line in lines)
        assert any("infocal fit" in line for line in lines)

    @pytest.mark.parametrize("command", ["", "fit", "apply", "evaluate", "demo"])
    def test_help(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main([*command.split(), "--help"])
        assert "usage: infocal" in capsys.readouterr().out

    def test_as_a_module(self, folder: Path) -> None:
        command = [sys.executable, "-m", "infocal", "evaluate", "val.npz", "--json"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "accuracy" in json.loads(run.stdout)
        assert run.stderr == ""

    def test_a_person_at_a_terminal_sees_progress(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        assert main(["evaluate", "val.npz", "--json"]) == 0
        json.loads(capsys.readouterr().out)

    def test_interrupt(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(path: str) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("infocal.cli.common.read_data", interrupt)
        assert main(["evaluate", "val.npz"]) == 130


def pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, logits=np.array([{}, {}], dtype=object), labels=[0, 1])
    return file.getvalue()


def truncated() -> bytes:
    file = io.BytesIO()
    np.savez(file, logits=LOGITS, labels=LABELS)
    return file.getvalue()[:1000]


def gigantic() -> bytes:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000, 10), }".ljust(117) + "\n"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00v\x00" + header.encode())
    return file.getvalue()


def single() -> bytes:
    file = io.BytesIO()
    np.save(file, LOGITS)
    return file.getvalue()


def arrays(**named: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **named)  # type: ignore[arg-type]
    return file.getvalue()


BAD_FILES = {
    "empty": (b"", "expected an .npz file"),
    "text": (b"0.1,0.9,1\n", "expected an .npz file"),
    "truncated": (truncated(), "expected an .npz file"),
    "pickled": (pickled(), "expected an .npz file"),
    "gigantic": (gigantic(), "expected an .npz file"),
    "single": (single(), "expected an .npz file"),
    "nameless": (arrays(x=LOGITS), "expected an array named logits or probs"),
    "labelless": (arrays(logits=LOGITS), "expected an array named labels"),
    "flat": (arrays(logits=LOGITS[0], labels=LABELS), "expected a matrix"),
    "words": (arrays(logits=[["a", "b"]], labels=[0]), "expected real numbers"),
    "short": (arrays(logits=LOGITS, labels=LABELS[:3]), "expected one label for each"),
    "wild": (arrays(logits=LOGITS, labels=LABELS + 1), "expected integers from 0 to 5, got 6 in row"),
    "nan": (arrays(logits=np.where(LOGITS > 7, np.nan, LOGITS), labels=LABELS), "got nan in row"),
    "percent": (arrays(probs=np.full((2, 2), 50.0), labels=[0, 1]), "expected numbers from 0 to 1"),
}


class TestBadInput:
    @pytest.mark.parametrize("kind", BAD_FILES)
    @pytest.mark.parametrize("command", ["fit {} -o out.json", "evaluate {}"])
    def test_files(self, kind: str, command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        content, message = BAD_FILES[kind]
        Path("bad.npz").write_bytes(content)
        Path("out.json").write_text("keep")
        assert main(command.format("bad.npz").split()) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert len(output.err.splitlines()) == 1
        assert output.err.startswith("infocal: ")
        assert message in output.err
        assert Path("out.json").read_text() == "keep"

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("", "the following arguments are required: COMMAND"),
            ("calibrate", "invalid choice: 'calibrate'"),
            ("fit", "required: VAL, -o/--output (see infocal fit --help)"),
            ("fit val.npz -o c.json --bins many", "argument --bins: invalid int value"),
            ("fit val.npz -o c.json --bins 1", "n_bins: expected a whole number from 2"),
            ("fit val.npz -o c.json --recipe magic", "recipe: expected one of identity"),
            ("fit val.npz -o c.json --groups 0,x", "--groups: expected shared, classwise, prior or numbers"),
            ("fit val.npz -o c.json --groups some", 'groups: expected "shared"'),
            ("fit val.npz -o no/such/folder/c.json", "no such file or directory"),
            ("fit none.npz -o c.json", "none.npz: no such file or directory"),
            ("evaluate .", ".: is a directory"),
            ("apply val.npz val.npz -o out.npz", "val.npz: expected a saved calibrator"),
        ],
    )
    def test_usage(self, command: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(command.split()) == 2
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) == 1
        assert [path.name for path in folder.iterdir()] == ["val.npz"]


class TestFiles:
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

    def test_probs_are_kept_beside_their_logits(self, tmp_path: Path) -> None:
        write_arrays(tmp_path / "in.npz", probs=np.array([[0.2, 0.8]], dtype=np.float32))
        data = read_data(tmp_path / "in.npz")
        assert data.probs is not None
        assert_array_equal(np.exp(data.logits).astype(np.float32), data.probs)
