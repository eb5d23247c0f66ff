"""Frozen records: what every fit returns, and what a file can hold.

A record is an immutable dataclass. Its array fields are named by the aliases below; they are copied, brought to their
type, checked for their number of axes and made read-only when the record is made, whether by a fit or from a file.
A record's own `check` says what it must hold besides.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

__all__ = ["RECORDS", "Facts", "IntVector", "Square", "Vector", "array_fields", "record"]

Vector = Annotated[npt.NDArray[np.float64], np.float64, 1]
IntVector = Annotated[npt.NDArray[np.int64], np.int64, 1]
Square = Annotated[npt.NDArray[np.float64], np.float64, 2]

RECORDS: dict[str, type] = {}


class Facts(Mapping[str, Any]):
    """A mapping that cannot be changed: what a fit found out, as numbers, words and truth values by name."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name}={_short(value)}' for name, value in self.items())}}}"


R = TypeVar("R")


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: type[R]) -> type[R]:
    """Make a class a record and enter it in `RECORDS`, by which files name it."""
    cls.__post_init__ = _settle  # type: ignore[attr-defined]
    if "__repr__" not in vars(cls):
        cls.__repr__ = _describe  # type: ignore[method-assign]
    made = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    RECORDS[cls.__name__] = made
    return made


@functools.cache
def array_fields(cls: type) -> dict[str, tuple[type, int]]:
    """Type and number of axes of each array field of a record."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: get_args(hint)[1:] for name, hint in hints.items() if get_origin(hint) is Annotated}


def _settle(self: Any) -> None:
    for name, (dtype, axes) in array_fields(self.__class__).items():
        object.__setattr__(self, name, _frozen_array(f"{type(self).__name__}.{name}", getattr(self, name), dtype, axes))
    if hasattr(self, "check"):
        self.check()


def _frozen_array(name: str, value: Any, dtype: type, axes: int) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim != axes:
        raise ValueError(f"{name}: expected {axes}-dimensional numbers, got {array.dtype} of shape {array.shape}")
    frozen: npt.NDArray[Any] = np.array(array, dtype=dtype, order="C")
    frozen.setflags(write=False)
    return frozen


def _describe(self: Any) -> str:
    parts = (f"{field.name}={_short(getattr(self, field.name))}" for field in dataclasses.fields(self))
    return f"{type(self).__name__}({', '.join(parts)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        shown = ", ".join(f"{x:.4g}" for x in value[:3]) if value.ndim == 1 else "..."
        return f"[{shown}{', ...' if value.ndim == 1 and len(value) > 3 else ''}] {value.shape}"
    if isinstance(value, tuple) and len(value) > 2:
        return f"({value[0]!r}, ... {len(value)} in all)"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
