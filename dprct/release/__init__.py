"""Data in, protected data out: strict releases."""

from typing import TYPE_CHECKING

from dprct.lazy import names_of

if TYPE_CHECKING:
    from dprct.release.calibrated.model import Calibrated
    from dprct.release.histogram import Marginals, MVHistogram
    from dprct.release.release import Release

_HOME = {
    "Calibrated": "calibrated.model",
    "MVHistogram": "histogram",
    "Marginals": "histogram",
    "Release": "release",
}

__all__ = ["Calibrated", "MVHistogram", "Marginals", "Release"]

__getattr__ = names_of(__name__, _HOME)
