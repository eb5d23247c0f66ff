"""The command line as a person uses it: files in, files out, one clear line when something is wrong."""

import inspect
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal.cli import main
from infocal.files import read_data
from infocal.numerics import softmax
from infocal.problems import group_classes
from infocal.recipes import RECIPES
from infocal.summary import summarise
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
        told = capsys.readouterr().out.splitlines()
        assert told[0] == "imax on 400 samples of 6 classes"
        assert told[1].startswith("the bins keep")
        assert max(map(len, told)) <= 80
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
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("imax") for line in lines)
        assert any("infocal fit" in line for line in lines)

    @pytest.mark.parametrize("command", ["", "fit", "apply", "evaluate", "compare", "demo", "completion"])
    def test_help(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main([*command.split(), "--help"])
        assert "usage: infocal" in capsys.readouterr().out

    def test_examples_of_the_help_run(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        shutil.copy("val.npz", "test.npz")
        Path("val.csv").write_text("a,b,animal\n" + "3,-1,a\n-2,2,b\n" * 20)
        table, form = np.column_stack((LOGITS, LABELS)), ["%.6f"] * 6 + ["%d"]
        np.savetxt("test.csv", table, form, delimiter=",", header="u,v,w,x,y,z,label", comments="")
        settings = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        for command in ("fit", "apply", "evaluate", "compare", "demo"):
            with pytest.raises(SystemExit, match="0"):
                main([command, "--help"])
            for example in capsys.readouterr().out.split("examples:\n")[1].splitlines():
                shell = ["bash", "-euo", "pipefail", "-c", example]
                subprocess.run(shell, env=settings, check=True, capture_output=True)
            main(["fit", "val.npz", "-o", "cal.json"])
            main(["apply", "cal.json", "val.npz", "-o", "probs.npz"])
            capsys.readouterr()

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
        def interrupt(*_: object, **__: object) -> None:
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
    "empty": (b"", "expected logits or probs, got an empty file"),
    "text": (b"0.1,0.9,1\n", "expected the names of the columns in the first line"),
    "noise": (bytes(range(1, 256)), "expected an .npz, .npy, .csv or .parquet file"),
    "truncated": (truncated(), "expected an .npz file"),
    "pickled": (pickled(), "expected an .npz file"),
    "gigantic": (gigantic(), "expected an .npz file"),
    "single": (single(), "expected logits or probs in the name of an .npy file"),
    "nameless": (arrays(x=LOGITS), "expected an array named logits or probs"),
    "labelless": (arrays(logits=LOGITS), "expected an array named labels"),
    "flat": (arrays(logits=LOGITS[0], labels=LABELS), "expected a matrix"),
    "words": (arrays(logits=[["a", "b"]], labels=[0]), "expected real numbers"),
    "short": (arrays(logits=LOGITS, labels=LABELS[:3]), "expected one label for each"),
    "wild": (arrays(logits=LOGITS, labels=LABELS + 1), "expected integers from 0 to 5, got 6 in row"),
    "nan": (arrays(logits=np.where(LOGITS > 7, np.nan, LOGITS), labels=LABELS), "got nan in row"),
    "percent": (arrays(probs=np.full((2, 2), 50.0), labels=[0, 1]), "expected numbers from 0 to 1"),
}


class TestWaysIn:
    """One answer, whichever way the data come in."""

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
    def test_tables_and_single_arrays(self, suffix: str, folder: Path) -> None:
        if suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="reads Parquet")
        if suffix == ".npy":
            np.save("val_logits.npy", LOGITS)
            np.save("val_labels.npy", LABELS)
        else:
            frame = pytest.importorskip("pandas", reason="writes tables").DataFrame(LOGITS, columns=list("abcdef"))
            frame["animal"] = np.array(list("abcdef"))[LABELS]
            frame.to_csv("val_logits.csv", index=False) if suffix == ".csv" else frame.to_parquet("val_logits.parquet")
        label = [] if suffix == ".npy" else ["--label", "animal"]
        assert main(["fit", f"val_logits{suffix}", "-o", "cal.json", *label]) == 0
        assert main(["apply", "cal.json", f"val_logits{suffix}", "-o", "probs.npz", *label]) == 0
        assert_array_equal(read_data("probs.npz").probs, infocal.fit("imax", LOGITS, LABELS)(LOGITS))
        assert_array_equal(read_data("probs.npz").labels, LABELS)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_mapped_files_are_done_block_by_block(
        self, weighted: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("infocal.mapped.BLOCK", 7 * LOGITS.shape[1])
        weights = 1.0 + np.arange(len(LABELS)) % 3
        for name, array in {"logits": LOGITS, "labels": LABELS, "mass": weights}.items():
            np.save(f"val_{name}.npy", array)
        options = ["--weights", "mass"] if weighted else []
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        calibrator.save("cal.json")
        assert main(["apply", "cal.json", "val_logits.npy", "-o", "val_probs.npy"]) == 0
        assert_array_equal(np.load("val_probs.npy"), calibrator(LOGITS))
        capsys.readouterr()
        for probs, source in ((softmax(LOGITS), []), (calibrator(LOGITS), ["--calibrator", "cal.json"])):
            assert main(["evaluate", "val_logits.npy", "--json", *source, *options]) == 0
            expected = infocal.evaluate(probs, LABELS, ties=LOGITS, weights=weights if weighted else None)
            assert json.loads(capsys.readouterr().out) == pytest.approx(dict(expected))

    @pytest.mark.parametrize("kind", ["logits", "probs", "both"])
    @pytest.mark.parametrize("way", [np.savez, np.savez_compressed])
    @pytest.mark.parametrize("recipe", ["imax", "imax+isotonic", "temperature"])
    def test_large_archives_are_done_block_by_block(
        self,
        recipe: str,
        way: Callable[..., None],
        kind: str,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr("infocal.mapped.BLOCK", 7 * LOGITS.shape[1])
        monkeypatch.setattr("infocal.files.npy.HELD", 0)
        w, probs = 1.0 + np.arange(len(LABELS)) % 3, softmax(LOGITS)
        z = np.log(probs) if kind == "probs" else LOGITS
        arrays = {"logits": {"logits": z}, "probs": {"probs": probs}, "both": {"logits": z, "probs": probs[:, ::-1]}}
        way("val.npz", labels=LABELS, mass=w, **arrays[kind])
        options = ["--recipe", recipe, "--weights", "mass", "--groups", "prior", "--n-groups", "2"]
        assert main(["fit", "val.npz", "-o", "cal.json", *options]) == 0
        calibrator = infocal.load("cal.json")
        held = recipe != "temperature" and (kind == "probs" or way is np.savez_compressed or z.dtype == np.float64)
        groups = group_classes("prior", LABELS, 6, w, 2)
        given = (summarise(z, LABELS, groups=groups, weights=w),) if held else (z, LABELS)
        expected = infocal.fit(recipe, *given, **({} if held else {"weights": w}))
        assert_allclose(calibrator(z), expected(z), rtol=1e-9, atol=1e-12)
        assert main(["apply", "cal.json", "val.npz", "-o", "out.npz"]) == 0
        with np.load("out.npz") as file:
            assert_array_equal(file["probs"], calibrator(z))
        capsys.readouterr()
        for source in ([], ["--calibrator", "cal.json"]):
            own = arrays[kind].get("probs", softmax(z)) if not source else calibrator(z)
            assert main(["evaluate", "val.npz", "--json", "--weights", "mass", *source]) == 0
            report = infocal.evaluate(own, LABELS, ties=z, weights=w)
            assert json.loads(capsys.readouterr().out) == pytest.approx(dict(report), rel=1e-9)

    @pytest.mark.parametrize("held", [0, 1 << 26])
    @pytest.mark.parametrize("way", [np.savez, np.savez_compressed])
    @pytest.mark.parametrize(
        "command", ["fit val.npz -o c.json", "evaluate val.npz", "apply cal.json val.npz -o o.npy", "evaluate o.npz"]
    )
    def test_bad_rows_are_told_by_file_and_number(
        self,
        command: str,
        way: Callable[..., None],
        held: int,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        infocal.fit("imax", LOGITS, LABELS).save("cal.json")
        monkeypatch.setattr("infocal.mapped.BLOCK", 7 * LOGITS.shape[1])
        monkeypatch.setattr("infocal.files.npy.HELD", held)
        spoilt = np.where(np.arange(len(LABELS))[:, None] == 123, np.nan, LOGITS)
        way("val.npz", logits=spoilt, labels=LABELS)
        way("o.npz", logits=spoilt, probs=softmax(LOGITS), labels=LABELS)
        assert main(command.split()) == 2
        name, argument = ("o.npz", "ties") if "o.npz" in command else ("val.npz", "logits")
        error = capsys.readouterr().err
        assert error.startswith(f"infocal: {name}: {argument}: expected")
        assert "got nan in row 123, class 0" in error
        assert not {"c.json", "o.npy"} & {path.name for path in folder.iterdir()}

    def test_names_of_classes_are_kept_and_found_again(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("val.csv").write_text("ant,bee,cat,label\n" + "3,-1,0,ant\n-2,2,1,cat\n0,2,-1,bee\n" * 20)
        Path("turned.csv").write_text("cat,ant,bee\n0,3,-1\n1,-2,2\n-1,0,2\n")
        Path("other.csv").write_text("cat,ant,cow\n0,3,-1\n")
        assert main(["fit", "val.csv", "-o", "cal.json", "--groups", "classwise", "--bins", "2"]) == 0
        assert main(["apply", "cal.json", "turned.csv", "-o", "out.csv"]) == 0
        assert main(["apply", "cal.json", "val.csv", "-o", "whole.csv"]) == 0
        assert infocal.load("cal.json").fit_info["classes"] == ("ant", "bee", "cat")
        assert read_data("out.csv").classes == ("ant", "bee", "cat")
        assert_array_equal(read_data("out.csv").probs, read_data("whole.csv").probs[:3])  # type: ignore[index]
        assert main(["apply", "cal.json", "other.csv", "-o", "no.csv"]) == 2
        assert "expected the classes of the fit, differs in bee, cow" in capsys.readouterr().err

    def test_pipes(self, folder: Path) -> None:
        line = "{0} fit - -o - < val.npz | {0} apply - val.npz -o - | {0} evaluate - --json"
        command = f"set -eo pipefail; {line.format(f'{sys.executable} -m infocal')}"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        expected = infocal.evaluate(infocal.fit("imax", LOGITS, LABELS)(LOGITS), LABELS)
        assert json.loads(run.stdout) == pytest.approx(dict(expected))

    def test_calibrator_and_data_cannot_both_be_piped(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["apply", "-", "-", "-o", "out.npz"]) == 2
        assert "got - for both" in capsys.readouterr().err

    def test_probabilities_in_a_table(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("probs.csv").write_text("a,b,label\n0.9,0.1,a\n0.4,0.6,b\n0.8,0.2,b\n")
        assert main(["evaluate", "probs.csv"]) == 2
        assert "say --probs" in capsys.readouterr().err
        assert main(["evaluate", "probs.csv", "--probs", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["top1_ece"] == pytest.approx(1.3 / 3)

    def test_weights(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        w = np.arange(len(LABELS)) % 3
        np.savez("weighted.npz", logits=LOGITS, labels=LABELS, mass=w)
        assert main(["fit", "weighted.npz", "-o", "cal.json", "--weights", "mass"]) == 0
        expected = infocal.fit("imax", LOGITS, LABELS, weights=w)
        assert_array_equal(infocal.load("cal.json")(LOGITS), expected(LOGITS))
        capsys.readouterr()
        command = ["evaluate", "weighted.npz", "--weights", "mass", "--calibrator", "cal.json", "--json"]
        assert main(command) == 0
        report = infocal.evaluate(expected(LOGITS), LABELS, ties=LOGITS, weights=w)
        assert json.loads(capsys.readouterr().out) == pytest.approx(dict(report))

    def test_intervals(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", "val.npz", "--level", "0.8", "--seed", "3", "--json"]) == 0
        expected = infocal.evaluate(softmax(LOGITS), LABELS, ties=LOGITS, level=0.8, rng=3)
        assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
        assert main(["evaluate", "val.npz", "--level", "80"]) == 2
        assert "level: expected a fraction" in capsys.readouterr().err

    def test_groups_from_a_file(self, folder: Path) -> None:
        Path("groups.txt").write_text("0 0 0\n1, 1\n1\n")
        assert main(["fit", "val.npz", "-o", "cal.json", "--groups", "groups.txt"]) == 0
        assert infocal.load("cal.json").groups.tolist() == [0, 0, 0, 1, 1, 1]
        assert main(["fit", "val.npz", "-o", "cal.json", "--groups", "prior", "--n-groups", "2"]) == 0
        assert len(set(infocal.load("cal.json").groups.tolist())) == 2


class TestAnswers:
    def test_every_command_answers_in_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def said(*command: str) -> Any:
            assert main([*command, "--json"]) == 0
            return json.loads(capsys.readouterr().out)

        fitted = said("fit", "val.npz", "-o", "cal.json")
        assert (fitted["recipe"], fitted["n_classes"], fitted["fit_info"]["n_samples"]) == ("imax", 6, 400)
        assert said("apply", "cal.json", "val.npz", "-o", "probs.npz")["n_samples"] == 400
        assert 0 < said("evaluate", "probs.npz")["accuracy"] < 1
        table = said("compare", "val.npz", "val.npz", "--recipes", "identity,imax")["recipes"]
        assert list(table) == ["identity", "imax"]
        assert table["imax"]["top1_ece"]["value"] < table["identity"]["top1_ece"]["value"]
        assert "imax" in said("demo")["recipes"]

    def test_results_on_the_standard_output_stand_alone(
        self, folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert main(["fit", "val.npz", "-o", "-", "--json"]) == 0
        output = capsysbinary.readouterr()
        assert json.loads(output.out)["format"] == "infocal calibrator"
        assert json.loads(output.err)["recipe"] == "imax"

    def test_compare_is_compare(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["compare", "val.npz", "val.npz", "--recipes", "identity,imax", "--bins", "9"]) == 0
        expected = infocal.compare(["identity", "imax"], (LOGITS, LABELS), (LOGITS, LABELS), n_bins=9)
        lines = capsys.readouterr().out.splitlines()
        assert lines[: len(str(expected).splitlines())] == str(expected).splitlines()

    def test_tables_fit_a_terminal(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", "80")
        assert main(["compare", "val.npz", "val.npz", "--recipes", "identity,scaling-binning"]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80

    @pytest.mark.parametrize("command", ["compare val.csv val.csv --recipes identity,imax", "demo"])
    def test_reports(self, command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("jinja2", reason="writes the page")
        Path("val.csv").write_text("ant,<b>bee,cat,label\n" + "3,-1,0,ant\n-2,2,1,cat\n0,2,-1,<b>bee\n" * 20)
        assert main([*command.split(), "--report", "report.html"]) == 0
        assert "report written to report.html" in capsys.readouterr().out
        page = Path("report.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "<b>bee" not in page
        assert ("&lt;b&gt;bee" in page) == ("val.csv" in command)

    def test_threads_change_nothing(self, folder: Path) -> None:
        for threads in "13":
            assert main(["fit", "val.npz", "-o", f"{threads}.json", "--threads", threads]) == 0
        assert Path("1.json").read_text() == Path("3.json").read_text()
        assert "INFOCAL_NUM_THREADS" not in os.environ

    def test_an_option_of_one_recipe(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fit", "val.npz", "-o", "cal.json", "--recipe", "gp", "--set", "n_inducing=5"]) == 0
        assert main(["fit", "val.npz", "-o", "cal.json", "--set", "n_inducing"]) == 2
        assert "--set: expected NAME=VALUE" in capsys.readouterr().err
        assert main(["fit", "val.npz", "-o", "cal.json", "--set", "colour=red"]) == 2
        assert "colour: 'imax' takes" in capsys.readouterr().err

    def test_every_keyword_of_a_fit_has_an_option(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["fit", "--help"])
        text = capsys.readouterr().out
        keywords = set(inspect.signature(infocal.fit).parameters) - {"logits", "labels", "options"}
        binning = set(RECIPES["imax"].options) | {"stage", "n_groups"}
        for name in keywords | binning:
            option = {"n_bins": "bins", "rng": "seed"}.get(name, name.replace("_", "-"))
            assert f"--{option}" in text

    def test_what_a_choice_was_made_from(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        recipes = '--set=candidates=["identity", "temperature"]'
        assert main(["fit", "val.npz", "-o", "cal.json", "--recipe", "auto", recipes]) == 0
        told = capsys.readouterr().out
        assert f"chose {infocal.load('cal.json').fit_info['chosen']}: " in told
        assert max(map(len, told.splitlines())) <= 80
        assert [line.split()[-1] for line in told.splitlines() if "%  " in line] == ["identity", "temperature"]

    def test_over_a_scaling(self, folder: Path) -> None:
        options = ["--recipe", "imax+temperature", "--stage", "scaled", "--representatives", "scaled"]
        assert main(["fit", "val.npz", "-o", "cal.json", *options]) == 0
        expected = infocal.fit("imax+temperature", LOGITS, LABELS, stage="scaled")
        assert_array_equal(infocal.load("cal.json")(LOGITS), expected(LOGITS))


class TestShells:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        for word in ("evaluate", "prior-count", "alternating", "eqmass"):
            assert word in script
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed; the script was made, not read by it")
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("infocal e", {"evaluate"}),
            ("infocal fit --recipe im", {"imax"}),
            ("infocal fit --solver ", {"exact", "alternating"}),
            ("infocal fit va", {"val.npz"}),
            ("infocal apply --out", {"--output"}),
        ],
    )
    def test_bash_completes(self, line: str, expected: set[str], folder: Path) -> None:
        words = line.split(" ")
        typed = " ".join(f"'{word}'" for word in words)
        script = f"""
        source <({sys.executable} -m infocal completion bash)
        COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
        function_name=$(complete -p infocal | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        $function_name infocal '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert set(run.stdout.split()) == expected

    def test_fish_completes(self, folder: Path) -> None:
        if shutil.which("fish") is None:
            pytest.skip("fish is not installed")
        script = f"{sys.executable} -m infocal completion fish | source; complete -C 'infocal fit --solver '"
        run = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True)
        assert {line.split("\t")[0] for line in run.stdout.splitlines()} == {"exact", "alternating"}

    def test_a_closed_pipe_is_no_fault(self, folder: Path) -> None:
        for command in ("apply cal.json big.npz -o -", "--help", "demo --json"):
            np.savez("big.npz", logits=np.tile(LOGITS, (20, 1)))
            main(["fit", "val.npz", "-o", "cal.json"])
            line = f"{sys.executable} -m infocal {command} | true; exit ${{PIPESTATUS[0]}}"
            run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
            assert (run.returncode in (0, 141), run.stderr) == (True, "")

    def test_interrupted_from_the_keyboard(self, folder: Path) -> None:
        os.mkfifo("slow.npz")
        with (
            subprocess.Popen(
                [sys.executable, "-m", "infocal", "fit", "slow.npz", "-o", "cal.json"],
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            ) as process,
            open("slow.npz", "wb"),
        ):  # opens once the command reads
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
            assert process.stderr is not None
            assert process.stderr.read() == "infocal: stopped\n"
        assert sorted(path.name for path in folder.iterdir()) == ["slow.npz", "val.npz"]

    def test_apply_starts_light(self, folder: Path) -> None:
        main(["fit", "val.npz", "-o", "cal.json"])
        code = (
            "import sys; from infocal.cli import main; main(['apply', 'cal.json', 'val.npz', '-o', 'out.npz'])\n"
            "heavy = {'scipy', 'rich', 'pyarrow', 'matplotlib', 'sklearn', 'shtab', 'jinja2', 'pandas'}\n"
            "print(sorted(heavy & sys.modules.keys()))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout.splitlines()[-1] == "[]"


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
            ("fit val.npz -o .", ".: expected the name of a file to write, got a folder"),
            ("fit val.npz -o val.npz", "val.npz: is read as well and would be lost"),
            ("fit val.npz -o val.npz/c.json", "no such file or directory"),
            ("fit val.npz -o c.json --threads 0", "--threads: expected a whole number of at least 1"),
            ("fit val.npz -o c.json --groups val.npz", "--groups: expected shared, classwise, prior or numbers"),
            ("fit val.npz -o c.json --n-groups 2", 'n_groups: only groups="prior"'),
            ("fit val.npz -o c.json --weights mass", "val.npz: expected weights named mass"),
            ("fit val.npz -o c.json --stage raw", "stage: 'imax' takes"),
            ("apply val.npz val.npz -o val.npz", "val.npz: is read as well and would be lost"),
            ("apply val.npz val.npz -o out.txt", "expected a name that ends in .npz"),
            ("compare val.npz val.npz --recipes imax,magic", "recipe: expected one of identity"),
            ("compare val.npz val.npz --report val.npz", "val.npz: is read as well and would be lost"),
            ("compare val.npz", "required: TEST"),
            ("evaluate val.npz --calibrator val.npz", "val.npz: expected a saved calibrator"),
            ("completion powershell", "invalid choice: 'powershell'"),
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

    def test_unreadable_and_unwritable(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        os.chmod("val.npz", 0)
        (folder / "locked").mkdir(mode=0o500)
        if os.access("val.npz", os.R_OK):
            pytest.skip("nothing is forbidden to this user")
        assert main(["evaluate", "val.npz"]) == 2
        assert "val.npz: permission denied" in capsys.readouterr().err
        os.chmod("val.npz", 0o600)
        assert main(["fit", "val.npz", "-o", "locked/c.json"]) == 2
        assert "may not be written to" in capsys.readouterr().err

    def test_a_full_disk_leaves_what_was_there(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        if not os.path.exists("/dev/full"):
            pytest.skip("needs /dev/full")
        assert main(["fit", "val.npz", "-o", "/dev/full"]) == 2
        assert "no space left" in capsys.readouterr().err

    def test_what_is_not_installed(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "shtab", None)
        assert main(["completion", "bash"]) == 2
        assert capsys.readouterr().err == "infocal: shtab is not installed: pip install 'infocal[all]'\n"
