from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dprct.estimate.base as base
from dprct import PrivateATE
from dprct.errors import ParameterError
from dprct.privacy.accountant import Accountant

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
