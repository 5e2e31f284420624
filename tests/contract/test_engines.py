"""Every strict method says the same wherever its rows are, and however they are cut up."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from dprct import (
    Block,
    BlockCluster,
    Calibrated,
    Cluster,
    Complete,
    Marginals,
    MVHistogram,
    PrivateATE,
    Simple,
)
from dprct.errors import EngineError, ParameterError
from dprct.privacy.aggregates import _open
from dprct.schema import Column, Schema
from dprct.schema.tables import eager, table
from tests.queries.of_columns import clipped_sums

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    ToEngine = Callable[[pl.DataFrame], Any]

# small samples
pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")

EFFECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "observed": ("public", {"treatment": "t", "attrition": True}),
    "filled": (0.5, {"assignment": Simple("t")}),
    "counted": ("private", {"assignment": Simple("t")}),
    "private arms": ("public", {"assignment": Simple("t"), "neighbors": "replace-one"}),
    "blocked": ("public", {"assignment": Block("t", block="block"), "attrition": True}),
    "clustered": (0.0, {"assignment": Cluster("whole", cluster="school"), "attrition": True}),
    "clusters in blocks": ("public", {
        "assignment": BlockCluster("whole", block="block", cluster="school"), "attrition": True,
    }),
}  # fmt: skip
"""What a missing outcome counts as, and options."""


def policy(schema: Schema, value: Any) -> Schema:
    """The schema, in which a missing outcome counts as that."""
    return schema.declare(y={"missing_policy": value})


FAST = ("pandas", "Polars", "Polars, lazy", "DuckDB")
SLOW = (
    ("Spark", "observed"),
    ("Spark", "private arms"),
    ("Spark, skewed", "clusters in blocks"),
)
"""What is asked of Spark in every run: a pass over its rows takes as long as 50 elsewhere."""


def matrix() -> list[Any]:
    """Return engines and designs; those that take minutes are for the audit."""
    return [
        *((engine, design) for engine in FAST for design in EFFECTS),
        *SLOW,
        *(
            pytest.param(engine, design, marks=pytest.mark.audit)
            for engine in ("Spark", "Spark, skewed")
            for design in EFFECTS
            if (engine, design) not in SLOW
        ),
    ]


@pytest.mark.parametrize(("engine", "design"), matrix(), indirect=["engine"])
def test_effects_are_the_same_in_every_engine(
    people: Any, engines: ModuleType, design: str
) -> None:
    assert effects(design, people, engines) == effects_in_pandas(design, engines)


def effects(design: str, data: Any, engines: ModuleType) -> list[Any]:
    missing, options = EFFECTS[design]
    model = PrivateATE(data, policy(engines.SCHEMA, missing), outcome="y", **options)
    result = model.fit(epsilon=1, rng=3)
    return [*result.params, *result.bse, str(model.guarantee(result.guarantee.budget))]


@functools.cache
def effects_in_pandas(design: str, engines: ModuleType) -> list[Any]:
    return effects(design, engines.rows().to_pandas(), engines)


def test_effects_can_tell_data_apart(engines: ModuleType) -> None:
    rows = engines.rows()
    other = rows.with_columns(t=1 - pl.col("t"), y=-pl.col("y").clip(-2, 2))
    for missing, design in EFFECTS.values():
        schema = policy(engines.SCHEMA, missing)
        one, another = (
            PrivateATE(data, schema, outcome="y", **design).fit(epsilon=1, rng=3).params
            for data in (rows, other)
        )
        assert [*one] != [*another]


ONE_SPARK = [*FAST, "Spark", pytest.param("Spark, skewed", marks=pytest.mark.audit)]


@pytest.mark.parametrize("engine", ONE_SPARK, indirect=True)
@pytest.mark.parametrize("method", [MVHistogram, Marginals])
def test_a_release_of_modelled_columns_is_the_same_to_the_bit(
    method: Any, people: Any, engines: ModuleType
) -> None:
    other = modelled(method, people, engines)
    assert modelled_in_pandas(method, engines).to_csv() == other.to_csv()
    assert other["y"].nunique() > 10


def modelled(method: Any, data: Any, engines: ModuleType) -> Any:
    return (
        method(data, _only(engines.SCHEMA, "y", "x", "g"))
        .fit(epsilon=2, rng=8, confirm=True)
        .protected
    )


@functools.cache
def modelled_in_pandas(method: Any, engines: ModuleType) -> Any:
    return modelled(method, engines.rows().to_pandas(), engines)


@pytest.mark.parametrize("engine", [*FAST, pytest.param("Spark", marks=pytest.mark.audit)],
                         indirect=True)  # fmt: skip
def test_a_release_is_the_same_but_for_the_order_of_public_columns(
    people: Any, engines: ModuleType
) -> None:
    one, other = (
        MVHistogram(data, engines.SCHEMA)
        .fit(epsilon=2, rng=8, confirm=True)
        .protected[["y", "x", "g"]]
        for data in (engines.rows(), people)
    )
    # public columns come in the engine's order, and the file is sorted by all columns
    assert sorted(one["y"].dropna()) == sorted(other["y"].dropna())
    assert sorted(zip(one["x"], one["g"], strict=True)) == sorted(
        zip(other["x"], other["g"], strict=True)
    )


CALIBRATED = [
    *((engine, design) for engine in FAST for design in ("observed", "clusters in blocks")),
    ("Spark", "observed"),
    pytest.param("Spark, skewed", "clusters in blocks", marks=pytest.mark.audit),
]


@pytest.mark.parametrize(("engine", "design"), CALIBRATED, indirect=["engine"])
def test_a_calibrated_file_is_made_from_an_engine(
    people: Any, engines: ModuleType, design: str
) -> None:
    one, other = calibrated_in_pandas(design, engines), calibrated(design, people, engines)
    assert one.estimates.params.tolist() == other.estimates.params.tolist()
    name = one.estimates.params.index[0]
    assert one.protected[name].sum() == other.protected[name].sum()
    assert one.protected["y"].isna().sum() == other.protected["y"].isna().sum()


def calibrated(design: str, data: Any, engines: ModuleType) -> Any:
    used = {"observed": ("y", "t"), "clusters in blocks": ("y", "whole", "block", "school")}[design]
    missing, options = EFFECTS[design]
    schema = policy(_only(engines.SCHEMA, *used, fate=None), missing)
    return Calibrated(data, schema, outcome="y", **options).fit(epsilon=4, rng=2)


@functools.cache
def calibrated_in_pandas(design: str, engines: ModuleType) -> Any:
    return calibrated(design, engines.rows().to_pandas(), engines)


def _only(schema: Schema, *names: str, fate: Any = "modelled") -> Schema:
    """Return the schema with a fate for some columns, and the others dropped."""
    return Schema(
        tuple(
            replace(column, fate=fate if column.name in names else "drop", bins=None)
            if fate is None or column.name not in names
            else replace(column, fate=fate)
            for column in schema.columns
        )
    )


@pytest.mark.parametrize("engine", ["Polars, lazy", "DuckDB"], indirect=True)
def test_a_wrong_assignment_is_refused_alike(engine: ToEngine, engines: ModuleType) -> None:
    treated = pl.when(pl.int_range(900) < 100).then(1).otherwise(0)
    lopsided = engines.rows().with_columns(t=treated)
    for design in (Complete("t"), Block("t", block="block"), Complete("t", counts=[99])):
        sentences = []
        for data in (lopsided, engine(lopsided)):
            with pytest.raises(ParameterError) as refusal:
                PrivateATE(data, policy(engines.SCHEMA, 0.0), outcome="y", assignment=design)
            sentences.append(str(refusal.value))
        assert sentences[0] == sentences[1]
    exact = Complete("t", counts=[100])
    for data in (lopsided, engine(lopsided)):
        PrivateATE(data, policy(engines.SCHEMA, 0.0), outcome="y", assignment=exact)


@pytest.mark.parametrize("engine", ["Polars, lazy", "DuckDB", "Spark"], indirect=True)
def test_an_index_in_python_is_refused_with_what_to_do(people: Any, engines: ModuleType) -> None:
    with pytest.raises(EngineError, match="collect the columns"):
        PrivateATE(
            people, policy(engines.SCHEMA, 0.0), outcome="y", treatment="t", attrition=True,
            index="2*x", index_bounds=(-3, 3),
        )  # fmt: skip


@pytest.mark.parametrize("engine", ["Polars, lazy", "DuckDB", "Spark"], indirect=True)
def test_numbers_near_the_end_of_int64_neither_wrap_nor_differ(engine: ToEngine) -> None:
    data = pl.DataFrame({"x": [2**63 - 1, -(2**63), 2**62, 0, None]})
    column = Column("x", bounds=(-1.0, 2.0**53), missing=(".",))
    one, other = (
        _open(clipped_sums(frame, [column])).tolist()
        for frame in (eager(data), table(engine(data)))
    )
    assert one == other
    assert 0 < one[0] <= 5 * 2**20
