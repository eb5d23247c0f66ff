"""What a call costs: its time as a multiple of copying a matrix, taken in turns with the copy; its peak memory."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["best_time", "extra_memory", "times_copy"]

Call = Callable[[], Any]


def best_time(call: Call, seconds: float = 1.0, least: int = 3) -> float:
    """Shortest of as many runs as fit into a time: other work on the machine only ever adds."""
    best, began, runs = float("inf"), time.perf_counter(), 0
    while runs < least or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        call()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best


def times_copy(call: Call, matrix: np.ndarray[Any, Any], seconds: float = 1.0) -> float:
    """Time of a call as a multiple of `np.copyto` of the matrix, into memory that is already there: the shortest of
    each, taken in turns, so that a busy spell of the machine meets both."""
    target = np.empty_like(matrix)
    target[:] = 0
    times, began = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - began < seconds:
        times.append((best_time(lambda: np.copyto(target, matrix), 0.0), best_time(call, 0.0, least=1)))
    copy, value = map(min, zip(*times, strict=True))
    return value / copy


def extra_memory(call: Call) -> int:
    """Peak of what a call allocates, in bytes, results included."""
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        del result
        return peak
    finally:
        tracemalloc.stop()
