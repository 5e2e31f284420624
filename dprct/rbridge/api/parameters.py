"""The private variance and range of the paper on experiments, of a sample that R gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.noise import source
from dprct.published.karwa_vadhan import DPRange, DPVariance
from dprct.rbridge.api.options import options_for
from dprct.rbridge.api.session import whole
from dprct.rbridge.registry import export

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

KINDS = {"variance": DPVariance, "range": DPRange}


@export("published_parameter")
def published_parameter(
    kind: str, x: Any, options: Mapping[str, Any], rng: Any = None
) -> NDArray[np.float64]:
    """Return the private variance (1,) or range (2,) of a sample (Algorithms 4 and 5).

    Raises
    ------
    ParameterError
        If the sample is no vector of finite numbers, or an option is not allowed.
    """
    made = KINDS[kind]
    sample = np.atleast_1d(np.asarray(x, np.float64))
    if sample.ndim != 1 or not np.isfinite(sample).all():
        raise ParameterError("x holds what is no finite number; give a numeric vector without NA")
    seed = None if rng is None else whole(rng, "rng")
    drawn = made(**options_for(made, options))
    found = drawn.draw(sample, source(seed).post_processing_rng())
    return np.atleast_1d(np.asarray(found, np.float64))
