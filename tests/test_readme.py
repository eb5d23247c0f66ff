"""What the README shows is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infocal

README = Path(__file__).resolve().parents[1] / "README.md"


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_shell_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that use what is installed; what installs it is run by other means."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    data = infocal.datasets.load_quickdraw()
    for name, (logits, labels) in {"val": data.cal, "test": data.test}.items():
        np.savez(f"{name}.npz", logits=logits[:500], labels=labels[:500])
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL) if "make " not in block]
    assert blocks
    for block in blocks:
        subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True, capture_output=True)


def test_links_within_the_repository_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
