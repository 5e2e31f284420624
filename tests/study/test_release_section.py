"""What is released, and at what price."""

import pytest

from dprct.errors import StudyError
from dprct.study.methods import UNPROMISED
from dprct.study.release_section import budget_from, release_from


def released(**keys):
    return release_from({"release": {"epsilon": 1.0, **keys}})


@pytest.mark.parametrize("method", ["mv_histogram", "marginals", "calibrated"])
def test_methods_with_a_guarantee(method):
    assert released(method=method).method == method
    assert method not in UNPROMISED


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"method": "magic"}, "allowed: calibrated, mv_histogram, marginals"),
        ({"epsilon": -1.0}, r"\[release\]"),
        ({"method": "calibrated", "zeta": 0.5}, "zeta belongs"),
        ({"zeta": 2.0}, "between 0 and 1"),
        ({"output": "a.csv"}, "end in .dta"),
        ({"method": "published_hybrid", "output": "a.dta"}, "no_dp_guarantee"),
        ({"epsilom": 1.0}, "did you mean 'epsilon'"),
    ],
)
def test_what_is_not_allowed_is_refused(keys, words):
    with pytest.raises(StudyError, match=words):
        released(**keys)


def test_a_release_has_a_price():
    with pytest.raises(StudyError, match="lacks epsilon"):
        release_from({})


def test_a_budget_is_a_budget():
    assert budget_from({}) is None
    with pytest.raises(StudyError, match=r"\[budget\]"):
        budget_from({"budget": {"epsilon": 0.0}})
    with pytest.raises(StudyError, match="allowed: replace-one, replace-one-design-public"):
        budget_from({"budget": {"epsilon": 1.0, "relation": "add-remove"}})


def test_a_histogram_is_not_taken_for_granted_where_there_are_outcomes_and_arms():
    columns = {"y": {"role": "outcome"}, "t": {"role": "treatment"}, "x": {}}
    with pytest.raises(StudyError, match="method is missing"):
        release_from({"release": {"epsilon": 1.0}, "columns": columns})
    del columns["t"]
    assert release_from({"release": {"epsilon": 1.0}, "columns": columns}).method == "mv_histogram"
