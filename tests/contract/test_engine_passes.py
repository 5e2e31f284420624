"""How often a fit goes through a table that stays in its engine: twice, and says what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import pytest

from dprct import MVHistogram, PrivateATE, PrivateMoments, Simple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from dprct.schema import Schema

LAZY = ["Polars, lazy", "DuckDB", "Spark"]
TWO = ["y", "x"]

MODELS: dict[str, Callable[[Any, Schema], Any]] = {
    "effects, who has a value being public": lambda data, schema: PrivateATE(
        data, schema, outcome=TWO, assignment=Simple("t"), missing={"y": "public"}
    ),
    "effects, who has a value being private": lambda data, schema: PrivateATE(
        data, schema, outcome=TWO, assignment=Simple("t"), missing={"y": "private"}
    ),
    "effects, treatment being private": lambda data, schema: PrivateATE(
        data, schema, outcome=TWO, assignment=Simple("t"), missing={"y": "public"},
        neighbors="replace-one",
    ),
    "effects, jointly": lambda data, schema: PrivateATE(
        data, schema, outcome=TWO, assignment=Simple("t"), missing={"y": 0.5}
    ),
    "moments of public groups": lambda data, schema: PrivateMoments(
        data, schema, columns=TWO, assignment=Simple("t"), missing="public",
        neighbors="replace-one-design-public",
    ),
    "moments of private cells": lambda data, schema: PrivateMoments(
        data, schema, columns=TWO, assignment=Simple("t"), missing=0.5
    ),
    "histogram": lambda data, schema: MVHistogram(
        data, schema.select(["x", "g"]), columns=["x", "g"]
    ),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What engines were asked for: one entry for each query that was run."""
    found: list[str] = []
    collect = nw.LazyFrame.collect

    def counting(self: Any, *args: Any, **options: Any) -> Any:
        found.append(self.implementation.value)
        return collect(self, *args, **options)

    monkeypatch.setattr(nw.LazyFrame, "collect", counting)
    return found


def delta_of(form: str) -> float:
    return 1e-6 if form.startswith("moments") or form.endswith("jointly") else 0


def said(form: str, model: Any) -> Any:
    """Return what a fit of a seed releases."""
    if form.startswith("moments"):
        return model.fit(4, delta_of(form), rng=3).drawn.sums.tolist()
    if form == "histogram":
        return model.fit(30, rng=3).protected.sort_values(["x", "g"]).to_numpy().tolist()
    found = model.fit(4, delta_of(form), rng=3)
    return [*found.params, *found.bse]


@pytest.mark.parametrize("form", MODELS)
@pytest.mark.parametrize("engine", LAZY, indirect=True)
def test_a_fit_goes_through_the_table_twice(
    people: Any, engines: ModuleType, asked: list[str], form: str
) -> None:
    model = MODELS[form](people, engines.SCHEMA)
    assert len(asked) == 1
    released = said(form, model)
    assert len(asked) == 2
    model.plan(4, delta_of(form))
    assert len(asked) == 2
    assert released == said(form, MODELS[form](engines.rows(), engines.SCHEMA))
