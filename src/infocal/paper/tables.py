"""The tables of the paper as data: rows are settings, columns are measures; one function of rows runs them all.

A table of the appendix that repeats another for more classifiers has its rows and columns, and printed numbers of its
own. What a number was printed for (a classifier, a size, a way of training) is the column's `part`.
"""

from dataclasses import dataclass, replace

from .settings import FULL, Setting

__all__ = ["TABLES", "Column", "Row", "Table"]


@dataclass(frozen=True)
class Column:
    """A measure; which of several things the paper prints it for; and the size it is fitted with where that is the
    column's to say (0 for the row's)."""

    measure: str
    part: str = ""
    size: int = 0

    @property
    def name(self) -> str:
        return f"{self.part}: {self.measure}" if self.part else self.measure


@dataclass(frozen=True)
class Row:
    """A calibrator by its name in the paper."""

    name: str
    setting: Setting


@dataclass(frozen=True)
class Table:
    """A table by its label; `printed_for` is the classifier that its numbers are of."""

    label: str
    title: str
    printed_for: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    imbalanced: bool = False

    def cells(self) -> list[tuple[Setting, str]]:
        """Settings and measures that the table needs."""
        return [(setting_of(row, column), column.measure) for row in self.rows for column in self.columns]


def setting_of(row: Row, column: Column) -> Setting:
    """The setting of a cell."""
    return replace(row.setting, size=column.size) if column.size else row.setting


# -- rows ----------------------------------------------------------------------------------------------------------

BASELINE = Row("Baseline", Setting("identity", FULL))
MATRIX = Setting("matrix", FULL)
VECTOR = Setting("vector", FULL)
ETS = Setting("ets", FULL)
BWS = Setting("bws", FULL)
TS = Setting("temperature")
GP = Setting("gp")
BINNINGS = {"Eq. Mass": "eqmass", "Eq. Size": "eqsize", "I-Max": "imax"}


def _binned(name: str, recipe: str) -> tuple[Row, Row]:
    """A binning class by class on everything, its bins averaging the classifier's own probabilities (there are too few
    hits of one class to count), and shared on 1k."""
    own = Setting(recipe, FULL, "classwise", representatives="own")
    return Row(f"{name} (CW)", own), Row(f"{name} (sCW)", Setting(recipe))


def _one_vs_rest(name: str, short: str, recipe: str) -> tuple[Row, Row, Row]:
    return (
        Row(f"{name} (CW)", Setting(recipe, groups="classwise")),
        Row(f"{name} (sCW)", Setting(recipe)),
        Row(f"I-Max w. {short}", Setting(f"imax+{recipe}")),
    )


def _mixed(groups: str = "shared") -> tuple[Row, ...]:
    """I-Max alone, with temperature scaling and with the Gaussian process."""
    recipes = {"I-Max": "imax", "I-Max w. TS": "imax+temperature", "I-Max w. GP": "imax+gp"}
    return tuple(Row(name, Setting(recipe, groups=groups)) for name, recipe in recipes.items())


BINNED = (BASELINE, *(row for name, recipe in BINNINGS.items() for row in _binned(name, recipe)))
SCALED = (BASELINE, Row("Mtx Scal. w. L2", MATRIX), Row("TS", TS), Row("GP", GP), Row("ETS-MnM", ETS), *_mixed())
ONE_VS_REST = (
    BASELINE,
    *_one_vs_rest("Beta", "Beta", "beta"),
    *_one_vs_rest("Isot. Reg. (IR)", "IR", "isotonic"),
    *_one_vs_rest("Platt Scal.", "Platt", "platt"),
)
CLASSWISE = (
    Row("BBQ", Setting("bbq", FULL, "classwise")),
    Row("Beta", Setting("beta", FULL, "classwise")),
    Row("Isotonic Reg.", Setting("isotonic", FULL, "classwise")),
    Row("Platt", Setting("platt", FULL, "classwise")),
)
EVERYTHING = (
    BASELINE,
    *CLASSWISE,
    Row("Vec Scal.", VECTOR),
    Row("Mtx Scal.", MATRIX),
    Row("BWS", BWS),
    Row("ETS-MnM", ETS),
    Row("TS", TS),
    Row("GP", GP),
    *(Row(name, Setting(recipe)) for name, recipe in BINNINGS.items()),
    *(
        Row(f"{name} w. {short}", Setting(f"{recipe}+{scaler}"))
        for name, recipe in BINNINGS.items()
        for short, scaler in (("TS", "temperature"), ("GP", "gp"))
    ),
)
SCHEMED = (
    BASELINE,
    *CLASSWISE,
    Row("Vec Scal. w. L2 reg.", VECTOR),
    Row("Mtx Scal. w. L2 reg.", MATRIX),
    Row("TS", TS),
    Row("GP", GP),
    Row("I-Max", Setting("imax")),
    Row("I-Max w. GP", Setting("imax+gp")),
)
NUMBERS = (10, 15, 20, 30, 40, 50)
NUMBERED = (
    BASELINE,
    Row("GP", GP),
    *(Row(f"I-Max, {count} bins", Setting("imax", n_bins=count)) for count in NUMBERS),
    *(Row(f"I-Max w. GP, {count} bins", Setting("imax+gp", n_bins=count)) for count in NUMBERS),
)
TRAINED = (BASELINE, Row("Mtx Scal. w. L2", MATRIX), Row("ETS-MnM", ETS), Row("TS", TS), Row("GP", GP), *_mixed())
IMBALANCED = (
    BASELINE,
    Row("Mtx. Scal. w. L2", MATRIX),
    Row("ETS-MnM", ETS),
    Row("TS", TS),
    Row("GP", GP),
    *_mixed("similar"),
)

# -- columns -------------------------------------------------------------------------------------------------------


def _columns(*measures: str, part: str = "", size: int = 0) -> tuple[Column, ...]:
    return tuple(Column(measure, part, size) for measure in measures)


ERRORS = ("cw_ece_1/K", "top1_ece")
LARGE = ("accuracy", "accuracy_top5")  # five classes are many enough for a top five on ImageNet only
SCHEMES = ("size", "mass", "kmeans", "imax", "kde-logodds", "mean")


def _large(classifier: str) -> bool:
    return classifier.startswith("ImageNet")


def _accuracies(classifier: str) -> tuple[str, ...]:
    return LARGE if _large(classifier) else LARGE[:1]


def _two_sets(*measures: str) -> tuple[Column, ...]:
    """The columns of the tables that stand CIFAR100 beside ImageNet, which has the top-5 accuracy besides."""
    return (
        *_columns("accuracy", *measures, part="CIFAR100 (WRN)"),
        *_columns(*LARGE, *measures, part="ImageNet (InceptionResNetV2)"),
    )


# -- tables --------------------------------------------------------------------------------------------------------

CLASSIFIERS = {
    "ImageNet_inceptionresnet": "ImageNet (InceptionResNetV2)",
    "ImageNet_densenet": "ImageNet (DenseNet)",
    "ImageNet_resnet152": "ImageNet (ResNet152)",
    "CIFAR100_wrn": "CIFAR100 (WRN)",
    "CIFAR100_resnext": "CIFAR100 (ResNeXt8x64)",
    "CIFAR100_densenet": "CIFAR100 (DenseNet)",
    "CIFAR10_wrn": "CIFAR10 (WRN)",
    "CIFAR10_resnext": "CIFAR10 (ResNeXt8x64)",
    "CIFAR10_densenet": "CIFAR10 (DenseNet)",
}
INCEPTION = CLASSIFIERS["ImageNet_inceptionresnet"]
BOTH = f"{CLASSIFIERS['CIFAR100_wrn']}, {INCEPTION}"

MAIN = (
    Table(
        "table:cw_vs_cw_merge_binning",
        "Three binnings, class by class (CW) and shared (sCW)",
        INCEPTION,
        BINNED,
        _columns("information", *LARGE, "cw_ece_0", "cw_ece_prior", "top1_ece", "nll_normalised"),
    ),
    Table("table:bigcomparison", "I-Max and scalings", BOTH, SCALED, _two_sets("cw_ece_prior", "top1_ece")),
    Table(
        "table:cw_vs_scw_scaling",
        "One-vs-rest scalings on 1k samples, class by class (CW) and shared (sCW)",
        BOTH,
        ONE_VS_REST,
        _two_sets("cw_ece_prior", "top1_ece"),
    ),
    Table(
        "tab:imbalanced_svhn_table",
        "Imbalanced classes, classes of similar prior sharing",
        "SVHN (WRN)",
        IMBALANCED,
        _columns("accuracy", "top1_ece", "cw_ece_0", "cw_ece_1/K", "cw_ece_prior", "cw_ece_0.5"),
        imbalanced=True,
    ),
    Table(
        "tab:app_acc_fix_ImageNet_inceptionresnet",
        "Ties broken by class number, and by the raw logits (*)",
        INCEPTION,
        (BASELINE, *(Row(name, Setting(recipe)) for name, recipe in BINNINGS.items())),
        _columns("accuracy", "accuracy*", "accuracy_top5", "accuracy_top5*", "top1_ece", "top1_ece*", "nll_normalised"),
    ),
    Table(
        "tab:bin_ablations",
        "Numbers of bins and of calibration samples",
        INCEPTION,
        NUMBERED,
        (*_columns(*LARGE, *ERRORS, part="1k", size=1000), *_columns(*LARGE, *ERRORS, part="5k", size=5000)),
    ),
    Table(
        "tab:app_ece_evals",
        "Calibration errors by five schemes of evaluation",
        INCEPTION,
        SCHEMED,
        _columns("accuracy", *(f"{kind}_{scheme}" for kind in ("cw", "top1") for scheme in SCHEMES)),
    ),
    Table(
        "tab:during_training_calibration",
        "Calibration after training of classifiers calibrated during training",
        "CIFAR100 (WRN) trained in three ways",
        TRAINED,
        tuple(
            column
            for part in ("No Train Calibration", "Entr. Reg.", "Mixup")
            for column in _columns("cw_ece_prior", "top1_ece", part=part)
        ),
    ),
)
BINNING_TABLES = tuple(
    Table(
        f"tab:app_tab1_{stem}",
        "Three binnings, class by class (CW) and shared (sCW)",
        classifier,
        BINNED,
        _columns(*_accuracies(classifier), *ERRORS, "nll_normalised"),
    )
    for stem, classifier in CLASSIFIERS.items()
)
SCALING_TABLES = tuple(
    Table(
        f"tab:app_tab2_{stem}",
        "Binnings, scalings and their combinations",
        classifier,
        EVERYTHING,
        _columns(*_accuracies(classifier), *ERRORS, "nll_normalised", "brier_top1"),
    )
    for stem, classifier in CLASSIFIERS.items()
)
TABLES: dict[str, Table] = {table.label: table for table in (*MAIN, *BINNING_TABLES, *SCALING_TABLES)}
