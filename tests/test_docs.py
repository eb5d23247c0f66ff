"""What the pages show is what happens, and they load nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted(path for path in DOCS.rglob("*.md") if BLOCK.search(path.read_text()))
FETCHED = re.compile(r"""(?:<(?:script|img|iframe)[^>]*\ssrc|<link[^>]*\shref|url\()\s*=?\s*["'(]?(?:https?:)?//""")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page, in one folder and one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {}
    for language, text in BLOCK.findall(page.read_text()):
        if language == "python":
            exec(compile(text, f"{page}: {text.splitlines()[0]}", "exec"), names)
        else:
            run = subprocess.run(["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, check=False)
            assert run.returncode == 0, f"{text}\n{run.stderr}"


def test_every_page_is_reached() -> None:
    config = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS.rglob("*.md"):
        assert f": {page.relative_to(DOCS)}\n" in config, f"{page} is in no menu"


def test_pages_build_without_a_warning_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    for needed in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(needed, reason="builds the pages")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for path in (*pages, *tmp_path.rglob("*.css")):
        assert not FETCHED.search(path.read_text()), path
    assert "<math" in (tmp_path / "maths" / "imax.html").read_text()
