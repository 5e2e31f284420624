from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dprct.estimate.base as base
from dprct import PrivateATE
from dprct.assignment import Complete, Simple
from dprct.errors import ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import DiscreteLaplace

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

    for name in ("_check", "_draw", "_state", "_results"):
        monkeypatch.setattr(model, name, watched(name, getattr(model, name)))
    monkeypatch.setattr(base, "charged", watched("charged", base.charged))
    model.fit(1, accountant=Accountant(1, relation="replace-one-design-public"))
    assert order == ["_check", "charged", "_draw", "_state", "_results"]


def test_a_delta_that_laplace_noise_cannot_use_is_refused_before_it_is_charged(
    model: PrivateATE,
) -> None:
    purse = Accountant(1, 0.1, relation="replace-one-design-public")
    for attempt in (lambda: model.fit(1, 1e-6, accountant=purse), lambda: model.plan(1, 1e-6)):
        with pytest.raises(ParameterError, match="leave delta out"):
            attempt()
    assert purse.remaining.epsilon == 1


def test_the_saved_state_is_what_was_released(
    model: PrivateATE, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(Accountant, "record", lambda _purse, _entry, state: kept.append(state))
    result = model.fit(1, accountant=Accountant(1, relation="replace-one-design-public"))
    assert [one["y"]["effects"][0]["value"] for one in kept] == [result.params["t"]]


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
        (3, {"outcome": "got", "treatment": ["t", "t2"], "missing": "private"}),
        (
            2,
            {
                "outcome": ["y", "got"],
                "treatment": "t",
                "missing": {"got": "private"},
                "weights": {"y": 0.75, "got": 0.25},
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
