"""The chosen calibrator inside the page, so that whoever has the report has the calibrator."""

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..calibrator import Calibrator

__all__ = ["Carried", "carried"]

LARGEST = 400_000  # bytes of a calibrator that the page takes along


@dataclass(frozen=True)
class Carried:
    """A saved calibrator: a file name, and its content as a data URL; None where it is too large to carry."""

    name: str
    url: str | None


def carried(calibrator: Calibrator) -> Carried:
    """The calibrator as `Calibrator.save` writes it."""
    name = f"{calibrator.recipe.replace('+', '-')}.json"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calibrator.json")
        calibrator.save(path)
        content = path.read_bytes()
    if len(content) > LARGEST:
        return Carried(name, None)
    return Carried(name, f"data:application/json;base64,{base64.b64encode(content).decode()}")
