"""What no engine's table may hold is refused by column, rule and mend; no value is shown."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import sys
import traceback
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from dprct import (
    CATE,
    IPW,
    Accountant,
    Calibrated,
    Cluster,
    Marginals,
    MVHistogram,
    PrivateAdditive,
    PrivateATE,
    PrivateMoments,
    Simple,
    Unit,
    published,
)
from dprct.encoding import encodings
from dprct.errors import (
    ColumnError,
    DprctError,
    EngineError,
    MissingDependencyError,
    SchemaError,
)
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.queries.counts import cell_counts
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION, table, validate
from tests.queries.of_columns import clipped_sums

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    ToEngine = Callable[[pl.DataFrame], Any]

TEXT, NUMBER = "secret-918273645", 7417
NAN = float("nan")
BEYOND = (
    r"x: a whole number of 2\^53 or more, which a double does not tell from the next.*; correct"
)
NO_NUMBER, NO_TEXT = "'x' holds .*, the schema says numbers; give", "'x' holds .* text; give"

BOUNDED = Column("x", bounds=(0.0, 1.0), missing=(".",), bins=4)
LEVELS = Column("x", "int", levels=(0.0, 1.0, 2.0), missing=(".",))
WIDE = Column("x", bounds=(0.0, 2.0**60), missing=(".",), bins=3)
LETTERS = Column("x", "str20", levels=("", "a", "b"))

NOON = dt.datetime(2020, 1, 1, 12)
REFUSED: dict[str, tuple[Column, dict[str, Any], str]] = {
    "no such column": (BOUNDED, {"z": [0.5]}, "no column 'x' in the data; it has z"),
    "text for a number": (BOUNDED, {"x": [TEXT]}, NO_NUMBER),
    "a number for a text": (LETTERS, {"x": [NUMBER]}, NO_TEXT),
    "another level": (LEVELS, {"x": [NUMBER]}, "x: a value outside the declared levels; correct"),
    "another text": (LETTERS, {"x": [TEXT]}, "x: a text outside the declared levels; correct"),
    "a category": (
        LETTERS, {"x": pl.Series(["a", TEXT], dtype=pl.Categorical)}, "x: a text outside",
    ),
    "an enum": (LETTERS, {"x": pl.Series(["a", TEXT], dtype=pl.Enum(["a", TEXT]))}, "a text out"),
    "beyond 2^53": (WIDE, {"x": [2**53 + 1]}, BEYOND),
    "below -2^53": (WIDE, {"x": [0, -(2**60)]}, BEYOND),
    "int64 for a level": (LEVELS, {"x": [2**63 - 1]}, "x: a value that type int cannot hold"),
    "a decimal beyond 2^53": (
        WIDE, {"x": pl.Series([Decimal(2**70)], dtype=pl.Decimal(38, 2))}, f"{BEYOND}|{NO_NUMBER}",
    ),
    "a time": (BOUNDED, {"x": [NOON]}, NO_NUMBER),
    "a time with a zone": (BOUNDED, {"x": [NOON.replace(tzinfo=dt.UTC)]}, NO_NUMBER),
    "a day": (BOUNDED, {"x": [NOON.date()]}, NO_NUMBER),
    "a duration": (BOUNDED, {"x": [dt.timedelta(NUMBER)]}, NO_NUMBER),
    "a list": (BOUNDED, {"x": [[float(NUMBER)]]}, NO_NUMBER),
    "a list for a text": (LETTERS, {"x": [[TEXT]]}, NO_TEXT),
    "a structure": (BOUNDED, {"x": [{"a": NUMBER}]}, NO_NUMBER),
    "bytes for a number": (BOUNDED, {"x": [TEXT.encode()]}, NO_NUMBER),
    "bytes for a text": (LETTERS, {"x": [TEXT.encode()]}, f"{NO_TEXT}|a text outside"),
    "no type": (BOUNDED, {"x": pl.Series([None], dtype=pl.Null)}, NO_NUMBER),
    "half a missing code": (
        BOUNDED, {"x": [0.5, None], "x" + COMPANION: [0.0, 0.5]}, "must hold missing codes",
    ),
    "no missing code": (
        BOUNDED, {"x": [0.5, None], "x" + COMPANION: [0, NUMBER]}, "must hold missing codes",
    ),
    "a text for a missing code": (
        BOUNDED, {"x": [0.5, None], "x" + COMPANION: ["", TEXT]}, "must hold missing codes",
    ),
    "no rows": (BOUNDED, {"x": pl.Series([], dtype=pl.Float64)}, "no rows; give a table with"),
}  # fmt: skip

EQUAL: dict[str, tuple[Column, dict[str, Any]]] = {
    "null and NaN": (BOUNDED, {"x": [0.1, None, NAN, 0.9]}),
    "decimals": (BOUNDED, {"x": pl.Series([Decimal("0.3"), Decimal("0.25"), None, Decimal(1)],
                                          dtype=pl.Decimal(20, 6))}),
    "booleans": (LEVELS, {"x": [True, False, None]}),
    "small integers": (LEVELS, {"x": pl.Series([0, 2, None], dtype=pl.Int16)}),
    "categories": (LETTERS, {"x": pl.Series(["a", None, "b"], dtype=pl.Categorical)}),
    "an enum with a level that no row has": (
        LETTERS, {"x": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", TEXT, "a"]))},
    ),
    "an enum that lacks a level": (LETTERS, {"x": pl.Series(["a"], dtype=pl.Enum(["a"]))}),
}  # fmt: skip
EVERYWHERE = ["pandas", "Polars", "Polars, lazy", "DuckDB", "Spark"]
everywhere = pytest.mark.parametrize("engine", EVERYWHERE, indirect=True)


def refusal(column: Column, data: Any) -> DprctError:
    """Return why data are refused; nothing that a user sees of it shows a value."""
    with pytest.raises((SchemaError, ColumnError, EngineError)) as caught:
        validate(Schema((column,)), data, [column.name])
    shown = "".join(traceback.format_exception(caught.value))
    said = shown[shown.rindex("dprct.errors") :]
    assert TEXT not in said
    assert str(NUMBER) not in said
    return caught.value


@everywhere
def test_what_breaks_the_schema_is_refused_in_every_engine(engine: ToEngine) -> None:
    for what, (column, columns, words) in REFUSED.items():
        said = str(refusal(column, engine(pl.DataFrame(columns))))
        assert re.search(words, said), (what, said)


@everywhere
def test_what_is_legal_counts_the_same_in_every_engine(
    engine: ToEngine, request: pytest.FixtureRequest
) -> None:
    in_pandas = request.node.callspec.params["engine"] == "pandas"
    for what, (column, columns) in EQUAL.items():
        frame, schema = pl.DataFrame(columns), Schema((column,))
        answers = []
        for data in (frame, engine(frame)):
            if what == "decimals" and in_pandas:  # objects, or Arrow's, which rounds otherwise
                assert "schema says numbers; give" in str(refusal(column, frame.to_pandas()))
                data = frame
            validate(schema, data)
            cells = _open(cell_counts(table(data), encodings(schema, ["x"])))
            answers.append([part.tolist() for part in cells])
        assert answers[0] == answers[1], what


@everywhere
def test_an_id_that_a_double_does_not_hold_is_refused(engine: ToEngine) -> None:
    schema = Schema((Column("x", "double"),), unit=Unit("person", "x"))
    with pytest.raises(SchemaError, match=BEYOND):
        validate(schema, engine(pl.DataFrame({"x": [2**53, 2**53 + 1]})))
    validate(schema, engine(pl.DataFrame({"x": [2**53 - 1, 2**53 - 2]})))
    # a double that is so large was never anything else
    validate(Schema((WIDE,)), engine(pl.DataFrame({"x": [2.0**54, None]})))


def test_decimals_of_arrow_in_pandas_are_refused_because_arrow_rounds_otherwise() -> None:
    import pandas as pd

    held = pd.array([Decimal("0.25")], dtype=pd.ArrowDtype(pa.decimal128(18, 2)))
    assert re.search(NO_NUMBER, str(refusal(BOUNDED, pd.DataFrame({"x": held}))))


def test_other_types_of_duckdb() -> None:
    legal = "select 1::hugeint as x", "select 1::uhugeint as x", "select 0.5::decimal(38, 30) as x"
    for query in legal:
        validate(Schema((Column("x", bounds=(0.0, 1.0), missing=()),)), duckdb.sql(query))
    for query in (
        "170141183460469231731687303715884105727::hugeint",
        "18446744073709551615::uint64",
    ):
        assert re.search(BEYOND, str(refusal(WIDE, duckdb.sql(f"select {query} as x"))))
    for query in ("uuid()", "interval 7417 day", "map{'a': 7417}", "null", "'1'::bit", "now()"):
        assert re.search(NO_NUMBER, str(refusal(BOUNDED, duckdb.sql(f"select {query} as x"))))
    codes = pa.table({"x": pa.array(["a", None, "b"]).dictionary_encode()})
    validate(Schema((LETTERS,)), duckdb.from_arrow(codes))


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match="columns named twice: x; give every column its name"):
        table(duckdb.sql("select 0.5 as x, 0.6 as x"))
    with pytest.raises(SchemaError, match="differ in capitals alone"):
        table(duckdb.sql("select 0.5 as x, 0.6 as y").project('x, y as "X"'))
    with pytest.raises(EngineError, match="names and types of columns"):
        table(pl.LazyFrame({"x": [0.5]}).select("x", pl.col("x")))


FAILING = {
    "Polars, lazy": lambda data: data.select(pl.col("x").cast(pl.Float64)),
    "DuckDB": lambda data: data.project("cast(x as double) as x"),
    "Spark": lambda data: data.selectExpr("cast(x as double) as x"),
}


@pytest.mark.parametrize("engine", FAILING, indirect=True)
def test_what_an_engine_says_when_it_fails_is_withheld(
    engine: ToEngine, request: pytest.FixtureRequest
) -> None:
    data = engine(pl.DataFrame({"x": ["0.5"] * 5 + [TEXT]}))
    failing = FAILING[request.node.callspec.params["engine"]](data)
    error = refusal(BOUNDED, failing)
    assert error.__context__ is error.__cause__ is None
    said = str(error)
    assert "withheld" in said
    assert "read the table with the engine alone" in said


PUBLISHED: dict[str, Callable[[Any], Any]] = {
    "IPW": lambda rows: published.IPW(rows, PEOPLE, formula="t ~ w", outcome="x"),
    "IPW, with a guarantee": lambda rows: published.IPW(
        rows, PEOPLE, formula="t ~ w", outcome="x", scale="norm_bound", norm_bound=1,
        outcome_bound=1, trim=0.2,
    ),
    "Hybrid": lambda rows: published.Hybrid(
        rows, PEOPLE, formula="x ~ t + w", treatment="t", assignment=Simple("t")
    ),
    "GenModel": lambda rows: published.GenModel(
        rows, PEOPLE, formula="x ~ t + w", treatment="t", assignment=Simple("t")
    ),
    "MVHistogram": lambda rows: published.MVHistogram(rows, PEOPLE, columns=["x", "t"]),
    "SyntheticControl": lambda rows: published.SyntheticControl(
        rows, PEOPLE, outcome="x", unit="w", time="t", treated=1.0, treatment_time=2
    ),
    "CATE": lambda rows: published.CATE(
        rows, PEOPLE, outcome="x", features=["w"], treatment="t", propensity=0.5,
        accept_uncertified=True,
    ),
}  # fmt: skip
PEOPLE = Schema((BOUNDED, *(Column(n, "byte", levels=(0.0, 1.0), missing=()) for n in "tw")))


def test_every_published_method_has_a_failing_engine() -> None:
    of_numbers = {  # which take no table
        "Allocation", "ControlError", "DPRange", "DPVariance", "Gaussian", "Laplace",
        "RandomizedResponse", "SignRisk", "parallel_delta", "parallel_tradeoff",
    }  # fmt: skip
    assert {name.split(",")[0] for name in PUBLISHED} == set(published.__all__) - of_numbers


@pytest.mark.parametrize("method", PUBLISHED)
@pytest.mark.parametrize("engine", ["Polars, lazy", "DuckDB"], indirect=True)
def test_published_methods_withhold_what_an_engine_says(engine: ToEngine, method: str) -> None:
    if method == "CATE":
        pytest.importorskip("interpret")
    rows = {"x": ["0.5"] * 59 + [TEXT], "t": [0.0, 1.0] * 30, "w": [0.0, 0.0, 1.0, 1.0] * 15}
    data = engine(pl.DataFrame(rows))
    if isinstance(data, pl.LazyFrame):
        data = data.with_columns(pl.col("x").cast(pl.Float64))
    else:
        data = data.project("cast(x as double) as x, t, w")
    with pytest.raises(DprctError) as caught:
        PUBLISHED[method](data)
    error: BaseException | None = caught.value
    while error is not None:
        assert TEXT not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("engine", FAILING, indirect=True)
def test_a_filter_that_leaves_nothing_is_refused(engine: ToEngine) -> None:
    data = engine(pl.DataFrame({"x": [0.1, 0.2]}))
    none = data.filter(pl.col("x") > 1) if isinstance(data, pl.LazyFrame) else data.filter("x > 1")
    assert "no rows; give a table with" in str(refusal(BOUNDED, none))


def test_a_connection_that_was_closed_is_refused_before_anything_is_spent() -> None:
    schema = Schema((replace(BOUNDED, fate="modelled"), Column("t", "byte", levels=(0.0, 1.0),
                     missing=(), fate="drop")))  # fmt: skip
    connection = duckdb.connect()
    rows = connection.sql("select (i % 10) / 10.0 as x, i % 2 as t from range(60) as r(i)")
    release = MVHistogram(rows, schema)
    known = schema.declare(x={"missing_policy": 0.0})
    effect = PrivateATE(rows, known, outcome="x", assignment=Simple("t"))
    assert release.fit(epsilon=4, rng=1).protected.shape[0] == 60
    connection.close()
    for fit in (release.fit, effect.fit):
        with pytest.raises(EngineError, match=r"the sums of a fit .*; nothing was charged$"):
            fit(epsilon=4, rng=1)
    with pytest.raises(EngineError, match=r"number of rows|names and types of columns"):
        table(rows)


SMALL = Schema((
    replace(BOUNDED, missing=(), fate="modelled"),
    Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="public"),
    Column("w", bounds=(0.0, 1.0), missing=(), fate="withheld"),
    Column("g", levels=tuple(map(float, range(20))), missing=(), fate="withheld"),
))  # fmt: skip
MODELS: dict[str, Callable[[Any], Any]] = {
    "MVHistogram": lambda rows: MVHistogram(rows, SMALL),
    "Marginals": lambda rows: Marginals(rows, SMALL),
    "PrivateATE": lambda rows: PrivateATE(rows, SMALL, outcome="x", assignment=Simple("t")),
    "Calibrated": lambda rows: Calibrated(rows, SMALL, outcome="x", assignment=Simple("t")),
    "PrivateAdditive": lambda rows: PrivateAdditive(rows, SMALL, outcome="x", features=["t"]),
    "PrivateATE, clusters": lambda rows: PrivateATE(
        rows, SMALL, outcome="x", assignment=Cluster("t", cluster="g")
    ),
    "PrivateATE, clusters are units": lambda rows: PrivateATE(
        rows, SMALL, outcome="x", privacy_unit="cluster",
        assignment=Cluster("t", cluster="g", largest=4),
    ),
    "IPW": lambda rows: IPW(rows, SMALL, treatment="t", covariates=["w"], outcome="x"),
    "CATE": lambda rows: CATE(
        rows, SMALL, outcome="x", features=["w"], treatment="t", propensity=0.5
    ),
    "PrivateMoments": lambda rows: PrivateMoments(rows, SMALL, columns=["x", "w"]),
    "PrivateMoments, declared": lambda rows: PrivateMoments(
        rows, SMALL, formulas=["x ~ t + w"], assignment=Simple("t"),
        neighbors="replace-one-design-public",
    ),
}  # fmt: skip
DELTA = {"IPW": 1e-4, "PrivateMoments": 1e-4, "PrivateMoments, declared": 1e-4}
SCANS: dict[str, Callable[[str], Any]] = {
    "Polars": pl.scan_csv, "DuckDB": duckdb.read_csv,
}  # fmt: skip


@pytest.mark.parametrize("scan", SCANS.values(), ids=SCANS)
@pytest.mark.parametrize("name", MODELS)
def test_a_file_that_went_or_grew_since_the_door_is_refused_before_the_charge(
    tmp_path: Path, name: str, scan: Callable[[str], Any]
) -> None:
    file = tmp_path / "rows.csv"
    people = {"x": [k / 59 for k in range(60)], "w": [k % 7 / 6 for k in range(60)]}
    frame = pl.DataFrame({**people, "t": [0, 1] * 30, "g": [k % 20 for k in range(60)]})
    frame.write_csv(file)
    model, delta = MODELS[name](scan(str(file))), DELTA.get(name, 0)
    promise = model.guarantee(Budget.asked(4, delta))
    accountant = Accountant(8, delta, relation=promise.relation, unit=str(promise.unit))
    file.unlink()
    with pytest.raises(EngineError, match="withheld"):
        model.fit(4, delta, accountant=accountant)
    pl.concat([frame, frame[:7]]).write_csv(file)
    with pytest.raises(EngineError, match="had 60 rows when the model was made"):
        model.fit(4, delta, accountant=accountant)
    assert accountant.spent.epsilon == 0


def test_what_spark_cannot_be_asked_about_is_refused(spark: Any) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("cast(value as double) as x")
    assert "is a stream, which has no last row" in str(refusal(BOUNDED, stream))
    once = spark.range(2).selectExpr("0.5 as x", "0.6 as X", "0.7 as z")
    assert "differ in capitals alone" in str(refusal(BOUNDED, once))
    twice = spark.range(2).selectExpr("0.5 as x", "0.6 as x")
    assert "columns named twice: x; give every column its name" in str(refusal(BOUNDED, twice))
    dotted = spark.range(2).selectExpr("0.5 as `x.z`")
    assert "rename it there" in str(refusal(replace(BOUNDED, name="x.z"), dotted))


def test_sums_of_what_a_double_rounds_stay_within_the_sensitivity() -> None:
    """Behind the door every value maps to a step, so that a sum stays a legal one."""
    data = pl.DataFrame({"x": [2**63 - 1, 2**53 + 1, -(2**63)]})
    one, other = (
        _open(clipped_sums(table(frame), [WIDE])).tolist() for frame in (data, data.lazy())
    )
    assert one == other
    assert 2**20 <= one[0] <= 2 * 2**20


def test_spark_without_what_brings_its_answers_names_the_extra(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(2).selectExpr("0.5 as x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"dprct\[spark\]"):
        table(rows)


EFFECT: dict[str, Any] = {"outcome": ["y", "w"], "treatment": "t", "assignment": Simple("t")}
METHODS: dict[str, tuple[Callable[[Any, Schema], Any], float]] = {
    "PrivateATE": (lambda d, s: PrivateATE(d, s, **EFFECT), 0),
    "PrivateATE with delta": (lambda d, s: PrivateATE(d, s, **EFFECT), 1e-6),
    "PrivateMoments": (lambda d, s: PrivateMoments(d, s, columns=["y", "w", "t"]), 1e-6),
    "MVHistogram": (lambda d, s: MVHistogram(d, s, columns=["w", "t"]), 0),
    "IPW": (lambda d, s: IPW(d, s, outcome="w", treatment="t", covariates=["y"]), 1e-6),
    "CATE": (
        lambda d, s: CATE(
            d, s, outcome="w", treatment="t", features=["y"], assignment=Simple("t")
        ),
        1e-6,
    ),
    "PrivateAdditive": (lambda d, s: PrivateAdditive(d, s, outcome="w", features=["y"]), 1e-6),
}  # fmt: skip
"""Methods, each with the delta it is fitted with."""

ODD: dict[str, Callable[[pl.Series], pl.Series]] = {
    "objects": lambda x: pl.Series(x.name, x.to_list(), dtype=pl.Object),
    "no type": lambda x: pl.Series(x.name, [None] * len(x)),
    "lists": lambda x: x.reshape((len(x), 1)).arr.to_list(),
    "structures": lambda x: x.to_frame().to_struct(x.name),
    "texts": lambda x: x.cast(pl.String),
    "bytes": lambda x: x.cast(pl.String).cast(pl.Binary),
    "times": lambda x: x.cast(pl.Int64).cast(pl.Datetime),
    "durations": lambda x: x.cast(pl.Int64).cast(pl.Duration),
    "categories": lambda x: x.cast(pl.String).cast(pl.Categorical),
    "decimals": lambda x: x.round(2).cast(pl.Decimal(10, 2)),
    "wide whole numbers": lambda x: x.cast(pl.Int128),
    "infinities": lambda x: x * float("inf"),
    "beyond doubles": lambda x: x.cast(pl.Float64) * 1e308 * 10,
}
"""Columns that a table of an engine may have."""


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["pandas", "Polars", "Polars, lazy", "DuckDB"], indirect=True)
def test_a_column_of_any_type_is_taken_or_refused_in_our_words(
    engine: ToEngine, method: str
) -> None:
    """Every method and type of column, in the outcome and in the treatment."""
    bind, delta = METHODS[method]
    n = 120
    facts: dict[str, Any] = {"missing": (), "missing_policy": "public" if "ATE" in method else None}
    schema = Schema(
        (
            Column("y", bounds=(-2.0, 2.0), bins=3, **facts),
            Column("w", bounds=(-2.0, 2.0), bins=3, **facts),
            Column("t", levels=(0.0, 1.0), missing=(), fate="public"),
        )
    )
    values = [k % 5 - 2.0 for k in range(n)]
    plain = pl.DataFrame({"y": values, "w": values[::-1], "t": [k % 2 for k in range(n)]})
    if method == "MVHistogram":
        schema = schema.declare(y={"fate": "withheld"}, t={"fate": "modelled"})
    bind(engine(plain), schema).fit(epsilon=4, delta=delta)
    for change in ODD.values():
        for name in ("w", "t"):
            try:
                data = engine(plain.with_columns(change(plain[name]).alias(name)))
            except (pl.exceptions.PolarsError, pa.ArrowException, duckdb.Error, TypeError):
                continue  # such columns this engine has not
            with contextlib.suppress(DprctError):
                bind(data, schema).fit(epsilon=4, delta=delta)
