"""Formulas of experiments: who plays which part, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.assignment import Block, Complete
from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.formula import parse
from dprct.published.informed import fixed_levels, roles


def test_parts(schema):
    found = roles("y + arrested ~ treat + age + C(site)", schema, "treat", Complete("treat"))
    assert found.outcomes == ("y", "arrested")
    assert found.treatment == ("treat",)
    assert found.covariates == ("age", "site")
    assert not found.interacts
    assert found.columns == ("y", "arrested", "treat", "age", "site")


def test_strata_of_the_design_are_covariates(schema):
    found = roles("y ~ treat + age", schema, "treat", Block("treat", block="site"))
    assert found.covariates == ("age", "site")


@pytest.mark.parametrize(
    "formula", ["y ~ treat*age", "y ~ treat + treat:age", "y ~ treat + I(treat*age)"]
)
def test_a_treatment_that_interacts_is_a_covariate(schema, formula):
    found = roles(formula, schema, "treat", None)
    assert found.interacts
    assert "treat" in found.covariates


def test_arms_that_interact_with_each_other_do_not_count(schema):
    found = roles(
        "y ~ treat*arrested + age", schema, ["treat", "arrested"], Complete(["treat", "arrested"])
    )
    assert not found.interacts
    assert found.covariates == ("age",)


@pytest.mark.parametrize(
    ("formula", "treatment", "design", "error", "says"),
    [
        ("y ~ age", "treat", Complete("treat"), FormulaError, "'treat' is not in the formula"),
        ("y ~ treat + agee", "treat", Complete("treat"), ColumnError, "did you mean 'age'"),
        ("yy ~ treat", "treat", Complete("treat"), ColumnError, "no column 'yy'"),
        ("y ~ treat + scale(age)", "treat", Complete("treat"), FormulaError, "scale"),
        ("y ~ treat + poly(age, 2)", "treat", Complete("treat"), FormulaError, "poly"),
        ("log(y) ~ treat", "treat", Complete("treat"), FormulaError, "log"),
        ("~ treat", "treat", Complete("treat"), FormulaError, "no outcome"),
        ("y ~ treat + y", "treat", Complete("treat"), FormulaError, "'y' is an outcome"),
        ("y ~ treat", [], None, ParameterError, "names no column"),
        ("y ~ treat", "treat", None, ParameterError, "assignment is not given"),
        ("y ~ treat", "treat", Complete("age"), ParameterError, "draws the columns age"),
        ("y ~ treat", "treat", Block("treat", block="town"), ColumnError, "no column 'town'"),
    ],
)
def test_refusals(schema, formula, treatment, design, error, says):
    with pytest.raises(error, match=says.replace("(", r"\(")):
        roles(formula, schema, treatment, design)


def test_levels_of_complete_rows_come_first(schema):
    data = pd.DataFrame({"site": [1.0, 3, 2, 3, np.nan], "age": [np.nan, 1, 1, 1, 1]})
    wide = schema.declare(site=[1, 2, 3, 4])
    complete = np.array([False, True, True, True, False])
    found = fixed_levels(parse("~ C(site) + age"), data, wide, complete)
    assert found.column("site").levels == (2, 3, 1, 4)
    assert found.column("age") == wide.column("age")
