"""A seed gives the same effects to the last bit, wherever the rows are and however they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

from dprct import CATE, Accountant, Block, Budget, PrivateAdditive, Simple, published
from dprct.errors import EngineError, SchemaError
from dprct.model import BoundTable, saved
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION
from tests.estimate.in_engines import ENGINES, in_duckdb, in_pieces

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS: dict[str, Any] = {"levels": (0.0, 1.0), "missing": ()}
SCHEMA = Schema(
    (
        Column("y", bounds=(-2.0, 2.1), missing=(".", ".a"), missing_policy=0.5),
        Column("t", "byte", **LEVELS),
        Column("block", "byte", **LEVELS),
        Column("x", "float", bounds=(0.0, 0.7), missing=(), bins=35),
        Column("age", bounds=(-1.0, 1.0), missing=(".", ".a")),
        Column("g", "str3", levels=("", "a", "bc"), missing=()),
    )
)
ASKED: dict[str, Any] = {
    "outcome": "y", "features": ["x", "age", "g"], "treatment": "t",
    "pairs": [("age", "g")], "subgroups": ["block"], "projection": ["x", "age"],
}  # fmt: skip
ONE_STEP: dict[str, dict[str, Any]] = {
    "dr, known": {"assignment": Simple("t", shares=0.3)},
    "dr, blocks": {"assignment": Block("t", block="block")},
    "r, known": {"learner": "r", "propensity": 0.3},
    "s": {"learner": "s", "propensity": 0.3},
}
STAGED: dict[str, dict[str, Any]] = {
    "dr, estimated": {},
    "dr, outcome": {"propensity": 0.5, "parts": {"outcome": 0.4, "effect": 0.6}},
    "r, estimated": {"learner": "r"},
}


def rows(n: int = 901) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    y, age = rng.normal(size=n).clip(-2, 2.1), rng.uniform(-1, 1, n)
    gone, unknown = (rng.choice([-1, -1, 0, 1], n) for _ in range(2))
    return pl.DataFrame(
        {
            "y": [None if code >= 0 else value for code, value in zip(gone, y, strict=True)],
            "y" + COMPANION: gone.astype(np.int8),
            "t": rng.integers(0, 2, n),
            "block": rng.integers(0, 2, n),
            "x": rng.integers(0, 8, n).astype(np.float32) / np.float32(10),
            "age": [None if c >= 0 else value for c, value in zip(unknown, age, strict=True)],
            "age" + COMPANION: unknown.astype(np.int8),
            "g": [[None, "a", "bc"][k] for k in rng.integers(0, 3, n)],
        }
    )


def fitted(data: Any, delta: float = 1e-6, **options: Any) -> dict[str, Any]:
    result = CATE(data, SCHEMA, **ASKED, **options).fit(1, delta, rng=3)
    return {name: saved(fit.sums) for name, fit in result.models.items()}


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", {**ONE_STEP, **STAGED})
def test_a_seed_gives_the_same_effects_in_every_engine(form: str, engine: str) -> None:
    data = rows()
    if form == "dr, blocks":
        places = pl.int_range(pl.len()).over("block")
        data = data.with_columns(t=places % 2)[:900]
    options = {**ONE_STEP, **STAGED}[form]
    assert fitted(ENGINES[engine](data), **options) == fitted(data, **options)


@pytest.mark.parametrize("form", ["r, known", "dr, estimated"])
def test_pure_noise_too(form: str) -> None:
    options = {**ONE_STEP, **STAGED}[form]
    assert fitted(in_duckdb(rows()), 0, **options) == fitted(rows(), 0, **options)


def test_effects_can_tell_data_apart() -> None:
    other = rows().with_columns(t=1 - pl.col("t"))
    for options in (ONE_STEP["dr, known"], STAGED["dr, estimated"]):
        assert fitted(in_duckdb(other), **options) != fitted(rows(), **options)


def test_without_a_seed_no_row_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a sort that only a simulation needs")

    monkeypatch.setattr("dprct.queries.additive.canonical_order", fail)
    result = CATE(in_pieces(rows()), SCHEMA, **ASKED).fit(1, 1e-6)
    assert sum(result.sizes.values()) == 901
    # what ends a draw from an engine, whatever it is, is named by its type and withheld
    with pytest.raises(EngineError, match="ended with AssertionError") as caught:
        CATE(in_pieces(rows()), SCHEMA, **ASKED).fit(1, 1e-6, rng=1)
    assert "only a simulation" not in str(caught.value)


MODELS: dict[str, Callable[[Any], Any]] = {
    "in parts": lambda data: CATE(data, SCHEMA, **ASKED),
    "one step": lambda data: CATE(data, SCHEMA, **ASKED, propensity=0.5),
    "additive": lambda data: PrivateAdditive(data, SCHEMA, outcome="y", features=["x"]),
}


@pytest.mark.parametrize("gone", ["rows", "connection"])
@pytest.mark.parametrize("form", MODELS)
def test_a_table_that_changed_is_refused_before_the_charge(form: str, gone: str) -> None:
    connection = duckdb.connect()
    connection.register("given", rows().to_arrow())
    connection.execute("create table people as select * from given")
    model = MODELS[form](connection.table("people"))
    if gone == "rows":
        connection.execute("delete from people where rowid = 3")
    else:
        connection.close()
    accountant = Accountant(2, 1e-5)
    with pytest.raises(EngineError):
        model.fit(1, 1e-6, accountant=accountant)
    assert accountant.spent == Budget(0)


def test_a_view_that_samples_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = CATE(in_pieces(rows()), SCHEMA, **ASKED)
    monkeypatch.setattr(BoundTable, "check_there", lambda _: None)
    model._table.held = model._table.frame.head(900)
    with pytest.raises(EngineError, match="another number"):
        model.fit(1, 1e-6, rng=1)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_legal_is_refused_by_the_constructor(engine: str) -> None:
    far = rows().with_columns(t=2 * pl.col("t"))
    with pytest.raises(SchemaError, match="t: a value outside the declared levels"):
        CATE(ENGINES[engine](far), SCHEMA, **ASKED)


def test_interpret_takes_no_engine() -> None:
    pytest.importorskip("interpret", reason="needs the extra dprct[ebm]")
    asked = {name: ASKED[name] for name in ("outcome", "features", "treatment")}
    with pytest.raises(SchemaError, match="Polars data frame"):
        published.CATE(
            in_duckdb(rows()), SCHEMA, **{**asked, "features": ["x"]}, accept_uncertified=True
        )
