"""The guarantee says exactly what is public, for each relation and missing policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dprct.assignment import Complete
from dprct.estimate.ate import PrivateATE
from dprct.estimate.ate.plan import promise_of
from dprct.privacy.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


@pytest.mark.parametrize(
    ("options", "relation", "known", "uncovered"),
    [
        ({}, "replace-one-design-public", "arm sizes", "treatment, blocks"),
        ({"missing": "public"}, "replace-one-design-public", "has a value of got", "got is miss"),
        ({"neighbors": "replace-one"}, "replace-one", "control 1/3, t 1/3, t2 1/3", "participat"),
    ],
)
def test_a_promise_rests_on_what_is_public_and_says_so(
    trial: Callable[..., pd.DataFrame],
    schema: Schema,
    options: dict[str, Any],
    relation: str,
    known: str,
    uncovered: str,
) -> None:
    asked = {"missing": 0.0} | options
    model = PrivateATE(
        trial(), schema, outcome=["y", "got"], assignment=Complete(["t", "t2"]), **asked
    )
    promise = promise_of(Budget(1), model.facts)
    assert promise == model.guarantee(Budget(1))
    assert promise.relation == relation
    assert known in " ".join(promise.public_facts)
    assert uncovered in " ".join(promise.not_covered)
    assert schema.unit.said in promise.public_facts
    assert ("arm sizes" in " ".join(promise.public_facts)) == (relation != "replace-one")
