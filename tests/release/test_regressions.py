from __future__ import annotations

import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial
from dprct.errors import FormulaError, ParameterError
from dprct.release.calibrated.layout import (
    arm_terms,
    check_arms,
    check_covariates,
    check_slopes,
    cluster_column,
    regressions_of,
    right_side,
    split,
)


def test_a_formula_is_split_into_its_parts() -> None:
    found = split("y + z ~ a + t + C(b) + a:C(b) + t2", ["t", "t2"])
    assert found == (["y", "z"], ("t", "t2"), ("a", "C(b)", "a:C(b)"))


def test_sets_are_read_as_terms_or_as_text_and_each_once() -> None:
    found = regressions_of(["y"], ("t",), ["a", "C(b)"], ["", "a + C(b)", ["c"], "c"], ["t"])
    assert found.covariates == (("a", "C(b)"), (), ("c",))
    assert found.columns == ("a", "b", "c")
    assert found.formulas() == ("y ~ t + a + C(b)", "y ~ t", "y ~ t + c")
    assert right_side(()).intercept


@pytest.mark.parametrize("formula", ["I(y ** 2) ~ t", "~ t"])
def test_an_outcome_is_a_plain_column(formula: str) -> None:
    with pytest.raises(FormulaError):
        split(formula, ["t"])


@pytest.mark.parametrize("more", ["I(2 * y)", "a - 1", "t:a"])
def test_sets_that_cannot_be_calibrated(more: str) -> None:
    with pytest.raises((ParameterError, FormulaError)):
        regressions_of(["y"], ("t",), [], [more], ["t"])


def test_arms_as_the_regression_names_them() -> None:
    assert arm_terms(Block(["a", "b"], block="c"), ["control", "a", "b"]) == ("a", "b")
    assert arm_terms(Complete([0, 1], arm="t"), ["0", "1"]) == ("t",)
    assert arm_terms(Complete(["no", "yes"], arm="t"), ["no", "yes"]) == ("C(t)",)
    assert arm_terms(Complete(["a", "b"], control_share=0), ["a", "b"]) == ("b",)
    with pytest.raises(ParameterError, match="first level 0"):
        arm_terms(Complete([0, 1, 2], arm="t"), ["1", "0", "2"])
    crossed = Factorial([Complete("a"), Complete("b")])
    with pytest.raises(ParameterError, match="0/1 column of its own"):
        arm_terms(crossed, [str(name) for name in crossed.groups.names[::-1]])


def test_other_ways_to_write_the_arms_are_refused() -> None:
    check_arms(("b", "a"), ("a", "b"))
    with pytest.raises(FormulaError, match="write the latter"):
        check_arms(("C(t)",), ("t",))


@pytest.mark.parametrize("word", ["auto", "histogram", "marginals", "filler"])
def test_how_covariates_are_drawn_is_not_read_as_a_covariate(word: str) -> None:
    with pytest.raises(ParameterError, match=f"covariate_release='{word}'"):
        check_covariates(word)
    check_covariates([word])


def test_slopes_belong_to_one_set() -> None:
    check_slopes(regressions_of(["y"], ("t",), ["a"], [], ["t"]))
    with pytest.raises(ParameterError, match="one covariate set"):
        check_slopes(regressions_of(["y"], ("t",), ["a"], [""], ["t"]))


def test_clusters_are_one_column() -> None:
    assert cluster_column(Complete("t")) is None
    assert cluster_column(Cluster("t", cluster="school")) == "school"
    with pytest.raises(ParameterError, match="a column of their own"):
        cluster_column(BlockCluster("t", block="b", cluster=["school", "class"]))
