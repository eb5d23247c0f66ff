"""infocal: probabilities that mean what they say, for multi-class classifiers.

Every public name is here; each is imported when it is first used, so that `import infocal` costs no more than numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import information as information
    from . import metrics as metrics
    from . import simulate as simulate
    from .calibrator import Calibrator as Calibrator
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .kernels import threads as threads
    from .numerics import logits_from_probs as logits_from_probs
    from .recipes import RECIPES as RECIPES
    from .recipes import fit as fit
    from .recipes import load as load
    from .report import Report as Report
    from .report import evaluate as evaluate
    from .summary import Summary as Summary
    from .summary import summarise as summarise

__version__ = "0.1.0"

_HOMES = {
    "Calibrator": "calibrator",
    "Comparison": "comparison",
    "RECIPES": "recipes",
    "Report": "report",
    "Summary": "summary",
    "compare": "comparison",
    "datasets": "",
    "evaluate": "report",
    "fit": "recipes",
    "information": "",
    "load": "recipes",
    "logits_from_probs": "numerics",
    "metrics": "",
    "simulate": "",
    "summarise": "summary",
    "threads": "kernels",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'infocal' has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
