"""What a call costs: its time as a multiple of copying a matrix, taken in turns with the copy; its peak memory."""

import ctypes
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Call", "Clock", "Cost", "best_time", "cost", "extra_memory", "times_copy"]

Call = Callable[[], Any]
Clock = Callable[[], float]
TURNS = 5  # of the copy and a call that does not take long
ENOUGH = 5.0  # seconds of a run after which another would tell little


class Cost(NamedTuple):
    """Time as a multiple of the copy, and what was held at the peak beyond the result as a multiple of the matrix; and
    seconds of one call."""

    time: float
    memory: float
    seconds: float = float("nan")


def cost(call: Call, matrix: np.ndarray[Any, Any], seconds: float = 1.0, clock: Clock = time.perf_counter) -> Cost:
    """Time and memory of a call beside the copy of its matrix. A call that takes long is made once.

    A clock of processor time does not see other work on the machine; it adds up all threads."""
    for _ in range(2):  # the second time without what the first call of a package loads
        start = clock()
        memory = extra_memory(call)
        first = clock() - start
        if first >= ENOUGH:
            break
    return Cost(times_copy(call, matrix, seconds, clock, first), memory / matrix.nbytes, first)


def best_time(call: Call, seconds: float = 1.0, least: int = 3, clock: Clock = time.perf_counter) -> float:
    """Shortest of as many runs as fit into a time: other work on the machine only adds."""
    best, began, runs, spent = float("inf"), clock(), 0, 0.0
    while not runs or (spent < ENOUGH and (runs < least or spent < seconds)):
        start = clock()
        call()
        end = clock()
        best, runs, spent = min(best, end - start), runs + 1, end - began
    return best


def times_copy(
    call: Call,
    matrix: np.ndarray[Any, Any],
    seconds: float = 1.0,
    clock: Clock = time.perf_counter,
    known: float = float("inf"),
) -> float:
    """Time of a call as a multiple of `np.copyto` of the matrix, into memory that is already there: the shortest of
    each, taken in turns, so that a busy spell of the machine meets both. A call that is known to take long is not made
    again."""
    target = np.empty_like(matrix)
    target[:] = 0
    long = ENOUGH <= known < float("inf")
    copy, value, began, turns, spent = float("inf"), known, clock(), 0, 0.0
    while not turns or spent < seconds or (turns < TURNS and spent < ENOUGH):
        copy = min(copy, best_time(lambda: np.copyto(target, matrix), 0.0, clock=clock))
        value = value if long else min(value, best_time(call, 0.0, 1, clock))
        turns, spent = turns + 1, clock() - began
    return value / copy


def extra_memory(call: Call) -> int:
    """Peak of what a call holds beyond its result, in bytes: as the system sees it where that can be asked."""
    gc.collect()
    if sys.platform == "linux" and (peak := _resident_growth(call)) is not None:
        return peak
    tracemalloc.start()
    try:
        result = call()
        return max(tracemalloc.get_traced_memory()[1] - getattr(result, "nbytes", 0), 0)
    finally:
        tracemalloc.stop()


def _resident_growth(call: Call) -> int | None:
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is to be asked for again
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    except OSError:
        return None
    before = _status("VmRSS")
    result = call()
    return max(_status("VmHWM") - before - getattr(result, "nbytes", 0), 0)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
