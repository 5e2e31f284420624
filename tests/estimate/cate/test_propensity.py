from __future__ import annotations

from fractions import Fraction

import pytest

import dprct
from dprct.errors import ParameterError
from dprct.estimate.cate.model import known_propensity, trim_of


def test_a_design_or_a_number_makes_it_known(schema):
    assert known_propensity(schema, 100, "t", dprct.Simple("t", shares=0.3), None) == Fraction(
        3, 10
    )
    assert known_propensity(schema, 100, "t", dprct.Complete("t"), None) == Fraction(1, 2)
    assert known_propensity(schema, 100, "t", dprct.Complete("t", counts=20), None) == Fraction(
        1, 5
    )
    assert known_propensity(schema, 100, "t", None, 0.3) == Fraction(3, 10)
    assert known_propensity(schema, 100, "t", None, None) is None


@pytest.mark.parametrize("value", [0, 1, -0.2, 1.5, float("nan"), float("inf"), "half", True])
def test_what_is_no_probability_is_refused(schema, value):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        known_propensity(schema, 100, "t", None, value)


def test_contradictions_are_refused(schema):
    with pytest.raises(ParameterError, match="give one of them"):
        known_propensity(schema, 100, "t", dprct.Simple("t"), 0.5)
    with pytest.raises(ParameterError, match="it must assign 't'"):
        known_propensity(schema, 100, "t", dprct.Simple("arm"), None)
    with pytest.raises(ParameterError, match="give a design"):
        known_propensity(schema, 100, "t", 0.5, None)
    with pytest.raises(ParameterError, match="clusters"):
        known_propensity(schema, 100, "t", dprct.Cluster("t", cluster="town"), None)


@pytest.mark.parametrize("eta", [0, 0.5, -1, "small", True])
def test_trimming_stays_inside(eta):
    with pytest.raises(ParameterError, match=r"between 0 and 0\.5"):
        trim_of(eta)
