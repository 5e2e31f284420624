"""Methods of covariates are the same wherever the rows are: weighting, shapes, varying effects."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from dprct import CATE, IPW, PrivateAdditive
from dprct.model import saved

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from dprct.schema import Schema

SHAPES = {"outcome": "y", "features": ["x", "g"], "pairs": [("x", "g")]}

FORMS: dict[str, Callable[[Any, Schema], Any]] = {
    "weighting": lambda data, schema: IPW.from_formula(
        "t ~ x * whole",
        data,
        schema,
        outcome="y",
        hajek=True,
        overlap=True,
    ),
    "shapes": lambda data, schema: PrivateAdditive(data, schema, **SHAPES),
    "effects in one step": lambda data, schema: CATE(
        data, schema, treatment="t", propensity=0.5, **SHAPES
    ),
    "effects in parts": lambda data, schema: CATE(
        data, schema, treatment="t", learner="r", **SHAPES
    ),
}


def half(schema: Schema) -> Schema:
    """The schema, in which a missing outcome is .5."""
    return schema.declare(y={"missing_policy": 0.5})


def released(form: str, data: Any, engines: ModuleType, seed: int = 3) -> Any:
    found = FORMS[form](data, half(engines.SCHEMA)).fit(4, 1e-4, rng=seed)
    if form == "weighting":
        return [*found.params, *found.bse, *found.propensity_params]
    return [saved(fit.sums) for fit in found.models.values()]


def matrix() -> list[Any]:
    """Return engines and forms; what takes long again, with rows cut otherwise, is audited."""
    engines = ("pandas", "Polars", "Polars, lazy", "DuckDB", "Spark")
    return [
        *itertools.product(engines, FORMS),
        ("Spark, skewed", "weighting"),
        *(
            pytest.param("Spark, skewed", form, marks=pytest.mark.audit)
            for form in FORMS
            if form != "weighting"
        ),
    ]


@pytest.mark.parametrize(("engine", "form"), matrix(), indirect=["engine"])
def test_a_seed_means_the_same_in_every_engine(people: Any, engines: ModuleType, form: str) -> None:
    assert released(form, people, engines) == in_memory(form, engines)


@functools.cache
def in_memory(form: str, engines: ModuleType) -> Any:
    return released(form, engines.rows(), engines)


@pytest.mark.parametrize("form", FORMS)
def test_one_row_or_another_seed_is_another_release(engines: ModuleType, form: str) -> None:
    rows, one = engines.rows(), in_memory(form, engines)
    assert released(form, rows, engines, seed=4) != one
    other = rows.with_columns(x=rows["x"].reverse())
    assert released(form, other, engines) != one
