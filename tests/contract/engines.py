"""The engines that a table may be in, the table that all are asked about, and the questions.

Loaded by its path, because tests are no package: ``conftest.beside("engines")``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dprct.encoding import encodings
from dprct.formula import parse
from dprct.privacy.aggregates import _open
from dprct.queries.additive import (
    AdditiveLayout,
    Block,
    CodedRows,
    CompactRows,
    EngineRows,
    additive_sums,
)
from dprct.queries.clusters import ClusterRule, Correlated, MeansWithin
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.queries.group_moments import MomentCells, MomentsGrid, Part, Scaled, moment_sums
from dprct.queries.horvitz_thompson import (
    PrivateArms,
    arm_of,
    horvitz_thompson_difference,
    horvitz_thompson_sums,
)
from dprct.queries.index_scores import IndexMap, IndexRows, Link
from dprct.queries.missing_outcomes import observed_squares, observed_sums
from dprct.queries.offsets import bin_offsets
from dprct.queries.propensity import Treated, covariates_of
from dprct.queries.ridge_moments import moments
from dprct.queries.sums import (
    Arms,
    Asked,
    Combinations,
    arm_aggregates,
    difference_aggregates,
    observed_counts,
    observed_number,
    observed_together,
)
from dprct.queries.together import summed
from dprct.queries.weighting import read_once
from dprct.schema import Column, Schema
from dprct.schema.tables import COMPANION, Counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dprct.schema.tables import Table

LEVELS = {"levels": (0.0, 1.0), "missing": ()}
SCHEMA = Schema(
    (
        Column("y", bounds=(-2.0, 2.1), missing=(".", ".a"), bins=7, fate="modelled"),
        Column("x", "float", bounds=(0.0, 0.7), missing=(), bins=35, fate="modelled"),
        Column("t", "byte", fate="public", **LEVELS),
        Column("block", "byte", fate="public"),
        Column("school", "int", fate="public"),
        Column("whole", "byte", fate="public", **LEVELS),
        Column("g", "str3", levels=("", "a", "bc"), missing=(), fate="modelled"),
    )
)


def rows(n: int = 900) -> pl.DataFrame:
    """Return people of an experiment, in three blocks of eight schools."""
    rng = np.random.default_rng(4)
    block = rng.integers(0, 3, n)
    school = block * 8 + rng.integers(0, 8, n)
    codes = rng.choice([-1, -1, -1, 0, 1], n)
    y = rng.normal(size=n).clip(-2, 2.1)
    return pl.DataFrame(
        {
            "y": [None if code >= 0 else value for code, value in zip(codes, y, strict=True)],
            "y" + COMPANION: codes.astype(np.int8),
            "x": rng.integers(0, 8, n).astype(np.float32) / np.float32(10),
            "t": rng.integers(0, 2, n),
            "block": block,
            "school": school,
            "whole": (np.random.default_rng(5).permutation(24) % 2)[school],
            "g": [[None, "a", "bc"][k] for k in rng.integers(0, 3, n)],
        }
    )


def in_duckdb(frame: pl.DataFrame) -> Any:
    """Return a relation whose rows come in an order of the engine's own."""
    connection = duckdb.connect()
    connection.register("rows", frame.to_arrow())
    return connection.sql("select * from rows order by hash(columns(*))")


def in_spark(frame: pl.DataFrame, session: Any) -> Any:
    """Return a DataFrame of three partitions, or what few rows come in."""
    held = session.createDataFrame(frame.to_arrow())
    return held.repartition(3) if len(frame) > 100 else held


def skewed_in_spark(frame: pl.DataFrame, session: Any) -> Any:
    """Return a DataFrame of three partitions: of 95 % of the rows, of 5 %, and of none."""
    # where Spark's hash puts two keys is the same for ever, else its stored buckets were lost
    key = pl.when(pl.int_range(pl.len()) < pl.len() * 95 // 100).then(0).otherwise(1)
    keyed = session.createDataFrame(frame.with_columns(__key=key).to_arrow())
    return keyed.repartition(3, "__key").drop("__key")


ENGINES: dict[str, Callable[..., Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "Polars": lambda frame: frame.sample(fraction=1, shuffle=True, seed=2),
    "Polars, lazy": lambda frame: frame.sample(fraction=1, shuffle=True, seed=1).lazy(),
    "DuckDB": in_duckdb,
    "Spark": in_spark,
    "Spark, skewed": skewed_in_spark,
}
ON_SPARK = "Spark", "Spark, skewed"

X, Y, G, T = (SCHEMA.column(name) for name in "xygt")
CODED = encodings(SCHEMA, ["y", "x", "g"])
TREATED = encodings(SCHEMA, ["t"])[0]
HALF = Fraction(1, 2)
HIDDEN = PrivateArms(("t",), ((0.0,), (1.0,)), (HALF, HALF), 900)
DESIGN = covariates_of(parse("t ~ x + g").terms, {"x": X, "g": G}, {})
LAYOUT = AdditiveLayout(
    (Block((0,), (CODED[0].size,)), Block((1, 2), (CODED[1].size, CODED[2].size))), clip=1.5
)


def combinations(*names: str) -> tuple[Combinations, np.ndarray[Any, Any], pl.DataFrame]:
    """Return the combinations of columns that occur, their numbers, and how many rows have them."""
    found = rows().group_by(*names).len().sort(*names)
    places = {tuple(row[:-1]): place for place, row in enumerate(found.rows())}
    return Combinations(names, places), np.arange(len(found)), found


def arms(
    frame: Table, *names: str, clusters: bool = False, rule: ClusterRule | None = None
) -> Arms:
    """Return arms (the last column) within blocks (the first of two), as the frame is read."""
    where, codes, found = combinations(*names, *(["school"] if clusters else []))
    cells = [found.filter(pl.col(names[-1]) == arm) for arm in (0, 1)]
    if clusters:
        sizes: Any = (tuple(cell["len"].sum() for cell in cells),)
        codes, groups = found[names[-1]].to_numpy(), found["school"].to_numpy()
    else:
        sizes, groups = tuple(zip(*(cell["len"].to_list() for cell in cells), strict=True)), None
    facts: dict[str, Any] = {}
    if clusters:
        squares = (tuple(int((cell["len"].to_numpy() ** 2).sum()) for cell in cells),)
        facts = {"largest": found["len"].max(), "unit": "person", "squares": squares, "rule": rule}
    if isinstance(frame, nw.DataFrame):  # in memory, every row has its code
        at = [where.places[key] for key in frame.select(*where.columns).rows()]
        codes, groups = codes[at], None if groups is None else groups[at]
        where = None  # type: ignore[assignment]
    weights = [Fraction(sum(block), 900) for block in sizes]
    return Arms(codes, sizes, tuple(weights), groups, combinations=where, **facts)


def difference(
    frame: Table, *names: str, clusters: bool = False, rule: ClusterRule | None = None
) -> list[Any]:
    """Return the parts of a comparison of two arms."""
    found = difference_aggregates(frame, Y, arms(frame, *names, clusters=clusters, rule=rule), 0.5)
    return [_open(part) for part in (found.difference, found.variance, found.control)]


def hidden(frame: Table) -> list[Any]:
    """Return the parts of a comparison of two arms whose members are confidential."""
    found = horvitz_thompson_difference(frame, Y, HIDDEN, 0.5)
    return [_open(part) for part in (found.difference, found.variance, found.control)]


def counted_in(frame: Table, *, by_arm: bool = False) -> Counted | None:
    """Return what the door of an engine finds: by it sums are of doubles, else of int64."""
    if isinstance(frame, nw.DataFrame):
        return None
    if not by_arm:
        return Counted(900, legal=True, groups={(): (900,)})
    sizes = rows()["t"].value_counts().rows()
    return Counted(900, legal=True, keys=("t",), groups={(arm,): (n,) for arm, n in sizes})


def together(frame: Table, by: dict[str, nw.Expr], counted: Counted | None) -> list[Any]:
    """Return the sums of several outcomes, of one pass, in the order of their groups."""
    asked = [Asked(Y, 0.5), Asked(X, present="y"), Asked(Y, present="y"), Asked(X)]
    found = summed(frame, by, asked, counted).groups
    return [sorted((*map(int, key), n, s, q) for key, n, s, q in found[one]) for one in asked]


def additive(frame: Table) -> list[Any]:
    """Return counts and sums in cells, of rows in memory or in an engine."""
    facts: tuple[Any, ...] = (CODED, Y, 0.5, TREATED)
    read = (
        CodedRows.of(frame, *facts)
        if isinstance(frame, nw.DataFrame)
        else EngineRows.of(frame, 900, *facts)
    )
    return [_open(additive_sums(read.codes, read.outcome, LAYOUT))]


def compact(frame: Table) -> list[Any]:
    """Return rows that were read once, in the order of what they hold."""
    found = CompactRows.of(frame, CODED, Y, 0.5, TREATED).in_canonical_order()
    return [*found.codes, found.steps, found.treated]


def once(frame: Table) -> list[Any]:
    """Return rows that were read once, in the order of what they hold."""
    found = read_once(frame, Y, 0.5, Treated(T, 1.0), DESIGN, 900)
    part = found.part(found.order())
    return [part.steps, part.t, part.Z.chunk(0, 900)]


def ball(frame: Table, *, private: bool) -> list[Any]:
    """Return sums of products of rows of which a good part is projected on the ball."""
    per_unit = 65536 / 3.0
    columns = (
        Scaled("y", (Part(Y, fill=0.5),), (-2.0, 2.1), 0.3, per_unit * 1.7),
        Scaled("x", (Part(X),), (0.0, 0.7), 0.35, per_unit / 0.3),
        Scaled("g", (Part(G, level=2),), (0.0, 1.0), 0.5, per_unit, exempt=True),
        Scaled("t:y", (Part(T), Part(Y, gap=True)), (-2.0, 2.1), 0.05, per_unit * 1.1),
    )
    if private:
        cells = MomentCells(treatment=("t",), values=((0.0,), (1.0,)), levels=(G,), lacking=(Y,))
        relation: Any = "replace-one"
    else:
        where, codes, _ = combinations("block", "t")
        relation = "replace-one-design-public"
        if isinstance(frame, nw.DataFrame):
            at = [where.places[key] for key in frame.select(*where.columns).rows()]
            cells = MomentCells(len(codes), codes[at])
        else:
            cells = MomentCells(len(codes), codes, where)
    grid = MomentsGrid(columns, 30000, count=private, clipped=7)
    counted = counted_in(frame) if private else None
    return [_open(moment_sums(frame, grid, cells, relation, counted=counted))]


def index_rows(frame: Table) -> list[Any]:
    """Return scores and information of a logit, of rows in memory or collected from an engine."""
    columns = (
        Scaled("x", (Part(X),), (0.0, 0.7), 0.35, 65536 / 0.9),
        Scaled("t", (Part(T),), (0.0, 1.0), 0.5, 30000.0, exempt=True),
    )
    where, codes, _ = combinations("block")
    cells = MomentCells(len(codes), codes, where)
    if isinstance(frame, nw.DataFrame):
        at = [where.places[key] for key in frame.select("block").rows()]
        cells = MomentCells(len(codes), codes[at])
    grid, groups = MomentsGrid(columns, 30000), len(codes)
    offsets, loads = (np.tile(one, (groups, 1)) for one in ([20000, 0], [0, 1]))
    of = IndexMap.within(grid, Link("logit"), 1, (-1, 0), offsets, loads, np.arange(groups) > 0)
    found = IndexRows.of(frame, grid, cells, of, "replace-one-design-public", 900)
    theta = [1 << 25, -(1 << 26)]
    return [_open(found.scores(theta)), _open(found.information(theta))]


# a query that reads a table in an engine needs a case here; what follows " of " tells cases apart
QUERIES: dict[str, Callable[[Table], Sequence[Any]]] = {
    "cell_counts": lambda f: list(_open(cell_counts(f, CODED))),
    "one_way_counts": lambda f: [_open(one_way_counts(f, CODED))],
    "moments": lambda f: [_open(moments(f, [X, G], [Y]))],
    "horvitz_thompson_difference": hidden,
    "horvitz_thompson_sums": lambda f: [
        _open(part) for part in horvitz_thompson_sums(f, Y, HIDDEN)
    ],
    "moment_sums of private cells": lambda f: ball(f, private=True),
    "moment_sums of public groups": lambda f: ball(f, private=False),
    "difference_aggregates of blocks": lambda f: difference(f, "block", "t"),
    "difference_aggregates of clusters": lambda f: difference(f, "whole", clusters=True),
    "difference_aggregates of correlated clusters": lambda f: difference(
        f, "whole", clusters=True, rule=Correlated(Fraction(1, 10))
    ),
    "difference_aggregates of bounded cluster means": lambda f: difference(
        f, "whole", clusters=True, rule=MeansWithin(1 << 19, 1 << 17)
    ),
    "arm_aggregates": lambda f: [_open(part) for part in arm_aggregates(f, Y, arms(f, "t"))],
    "summed of public groups": lambda f: together(
        f, {"block": nw.col("block"), "t": nw.col("t")}, counted_in(f)
    ),
    "summed of two arms": lambda f: together(f, {"t": nw.col("t")}, counted_in(f, by_arm=True)),
    "summed of private arms": lambda f: together(f, {"arm": arm_of(HIDDEN)}, None),
    "observed_sums": lambda f: [_open(observed_sums(f, Y, arms(f, "t")))],
    "observed_squares": lambda f: [_open(observed_squares(f, Y, arms(f, "t"), (-7, 4000)))],
    "observed_counts": lambda f: [observed_counts(f, Y, combinations("block", "t")[0])],
    "observed_together": lambda f: [observed_together(f, [Y, X], arms(f, "block", "t"), 6)],
    "bin_offsets": lambda f: [_open(bin_offsets(f, CODED[:2], [TREATED]))],
    "observed_number": lambda f: [observed_number(f, Y)],
    "EngineRows.of, additive_sums": additive,
    "IndexRows.of": index_rows,
    "CompactRows.of": compact,
    "read_once, Treated.coded": once,
}

LONG = ("bin_offsets", "CompactRows.of", "moments")
"""What Spark takes seconds for: of skewed partitions ``additive_sums`` asks the same each time."""


def matrix() -> list[Any]:
    """Return every engine with every query; what takes long again is for the audit."""
    return [
        pytest.param(
            engine, query,
            marks=[pytest.mark.audit] if engine == "Spark, skewed" and query in LONG else [],
        )
        for engine in ENGINES
        for query in QUERIES
    ]  # fmt: skip


IN_MEMORY = {
    "CodedRows.of": "rows whose places a fit permutes; in an engine EngineRows",
    "Covariates.of_table": "rows of a design, in memory; in an engine read_once",
    "Donors.of": "a panel of a few hundred series",
    "covariates": "of an index, which is Python",
    "feature_codes": "codes of rows in memory; in an engine EngineRows",
    "score_sums": "rows of released moments; moments are added in an engine",
    "observed": "a mask of rows in memory; in an engine observed_counts",
    "with_residual": "of an index, which is Python",
}
"""Queries that take rows in memory alone, and why."""
