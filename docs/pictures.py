"""Makes the pictures of the documentation from the packaged logits: `make pictures`.

The pictures of the report are taken in a headless Chromium, driven by Playwright; each file stays below 150 kB.
"""

import io
import shutil
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

import infocal
from infocal import information
from infocal.html import write_report
from infocal.metrics import ece, reliability
from infocal.plots import draw_ece, draw_information, draw_logodds, draw_reliability

FOLDER = Path(__file__).parent / "images"
DATA = infocal.datasets.load_quickdraw()
LOGITS, LABELS = DATA.test
RECIPES = ("identity", "temperature", "gp", "eqsize", "eqmass", "imax")
FITTED = {recipe: infocal.fit(recipe, *DATA.cal) for recipe in RECIPES}
PROBS = {"softmax": FITTED["identity"](LOGITS), "imax": FITTED["imax"](LOGITS)}
COUNTS = (10, 20, 50, 100, 200, 500)
LEVELS = (2, 4, 8, 16, 32)


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        picture = io.BytesIO()
        draw().figure.savefig(picture, dpi=110)
        keep(name, picture.getvalue())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        table = infocal.compare(RECIPES, DATA.cal, DATA.test)
        write_report(table, path, DATA.test, chosen="imax", settings={"samples": DATA.about, "n_bins": 15, "seed": 0})
        photograph(path)


def keep(name: str, picture: bytes) -> None:
    """Write a picture in 128 colours, which halves its size and shows no difference."""
    with Image.open(io.BytesIO(picture)) as image:
        small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
        small.save(FOLDER / f"{name}.png", optimize=True)
    print(f"{name}.png  {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")


# -- plots ---------------------------------------------------------------------------------------------------------


def confidence() -> Axes:
    return draw_reliability({name: reliability(p, LABELS, n_bins=15, ties=LOGITS) for name, p in PROBS.items()})


def classes() -> Axes:
    tables = {name: reliability(p, LABELS, kind="classwise", threshold="1/K") for name, p in PROBS.items()}
    return draw_reliability(tables, n_bins=15)


def one_class() -> Axes:
    largest = int(np.bincount(LABELS).argmax())
    tables = {name: reliability(p, LABELS, kind="classwise", n_bins=10) for name, p in PROBS.items()}
    return draw_reliability(tables, question=largest)


def logodds_scale() -> Axes:
    tables = {name: reliability(p, LABELS, kind="classwise", scheme="own") for name, p in PROBS.items()}
    return draw_reliability(tables, n_bins=20, scale="logodds")


def logodds() -> Axes:
    return draw_logodds(LOGITS, LABELS, calibrator=FITTED["imax"])


def ece_over_bins() -> Axes:
    probs = {recipe: FITTED[recipe](LOGITS) for recipe in ("identity", "temperature", "gp", "imax")}
    errors = {name: [ece(p, LABELS, n_bins=M, ties=LOGITS) for M in COUNTS] for name, p in probs.items()}
    return draw_ece(COUNTS, errors, ylabel="top-1 ECE")


def information_plane() -> Axes:
    (question,) = information.one_vs_rest(*DATA.cal)
    smooth = information.smoothed(question)

    def point(recipe: str, n_bins: int) -> tuple[float, float]:
        edges = infocal.fit(recipe, *DATA.cal, n_bins=n_bins).edges[0]
        return information.rate(smooth, edges), information.of_bins(smooth, edges)

    planes = {r: np.transpose([point(r, M) for M in LEVELS]) for r in ("imax", "kmeans", "eqmass", "eqsize")}
    return draw_information({name: tuple(plane) for name, plane in planes.items()}, limit=information.limit(question))


PICTURES = {
    "reliability": confidence,
    "reliability-classes": classes,
    "reliability-one-class": one_class,
    "reliability-logodds": logodds_scale,
    "logodds": logodds,
    "ece-bins": ece_over_bins,
    "information-plane": information_plane,
}


# -- the report ----------------------------------------------------------------------------------------------------


def photograph(path: Path) -> None:
    """The report at a desk in daylight, and on a phone in the dark."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("pictures of the report need a browser on the path: chromium or google-chrome")
    views = {"report": (1000, 1500, "light"), "report-phone": (360, 720, "dark")}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, (width, height, scheme) in views.items():
            page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(path.as_uri())
            keep(name, page.screenshot())
        chromium.close()


if __name__ == "__main__":
    main()
