"""The row loops in C++, spread over threads by blocks of rows.

Each function here allocates what its loop writes, runs the loop with the GIL released, and raises for the first bad
row. What a loop computes for a row depends on that row alone, and sums over rows are taken over blocks whose size
depends on K alone, in order: results are the same for any number of threads.

The number of threads is the number of usable cores, or the environment variable INFOCAL_NUM_THREADS, or what
`threads` says. The environment variable INFOCAL_ISA (baseline, avx2 or avx512, read on import) holds the loops to an
instruction set; results are the same on each.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Floats, Ints, bad_probs_row, bad_row, check_count
from ..numerics import sigmoid
from . import _native

__all__ = [
    "BestBins",
    "ClassBins",
    "Points",
    "Reading",
    "Tempered",
    "apply",
    "bin_questions",
    "columns",
    "cut_points",
    "each",
    "expect",
    "logodds",
    "n_threads",
    "rank",
    "reliability",
    "row_facts",
    "running",
    "side_by_side",
    "softmax",
    "solve_edges",
    "summarise",
    "tempered",
    "threads",
]

Part = TypeVar("Part")
Item = TypeVar("Item")

LARGE = 1 << 22  # bytes: from here on the pages of a result are worth keeping for the next one
PAST_CACHES = 1 << 25  # bytes: a result beyond this outgrows most caches; a smaller one is soonest read from there
SMALL = 1 << 16  # elements: below this a second thread costs more than it brings
CHUNK = 1 << 20  # elements of the blocks whose sums are added in order


if "INFOCAL_ISA" in os.environ:
    _native.use_instruction_set(os.environ["INFOCAL_ISA"])

_chosen: ContextVar[int | None] = ContextVar("infocal_threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let everything inside run on `n` threads; other threads of the caller, and other tasks, keep their number.

    >>> with threads(1):
    ...     n_threads()
    1
    """
    token = _chosen.set(check_count("n", n, 1))
    try:
        yield
    finally:
        _chosen.reset(token)


def n_threads() -> int:
    """Threads that the loops use."""
    told = _chosen.get()
    if told is not None:
        return told
    chosen = os.environ.get("INFOCAL_NUM_THREADS", "")
    if chosen:
        if not chosen.isdigit() or int(chosen) < 1:
            raise ValueError(f"INFOCAL_NUM_THREADS: expected a whole number of at least 1, got {chosen!r}")
        return int(chosen)
    return _cores()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads of all callers: no more than there are cores, however many call at once."""
    return ThreadPoolExecutor(max_workers=_cores(), thread_name_prefix="infocal")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _room(logits: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """An array for a result of this shape, and type unless another is given."""
    kind = np.dtype(logits.dtype if dtype is None else dtype)
    if logits.size * kind.itemsize < LARGE:
        return np.empty(logits.shape, dtype=kind)
    return (_native.room_single if kind == np.float32 else _native.room_double)(*logits.shape)


def _over_blocks(logits: Array, size: int, loop: Callable[[slice], int]) -> None:
    """Run `loop` on blocks of rows; raise for the first bad row, whichever thread met it."""
    n = len(logits)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    results = map(loop, blocks) if len(blocks) == 1 else _pool().map(loop, blocks)
    for block, bad in zip(blocks, results, strict=True):
        if bad >= 0:
            raise bad_row(logits, block.start + bad)


def _block_size(logits: Array) -> int:
    n = len(logits)
    return n if logits.size < SMALL else -(-n // n_threads())


def side_by_side(rows: Array, size: int, loop: Callable[[slice], None]) -> None:
    """Run `loop`, which may call any function here, on blocks of rows of at most about `size` elements, each on one
    thread; of errors that of the first block is raised."""
    n = len(rows)
    share = _block_size(rows)  # of every thread, in equal parts
    parts = -(-share * rows.shape[1] // size)
    step = -(-share // parts)

    def alone(block: slice) -> None:
        with threads(1):
            loop(block)

    for _ in each(alone, [slice(start, min(start + step, n)) for start in range(0, n, step)]):
        pass


def logodds(logits: Array) -> Floats:
    """Log-odds of every class, in double precision: z_k - log sum of e^z_j over the others, never through
    probabilities."""
    out = _room(logits, np.float64)
    _over_blocks(logits, _block_size(logits), lambda block: _native.logodds(logits[block], out[block]))
    return out


def row_facts(logits: Array) -> Floats:
    """What `columns` needs to know of rows (n, 4)."""
    out = np.empty((len(logits), 4))
    _over_blocks(logits, _block_size(logits), lambda block: _native.row_facts(logits[block], out[block]))
    return out


def columns(logits: Array, facts: Floats, wanted: Ints) -> Floats:
    """Log-odds (k, n) of some classes, those that `logodds` has in its columns; on the thread that asks."""
    out: Floats = _native.room_double(len(wanted), len(logits))  # as many are read one after the other
    _native.columns(logits, facts, wanted, out)
    return out


def apply(logits: Array, edges: Floats, bounds: Floats, values: Floats, group_of: Ints) -> Array:
    """Value of the bin of every class's log-odds: edges and bounds (G, E), values (G, E + 1), group_of (K,)."""
    out = _room(logits)
    past = out.nbytes > PAST_CACHES

    def loop(block: slice) -> int:
        return _native.apply(logits[block], edges, bounds, values, group_of, out[block], past)

    _over_blocks(logits, _block_size(logits), loop)
    return out


def rank(probs: Array, ties: Array, k: int) -> Ints:
    """The k classes (n, k) of largest probability, best first; equal ones by `ties`, then by index."""
    probs, ties = (np.ascontiguousarray(x, dtype=np.result_type(probs, ties)) for x in (probs, ties))
    out = np.empty((len(probs), k), dtype=np.int64)

    def loop(block: slice) -> int:
        _native.rank(probs[block], ties[block], out[block])
        return -1

    _over_blocks(probs, _block_size(probs), loop)
    return out


def summarise(
    logits: Array, labels: Ints, weights: Floats | None, group_of: Ints, reach: float, per_unit: float
) -> tuple[Floats, Floats, Floats]:
    """Mass of points, mass of hits and mass of the smaller of sigmoid and its complement, each (G, cells), over the
    log-odds line from -reach to reach in cells of width 1 / per_unit; the end cells take what lies beyond.

    Single logits are summarised in single precision: what comes out is that of log-odds that are off by no more than
    their own rounding and a thousandth of a cell, in which the sigmoid is taken to be straight.
    """
    shape = (int(group_of.max()) + 1, round(2 * reach * per_unit))
    if logits.dtype == np.float32:
        return _tallied(logits, labels, weights, group_of, reach, shape)

    def loop(block: slice, part: Floats) -> int:
        w = None if weights is None else weights[block]
        return _native.summarise(logits[block], labels[block], w, group_of, reach, per_unit, *part)

    points, hits, smaller = _summed(logits, (3, *shape), loop)
    return points, hits, smaller


def _tallied(
    logits: Array, labels: Ints, weights: Floats | None, group_of: Ints, reach: float, shape: tuple[int, int]
) -> tuple[Floats, Floats, Floats]:
    per_unit = shape[1] / (2 * reach)
    grain = _grain(len(logits), weights) * 2.0 ** int(np.frexp(logits.shape[1])[1])  # a sample has K points

    def loop(block: slice) -> tuple[int, list[Floats]]:
        tables = list(np.zeros((3, *shape)))
        w = None if weights is None else weights[block]
        return _native.tally(logits[block], labels[block], w, grain, group_of, reach, per_unit, *tables), tables

    points, hits, offsets = _added(logits, loop, lambda row: bad_row(logits, row))
    ends = sigmoid(-np.abs(np.linspace(-reach, reach, shape[1] + 1)))
    chord = ends - ends * (1 - ends) * (1 - 2 * ends) / (12 * per_unit**2)  # of the mean of the sigmoid in a cell
    # told by the lower end of a quantum, or of the next one where single precision rounds up to it: half of the time
    inside = (offsets + points / 4) / _native.QUANTA
    return points, hits, points * chord[:-1] + inside * np.diff(chord)


def softmax(logits: Array, inverse: float = 1.0) -> Array:
    """Softmax at this inverse temperature, in the type of the logits; a masked class stays at 0 even where it is 0."""
    out = _room(logits)
    past = out.nbytes > PAST_CACHES
    _over_blocks(logits, _block_size(logits), lambda block: _native.softmax(logits[block], inverse, out[block], past))
    return out


class Tempered(NamedTuple):
    """Sums over samples whose label is possible, of logits u taken from their row's maximum, under the softmax at an
    inverse temperature t: log sum of e^(t u), mean and variance of u, u of the label; and the mass of all samples
    and of those whose label is not among the largest."""

    mass: float
    log_sum: float
    mean: float
    variance: float
    label: float
    beaten: float


def tempered(logits: Array, labels: Ints, weights: Floats | None, inverse: float) -> Tempered:
    """What the mean loss at an inverse temperature and its first two derivatives are made of, in one pass."""

    def loop(block: slice, part: Floats) -> int:
        w = None if weights is None else weights[block]
        return _native.tempered(logits[block], labels[block], w, inverse, part)

    return Tempered(*_summed(logits, (6,), loop).tolist())


def _summed(logits: Array, shape: tuple[int, ...], loop: Callable[[slice, Floats], int]) -> Floats:
    """Totals that `loop` adds to over blocks of rows of a size that depends on K alone, added in order."""
    total = np.zeros(shape)

    def part_of(block: slice) -> tuple[int, Floats]:
        part = np.zeros(shape)
        return loop(block, part), part

    n, size = len(logits), max(1, CHUNK // logits.shape[1])
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    for block, (bad, part) in zip(blocks, each(part_of, blocks), strict=True):
        if bad >= 0:
            raise bad_row(logits, block.start + bad)
        total += part
    return total


def _grain(n: int, weights: Floats | None) -> float:
    """A power of two from the total mass up, and a half: adding and subtracting it rounds a term so that sums of terms
    are exact, whatever their order."""
    return 1.5 * 2.0 ** int(np.frexp(n if weights is None else weights.sum())[1])


def _added(
    rows: Array, loop: Callable[[slice], tuple[int, list[Floats]]], error: Callable[[int], ValueError]
) -> list[Floats]:
    """Totals of the tables of exact sums that `loop` returns for a block of rows, one for each thread."""
    n, size = len(rows), _block_size(rows)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    total: list[Floats] = []
    for block, (bad, tables) in zip(blocks, each(loop, blocks), strict=True):
        if bad >= 0:
            raise error(block.start + bad)
        total = [np.add(old, new, out=old) for old, new in zip(total, tables, strict=True)] if total else tables
    return total


def each(work: Callable[[Item], Part], items: Sequence[Item]) -> Iterator[Part]:
    """What is made of each item, in their order, with no more items at work than threads. The work runs no loops that
    are spread over threads themselves."""
    if len(items) == 1 or n_threads() == 1:
        yield from map(work, items)
        return
    waiting: list[Future[Part]] = []
    for item in items:
        waiting.append(_pool().submit(work, item))
        if len(waiting) > n_threads():
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


class ClassBins(NamedTuple):
    """Bins of every class: interior edges (1, M-1) shared by all or (K, M-1), and thresholds (T, K)."""

    edges: Floats
    thresholds: Floats

    @property
    def home(self) -> Ints:
        """Bin that each threshold falls into (T, K)."""
        if len(self.edges) == 1:
            return np.searchsorted(self.edges[0], self.thresholds, side="right")
        rows = [(self.edges <= row[:, None]).sum(axis=1) for row in self.thresholds]
        return np.array(rows, dtype=np.int64).reshape(self.thresholds.shape)


class Reading(NamedTuple):
    """What the rows say of their labels, and the classes in their bins.

    facts (n, 4): largest probability, that of the true class, sum and sum of squares of each row; rank (n,): how many
    classes come before the true one. Then (K, M + T), of each class: sums over each bin, and over the part of a
    threshold's home bin that lies above it, of weight * (probability - hit), of weight, and of weight * hit, the latter
    two (1, M + T) where pooled over classes; and the mass above each threshold (T, K).
    """

    facts: Floats
    rank: Ints
    excess: Floats
    mass: Floats
    hits: Floats
    kept: Floats


def reliability(
    probs: Array,
    labels: Ints,
    weights: Floats | None,
    ties: Array | None = None,
    bins: ClassBins | None = None,
    pooled: bool = False,
) -> Reading:
    """One pass over probabilities and labels; without bins the tables stay empty."""
    n, K = probs.shape
    wanted = bins or ClassBins(np.empty((1, 0)), np.empty((0, K)))
    edges, thresholds, home = wanted.edges, wanted.thresholds, wanted.home
    cells = edges.shape[1] + 1 + len(thresholds) if bins else 0
    facts, rank = np.empty((n, 4)), np.empty(n, dtype=np.int64)
    grain = _grain(n, weights)

    def loop(block: slice) -> tuple[int, list[Floats]]:
        tables = [np.zeros((K, cells)), *np.zeros((2, 1 if pooled else K, cells)), np.zeros(thresholds.shape)]
        w, z = (None if x is None else x[block] for x in (weights, ties))
        given = (probs[block], labels[block], w, z, edges, thresholds, home, grain)
        return _native.reliability(*given, facts[block], rank[block], *tables), tables

    total = _added(probs, loop, lambda row: bad_probs_row(probs, ties, row))
    return Reading(facts, rank, *total)


def running(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Running sums (n + 1,) that `solve_edges` takes, of what points hold (n,): of `low` before each point, of `high`
    from it on."""
    before, after = np.empty(len(low) + 1), np.empty(len(low) + 1)
    _native.running(low, high, before, after)
    return before, after


def solve_edges(
    cost: Literal["information", "squares"], low: Floats, high: Floats, n_bins: int, windows: Ints | None = None
) -> tuple[Ints, float]:
    """Cuts (n_bins - 1,) of sorted points into consecutive bins of least total cost, and that cost; see
    partition.hpp for the running sums it takes. `windows` (2, n_bins - 1) are the first and last place of each cut."""
    if windows is None:
        windows = np.repeat([[0], [len(low) - 1]], n_bins - 1, axis=1)
    cuts = np.empty(n_bins - 1, dtype=np.int64)
    total = _native.solve_edges(cost == "information", low, high, windows[0], windows[1], cuts)
    return cuts, total


def expect(posterior: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """Running sums (n + 1,), as of `running`, of the hits and misses that posterior log-odds expect, and what the
    points would cost, each a bin of its own."""
    hits, misses = np.empty(len(posterior) + 1), np.empty(len(posterior) + 1)
    return hits, misses, _native.expect(posterior, weights, hits, misses)


def cut_points(logodds: Floats, weights: Floats, hits: Floats, misses: Floats, limit: float, n_bins: int) -> Ints:
    """Cuts of the same cost as those of `solve_edges("information", hits, misses, n_bins)`, found much sooner where
    there are many points; the rest is what `expect` tells."""
    cuts = np.empty(n_bins - 1, dtype=np.int64)
    _native.cut_points(logodds, weights, hits, misses, limit, cuts)
    return cuts


class Points(NamedTuple):
    """Points of questions one behind the other, those of question g from starts[g] to starts[g + 1]."""

    logodds: Floats
    weights: Floats | None
    starts: Ints


class BestBins(NamedTuple):
    """Bins of least cost of some questions under their own sigmoid: the points (G, 2, M-1) on both sides of each edge;
    masses (G, 4, M) of expected hits, expected misses, points and hits; what the points would cost (G,), each a bin of
    its own."""

    sides: Floats
    masses: Floats
    limits: Floats


def bin_questions(points: Points, told: Points, n_bins: int) -> BestBins:
    """The best bins of questions whose points increase, some maybe equal, and of which those `told` are hits; on the
    thread that asks."""
    G = len(points.starts) - 1
    found = BestBins(np.empty((G, 2, n_bins - 1)), np.zeros((G, 4, n_bins)), np.empty(G))
    _native.bin_questions(*points, *told, *found)
    return found
