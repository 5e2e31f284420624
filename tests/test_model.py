"""The one model, shown on IPW: bound, charged, saved, resumed; and what a table may show."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dprct
from dprct import IPW, Accountant, Budget
from dprct.errors import LedgerError, ModelPicklingError, ParameterError, SchemaError
from dprct.model import AnyResult, BoundTable, Model, Result, revived, saved
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema(
    (
        Column("y", bounds=(-1, 1), missing=()),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("x", bounds=(0, 1), missing=()),
    ),
    dataset_id="trial",
)


def people(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {"y": rng.uniform(-1, 1, n), "t": rng.integers(0, 2, n) * 1.0, "x": rng.uniform(0, 1, n)}
    )


def model(data: pd.DataFrame | None = None, **options: Any) -> IPW:
    given = people() if data is None else data
    asked = {"estimator": "ipw", **options}
    return IPW(given, SCHEMA, treatment="t", covariates=["x"], outcome="y", **asked)


def test_a_table_shows_nothing_and_stays_here() -> None:
    table = BoundTable(people())
    assert repr(table) == "BoundTable(400 rows)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ModelPicklingError):
            leave(table)


def test_a_fit_charges_what_its_mechanisms_cost() -> None:
    """The larger of two disjoint parts: a GDP accountant takes the fit, and pays less for it."""
    for composition in ("sequential", "zcdp", "gdp"):
        book = Accountant(4, 1e-4, composition=composition)
        model().fit(1, 1e-6, accountant=book)
        (entry,) = book.ledger
        allocation = model()._allocated(Budget(1, 1e-6))
        assert entry.charge == allocation.cost()
        assert entry.budget == Budget(1, 1e-6)
        part = allocation.parts["weights"].cost()
        assert entry.charge.squared_mu()[0] >= part.squared_mu()[0]  # type: ignore[index]


def test_several_fits_cost_less_than_their_sum_under_gdp() -> None:
    """Twenty-four fits of epsilon .1 fit an accountant of 2, which adds up to twenty of them."""
    book, bound = Accountant(2, 1e-4, composition="gdp"), model()
    for _ in range(24):
        bound.fit(0.1, 1e-6, accountant=book)
    assert book.spent.epsilon < 2


def test_an_estimate_is_resumed_from_what_was_saved_and_costs_nothing(tmp_path: Path) -> None:
    book = Accountant.open(
        tmp_path / "trial.ledger.json", dataset_id="trial", epsilon=2, delta=1e-5
    )
    found = model(balance=["x"], overlap=True).fit(1, 1e-6, accountant=book)
    (entry,), spent = book.ledger, book.spent
    other = people()
    other["y"] = -other["y"]
    again = model(other, balance=["x"], overlap=True).resume(entry.id, accountant=book)
    assert book.spent == spent
    assert again.params.equals(found.params)
    assert again.bse.equals(found.bse)
    assert again.balance_table.equals(found.balance_table)  # type: ignore[union-attr]
    assert again.overlap_table.equals(found.overlap_table)  # type: ignore[union-attr]
    assert "resumed" in again.ledger
    with pytest.raises(LedgerError, match="what the study declares"):
        model(lam=0.5).resume(entry.id, accountant=book)


def test_problems_are_all_named_and_the_constructor_raises_the_first() -> None:
    spec = model().spec
    assert spec.problems(model().facts) == []
    wrong = type(spec)(
        treatment="t", covariates=spec.covariates, outcome="y", noise="gauss", lam=-1, split=2
    )
    problems = [str(problem) for problem in wrong.problems(model().facts)]
    assert [p.split("=")[0] for p in problems] == ["noise", "lam", "split"]
    with pytest.raises(ParameterError, match="noise='gauss'"):
        model(noise="gauss", lam=-1, split=2)
    with pytest.raises(SchemaError):
        IPW(people(), people(), treatment="t", covariates=["x"], outcome="y")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kept:
    value: float
    parts: tuple[Any, ...]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.floats(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, st.floats())
def test_what_is_saved_comes_back(inner: Any, number: float) -> None:
    kept = Kept(
        number, (inner, np.arange(6).reshape(2, 3), np.array([0.5, np.nan]), np.bool_(True))
    )
    again = revived(json.loads(json.dumps(saved(kept))), (Kept,))
    assert repr(again) == repr(kept).replace("np.True_", "True")


def test_a_state_that_is_not_ours_is_refused() -> None:
    for state in ({"is": "Kept", "fields": {}}, {"unknown": 1}, [1], {"array": "float64"}):
        with pytest.raises(LedgerError, match="not in the form"):
            revived(state)
    with pytest.raises(ParameterError, match="not saved"):
        saved(people())


@pytest.mark.parametrize("name", sorted(dprct.__all__))
def test_what_every_fit_returns_can_be_written(name: str) -> None:
    method = getattr(dprct, name)
    if not (isinstance(method, type) and issubclass(method, Model)):
        return
    for kind in method.results():
        there = {*dir(kind), *(one for base in kind.__mro__ for one in get_annotations(base))}
        assert {"guarantee", "ledger", "summary", "tidy"} <= there, kind
    assert AnyResult.__bound__ is Result
