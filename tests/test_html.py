"""The report page says what the comparison holds, carries all it needs, and lets no name become markup."""

import base64
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal.metrics import Reliability, reliability
from infocal.metrics.bands import clopper_pearson
from infocal.numerics import softmax
from infocal.records import Facts
from sources import random_samples

pytest.importorskip("jinja2", reason="the report page needs jinja2")

from infocal.html import to_html, write_report
from infocal.html.diagram import LEFT, SIDE, TOP, diagram
from infocal.html.page import probability
from infocal.html.tables import bin_table, class_table

Samples = tuple[np.ndarray, np.ndarray]


CAL, TEST = random_samples(0), random_samples(1)
LOGITS, LABELS = TEST
TABLE = infocal.compare(["identity", "eqmass", "imax"], CAL, TEST, n_bins=6, n_resamples=20)
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script>", "{{ 7 * 7 }}", "a&b", "' onx='"]
VOID = {"meta", "link", "input", "br", "path", "polyline", "circle", "rect"}


class Page(HTMLParser):
    """Elements and texts of a page whose every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.table = self.rows.setdefault(str(dict(attrs).get("aria-labelledby")), [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.table[-1][-1] += data


PAGE = Page(to_html(TABLE, TEST, chosen="imax"))


class TestPage:
    def test_is_complete_in_itself(self) -> None:
        text = to_html(TABLE, TEST)
        links = [value for name, value in Page(text).attributes if name in ("href", "src", "action", "data")]
        assert links
        assert all(str(link).startswith("data:") for link in links)
        assert not re.findall(r"https?:|@import|url\(|fetch\(|XMLHttpRequest", text)

    def test_identifiers_are_unique_and_lead_somewhere(self) -> None:
        ids = [value for name, value in PAGE.attributes if name == "id"]
        assert len(ids) == len(set(ids))
        for name, value in PAGE.attributes:
            if name in ("aria-labelledby", "aria-describedby", "for"):
                assert set(str(value).split()) <= set(ids)

    def test_same_comparison_same_page(self) -> None:
        again = infocal.compare(["identity", "eqmass", "imax"], CAL, TEST, n_bins=6, n_resamples=20)
        assert to_html(TABLE, TEST) == to_html(again, TEST)

    def test_names_stay_text(self) -> None:
        page = Page(to_html(TABLE, TEST, classes=HOSTILE, settings={HOSTILE[0]: HOSTILE[1]}, title=HOSTILE[2]))
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert {row[0] for row in page.rows["classes"][1:]} == set(HOSTILE)
        assert {HOSTILE[0], HOSTILE[1], HOSTILE[2]} <= set(page.texts)

    def test_long_names_are_cut(self) -> None:
        page = Page(to_html(TABLE, TEST, classes=["x" * 5000, *"abcde"]))
        assert "x" * 79 + "…" in {row[0] for row in page.rows["classes"]}

    def test_settings_and_versions_are_on_record(self) -> None:
        texts = " ".join(Page(to_html(TABLE, TEST, settings={"rng": 3, "test_samples": "a.npz"})).texts)
        for words in ("seed 3", "test samples a.npz", f"infocal {infocal.__version__}", f"numpy {np.__version__}"):
            assert words in texts

    def test_many_classes_stay_small(self) -> None:
        logits, labels = random_samples(2, n=1500, n_classes=1200)
        table = infocal.compare(["identity", "imax"], (logits, labels), (logits, labels))
        text = to_html(table, (logits, labels), classes=["<&>" * 50] * 1200)
        assert len(text.encode()) < 2e6
        assert len(Page(text).rows["classes"]) == 1001
        assert "1000 of 1200" in text


class TestRecipes:
    def test_every_number(self) -> None:
        head, *rows = PAGE.rows["recipes"]
        assert [name.split()[0] for name, *_ in rows] == list(TABLE)
        for title, key in (("top-1 ECE", "top1_ece"), ("class-wise ECE", "cw_ece_1/K"), ("accuracy", "accuracy")):
            column = [row[head.index(title)] for row in rows]
            shown = [float(text.split()[0]) / 100 for text in column]
            assert_allclose(shown, [report[key] for report in TABLE.values()], atol=5.1e-5)

    def test_the_best_of_each_column_is_marked(self) -> None:
        head, *rows = PAGE.rows["recipes"]
        for title, key, best in (("NLL", "nll_normalised", min), ("accuracy", "accuracy", max)):
            values = [report[key] for report in TABLE.values()]
            marked = ["★" in row[head.index(title)] for row in rows]
            assert marked == [value == best(values) and min(values) < max(values) for value in values]

    def test_intervals_are_those_of_the_comparison(self) -> None:
        table = infocal.compare(["identity", "imax"], CAL, TEST, level=0.8, n_resamples=50)
        page = Page(to_html(table, TEST))
        low, high = table.intervals["imax"]["top1_ece"][1:]
        assert f"{100 * low:.2f} to {100 * high:.2f}\u00a0%" in page.rows["recipes"][2][1]
        assert "with 80\u00a0% bootstrap intervals" in " ".join(page.texts)

    def test_no_intervals_where_the_comparison_has_none(self) -> None:
        assert "bootstrap" not in to_html(infocal.compare(["identity", "imax"], CAL, TEST, n_resamples=0), TEST)

    def test_choice(self) -> None:
        def asked(**scores: tuple[float, float]) -> str:
            reports = {name: report(*pair) for name, pair in scores.items()}
            calibrators = dict.fromkeys(scores, TABLE.calibrators["imax"])
            page = to_html(infocal.Comparison(reports, calibrators), TEST)
            return str(re.search(r"The recipe <strong>(\w+)</strong>", page)[1])

        def report(accuracy: float, nll: float) -> infocal.Report:
            own = TABLE["imax"]
            scores = dict(own) | {"accuracy": accuracy, "nll_normalised": nll}
            return replace(own, names=tuple(scores), scores=[list(scores.values())], level=None)

        assert asked(a=(0.8, 1.0), b=(0.79, 0.9), c=(0.8, 0.95)) == "b"
        assert asked(a=(0.8, 1.0), b=(0.7, 0.5)) == "a"

    @pytest.mark.parametrize(
        ("chosen", "words"),
        [
            ("imax", r"imax (cuts|does not lower) the error of the confidence, from [\d.]+\u00a0% to [\d.]+\u00a0%"),
            ("identity", r"need no calibration that these recipes could give: .* is [\d.]+\u00a0%\."),
        ],
    )
    def test_verdict(self, chosen: str, words: str) -> None:
        assert re.search(words, " ".join(Page(to_html(TABLE, TEST, chosen=chosen)).texts))

    def test_a_choice_by_cross_validation_is_told(self) -> None:
        own = TABLE.calibrators["imax"]
        facts = {
            "chosen": "imax",
            "reason": "it has the least loss",
            "table": "* imax  0.5",
            "candidates": {"imax": {}},
        }
        calibrator = infocal.Calibrator("auto", 6, own.method, Facts(dict(own.fit_info) | facts))
        reports = {"identity": TABLE["identity"], "auto": TABLE["imax"]}
        calibrators = {"identity": TABLE.calibrators["identity"], "auto": calibrator}
        texts = " ".join(Page(to_html(infocal.Comparison(reports, calibrators), TEST)).texts)
        assert "which stands for imax: it has the least loss." in texts
        assert re.search("imax (cuts|does not lower)", texts)
        assert "* imax  0.5" in texts

    def test_the_classifier_itself_need_not_be_compared(self) -> None:
        table = infocal.compare(["imax"], CAL, TEST)
        old = re.search(r"from ([\d.]+)", " ".join(Page(to_html(table, TEST)).texts))
        assert float(old[1]) / 100 == pytest.approx(TABLE["identity"]["top1_ece"], abs=5.1e-4)


class TestClasses:
    BEFORE, AFTER = softmax(LOGITS), TABLE.calibrators["imax"](LOGITS)
    ROWS = class_table(BEFORE, AFTER, LOGITS, LABELS, list("abcdef")).rows

    def test_errors_average_to_the_report(self) -> None:
        assert np.mean([row.before for row in self.ROWS]) == pytest.approx(TABLE["identity"]["cw_ece_1/K"])
        assert np.mean([row.after for row in self.ROWS]) == pytest.approx(TABLE["imax"]["cw_ece_1/K"])

    def test_worst_first(self) -> None:
        errors = [row.after for row in self.ROWS]
        assert errors == sorted(errors, reverse=True)

    def test_counts_and_lean(self) -> None:
        predicted = TABLE.calibrators["imax"].predict(LOGITS)
        for row in self.ROWS:
            k = "abcdef".index(row.name)
            assert row.samples == (k == LABELS).sum()
            assert row.recall == pytest.approx((predicted[k == LABELS] == k).mean())
            kept = self.AFTER[:, k] > 1 / 6
            assert row.lean == pytest.approx((self.AFTER[kept, k] - (LABELS[kept] == k)).mean())

    def test_classes_without_samples(self) -> None:
        few = LABELS < 3
        test = (LOGITS[few], LABELS[few])
        page = Page(to_html(infocal.compare(["imax"], CAL, test), test))
        rows = {row[0]: row for row in page.rows["classes"]}
        assert rows["5"][-2:] == ["–", "0"]


class TestBins:
    def test_of_a_binning(self) -> None:
        calibrator = infocal.fit("imax", *CAL, n_bins=6, groups=[0, 0, 0, 1, 1, 1])
        probs = calibrator(LOGITS)
        bins = bin_table(calibrator, probs, LOGITS, LABELS, 0.9)
        assert bins.own
        assert bins.groups == 2
        assert len(bins.rows) == 12
        assert sum(row.seen for row in bins.rows) == probs.size
        hits = np.equal.outer(LABELS, np.arange(6))
        for row in bins.rows:
            mine = np.zeros(probs.shape, dtype=bool)
            mine[:, 3 * row.group : 3 * row.group + 3] = probs[:, 3 * row.group : 3 * row.group + 3] == row.answer
            assert row.seen == mine.sum()
            assert row.rate == pytest.approx(hits[mine].mean())
            assert row.bottom <= row.rate <= row.top
            assert row.honest == (row.bottom <= row.answer <= row.top)
        assert [row.answer for row in bins.rows] == [*np.concatenate(calibrator.representatives)]

    def test_bands_hold_all_at_once(self) -> None:
        """Answers of bins that are right by construction lie inside in all bins at least as often as is promised."""
        rng = np.random.default_rng(3)
        inside = 0
        for _ in range(200):
            x = rng.normal(size=(300, 2)) * 2
            y = (rng.random(300) < softmax(x)[:, 1]).astype(np.int64)
            made = infocal.fit("eqsize", x, y, n_bins=5, representatives=softmax(x))
            inside += all(row.honest for row in bin_table(made, made(x), x, y, 0.9).rows)
        assert inside >= 170

    @pytest.mark.parametrize("recipe", ["identity", "gp"])
    def test_of_a_scaling(self, recipe: str) -> None:
        calibrator = infocal.fit(recipe, *CAL)
        bins = bin_table(calibrator, calibrator(LOGITS), LOGITS, LABELS, 0.9)
        assert not bins.own
        assert sum(row.seen for row in bins.rows) == LOGITS.size
        assert all(row.low - 1e-9 <= row.answer <= row.high + 1e-9 for row in bins.rows)

    def test_of_too_many_groups_to_list(self) -> None:
        logits, labels = random_samples(4, n=300, n_classes=80)
        calibrator = infocal.fit("eqsize", logits, labels, groups="classwise")
        assert not bin_table(calibrator, calibrator(logits), logits, labels, 0.9).own

    def test_numbers_near_certainty_keep_their_digits(self) -> None:
        shown = {0.0: "0", 1.0: "1", 0.25: "0.25", 1.5e-5: "1.5e-05", 0.901: "0.9010", 0.99998: "0.9999800"}
        assert {p: probability(p) for p in shown} == shown
        assert probability(np.nextafter(1.0, 0.0)) == "1.000000000"

    def test_empty_bins_show_no_rate(self) -> None:
        test = (LOGITS[:20], LABELS[:20])
        page = Page(to_html(infocal.compare(["eqsize"], CAL, test, n_bins=40), test))
        empty = [row for row in page.rows["bins"][1:] if row[4] == "0"]
        assert empty
        assert all(row[5:] == ["–", "0 to 1", "yes"] for row in empty)


class TestDiagram:
    def test_shows_the_table(self) -> None:
        table = reliability(softmax(LOGITS), LABELS, n_bins=10)
        (series,) = diagram("k", "title", "about", {"imax": table}, 0.9).series
        low, high = clopper_pearson(table.hits, table.weights, 0.1)
        up = lambda y: 1 - (np.array(y) - TOP) / SIDE  # noqa: E731
        assert_allclose((np.array([m.x for m in series.marks]) - LEFT) / SIDE, table.mean, atol=2e-4)
        assert_allclose(up([m.y for m in series.marks]), table.frequency, atol=2e-4)
        assert_allclose(up([m.bottom for m in series.marks]), low, atol=2e-4)
        assert_allclose(up([m.top for m in series.marks]), high, atol=2e-4)
        assert len(series.line.split()) == len(table.mean)

    def test_looks_differ(self) -> None:
        table = reliability(softmax(LOGITS), LABELS, n_bins=10)
        drawn = diagram("k", "title", "about", {"before": table, "imax": table}, 0.9)
        assert [series.look for series in drawn.series] == ["before", "after"]

    def test_uneven_shares_are_drawn_by_their_logarithm(self) -> None:
        even = Reliability(1, [0, 0], [0.0, 0.0], [5.0, 5.0], [1.0, 2.0])
        uneven = Reliability(1, [0, 0], [0.0, 0.0], [9990.0, 10.0], [1.0, 2.0])
        assert diagram("k", "", "", {"x": even}, 0.9).strip.least == 0
        drawn = diagram("k", "", "", {"x": uneven}, 0.9)
        assert drawn.strip.ends == ("0.1\u00a0%", "99.9\u00a0%")
        assert [mark.share for mark in drawn.series[0].marks] == [16.0, 68.0]


class TestCarried:
    def test_the_page_holds_the_calibrator(self, tmp_path: Path) -> None:
        (url,) = [str(value) for name, value in PAGE.attributes if name == "href" and "json" in str(value)]
        path = tmp_path / "imax.json"
        path.write_bytes(base64.b64decode(url.partition(",")[2]))
        assert_array_equal(infocal.load(path)(LOGITS), TABLE.calibrators["imax"](LOGITS))

    def test_the_lines_shown_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        TABLE.calibrators["imax"].save("imax.json")
        (code,) = [text for text in PAGE.texts if text.startswith("import infocal")]
        names: dict[str, object] = {"logits": LOGITS}
        exec(code, names)
        assert_array_equal(names["probs"], TABLE.calibrators["imax"](LOGITS))

    def test_a_large_one_stays_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("infocal.html.carried.LARGEST", 10)
        text = to_html(TABLE, TEST, chosen="imax")
        assert "too large for this page" in text
        assert "json;base64" not in text


class TestWriting:
    def test_whole_or_not_at_all(self, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        write_report(TABLE, path, TEST, title="Ours")
        assert path.read_text(encoding="utf-8") == to_html(TABLE, TEST, title="Ours")
        with pytest.raises(ValueError, match="labels"):
            write_report(TABLE, path, (LOGITS, LABELS[:-1]))
        assert "<title>Ours</title>" in path.read_text(encoding="utf-8")
        assert [file.name for file in tmp_path.iterdir()] == ["report.html"]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"chosen": "gp"}, "chosen: expected one of identity, eqmass, imax, got 'gp'"),
            ({"classes": ["a", "b"]}, "classes: expected one name for each of the 6 classes, got 2"),
        ],
    )
    def test_bad_options(self, options: dict[str, object], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            to_html(TABLE, TEST, **options)

    def test_bad_samples(self) -> None:
        with pytest.raises(ValueError, match="expected 6 classes"):
            to_html(TABLE, (LOGITS[:, :3], LABELS))
        with pytest.raises(ValueError, match="expected the 400 samples that the recipes were judged on, got 5"):
            to_html(TABLE, (LOGITS[:5], LABELS[:5]))
        with pytest.raises(ValueError, match="comparison: expected at least one recipe"):
            to_html(infocal.Comparison({}, {}), TEST)

    def test_says_what_to_install(self) -> None:
        code = "import sys; sys.modules['jinja2'] = None; import infocal.html"
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "pip install 'infocal[html]'" in made.stderr

    def test_needs_no_matplotlib(self) -> None:
        code = "import sys; sys.modules['matplotlib'] = None; import infocal.html"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_packaged_data_in_time(self, tmp_path: Path) -> None:
        data, start = infocal.datasets.load_quickdraw(), perf_counter()
        write_report(
            infocal.compare(["identity", "eqmass", "imax"], data.cal, data.test), tmp_path / "r.html", data.test
        )
        assert perf_counter() - start < 30
        assert (tmp_path / "r.html").stat().st_size < 2e6
