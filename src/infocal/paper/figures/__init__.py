"""The figures of the paper by label: functions that compute what is to be seen on a lab's logits. `drawing` draws."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..lab import Lab
from ..panels import Figure
from .densities import kde_fit, kde_fit_part
from .errors import verifiable_ece
from .logodds import bins, merged, ranks
from .merging import divergences
from .plane import information_plane

__all__ = ["FIGURES", "Entry"]


class Entry(NamedTuple):
    """What a figure shows, the classifier it is of in the paper, and the function that computes it."""

    shows: str
    printed_for: str
    compute: Callable[[Lab], Figure]


WRN, INCEPTION = "CIFAR100 (WRN)", "ImageNet (InceptionResNetV2)"


def _part(label: str, space: str, classifier: str) -> Entry:
    kind = "probability" if space == "kde" else "log-odds"
    return Entry(f"Density of the confidences in {kind}", classifier, partial(kde_fit_part, label=label, space=space))


FIGURES: dict[str, Entry] = {
    "fig:verifiable_ece": Entry("ECE by evaluation bins, and by evaluation samples", WRN, verifiable_ece),
    "fig:distributions_bins": Entry("Log-odds by label, and the edges of three binnings", WRN, bins),
    "fig:MI_exp": Entry("Information over the iterations, and against the bottleneck limit", WRN, information_plane),
    "fig:SkvsSmerge": Entry("Log-odds of one class, and of all classes", INCEPTION, merged),
    "fig:s_vs_s_k_JSD": Entry("Distance of shared and of a class's own samples from the truth", "CIFAR10", divergences),
    "fig:post-ha": Entry("Log-odds by rank, and the edges of three binnings", WRN, ranks),
    "fig:kde_fit_plot": Entry("Densities of the confidences in probability and in log-odds", WRN, kde_fit),
    **{
        label: _part(label, space, classifier)
        for label, space, classifier in (
            ("fig:kde_fit_plot_c100_prob", "kde", WRN),
            ("fig:kde_fit_plot_c100_log", "kde-logodds", WRN),
            ("fig:kde_fit_plot_imagenet_prob", "kde", INCEPTION),
            ("fig:kde_fit_plot_imagenet_log", "kde-logodds", INCEPTION),
        )
    },
}
