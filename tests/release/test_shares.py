from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.release.calibrated.covariates import covariates_of
from dprct.release.calibrated.model import division, share_of
from dprct.schema import Column, Schema

SCHEMA = Schema((Column("x", "byte", levels=(0.0, 1.0), missing=()),))
COVARIATES = covariates_of(pd.DataFrame({"x": np.zeros(50)}), SCHEMA, frozenset(), 50, filler=False)
FIFTH = Fraction(1, 5)


@pytest.mark.parametrize("wanted", ["auto", "histogram", "marginals", "filler"])
@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
def test_the_parts_are_the_whole(wanted: Any, epsilon: float) -> None:
    part = division(Budget(epsilon), FIFTH, wanted, COVARIATES, Fraction(0))
    assert part.whole == Budget(epsilon)
    assert part.effects.delta == 0
    assert (part.covariates == Budget(0)) == (part.rule == "filler")


def test_delta_goes_to_slopes_if_there_are_some_else_to_covariates() -> None:
    one = division(Budget(1, 1e-6), FIFTH, "marginals", COVARIATES, Fraction(0))
    assert (one.covariates.delta, one.slopes) == (Budget(1, 1e-6).delta, Budget(0))
    two = division(Budget(1, 1e-6), FIFTH, "marginals", COVARIATES, FIFTH)
    assert (two.covariates.delta, two.slopes) == (0, Budget(0.2, 1e-6))
    assert two.effects == Budget(0.6)
    assert two.whole == Budget(1, 1e-6)


def test_shares_that_leave_nothing_are_refused() -> None:
    assert share_of(None, "auto") == FIFTH
    assert share_of(0.25, "marginals") == Fraction(1, 4)
    for share in (0, 1, -0.1, float("nan")):
        with pytest.raises(ParameterError):
            share_of(share, "auto")
    with pytest.raises(ParameterError, match="lower share"):
        division(Budget(1, 1e-6), Fraction(4, 5), "marginals", COVARIATES, FIFTH)
