"""Pictures of calibration: each `draw_` function draws on the axes it is given and returns them.

Without axes it makes a figure of its own, which belongs to nobody else: pyplot is never loaded and no setting of
matplotlib is changed. What is drawn differs in marker, line and hatching besides colour (those of Okabe and Ito, 2008),
so it can be read in black and white and by readers who see colours differently. To keep a picture:
`ax.figure.savefig("reliability.png")`.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Array, Floats, check_count, check_labels, check_logits
from .calibrator import Calibrator
from .metrics import Interval, Reliability
from .metrics.bands import clopper_pearson
from .metrics.calibration import size_edges
from .metrics.scores import check_level
from .numerics import logit, sigmoid
from .problems import REACH, Binary, questions

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
except ModuleNotFoundError as error:
    message = "infocal.plots draws with matplotlib: pip install 'infocal[plot]'"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["draw_ece", "draw_information", "draw_logodds", "draw_reliability"]

SCALES = ("probability", "logodds")
TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-5, 1 - 1e-6)
GREY = "0.5"  # stands out from white and from black
CELLS = 100  # of a histogram of log-odds
LISTED = 12  # at most so many numbers of bins are all written on their axis


class Look(NamedTuple):
    """How one of several things is drawn."""

    colour: str
    marker: str
    line: Literal["-", "--", "-.", ":"]
    hollow: bool

    @property
    def points(self) -> dict[str, Any]:
        fill = "none" if self.hollow else self.colour
        return {"color": self.colour, "marker": self.marker, "markerfacecolor": fill, "markersize": 6}


LOOKS = (
    Look("#D55E00", "o", "--", True),
    Look("#0072B2", "s", "-", False),
    Look("#009E73", "^", "-.", True),
    Look("#CC79A7", "D", ":", False),
    Look("#E69F00", "v", "--", False),
    Look("#56B4E9", "P", "-", True),
)


def draw_reliability(
    tables: Reliability | Mapping[str, Reliability],
    *,
    question: int | None = None,
    n_bins: int | None = None,
    scale: str = "probability",
    level: float = 0.9,
    histogram: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A reliability diagram: how often the answers of each bin came true, over their mean probability.

    `tables` is what `metrics.reliability` returns (or the `top1` and `classwise` of a `Report`), or several by name,
    such as {"before": ..., "after": ...}, to be laid over each other. Of a class-wise table `question` takes one class,
    and `n_bins` pools all of them in bins of equal size; it also makes the bins of any table fewer. Bars are
    Clopper-Pearson intervals of each frequency at this level. Points on the diagonal are honest, below it the
    classifier claims too much. `scale="logodds"` spreads both ends out; there what is within a millionth of 0 or 1, or
    exact, stands on the rim. Above, `histogram` shows the share of each bin.

    >>> import infocal
    >>> probs, labels = [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1]
    >>> ax = draw_reliability(infocal.metrics.reliability(probs, labels, n_bins=10))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mean probability', 'observed frequency')
    """
    if scale not in SCALES:
        raise ValueError(f'scale: expected "probability" or "logodds", got {scale!r}')
    alpha = 1 - check_level(level)
    named = {"": tables} if isinstance(tables, Reliability) else dict(tables)
    chosen = {name: _chosen(name, table, question, n_bins) for name, table in _some("tables", named).items()}
    shown = chosen if n_bins is None else _merged(chosen, n_bins, scale)
    ax = _own_axes(5.0, 5.8 if histogram else 5.0) if ax is None else ax
    low, high = _limits(shown) if scale == "logodds" else (0.0, 1.0)
    ax.plot([low, high], [low, high], color=GREY, linestyle=":", linewidth=1.2, zorder=1)
    for look, (name, table) in zip(_looks(shown), shown.items(), strict=True):
        ends = clopper_pearson(table.hits, table.weights, alpha)
        mean, rate, bottom, top = (np.clip(values, low, high) for values in (table.mean, table.frequency, *ends))
        lines: dict[str, Any] = {
            "linestyle": look.line,
            "linewidth": 1.2,
            "elinewidth": 0.9,
            "capsize": 2.5,
            "clip_on": False,
        }
        ax.errorbar(mean, rate, np.stack((rate - bottom, top - rate)), label=name, **lines, **look.points)
    _probability_axes(ax, scale, low, high)
    _legend(ax, shown)
    if histogram:
        _draw_shares(ax, shown)
    return ax


def _chosen(name: str, table: Any, question: int | None, n_bins: int | None) -> Reliability:
    if not isinstance(table, Reliability):
        which = f"tables[{name!r}]" if name else "tables"
        raise ValueError(f"{which}: expected what metrics.reliability returns, got {type(table).__name__}")
    chosen = table if question is None else table.of(question)
    if n_bins is None and chosen.questions > 1:
        raise ValueError(
            f"tables: these are the bins of {chosen.questions} classes; draw one of them with question=... "
            "or all together with n_bins=..."
        )
    if not len(chosen.weights):
        raise ValueError("tables: expected at least one bin with samples in it, got none")
    return chosen


def _merged(tables: Mapping[str, Reliability], n_bins: int, scale: str) -> dict[str, Reliability]:
    """All questions of a table as one, in bins of equal size on this scale."""
    edges = size_edges(check_count("n_bins", n_bins, 1))
    if scale == "logodds":
        at = logit(np.clip(np.concatenate([table.mean for table in tables.values()]), TICKS[0], TICKS[-1]))
        edges = sigmoid(at.min() + np.ptp(at) * edges)
    return {name: table.merged(edges) for name, table in tables.items()}


def _limits(shown: Mapping[str, Reliability]) -> tuple[float, float]:
    """Probabilities that all means and frequencies lie between, save those within a millionth of 0 or 1."""
    values = np.concatenate([np.append(table.mean, table.frequency) for table in shown.values()])
    inside = logit(np.clip(values[(values > 0) & (values < 1)], TICKS[0], TICKS[-1]))
    low, high = sigmoid([min(inside.min(initial=0.0), -1.0) - 0.5, max(inside.max(initial=0.0), 1.0) + 0.5])
    return float(low), float(high)


def _probability_axes(ax: Axes, scale: str, low: float, high: float) -> None:
    ax.set(xlabel="mean probability", ylabel="observed frequency")
    if scale == "logodds":
        ax.set(xscale="logit", yscale="logit")
        ticks = [p for p in TICKS if low <= p <= high]
        # where they would touch, every second one, 0.5 among them
        ticks = ticks if len(ticks) <= 7 else [p for p in TICKS[::2] if low <= p <= high]
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(FuncFormatter(lambda p, _: f"{p:.6g}"))
            axis.set_minor_locator(NullLocator())
    ax.set(xlim=(low, high), ylim=(low, high), box_aspect=1)
    _grid(ax)


def _draw_shares(ax: Axes, shown: Mapping[str, Reliability]) -> None:
    """A strip above the axes with the share of each bin at its mean, by its logarithm where shares differ a lot."""
    strip = ax.inset_axes((0, 1.04, 1, 0.18), sharex=ax)
    shares = np.concatenate([table.share for table in shown.values()])
    uneven = shares.max() > 100 * shares.min()
    floor = 10.0 ** np.floor(np.log10(shares.min())) if uneven else 0.0
    for look, table in zip(_looks(shown), shown.values(), strict=True):
        mean = np.clip(table.mean, *ax.get_xlim())
        strip.vlines(mean, floor, table.share, colors=look.colour, linestyles=look.line, linewidth=1.2)
        strip.plot(mean, table.share, linestyle="none", **(look.points | {"markersize": 4}))
    strip.set(ylabel="share", yscale="log" if uneven else "linear")
    strip.set_ylim(floor, shares.max() * (2.0 if uneven else 1.15))
    strip.tick_params(axis="x", labelbottom=False)
    _grid(strip)


def draw_logodds(
    logits: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    calibrator: Calibrator | None = None,
    group: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Histograms of the log-odds of one-vs-rest questions, of the true class and of the others, on a log scale.

    With a binned `calibrator` the questions are those of one of its groups of classes, and its bin edges stand among
    them as dashed lines; without one, all classes are taken together. Log-odds beyond 32 are counted in the outer bars.
    """
    x = check_logits(logits, None if calibrator is None else calibrator.n_classes)
    n, n_classes = x.shape
    y = check_labels(labels, n, n_classes)
    groups = np.zeros(n_classes, dtype=np.int64) if calibrator is None else calibrator.groups
    if not 0 <= group <= groups.max():
        raise ValueError(f"group: expected a number from 0 to {groups.max()}, got {group!r}")
    edges = np.empty(0) if calibrator is None else calibrator.edges[group]
    problem = questions(x, y, groups)[group]
    ax = _own_axes(6.4, 4.0) if ax is None else ax
    _draw_sides(ax, problem, edges)
    for edge in edges:
        ax.axvline(edge, color=GREY, linestyle="--", linewidth=0.9, label=_once(ax, f"{len(edges)} bin edges"))
    ax.set(xlabel="log-odds", ylabel="number of answers", yscale="log")
    ax.legend(frameon=False, loc="upper left")
    _grid(ax)
    return ax


def _draw_sides(ax: Axes, problem: Binary, edges: Floats) -> None:
    at = np.clip(problem.logodds, -REACH, REACH)
    ends = np.append(at, edges)
    cells = np.linspace(ends.min() - 0.5, ends.max() + 0.5, CELLS + 1)
    sides = {"other classes": problem.weights * (1 - problem.hits), "true class": problem.weights * problem.hits}
    counts = {name: np.histogram(at, cells, weights=mass)[0] for name, mass in sides.items()}
    ax.stairs(counts["other classes"], cells, fill=True, color="0.78", label="other classes")
    ax.stairs(
        counts["true class"],
        cells,
        fill=True,
        facecolor="none",
        edgecolor=LOOKS[1].colour,
        hatch="////",
        linewidth=1.2,
        label="true class",
    )
    some = np.concatenate([count[count > 0] for count in counts.values()])
    ax.set_ylim(some.min() / 2, some.max() * 3)


def draw_ece(
    n_bins: npt.ArrayLike,
    errors: Mapping[str, npt.ArrayLike | Interval],
    *,
    ylabel: str = "calibration error",
    ax: Axes | None = None,
) -> Axes:
    """Calibration errors, by name, over the number of bins that they were measured with.

    An error that hangs on this number measures the bins, not the classifier. Each of `errors` is an array as long as
    `n_bins`, or an `Interval` of such arrays as `metrics.bootstrap` returns, then drawn with its band.

    >>> ax = draw_ece([10, 20, 50], {"softmax": [0.12, 0.12, 0.13], "imax": [0.01, 0.02, 0.03]})
    >>> [line.get_label() for line in ax.lines]
    ['softmax', 'imax']
    """
    x = _numbers("n_bins", n_bins)
    if x.min() < 1:
        raise ValueError(f"n_bins: expected numbers of at least 1, got {x.min():g}")
    ax = _own_axes(5.6, 4.0) if ax is None else ax
    for look, (name, error) in zip(_looks(_some("errors", errors)), errors.items(), strict=True):
        middle, *ends = (
            _numbers(f"errors[{name!r}]", values, len(x))
            for values in (error if isinstance(error, Interval) else (error,))
        )
        ax.plot(x, middle, label=name, linestyle=look.line, **look.points)
        if len(ends) == 2:
            ax.fill_between(x, ends[0], ends[1], color=look.colour, alpha=0.2, linewidth=0)
    ax.set(xlabel="number of bins", ylabel=ylabel)
    if len(x) <= LISTED:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(x.tolist()))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(bottom=0)
    _legend(ax, errors)
    _grid(ax)
    return ax


def draw_information(
    binnings: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    limit: float | None = None,
    curve: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    unit: str = "nats",
    ax: Axes | None = None,
) -> Axes:
    """The information plane: what bins keep about the label over what they keep of the log-odds.

    `binnings` holds by name (rate, information): numbers, or arrays for one binning at several numbers of bins.
    `limit` is I(y; log-odds), which no bins exceed, and `curve` (rates, informations) the most that any summary of
    such a rate can keep, the information bottleneck. `unit` is what all of them are counted in.

    >>> ax = draw_information({"imax": ([1.0, 2.0], [0.20, 0.24]), "eqmass": (2.0, 0.21)}, limit=0.25)
    >>> ax.get_xlabel()
    'rate I(bin; log-odds), nats'
    """
    ax = _own_axes(5.6, 4.2) if ax is None else ax
    if limit is not None:
        ax.axhline(limit, color=GREY, linestyle=":", linewidth=1.2, label="limit I(label; log-odds)")
    if curve is not None:
        rates = _numbers("curve[0]", curve[0])
        ax.plot(rates, _numbers("curve[1]", curve[1], len(rates)), color=GREY, linewidth=1.5, label="bottleneck curve")
    for look, (name, (rate, kept)) in zip(_looks(_some("binnings", binnings)), binnings.items(), strict=True):
        rates = _numbers(f"binnings[{name!r}][0]", rate)
        kepts = _numbers(f"binnings[{name!r}][1]", kept, len(rates))
        ax.plot(rates, kepts, label=name, linestyle=look.line, linewidth=1.2, **look.points)
    ax.set(xlabel=f"rate I(bin; log-odds), {unit}", ylabel=f"information I(label; bin), {unit}")
    ax.legend(frameon=False)
    _grid(ax)
    return ax


# -- shared by all -------------------------------------------------------------------------------------------------


def _own_axes(width: float, height: float) -> Axes:
    axes = Figure(figsize=(width, height), layout="constrained").subplots()
    assert isinstance(axes, Axes)
    return axes


def _looks(things: Mapping[str, Any]) -> list[Look]:
    """A look for each thing; the only one is drawn filled."""
    if len(things) == 1:
        return [LOOKS[1]]
    return [LOOKS[i % len(LOOKS)] for i in range(len(things))]


def _some(name: str, things: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(things, Mapping) or not things:
        raise ValueError(f"{name}: expected at least one to draw, by name, got {things!r}")
    return things


def _numbers(name: str, values: npt.ArrayLike, length: int | None = None) -> Floats:
    array: Array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "fiu" or not len(array):
        raise ValueError(f"{name}: expected a row of numbers, got {array.dtype} of shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name}: expected {length} numbers, one for each place on the other axis, got {len(array)}")
    if not np.isfinite(array).all():
        place = int((~np.isfinite(array)).argmax())
        raise ValueError(f"{name}: expected finite numbers, got {array[place]} in place {place}")
    return array.astype(np.float64)


def _once(ax: Axes, label: str) -> str:
    """The label the first time; none after that, so that the legend names it once."""
    return "_nolegend_" if label in ax.get_legend_handles_labels()[1] else label


def _legend(ax: Axes, things: Mapping[str, Any]) -> None:
    if len(things) > 1 or next(iter(things)):
        ax.legend(frameon=False)


def _grid(ax: Axes) -> None:
    ax.grid(color=GREY, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
