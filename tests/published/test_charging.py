"""What fits of published algorithms pay: the price of a promise, or a note that there is none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import Accountant, published
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, Guarantee
from dprct.privacy.ledger import ledger_path
from dprct.privacy.noise import source
from dprct.published.charging import PublishedModel, Unpriced
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

NONE = Guarantee.none("bins come from the data")
HELD = Guarantee.of(Budget(0.5), "replace-one", unit="person")


@pytest.fixture
def purse(tmp_path: Path) -> Accountant:
    (tmp_path / "survey.dta").write_bytes(b"rows")
    place = ledger_path(tmp_path / "survey.dta", "survey")
    return Accountant.open(place, dataset_id="survey", epsilon=1)


def beside(tmp_path: Path, schema: Schema | None = None) -> Schema:
    schema = Schema((Column("y"),)) if schema is None else schema
    return replace(schema, source=tmp_path / "survey.dta", dataset_id="survey")


def charge(schema: Schema, guarantee: Guarantee, purse: Accountant | None, seed: Any = None) -> Any:
    model: Any = SimpleNamespace(schema=schema, method="m")
    return PublishedModel._charge(model, guarantee, Unpriced(budget=Budget(1)), purse, source(seed))


def test_a_promise_is_charged(tmp_path: Path, purse: Accountant) -> None:
    receipt = charge(beside(tmp_path), HELD, None)
    assert "epsilon=0.5 charged" in receipt.words
    assert purse.spent == Budget(0.5)


def test_what_promises_nothing_leaves_an_entry_without_price(
    tmp_path: Path, purse: Accountant
) -> None:
    schema = beside(tmp_path)
    receipt = charge(schema, NONE, None)
    assert receipt.words.startswith("charged to no ledger")
    assert [(e.method, e.description, e.priced) for e in purse.ledger] == [
        ("m", "bins come from the data", False)
    ]
    charge(schema, NONE, None, 1)  # a simulation leaves no trace
    with pytest.raises(ParameterError, match="no price and is in no total; leave accountant out"):
        charge(schema, NONE, purse)
    assert len(purse.ledger) == 1


def test_every_fit_without_a_promise_is_seen_by_who_adds_up_the_ledger(
    tmp_path: Path, purse: Accountant
) -> None:
    X, t = np.linspace(-1, 1, 80).reshape(40, 2), np.tile([0.0, 1.0], 20)
    series = X.reshape(8, 10)
    models: tuple[Any, ...] = (
        published.SyntheticControl.from_arrays(series, series[0], 4, 1.0, perturb="objective"),
        published.IPW.from_arrays(X, t, t, trim=0.05),  # else noise divides by 0, rarely
    )
    for model in models:
        model.facts = replace(model.facts, schema=beside(tmp_path, model.schema))
        result = model.fit(0.5, 1e-6)
        assert "says that it was made without a guarantee" in result.ledger
    assert [entry.method for entry in purse.ledger] == [model.method for model in models]
    assert purse.spent == Budget(0)
