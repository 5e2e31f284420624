from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import dprct.model
from dprct import PrivateATE
from dprct.assignment import Complete, Simple
from dprct.errors import LedgerError, ModelPicklingError
from dprct.estimate.ate.release import Released, released
from dprct.model import BoundTable, revived, saved
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.privacy.noise import source
from dprct.queries.horvitz_thompson import PrivateArms

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


@pytest.fixture
def model(trial: Callable[..., pd.DataFrame], schema: Schema) -> PrivateATE:
    data = trial(300)
    return PrivateATE(data[data["t2"] == 0], schema, outcome="y", treatment=["t"])


def test_the_order_is_check_charge_draw_save(
    model: PrivateATE, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            order.append(name)
            return real(*args, **kwargs)

        return call

    for name in ("_allocated", "_draw", "_state", "_read"):
        monkeypatch.setattr(model, name, watched(name, getattr(model, name)))
    monkeypatch.setattr(dprct.model, "charged", watched("charged", dprct.model.charged))
    model.fit(1, accountant=Accountant(1, relation="replace-one-design-public"))
    assert order == ["_allocated", "charged", "_draw", "_state", "_read"]


@pytest.mark.parametrize("arms", [["t"], ["t", "t2"]])
def test_what_was_paid_for_is_resumed_to_the_last_digit(
    arms: list[str], trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = trial(900)
    if len(arms) == 1:
        data = data[data["t2"] == 0]
    schema = schema.declare(got={"missing_policy": "private"})
    options = {"outcome": ["y", "got"], "treatment": arms}
    purse = Accountant(2, relation="replace-one-design-public")
    result = PrivateATE(data, schema, **options).fit(1, accountant=purse)
    (entry,) = purse.ledger
    json.dumps(purse.recover(entry.id), allow_nan=False)
    again = PrivateATE(data, schema, **options).resume(entry.id, accountant=purse)
    assert again.effects == result.effects
    assert again.means == result.means
    assert again.params.equals(result.params)
    assert again.bse.equals(result.bse)
    assert purse.remaining == Budget(1)
    other = PrivateATE(data, schema, **{**options, "outcome": ["got", "y"]})
    with pytest.raises(LedgerError, match="is not what it was"):
        other.resume(entry.id, accountant=purse)


@pytest.mark.parametrize("arms", [["t"], ["t", "t2"]])
def test_json_brings_released_effects_back(
    arms: list[str], trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = trial(900)
    if len(arms) == 1:
        data = data[data["t2"] == 0]
    model = PrivateATE(data, schema, outcome="y", treatment=arms)
    allocation = model.spec.allocation(model.facts, Budget(1))
    found = released(model.facts.outcomes, allocation, model._table, source())
    assert all(isinstance(one, Released) for one in found)
    assert revived(json.loads(json.dumps(saved(found))), model.saved_types) == found


def test_a_concentrated_account_takes_what_the_mechanisms_cost(model: PrivateATE) -> None:
    """A pure epsilon costs epsilon^2 / 2: three draws of .67, .28 and .05 cost less than one."""
    purse = Accountant(1, 1e-6, relation="replace-one-design-public", composition="zcdp")
    model.fit(1, accountant=purse)
    (entry,) = purse.ledger
    assert entry.budget == Budget(1)
    parts = (Fraction(67, 100), Fraction(28, 100), Fraction(5, 100))
    assert model.spec.allocation(model.facts, Budget(1)).cost().concentrated() == sum(
        part**2 / 2 for part in parts
    )


def test_a_specification_says_all_that_is_wrong_and_knows_its_columns(model: PrivateATE) -> None:
    spec = model.spec
    assert spec.columns == ("y", "t")
    assert spec.problems(model.facts) == []
    wrong = replace(
        spec, effects="most", index="2*village",  # type: ignore[arg-type]
        index_bounds=(1.0, 0.0), alphas=(2.0,),
    )  # fmt: skip
    assert wrong.columns == ("y", "t", "village")
    found = [str(problem) for problem in wrong.problems(model.facts)]
    for words in ("effects=", "alphas=", "index_bounds="):
        assert sum(words in one for one in found) == 1, (words, found)
    assert len(found) == 3


def test_rows_stay_in_the_table_that_refuses_to_be_pickled(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    """With an index, the residuals too: nothing else that a model has is as long as the data."""
    model = PrivateATE(
        trial(300), schema, outcome="y", assignment=THREE, neighbors="replace-one",
        index="2*village", index_bounds=(-40.0, 30.0),
    )  # fmt: skip
    assert isinstance(model._table, BoundTable)
    assert set(vars(model)) <= {"spec", "facts", "_table", "_bought"}
    for outcome in model.facts.outcomes:
        assert isinstance(outcome.arms, PrivateArms)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model._table)


def test_a_draw_that_was_begun_stays_charged(
    model: PrivateATE, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever interrupts fits until he likes one has paid for all of them."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "_draw", interrupted)
    purse = Accountant(1, relation="replace-one-design-public")
    with pytest.raises(KeyboardInterrupt):
        model.fit(0.75, accountant=purse)
    assert purse.remaining == Budget(0.25)


TWO, THREE = Simple("t", shares=0.5), Complete(["t", "t2"])


@pytest.mark.parametrize(
    ("arms", "options"),
    [
        (2, {"outcome": "y", "treatment": "t"}),
        (3, {"outcome": "y", "treatment": ["t", "t2"]}),
        (2, {"outcome": "y", "assignment": TWO, "neighbors": "replace-one"}),
        (3, {"outcome": "y", "assignment": THREE, "neighbors": "replace-one"}),
        (3, {"outcome": "got", "treatment": ["t", "t2"]}),
        (
            2,
            {
                "outcome": ["y", "got"],
                "treatment": "t",
                "budget_shares": {"y": 0.75, "got": 0.25},
            },
        ),
    ],
    ids=["two", "three", "two, hidden", "three, hidden", "counted", "two outcomes"],
)
def test_what_is_drawn_costs_what_was_charged(
    arms: int,
    options: dict[str, Any],
    trial: Callable[..., pd.DataFrame],
    schema: Schema,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each vector is drawn for its own proved sensitivity, and their prices add up exactly."""
    data, drawn = trial(300), []
    schema = schema.declare(got={"missing_policy": "private"})
    real = DiscreteLaplace.release

    def watched(mechanism: DiscreteLaplace, aggregate: Any, noise: Any) -> Any:
        drawn.append((mechanism, aggregate))
        return real(mechanism, aggregate, noise)

    monkeypatch.setattr(DiscreteLaplace, "release", watched)
    purse = Accountant(3, relation=options.get("neighbors", "replace-one-design-public"))
    PrivateATE(data if arms == 3 else data[data["t2"] == 0], schema, **options).fit(
        1.5, accountant=purse
    )
    assert sum((mechanism.budget for mechanism, _ in drawn), Budget(0)) == Budget(1.5)
    assert all(mechanism.l1 == aggregate.l1 for mechanism, aggregate in drawn)
    assert purse.remaining == Budget(1.5)


def test_a_seed_promises_nothing(model: PrivateATE) -> None:
    purse = Accountant(1, relation="replace-one-design-public")
    result = model.fit(1, accountant=purse, rng=1)
    assert result.guarantee.simulation
    assert not result.guarantee.holds
    assert purse.ledger == ()
