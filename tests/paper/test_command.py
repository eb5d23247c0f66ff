"""`infocal reproduce`: lists, runs, goes on, and says what is wrong in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from infocal.cli import main
from infocal.paper.figures import FIGURES
from infocal.paper.splits import Samples
from infocal.paper.tables import TABLES

LABEL = "tab:app_acc_fix_ImageNet_inceptionresnet"


@pytest.fixture
def data(samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "small.npz", logits=samples.logits.astype(np.float32), labels=samples.labels)
    return tmp_path / "small.npz"


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*TABLES, *FIGURES]


def test_table_as_text(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", LABEL, "--data", str(data), "--splits", "1"]) == 0
    out, err = capsys.readouterr()
    assert LABEL in out
    assert "Printed for ImageNet (InceptionResNetV2); ours on small." in out
    assert "0/4" in err


def test_folder_and_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["reproduce", LABEL, "SkvsSmerge", "--data", str(data.parent), "--splits", "1", "--format", "json"]
    assert main(asked) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["sets"] == ["small"]
    assert [table["label"] for table in content["tables"]] == [LABEL]
    assert [figure["label"] for figure in content["figures"]] == ["fig:SkvsSmerge"]


def test_document_and_drawings(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="drawings need the extra plot")
    asked = ["reproduce", LABEL, "SkvsSmerge", "--data", str(data), "--splits", "1", "--format", "markdown"]
    assert main([*asked, "-o", "page.md"]) == 0
    page = Path("page.md").read_text()
    assert capsys.readouterr().out == ""
    assert "## Deviations" in page
    assert "--data small.npz --format markdown -o page.md`" in page
    assert "(page/fig_SkvsSmerge.png)" in page
    assert Path("page/fig_SkvsSmerge.png").stat().st_size > 1000
    assert str(data.parent) not in page


def test_cells_are_reused(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["reproduce", LABEL, "--data", str(data), "--splits", "1"]
    assert main(asked) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("infocal.paper.lab.fit", lambda *_, **__: pytest.fail("fitted again"))
    assert main(asked) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["nothing", "--data", "small.npz"], "LABEL: expected"),
        (["all"], "--data"),
        (["all", "--data", "small.npz", "--splits", "0"], "--splits: expected a whole number"),
        (["all", "--data", "missing.npz"], "missing.npz"),
        (["all", "--data", "empty"], "expected .npz files"),
    ],
)
def test_bad_usage(asked: list[str], says: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data.parent / "empty").mkdir()
    assert main(["reproduce", *asked]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "Traceback" not in err


def test_json_option_is_the_json_format(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", LABEL, "--data", str(data), "--splits", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["splits"] == 1


def test_output_is_checked_before_anything_is_computed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", LABEL, "--data", str(data), "-o", "nowhere/page.md"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not Path("infocal-reproduced").exists()
