"""Reliability diagrams as inline SVG: where everything stands; how it looks is the style sheet's.

The page draws its own pictures instead of showing those of `plots`: text stays text that can be read aloud, copied and
recoloured for a dark screen, a diagram costs 10 kB, and the page needs no matplotlib.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..metrics import Reliability
from ..metrics.bands import clopper_pearson

__all__ = ["Diagram", "Mark", "Series", "Strip", "diagram"]

LEFT, SIDE = 44.0, 290.0  # of the square in a drawing of 350 x 424
TOP = 82.0
STRIP_TOP, STRIP = 16.0, 52.0
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LOOKS = ("before", "after")
UNEVEN = 100


@dataclass(frozen=True)
class Mark:
    """A bin: where its point, the ends of its interval and its share stand, and what it says."""

    x: float
    y: float
    bottom: float
    top: float
    share: float
    says: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """The bins of one table, joined by a line; `look` names its style."""

    name: str
    look: str
    line: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Strip:
    """The scale of the strip of shares above a diagram; linear where it starts from 0, else logarithmic."""

    least: float
    most: float

    @property
    def ends(self) -> tuple[str, str]:
        """What stands at its foot and at its top."""
        return f"{100 * self.least:.2g}\u00a0%", f"{100 * self.most:.3g}\u00a0%"

    def place(self, share: float) -> float:
        """Where a share stands in the drawing."""
        height = share / self.most
        if self.least:
            height = np.log(share / self.least) / np.log(self.most / self.least)
        return round(STRIP_TOP + STRIP * (1 - float(height)), 1)


@dataclass(frozen=True)
class Diagram:
    """All a template needs to draw a reliability diagram."""

    key: str
    title: str
    about: str
    strip: Strip
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]


def diagram(key: str, title: str, about: str, tables: Mapping[str, Reliability], level: float) -> Diagram:
    """The diagram of one or two tables of one question each, by name, with intervals of this level."""
    looks = LOOKS if len(tables) > 1 else LOOKS[1:]
    strip = _strip(np.concatenate([table.share for table in tables.values()]))
    series = tuple(
        _series(name, look, table, 1 - level, strip) for look, (name, table) in zip(looks, tables.items(), strict=True)
    )
    across = tuple((_across(p), f"{p:g}") for p in TICKS)
    up = tuple((_up(p), f"{p:g}") for p in TICKS)
    return Diagram(key, title, about, strip, across, up, series)


def _strip(shares: Floats) -> Strip:
    """From 0 to the largest share; where shares differ a hundredfold, by logarithm and from a power of ten."""
    least, most = float(shares.min(initial=1.0)), float(shares.max(initial=0.0)) or 1.0
    return Strip(10.0 ** np.floor(np.log10(least)) if most > UNEVEN * least else 0.0, most)


def _series(name: str, look: str, table: Reliability, alpha: float, strip: Strip) -> Series:
    low, high = clopper_pearson(table.hits, table.weights, alpha)
    columns = (table.mean, table.frequency, low, high, table.share, table.weights)
    marks = tuple(_mark(strip, *(float(value) for value in row)) for row in np.transpose(columns))
    return Series(name, look, " ".join(f"{mark.x},{mark.y}" for mark in marks), marks)


def _mark(strip: Strip, mean: float, rate: float, low: float, high: float, share: float, weight: float) -> Mark:
    says = (f"{mean:.3f}", f"{rate:.3f}", f"{low:.3f}", f"{high:.3f}", f"{weight:,.0f}")
    return Mark(_across(mean), _up(rate), _up(low), _up(high), strip.place(share), says)


def _across(p: float) -> float:
    return round(LEFT + SIDE * min(max(p, 0.0), 1.0), 1)


def _up(p: float) -> float:
    return round(TOP + SIDE * (1 - min(max(p, 0.0), 1.0)), 1)
