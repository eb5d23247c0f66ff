"""`python -m benchmarks`: every operation of this library and of its installed peers beside the copy of one matrix."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import infocal
from infocal import kernels

from .measure import Call, Clock, Cost, cost
from .paths import OPERATIONS, OURS, TARGETS, Inputs, Prepare
from .peers import PEERS, quiet
from .table import NOTHING, Row, heading, line
from .threads import table

SIZES = ((10_000, 1000), (10_000, 100), (10_000, 10))
ALL_SIZES = tuple((n, K) for K in (1000, 100, 10) for n in (1000, 10_000, 100_000))
TARGET_SIZE = (10_000, 1000)
LONG = 5.0  # seconds: what takes longer is measured on one thread alone
PATIENCE = 15.0  # seconds and
ROOM = 6e9  # bytes: peers that would take more, by their smaller sizes, are left out
Known = dict[tuple[str, str, int], tuple[int, Cost]]  # of operation, package and K: largest n, and what it cost


def main() -> None:
    """Print a table for each size, then the curves if they are asked for."""
    options = _parser().parse_args()
    several = kernels.n_threads() if options.threads is None else options.threads
    _tell_peers(not options.alone)
    known: Known = {}
    for n, n_classes in options.sizes or (ALL_SIZES if options.full else SIZES):
        compare(Inputs(n, n_classes), several, options, known)
    if several > 1 and not options.sizes:
        for text in table(several, options.only):
            print(text, flush=True)
    if options.curves:
        from .curves import draw_curves

        draw_curves(options.curves)
        print(f"\ncurves drawn to {options.curves}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all sizes: K = 10, 100, 1,000; n = 1,000 to 100,000")
    parser.add_argument("--sizes", type=_size, nargs="+", metavar="NxK", help="these sizes instead, as in 1000x10")
    parser.add_argument("--only", default="", help="operations whose name holds this word")
    parser.add_argument("--alone", action="store_true", help="leave the peers out")
    parser.add_argument("--threads", type=int, help="of the second column (default: all cores)")
    parser.add_argument("--seconds", type=float, default=0.5, help="spent on each time (default: 0.5)")
    parser.add_argument("--curves", type=Path, metavar="FILE", help="draw time against n, K and M to an image")
    return parser


def _size(text: str) -> tuple[int, int]:
    n, _, n_classes = text.partition("x")
    return int(n), int(n_classes)


def _tell_peers(wanted: bool) -> None:
    print(f"infocal {infocal.__version__}")
    for peer in PEERS if wanted else ():
        print(f"{peer.package} {peer.version or 'is absent: pip install infocal[bench]'}")


def compare(data: Inputs, several: int, options: argparse.Namespace, known: Known) -> None:
    """The table of one size."""
    print(heading(data.logits, several), flush=True)
    for name in OPERATIONS:
        if options.only not in name:
            continue
        target = TARGETS.get(name) if data.logits.shape == TARGET_SIZE else None
        for row in rows(name, data, several, options, known):
            print(line(row, target if row.package == "infocal" else None), flush=True)


def rows(
    name: str, data: Inputs, several: int, options: argparse.Namespace, known: Known | None = None
) -> Iterator[Row]:
    """Ours, then every installed peer that has the operation."""
    yield measured(Row(name, "infocal"), OURS[name], data, several, options.seconds)
    known = {} if known is None else known
    for peer in () if options.alone else PEERS:
        if not peer.version or name not in peer.operations:
            continue
        key, empty = (name, peer.package, data.logits.shape[1]), Row("", peer.package, peer.notes.get(name, ""))
        left_out = too_much(data.logits, *known[key]) if key in known else ""
        if left_out:
            yield empty._replace(note=left_out)
            continue
        row = measured(empty, peer.operations[name], data, several, options.seconds)
        known[key] = len(data.logits), row.one
        yield row


def too_much(logits: np.ndarray[Any, Any], n: int, cost: Cost) -> str:
    """Why an operation of this cost on n rows is left out on so many more; nothing where it is not. Its time grows
    with the rows at least as fast as they do."""
    seconds = cost.seconds * len(logits) / n
    if seconds > PATIENCE:
        return f"left out: about {seconds:,.0f} s or more, by {n:,} rows"
    if cost.memory * logits.nbytes > ROOM:
        return f"left out: about {cost.memory * logits.nbytes / 1e9:,.0f} GB or more, by {n:,} rows"
    return ""


def measured(row: Row, prepare: Prepare, data: Inputs, several: int, seconds: float) -> Row:
    """The row with its costs; a peer that fails is told of, not left out."""
    try:
        with silence():
            call = quiet(prepare(data))
            one = _with_threads(1, call, data, seconds, time.process_time)
            long = several == 1 or one.seconds > LONG
            many = NOTHING if long else _with_threads(several, call, data, seconds, time.perf_counter)
    except Exception as error:
        if row.package == "infocal":
            raise
        return row._replace(note=f"failed: {type(error).__name__}")
    return row._replace(one=one, many=many)


def _with_threads(count: int, call: Call, data: Inputs, seconds: float, clock: Clock) -> Cost:
    os.environ["INFOCAL_NUM_THREADS"] = str(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
    return cost(call, data.logits, seconds, clock)


@contextmanager
def silence() -> Iterator[None]:
    """Progress bars and the like of peers go nowhere."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


if __name__ == "__main__":
    main()
