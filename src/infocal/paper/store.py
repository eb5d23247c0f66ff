"""Finished cells on disk, so that a run that was stopped goes on where it was."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..files import replaced
from .splits import Samples

__all__ = ["Store", "fingerprint"]


class Store:
    """Cells by name; kept in a folder where one is given, in memory otherwise. A file is written whole or not at all;
    one that cannot be read counts as not written."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._cells: dict[str, dict[str, Any]] = {}

    def get(self, name: str) -> dict[str, Any] | None:
        """The cell of this name, if it is finished."""
        if name not in self._cells and self._folder is not None:
            try:
                self._cells[name] = json.loads(self._path(name).read_bytes())
            except (OSError, ValueError):
                return None
        return self._cells.get(name)

    def put(self, name: str, cell: dict[str, Any]) -> None:
        """Keep a finished cell."""
        self._cells[name] = cell
        if self._folder is None:
            return
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write(json.dumps(cell).encode())

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.json"


def fingerprint(samples: Samples, solver: str) -> str:
    """What the cells of one set have in common: its values, the solver, and the version that computed them."""
    content = sha256(f"{__version__} {solver} {samples.logits.dtype} {samples.logits.shape}".encode())
    content.update(np.ascontiguousarray(samples.logits).tobytes())
    content.update(samples.labels.tobytes())
    return content.hexdigest()[:16]
