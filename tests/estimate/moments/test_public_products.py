"""Declared regressions on doses, and on products of treatment and public columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dprct
from dprct import Column, Regression, Schema
from tests.estimate.moments.test_one_step import ROWS as TABLE
from tests.estimate.moments.test_one_step import SCHEMA as COLUMNS
from tests.estimate.moments.test_one_step import VILLAGES, model

LEVELS = (0.0, 0.5, 1.0, 2.0, 8.0)
DOSE = dprct.Simple(LEVELS, arm="dose", shares=[0.2] * 5)
POST: Any = {"type": "byte", "levels": (0.0, 1.0), "missing": (), "fate": "public"}
SCHEMA = Schema(
    (*COLUMNS.columns, Column("dose", levels=LEVELS, missing=()), Column("post", **POST)),
    dataset_id="study",
)
ROWS = TABLE.assign(
    dose=np.random.default_rng(1).choice(LEVELS, len(TABLE)),
    post=(np.arange(len(TABLE)) % 3 == 0) * 1.0,
)
FORMULAS = [
    ("y ~ dose + x", ()),
    ("y ~ dose + I(dose**2) + x", ()),
    ("y ~ dose:post + dose:female + post + x", ("post", "female")),
    ("y ~ dose*post*female + x", ("post", "female")),
]


@pytest.mark.parametrize(("formula", "shown"), FORMULAS)
def test_coefficients_and_errors_are_those_of_least_squares(formula: str, shown: Any) -> None:
    m = model(ROWS, SCHEMA, formulas=[formula], assignment=DOSE, control=0.0)
    (bound,) = m.facts.steps.bound
    assert bound.step.shown == shown
    assert not bound.step.products
    found = m.fit(30, 1e-6, rng=1).ols(formula)
    raw = dprct.ols(formula, ROWS, cov_type="HC1")
    terms = list(found.params.index)
    gap = np.abs(found.params - raw.params[terms])
    assert (gap < 5 * np.hypot(found.bse_noise, 0.2 * raw.bse[terms])).all()
    expected = np.hypot(raw.bse[terms], found.bse_noise)  # all have as much noise, whatever unit
    np.testing.assert_allclose(found.bse, expected, rtol=0.4)
    public = "y ~ " + formula.partition("~")[2].removesuffix("+ x")
    weights = bound.weights[:, m.facts.steps.cells.codes]
    exact = dprct.ols(public + "+ post * female" * ("post" in formula), ROWS).params[terms]
    if "post" not in formula or "*post*" in formula:
        np.testing.assert_allclose(weights @ ROWS["y"] / len(ROWS), exact, atol=1e-9)


def test_products_with_periods_have_errors_of_villages() -> None:
    formula = "y ~ treat:post + treat + post + x"
    found = model(ROWS, SCHEMA, formulas=[formula], assignment=VILLAGES).fit(30, 1e-6, rng=1)
    raw = dprct.ols(formula, ROWS, cluster="village")
    one = found.ols(formula)
    terms = list(one.params.index)
    np.testing.assert_allclose(one.bse, raw.bse[terms], rtol=0.2)
    assert not one.of.joint
    assert not one.of.average


def test_what_a_private_column_is_multiplied_by_stays_a_covariate() -> None:
    for formula in ("y ~ dose*female + x:female", "y ~ dose + dose:share + x"):
        asked = model(ROWS.fillna(1.0), SCHEMA.declare(share={"missing": ()}),
                      formulas=[formula.replace("dose:share", "share")], assignment=DOSE,
                      control=0.0)  # fmt: skip
        assert asked.facts.steps.bound[0].step.shown == ()


def test_coefficients_of_products_are_no_average_effects() -> None:
    for formula in ("works ~ treat*post + x", "works ~ treat*C(region) + x"):
        schema = SCHEMA.declare(region={"missing": ()})
        asked = model(ROWS.fillna({"region": 1.0}), schema, formulas=[formula],
                      assignment=dprct.Simple("treat"), attrition=True)  # fmt: skip
        assert not asked.facts.declared[0].average
    plain = Regression("works ~ treat + x", name="plain")
    asked = model(ROWS, SCHEMA, formulas=[plain], assignment=dprct.Simple("treat"))
    assert asked.facts.declared[0].average
