"""Declared regressions on doses, and on products of treatment and public columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dprct
from dprct import Column, Regression, Schema
from dprct.errors import ParameterError
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
    said = {one.quantity for one in m.plan(30, 1e-6).numbers if one.regression and one.term}
    assert "coefficient_per_unit" in said
    assert "difference_in_means" not in said
    found = m.fit(30, 1e-6, rng=1).ols(formula)
    raw = dprct.ols(formula, ROWS, cov_type="HC1")
    terms = list(found.params.index)
    assert f"The least-squares coefficient per unit of {terms[0]}" in " ".join(str(found).split())
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


AMOUNTS = (
    *SCHEMA.declare(share={"missing": ()}).columns,
    Column("tens", levels=tuple(10 * x for x in LEVELS), missing=(), made_of=("dose",)),
    Column("rest", levels=tuple(8 - x for x in LEVELS), missing=(), made_of=("tens",)),
    Column("mixed", bounds=(-9, 9), missing=(), made_of=("dose", "x")),
    Column("after", bounds=(-90, 90), missing=(), made_of=("mixed",)),
    Column("told", levels=(0.0, 1.0), missing=(), made_of=("dose",), fate="public"),
)
OF_DOSE = Schema(AMOUNTS, dataset_id="study")
PAID = ROWS.assign(
    tens=10 * ROWS["dose"], rest=8 - ROWS["dose"], mixed=ROWS["dose"] + ROWS["x"].clip(0, 1),
    after=0.0, told=(ROWS["dose"] > 1) * 1.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "like", "unit"),
    [("y ~ tens + x", "y ~ dose + x", 0.1), ("y ~ rest + x", "y ~ dose + x", -1.0),
     ("y ~ tens:post + tens + post + x", "y ~ dose:post + dose + post + x", 0.1)],
)  # fmt: skip
def test_what_is_made_of_treatment_is_treatment(formula: str, like: str, unit: float) -> None:
    made, plain = (
        model(PAID, OF_DOSE, formulas=[one], assignment=DOSE).facts.steps for one in (formula, like)
    )
    for at, one in enumerate(made.bound[0].weights[:, made.cells.codes]):
        of = plain.bound[0].weights[at, plain.cells.codes]
        np.testing.assert_allclose(one, unit * of, atol=1e-9)
    assert made.bound[0].longest == pytest.approx(abs(unit) * plain.bound[0].longest)


def test_what_is_made_of_treatment_and_private_columns_is_no_covariate() -> None:
    for name in ("mixed", "after"):
        asked = model(PAID, OF_DOSE, formulas=[f"y ~ dose + {name}"], assignment=DOSE)
        assert not asked.facts.steps  # computed from the moments, as any private column is
        with pytest.raises(ParameterError, match="is made of treatment and a private column"):
            model(PAID, OF_DOSE, formulas=[Regression(f"y ~ dose + {name}", cov_type="nonrobust")],
                  assignment=DOSE)  # fmt: skip
    with pytest.raises(ParameterError, match="collinear"):
        model(PAID, OF_DOSE, formulas=["y ~ dose + tens"], assignment=DOSE).facts  # noqa: B018
    hidden = model(PAID, OF_DOSE, formulas=["y ~ tens + x"], assignment=DOSE, attrition=False,
                   neighbors="replace-one")  # fmt: skip
    assert not hidden.facts.steps


def test_the_worst_person_has_the_amount_with_the_longest_weights() -> None:
    """By every person and both bounds of the outcome: exactly as far as the noise allows for."""
    m = model(PAID, OF_DOSE, formulas=["y ~ tens + I(tens**2)"], assignment=DOSE)
    (bound,) = m.facts.steps.bound
    X = np.column_stack([np.ones(len(PAID)), PAID["tens"], PAID["tens"] ** 2])
    pulls = np.linalg.solve(X.T @ X, X.T)[1:] * len(PAID)  # of one person, times n, on b
    farthest = np.sqrt((pulls**2).sum(axis=0))
    assert bound.farthest == pytest.approx(farthest.max(), rel=1e-9)
    assert len({*farthest.round(6)}) == len(LEVELS)  # it depends on the amount alone
    facts = " ".join(m.fit(1, 1e-6).guarantee.public_facts)
    assert "columns tens of every row" in facts
    assert "or are made of treatment" in facts


def test_what_is_made_of_treatment_and_of_what_the_schema_lacks_is_not_public() -> None:
    """Of a column that is not there nobody knows whether it is public, nor of a circle of two."""
    tens, rest = (replace(OF_DOSE.column(name), made_of=None) for name in ("tens", "rest"))
    for made in (
        [replace(tens, made_of=("dose", "income"))],
        [replace(tens, made_of=("dose", "rest")), replace(rest, made_of=("tens",))],
        [replace(tens, made_of=("dose",), missing=(".",), missing_policy="private")],
    ):
        rows = PAID[[*SCHEMA.names, *(one.name for one in made)]]
        schema = Schema((*AMOUNTS[: len(SCHEMA.names)], *made), dataset_id="study")
        asked = model(rows, schema, formulas=["y ~ tens + x"], assignment=DOSE)
        assert not asked.facts.steps
        assert "columns tens" not in " ".join(asked.guarantee(dprct.Budget(1, 1e-6)).public_facts)
