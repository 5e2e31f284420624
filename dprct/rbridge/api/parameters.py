"""Published mechanisms on numbers that R gives: of the paper on experiments, and the textbook's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.privacy.noise import source
from dprct.published.karwa_vadhan import DPRange, DPVariance
from dprct.published.textbook import Gaussian, Laplace, RandomizedResponse
from dprct.rbridge.api.options import options_for
from dprct.rbridge.api.session import whole
from dprct.rbridge.registry import export

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

KINDS = {"variance": DPVariance, "range": DPRange}
NOISE = {"laplace": Laplace, "gaussian": Gaussian}


@export("published_parameter")
def published_parameter(
    kind: str, x: Any, options: Mapping[str, Any], rng: Any = None
) -> NDArray[np.float64]:
    """Return the private variance (1,) or range (2,) of a sample (Algorithms 4 and 5)."""
    made = KINDS[kind]
    sample = np.atleast_1d(np.asarray(x, np.float64))
    if sample.ndim != 1 or not np.isfinite(sample).all():
        raise ParameterError(
            "x holds a value that is not a finite number; give a numeric vector without NA"
        )
    seed = None if rng is None else whole(rng, "rng")
    drawn = made(**options_for(made, options))
    found = drawn.draw(sample, source(seed).post_processing_rng())
    return np.atleast_1d(np.asarray(found, np.float64))


@export("published_noise")
def published_noise(
    kind: str, x: Any, options: Mapping[str, Any], rng: Any = None
) -> NDArray[np.float64]:
    """Numbers (d,) with Laplace or Gaussian noise for a sensitivity that the caller states."""
    made = NOISE[kind]
    seed = None if rng is None else whole(rng, "rng")
    drawn: NDArray[np.float64] = made(**options_for(made, options)).draw(np.atleast_1d(x), seed)
    return drawn


@export("published_randomized_response")
def published_randomized_response(
    places: Any, levels: int, options: Mapping[str, Any], rng: Any = None
) -> NDArray[np.float64]:
    """Told answers, which are numbered from 1 to ``levels``, in R's order."""
    numbers = list(range(1, whole(levels, "levels") + 1))
    asked = RandomizedResponse(**options_for(RandomizedResponse, {**options, "levels": numbers}))
    seed = None if rng is None else whole(rng, "rng")
    answers = np.atleast_1d(np.asarray(places, np.float64))
    return np.array(asked.draw(answers.tolist(), seed), np.float64)
