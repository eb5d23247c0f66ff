"""Figures drawn with matplotlib (extra `plot`), on a canvas of their own: no global state is touched."""

import os
from typing import Any

from ..files import replaced
from .panels import Curve, Figure, Panel

__all__ = ["draw", "save"]

COLOURS = ("#4C72B0", "#DD8452", "#55A868", "#8172B3", "#C44E52", "#937860")
WIDTH, HEIGHT = 4.4, 3.4  # inches of a panel
MOST = 3  # panels side by side


def draw(figure: Figure) -> Any:
    """A matplotlib figure of the panels."""
    from matplotlib.figure import Figure as Sheet

    count = len(figure.panels)
    across = min(count, MOST if count != 4 else 2)
    down = -(-count // across)
    sheet = Sheet(figsize=(WIDTH * across, HEIGHT * down), layout="constrained")
    for axes, panel in zip(sheet.subplots(down, across, squeeze=False).flat, figure.panels, strict=False):
        draw_panel(axes, panel)
    for axes in sheet.axes[count:]:
        axes.set_axis_off()
    _name(sheet, sheet.axes[:count])
    return sheet


def _name(sheet: Any, panels: list[Any]) -> None:
    """The names of what is drawn: below all panels where these share them, else in each."""
    names = [axes.get_legend_handles_labels() for axes in panels]
    if all(labels == names[0][1] for _, labels in names):
        sheet.legend(*names[0], loc="outside lower center", ncols=len(names[0][1]), fontsize=8, frameon=False)
        return
    for axes in panels:
        axes.legend(fontsize=8, frameon=False)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a drawing as PNG, whole or not at all."""
    with replaced(path) as file:
        draw(figure).savefig(file, format="png", dpi=90)


def draw_panel(axes: Any, panel: Panel) -> None:
    """One panel on its axes: bars behind, lines in front."""
    for bars, colour in zip(panel.bars, COLOURS, strict=False):
        axes.stairs(bars.heights, bars.edges, fill=True, alpha=0.45, color=colour, label=bars.name)
    for curve, colour in zip(panel.curves, COLOURS, strict=False):
        _draw_curve(axes, curve, colour)
    for rules in panel.rules:
        low, high = axes.get_xlim()
        inside = [x for x in rules.places if low <= x <= high]
        for i, x in enumerate(inside):
            axes.axvline(x, color="black", linewidth=0.8, linestyle="--", label=rules.name if i == 0 else None)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("symlog", linthresh=1)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_curve(axes: Any, curve: Curve, colour: str) -> None:
    axes.plot(
        curve.x,
        curve.y,
        color=colour,
        label=curve.name,
        linewidth=0 if curve.dots else 1.5,
        marker="o" if curve.dots else None,
        markersize=5,
    )
    if curve.spread is not None:
        axes.fill_between(curve.x, curve.y - curve.spread, curve.y + curve.spread, color=colour, alpha=0.2, linewidth=0)
