"""Files in and out: logits with their labels in, results out, whole or not at all."""

from .data import Data as Data
from .data import read_data as read_data
from .results import FORMATS as FORMATS
from .results import check_format as check_format
from .results import write_arrays as write_arrays
from .results import write_blocks as write_blocks
from .results import write_probs as write_probs
from .rows import Rows as Rows
from .rows import told_of as told_of
from .whole import check_output as check_output
from .whole import replaced as replaced

__all__ = [
    "FORMATS",
    "Data",
    "Rows",
    "check_format",
    "check_output",
    "read_data",
    "replaced",
    "told_of",
    "write_arrays",
    "write_blocks",
    "write_probs",
]
