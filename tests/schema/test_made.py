"""Columns that a study makes: values, and what follows of them from what is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import DprctError, FormulaError, SchemaError
from dprct.missing import missing_numbers
from dprct.schema import Column
from dprct.schema.made import made_columns, with_made

COLUMNS = (
    Column("wage", bounds=(0, 90), integer=True, missing=(".",)),
    Column("age", bounds=(18, 80), missing=()),
    Column("round", levels=(1, 2, 3), missing=()),
    Column("free", missing=(".",)),
    Column("town", "str1", levels=("A", "B"), missing=()),
    Column("share", bounds=(-1, 1), missing=(".",)),
)
FOLLOWS: list[tuple[str, dict[str, Any]]] = [
    ("where(missing(wage), 1, wage > 9)", {"levels": (0, 1), "missing": ()}),
    ("wage > 9", {"levels": (0, 1), "missing": (".",)}),
    ("2 * age - 1", {"bounds": (35, 159), "missing": ()}),
    ("log(wage)", {"bounds": (0, np.log(90)), "missing": (".",)}),
    ("age / wage", {"bounds": (-80, 80), "missing": (".",)}),
    ("wage ** 2", {"bounds": (0, 8100), "integer": True}),
    ("share ** 2", {"bounds": (0, 1)}),
    ("1 / share", {"bounds": None}),
    ("log(free)", {"bounds": None, "missing": (".",)}),
    ("rowtotal(wage, age)", {"bounds": (18, 170), "missing": ()}),
    ("rowmean(wage, age)", {"bounds": (0, 90), "missing": ()}),
    ("rowmax(wage, free)", {"bounds": None, "missing": (".",)}),
    ("where(wage == 90, 5, wage)", {"bounds": (0, 90), "integer": True}),
    ("where(missing(log(wage)), 0, log(wage))", {"missing": ()}),
    ("round * 10", {"levels": (10, 20, 30), "missing": ()}),
    ("where(round < 3, round)", {"levels": (1, 2), "missing": (".",)}),
    ("where(town == 'A', 1, 2)", {"levels": (1, 2), "missing": ()}),
    ("month(wage)", {"bounds": (1, 12), "integer": True}),
    ("year(wage)", {"bounds": (1959, 1962), "integer": True}),
]


@pytest.mark.parametrize(("text", "facts"), FOLLOWS, ids=[text for text, _ in FOLLOWS])
def test_what_is_known_follows_from_the_columns_inside(text: str, facts: dict[str, Any]) -> None:
    (made,) = made_columns({"made": text}, COLUMNS)
    for name, value in facts.items():
        found = getattr(made, name)
        if name == "bounds" and value is not None:
            assert found == pytest.approx(value)
        else:
            assert found == value, (name, found)
    assert made.built_from == "own"


def _part(rng: np.random.Generator, depth: int) -> str:
    if depth == 0:
        return str(rng.choice(["wage", "age", "round", "share", "2", "0.5", "3"]))
    kind = rng.integers(6)
    a, b, c = (_part(rng, depth - 1) for _ in range(3))
    op = rng.choice(["+", "-", "*", "/", ">", "=="])
    name = rng.choice(["rowtotal", "rowmean", "rowmin", "rowmax", "minimum", "rownonmiss"])
    one = rng.choice(["log", "sqrt", "abs", "floor", "ceil", "round", "missing", "exp", "month"])
    whole = f"({a}) {op} ({b})"
    return [whole, whole, f"{name}({a}, {b})", f"{one}({a})", f"where({c}, {a}, {b})",
            f"({a}) ** 2"][kind]  # fmt: skip


def test_every_value_lies_within_what_follows() -> None:
    rng = np.random.default_rng(3)
    n = 300
    data = pd.DataFrame({
        "wage": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 91, n)),
        "age": rng.uniform(18, 80, n),
        "round": rng.integers(1, 4, n).astype(float),
        "share": np.where(rng.random(n) < 0.2, np.nan, rng.uniform(-1, 1, n)),
    })  # fmt: skip
    data.loc[0, ["wage", "age", "share"]] = [0.0, 18.0, -1.0]
    data.loc[1, ["wage", "age", "share"]] = [90.0, 80.0, 1.0]
    columns = {column.name: column for column in COLUMNS}
    bounded = 0
    for _ in range(400):
        text = _part(rng, int(rng.integers(1, 4)))
        (made,) = made_columns({"made": text}, COLUMNS)
        values = with_made(data, {"made": text}, columns)["made"].to_numpy()
        there = values[~np.isnan(values)]
        if made.missing == ():
            assert len(there) == n, text
        if made.integer:
            assert (there == np.floor(there)).all(), text
        if made.levels is not None:
            assert np.isin(there, made.levels).all(), text
        if made.bounds is not None:
            bounded += 1
            assert len(there) == 0 or made.bounds[0] <= there.min(), text
            assert len(there) == 0 or there.max() <= made.bounds[1], text
    assert bounded > 100


def test_later_columns_use_earlier_ones_and_codes_become_plain() -> None:
    data = pd.DataFrame({"wage": [1.0, np.nan], "town": pd.Series(["A", ""], dtype=object)})
    columns = {column.name: column for column in COLUMNS}
    made = {"log_wage": "log(wage)", "square": "(log_wage + 1) ** 2", "a": "town == 'A'"}
    found = with_made(data, made, columns)
    assert found["square"].tolist()[0] == found["a"].tolist()[0] == 1.0
    assert missing_numbers(found["a"].to_numpy()).tolist() == [-1, 0]
    assert [one.name for one in made_columns(made, COLUMNS)] == [*made]


@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        ({"age": "2 * wage"}, SchemaError, "there is a column of this name already"),
        ({"x": "2 * nowhere"}, DprctError, "nowhere"),
        ({"x": "2 * y", "y": "wage"}, DprctError, "'y'"),
        ({"x": "town + 1"}, FormulaError, "holds text; compare it"),
        ({"x": "wage == 'a'"}, FormulaError, "holds text"),
        ({"x": "mean(wage)"}, FormulaError, "is not allowed"),
        ({"x": "where(wage)"}, FormulaError, "is not allowed"),
    ],
)
def test_what_is_no_column_is_refused(
    made: dict[str, str], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        made_columns(made, COLUMNS)
