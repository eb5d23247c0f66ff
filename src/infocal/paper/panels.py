"""A figure as data: what is to be seen, before anything is drawn."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..arrays import Floats

__all__ = ["Bars", "Curve", "Figure", "Panel", "Rules", "figure_json"]


@dataclass(frozen=True, eq=False)
class Curve:
    """Places x (n,) and heights y (n,), and the spread of each height where it has one."""

    name: str
    x: Floats
    y: Floats
    spread: Floats | None = None
    dots: bool = False


@dataclass(frozen=True, eq=False)
class Bars:
    """Heights (n,) between edges (n + 1,): a histogram."""

    name: str
    edges: Floats
    heights: Floats


@dataclass(frozen=True, eq=False)
class Rules:
    """Upright lines at places on the x axis."""

    name: str
    places: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    rules: tuple[Rules, ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure by its label; `facts` are the numbers to be read off it."""

    label: str
    title: str
    panels: tuple[Panel, ...]
    facts: dict[str, float] = field(default_factory=dict)


def figure_json(figure: Figure) -> dict[str, Any]:
    """A figure as an object of lists and numbers, infinities and what is unknown as null."""
    content: dict[str, Any] = _plain(asdict(figure))
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
