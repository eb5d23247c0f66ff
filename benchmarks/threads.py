"""What more threads gain: every operation on one and on several, taken in turns, beside the copy of the same matrix."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from infocal import kernels

from .measure import Call, best_time
from .paths import OURS, Inputs

__all__ = ["SIZE", "gain", "table"]

SIZE = (25_000, 1000)
TARGET = 1.7  # of two threads
TURNS = 5


def table(several: int, only: str = "", size: tuple[int, int] = SIZE) -> Iterator[str]:
    """Lines of the table; the copy says what the memory gives."""
    n, n_classes = size
    yield f"\n{several} threads beside one, {n:,} x {n_classes:,} float32, milliseconds (target of two: {TARGET}x)\n"
    yield f"{'':<22}{'1 thread':>10}{f'{several} threads':>11}{'gain':>8}"
    data = Inputs(n, n_classes)
    with ThreadPoolExecutor(several) as pool:
        yield _line("np.copyto", *gain(_copy(data.logits, pool), several))
    for name, prepare in OURS.items():
        if only in name:
            yield _line(name, *gain(_on_threads(prepare(data)), several))


def gain(call: Callable[[int], Any], several: int) -> tuple[float, float]:
    """Shortest time of a call on one thread and on several."""
    one = many = float("inf")
    for _ in range(TURNS):
        one = min(one, best_time(lambda: call(1), 0.0, 1))
        many = min(many, best_time(lambda: call(several), 0.0, 1))
    return one, many


def _on_threads(call: Call) -> Callable[[int], Any]:
    def run(count: int) -> Any:
        with kernels.threads(count):
            return call()

    return run


def _copy(matrix: np.ndarray[Any, Any], pool: ThreadPoolExecutor) -> Callable[[int], Any]:
    """The copy into memory that is already there, each thread a part of the rows."""
    target = np.zeros_like(matrix)

    def run(count: int) -> Any:
        parts = zip(np.array_split(target, count), np.array_split(matrix, count), strict=True)
        return list(pool.map(lambda part: np.copyto(*part), parts))

    return run


def _line(name: str, one: float, many: float) -> str:
    return f"{name:<22}{1e3 * one:>10.1f}{1e3 * many:>11.1f}{one / many:>7.2f}x"
