from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dprct import PrivateATE
from dprct.estimate.mechanism import Released
from dprct.estimate.saved import restored, saved
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


@pytest.mark.parametrize("arms", [["t"], ["t", "t2"]])
def test_json_brings_released_effects_back(
    arms: list[str], trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    data = trial(900)
    if len(arms) == 1:
        data = data[data["t2"] == 0]
    model = PrivateATE(data, schema, outcome="y", treatment=arms)
    found: list[Any] = model._draw(Budget(model.outcomes[0].share), source())
    assert all(isinstance(one, Released) for one in found)
    assert [restored(json.loads(json.dumps(saved(one)))) for one in found] == found
