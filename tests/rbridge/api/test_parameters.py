from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.published import DPRange, Gaussian, Laplace
from dprct.rbridge.api.parameters import (
    published_noise,
    published_parameter,
    published_randomized_response,
)


def test_the_range_is_that_of_the_class() -> None:
    x = np.linspace(-3, 3, 500) + 7
    found = published_parameter("range", x, {"sd": 1.0, "epsilon": 2.0}, 3.0)
    own = DPRange(1.0, 2.0)
    assert found.mean() == pytest.approx(7, abs=0.51)
    assert np.diff(found)[0] == pytest.approx(2 * own.half_width(500))
    again = published_parameter("range", x, {"sd": 1.0, "epsilon": 2.0}, 3.0)
    assert again.tolist() == found.tolist()


def test_what_is_no_sample_is_refused() -> None:
    for x in (np.array([1.0, np.nan]), np.ones((2, 2))):
        with pytest.raises(ParameterError, match="x holds a value that is not a finite number"):
            published_parameter("variance", x, {"epsilon": 1.0})


def test_noise_on_numbers_is_that_of_the_class() -> None:
    x = np.array([1.0, 2.0])
    for kind, options in (
        ("laplace", {"epsilon": 1.0, "sensitivity": 0.5}),
        ("gaussian", {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 0.5}),
    ):
        own = (Laplace if kind == "laplace" else Gaussian)(**options)
        assert published_noise(kind, x, options, 3.0).tolist() == own.draw(x, rng=3).tolist()
    with pytest.raises(ParameterError, match="sensitivity"):
        published_noise("laplace", x, {"epsilon": 1.0, "sensitivity": -1.0})


def test_answers_are_numbered_as_in_r() -> None:
    told = published_randomized_response(np.array([1.0, 3.0, 2.0]), 3, {"epsilon": 30.0}, 1.0)
    assert told.tolist() == [1.0, 3.0, 2.0]
    with pytest.raises(ParameterError, match="none of the levels"):
        published_randomized_response(np.array([4.0]), 3, {"epsilon": 1.0})
