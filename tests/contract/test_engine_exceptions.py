"""No engine's own exception comes through, whatever a method is asked for and a column holds."""

from __future__ import annotations

import inspect
import itertools
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dprct
from dprct.errors import DprctError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT, NUMBER = "Zebediah-Quux", 74171


def one_row(value: Any) -> Callable[[pl.DataFrame, str], pl.DataFrame]:
    """Return what puts a value into one row, the others being 0."""
    return lambda rows, name: rows.with_columns(pl.Series(name, [value] + [0.0] * (len(rows) - 1)))


FAULTS: dict[str, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
    "text": lambda rows, name: rows.with_columns(pl.lit(TEXT).alias(name)),
    "a number that is not legal": one_row(float(NUMBER)),
    "infinity": one_row(float("inf")),
    "null alone": lambda rows, name: rows.with_columns(pl.lit(None, pl.Float64).alias(name)),
    "nulls of no type": lambda rows, name: rows.with_columns(pl.lit(None).alias(name)),
    "lists": lambda rows, name: rows.with_columns(pl.Series(name, [[float(NUMBER)]] * len(rows))),
    "bytes": lambda rows, name: rows.with_columns(pl.lit(TEXT.encode()).alias(name)),
    "booleans": lambda rows, name: rows.with_columns(pl.lit(value=True).alias(name)),
    "whole numbers beyond 2^53": lambda rows, name: rows.with_columns(
        pl.lit(2**62 + NUMBER).alias(name)
    ),
    "no column": lambda rows, name: rows.drop(name),
    "no rows": lambda rows, _: rows.clear(),
}


def read_by(case: Any) -> list[str]:
    """Return the columns that options of a case name, and those that it protects."""
    words = repr(case.options)
    there = case.table().columns
    named = [name for name in there if f"'{name}'" in words or f" {name}" in words]
    return [*dict.fromkeys([*case.private, *named])]


def outcome(case: Any, data: Any) -> str:
    """Return a refusal of the house's own, or nothing where there is none."""
    method = getattr(dprct, case.method)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dprct.errors.DprctWarning)
            model = method(data, case.schema, **case.options)
            asked = (
                {"delta": case.delta} if "delta" in inspect.signature(model.fit).parameters else {}
            )
            model.fit(epsilon=8.0, rng=1, confirm=True, **asked)
    except DprctError as error:
        shown = "".join(traceback.format_exception(error))
        return shown[shown.rindex("dprct.errors") :]
    return ""


def faults(case: Any) -> Iterator[tuple[str, str]]:
    """Yield every column that a case reads with every fault."""
    for name in read_by(case):
        for fault in FAULTS:
            yield name, fault


def check(case: Any, name: str, fault: str, to_engine: Callable[[Any], Any]) -> bool:
    """Whether it was refused; any other exception than the house's own fails."""
    rows = case.in_polars(case.table())
    rows = rows if isinstance(rows, pl.DataFrame) else pl.from_pandas(rows, nan_to_null=True)
    words = f"{case.words}: {fault} in {name}"
    try:
        said = outcome(case, to_engine(FAULTS[fault](rows, name)))
    except Exception as error:
        raise AssertionError(f"{words}: {type(error).__name__}: {error}") from error
    for marker in (TEXT, str(NUMBER), f"{NUMBER:,}", str(2**62 + NUMBER)):
        assert marker not in said, (words, said)
    return bool(said)


def with_options(cases: list[Any]) -> list[Any]:
    return [case for case in cases if not case.panel]


IN_ENGINES = ["Polars, lazy", "DuckDB"]


@pytest.mark.parametrize("engine", IN_ENGINES, indirect=True)
def test_what_engines_say_of_a_column_never_comes_through(
    engine: Callable[[Any], Any], cases: list[Any]
) -> None:
    """Of every fifth method and option one column and fault, in turn."""
    refused = []
    for number, case in enumerate(with_options(cases)[::5]):
        each = [*faults(case)]
        refused.append(check(case, *each[5 * number % len(each)], engine))
    assert sum(refused) > len(refused) / 2


@pytest.mark.long
@pytest.mark.parametrize("engine", IN_ENGINES, indirect=True)
def test_nor_of_any_column_of_any_option(engine: Callable[[Any], Any], cases: list[Any]) -> None:
    """Of each method and option every column, with one fault after the other."""
    turn = itertools.cycle(FAULTS)
    for case in with_options(cases):
        for name in read_by(case):
            check(case, name, next(turn), engine)


@pytest.mark.audit
@pytest.mark.parametrize("engine", ["Spark"], indirect=True)
def test_nor_of_spark(engine: Callable[[Any], Any], cases: list[Any]) -> None:
    """Of each method one case, and of its first column three faults."""
    turn = itertools.cycle(FAULTS)
    for case in {case.method: case for case in with_options(cases)}.values():
        for _ in range(3):
            check(case, read_by(case)[0], next(turn), engine)


@pytest.mark.audit
@pytest.mark.parametrize("engine", IN_ENGINES, indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_nor_with_any_fault(engine: Callable[[Any], Any], cases: list[Any], fault: str) -> None:
    for case in with_options(cases):
        for name in read_by(case):
            check(case, name, fault, engine)
