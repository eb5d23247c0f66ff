"""The report page in a real browser: it works, prints, fits a phone, and is accessible, in light and in dark."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import infocal
from sources import random_samples

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright to drive a browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe for the accessibility check")
pytest.importorskip("jinja2", reason="the report page needs jinja2")

from infocal.html import write_report  # noqa: E402

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser on the path, looked for {', '.join(NAMES)}")
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1200, "height": 900}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a report on 30 classes, two of them with difficult names."""
    logits, labels = random_samples(5, n=900, n_classes=30)
    table = infocal.compare(["identity", "eqmass", "imax"], (logits, labels), (logits, labels))
    path = tmp_path_factory.mktemp("report") / "report.html"
    names = ["<script>alert(1)</script>", "unbroken" * 9, *(f"class {k}" for k in range(2, 30))]
    write_report(table, path, (logits, labels), chosen="imax", classes=names)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # what runs the tests in a container is often root, whom the sandbox refuses
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The report at desktop size; no message, dialog or request may come of whatever a test does to it."""
    heard: list[str] = []
    opened = browser.new_page(viewport=DESK)
    opened.on("console", lambda message: heard.append(message.text))
    opened.on("pageerror", lambda error: heard.append(str(error)))
    opened.on("dialog", lambda dialog: heard.append(dialog.message))
    opened.on("request", lambda request: heard.append(request.url))
    opened.set_default_timeout(5000)
    opened.goto(address)
    yield opened
    opened.close()
    assert [word for word in heard if word != address and word != "data:,"] == []


def shown(page: Any, column: int) -> list[str]:
    """Texts of a column of the class table, of the rows that can be seen."""
    rows = page.locator(f"#by-class tbody tr:visible > :nth-child({column + 1})")
    return list(rows.all_inner_texts())


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("%", "").strip()) for text in texts]


class TestClassTable:
    def test_worst_first_and_folded(self, page: Any) -> None:
        errors = numbers(shown(page, 1))
        assert len(errors) == 20
        assert errors == sorted(errors, reverse=True)
        assert page.locator("#found").inner_text() == "20 of 30 shown"

    @pytest.mark.parametrize(("title", "column"), [("error before", 2), ("too much", 3), ("samples", 5)])
    def test_sorts_down_then_up(self, page: Any, title: str, column: int) -> None:
        page.click("#all")
        heading = page.locator("#by-class th", has=page.get_by_role("button", name=title, exact=True))
        for direction in ("descending", "ascending"):
            heading.get_by_role("button").click()
            values = numbers(shown(page, column))
            assert len(values) == 30
            assert values == sorted(values, reverse=direction == "descending")
            assert heading.get_attribute("aria-sort") == direction
            assert page.locator("#by-class th[aria-sort]").count() == 1

    def test_sorts_names_from_the_keyboard(self, page: Any) -> None:
        page.locator("#by-class").get_by_role("button", name="class", exact=True).focus()
        page.keyboard.press("Enter")
        names = [name for name in shown(page, 0) if name.startswith("class")]
        assert names == sorted(names)
        assert len(names) >= 18

    def test_finds_a_class(self, page: Any) -> None:
        page.fill("#find", "ALERT")
        assert shown(page, 0) == ["<script>alert(1)</script>"]
        page.fill("#find", "")
        assert len(shown(page, 0)) == 20

    def test_shows_all(self, page: Any) -> None:
        page.click("#all")
        assert len(shown(page, 0)) == 30
        assert page.locator("#all").is_hidden()


def test_recipes_sort(page: Any) -> None:
    table = page.locator("section", has=page.locator("#recipes")).locator("table")
    table.get_by_role("button", name="NLL").click()
    values = [float(text.split()[0]) for text in table.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert "to" in table.locator("tbody td").first.inner_text()


def test_the_calibrator_can_be_saved(page: Any, tmp_path: Path) -> None:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="save imax.json").click()
    assert waiting.value.suggested_filename == "imax.json"
    waiting.value.save_as(tmp_path / "imax.json")
    assert infocal.load(tmp_path / "imax.json").recipe == "imax"


@pytest.mark.parametrize("width", [320, 360, 768, 1200])
def test_fits_the_width(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_is_accessible(page: Any, scheme: str, size: dict[str, int]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    for summary in page.locator("summary").all():
        summary.click()
    found = axe.Axe().run(page)
    assert found.response["passes"]
    assert found.violations_count == 0, found.generate_report()


def test_works_without_its_script(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    page.goto(address)
    assert page.locator("#by-class tbody tr:visible").count() == 30
    assert page.locator("#all").is_hidden()
    context.close()


def test_prints(page: Any) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".tools").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 688, "height": 1000})  # what A4 leaves between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    wide = "[...document.querySelectorAll('table')].filter((t) => t.getBoundingClientRect().right > 688).length"
    assert page.evaluate(wide) == 0
    assert page.pdf(format="A4").startswith(b"%PDF")
