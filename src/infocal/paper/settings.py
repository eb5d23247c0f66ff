"""What a row of a table fits: a recipe, on how many samples, shared by which classes."""

from dataclasses import dataclass

__all__ = ["FULL", "SMALL", "Setting"]

SMALL = 1000  # samples of the small calibration set ("1k")
FULL = None  # the whole calibration half ("25k", "13k" or "5k")


@dataclass(frozen=True)
class Setting:
    """A recipe with the options of a row.

    - `size`: how many calibration samples it is given; None for all.
    - `groups`: "shared" (the paper's sCW), "classwise" (CW), or "similar" (classes of similar prior share).
    - `representatives`: what bins average, "frequency" or "own".
    """

    recipe: str
    size: int | None = SMALL
    groups: str = "shared"
    n_bins: int = 15
    representatives: str = "frequency"

    @property
    def scaler(self) -> "Setting | None":
        """The scaling whose probabilities the bins average, as a setting of its own; None where there is none."""
        if "+" not in self.recipe:
            return None
        return Setting(self.recipe.split("+")[1], self.size, self.groups)

    @property
    def binning(self) -> str:
        """The recipe without its scaler."""
        return self.recipe.split("+")[0]

    @property
    def binned(self) -> bool:
        """Whether the calibrator answers with the representatives of bins."""
        return self.binning in ("eqsize", "eqmass", "kmeans", "imax")

    @property
    def key(self) -> str:
        """A name for files, the same for settings that fit the same."""
        size = "full" if self.size is None else str(self.size)
        return f"{self.recipe}-{size}-{self.groups}-{self.n_bins}-{self.representatives}"
