"""Rows in texts are found however they are written, and chance is not taken for a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.custodian.rows_in_texts import Table, Text, places_of_rows
from dprct.schema import Column

if TYPE_CHECKING:
    from collections.abc import Callable

N = 400


def firms() -> Table:
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N).astype(float),
            "female": rng.integers(0, 2, N).astype(float),
            "wage": rng.lognormal(6, 1, N).round(2),
            "score": rng.normal(size=N),
            "visits": rng.integers(100, 999, N).astype(float),
            "name": pd.Series([f"Person {chr(97 + k % 26) * 3}{k}ova Street" for k in range(N)],
                              dtype=object),
        }
    )  # fmt: skip
    columns = {
        "age": Column("age", bounds=(18, 80), integer=True),
        "female": Column("female", levels=(0, 1)),
    }
    return Table(frame, columns, {"female": {0.0: "no", 1.0: "yes"}})


def found(text: str, table: Table | None = None, **options: bool) -> list[int]:
    wanted = firms() if table is None else table
    return [line for _, line in places_of_rows([Text("a", text, **options)], [wanted])]


def cells(row: int) -> list[str]:
    return [f"{value:.10g}" for value in firms().data.iloc[row, :5].astype(float)]


WAYS: dict[str, Callable[[list[str]], str]] = {
    "commas": ",".join,
    "blanks": " ".join,
    "tabs": "\t".join,
    "bars": " | ".join,
    "semicolons": ";".join,
    "colons": ":".join,
    "slashes": " / ".join,
    "ampersands": lambda row: " & ".join(row) + r" \\",
    "underscores": "_".join,
    "quoted": lambda row: ",".join(f'"{cell}"' for cell in row),
    "one below the other": "\n".join,
    "with names": lambda row: "; ".join(f"v{at} = {cell}" for at, cell in enumerate(row)),
    "records": lambda row: "{" + ", ".join(f'"v": {cell}' for cell in row) + "}",
    "backwards": lambda row: ",".join(row[::-1]),
    "with others among them": lambda row: ",".join(f"{cell},{at + 40}" for at, cell
                                                   in enumerate(row)),
    "with the number of the row": lambda row: "12. | " + "  ".join(row) + " |",
    "a sub-run": lambda row: " ".join(row[1:]),
    "a selection": lambda row: " ".join((row[2], row[4], row[3])),
    "decimal commas": lambda row: ";".join(cell.replace(".", ",") for cell in row),
    "rounded": lambda row: ",".join(f"{float(cell):.3f}" for cell in row),
    "exponents": lambda row: ",".join(f"{float(cell):.9e}" for cell in row),
    "integers of R": lambda row: ", ".join(f"{cell}L" if cell.isdigit() else cell for cell in row),
    "signs": lambda row: ",".join(f"+{cell}" for cell in row),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_row_is_found_however_it_is_written(way: str) -> None:
    text = "How to run\n\n" + WAYS[way](cells(17)) + "\nthe end 12\n"
    (line,) = found(text)
    assert line == 3


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_row_is_not_found(way: str) -> None:
    row = cells(17)
    row[2], row[3] = cells(18)[2], cells(19)[3]
    assert found("How to run\n\n" + WAYS[way](row) + "\n") == []


def test_words_and_labels_are_cells() -> None:
    row = firms().data.iloc[5]
    label = "yes" if row["female"] else "no"
    line = f"{row['name'].upper()}, aged {row['age']:.0f}, {label}, {row['visits']:.0f} visits"
    assert found(line) == [1]
    assert found(f"somebody, aged {row['age']:.0f}, {label}, {row['visits']:.0f} visits") == []


@pytest.mark.parametrize(("many", "alarm"), [(12, False), (30, False), (120, True)])
@pytest.mark.parametrize("down", [False, True])
def test_zeros_and_ones_need_a_long_run(many: int, alarm: bool, down: bool) -> None:
    rng = np.random.default_rng(2)
    shape = (300, 4) if down else (60, 150)
    frame = pd.DataFrame(rng.integers(0, 2, shape).astype(float)).rename(columns="v{}".format)
    table = Table(frame, {name: Column(name, levels=(0, 1)) for name in frame})
    values = frame.iloc[:, 2] if down else frame.iloc[7]
    text = " ".join(str(int(value)) for value in values[:many])
    assert (found(text, table) == [1]) is alarm


@pytest.mark.parametrize(
    "text",
    [
        "0 " * 300,
        "1 0 " * 20,
        " ".join(map(str, range(400))),
        " ".join(str(5 * k) for k in range(100)),
        " ".join(str(year) for year in range(1950, 2030)),
        "recode age (18/29=1) (30/39=2) (40/49=3) (50/59=4) (60/80=5)",
    ],
)
def test_what_repeats_or_counts_is_no_column(text: str) -> None:
    frame = pd.DataFrame(
        {
            "id": np.arange(1.0, 1 + N),
            "zero": np.zeros(N),
            "five": 5 * np.arange(float(N)),
            "year": 1950 + np.arange(float(N)) % 80,
            **{f"d{k}": np.zeros(N) for k in range(40)},
        }
    )
    assert found(text, Table(frame, {})) == []


def test_a_column_is_found_in_its_order_and_in_a_table_in_any() -> None:
    wages = [f"{value:.2f}" for value in firms().data["wage"]]
    assert found("x <- c(" + ", ".join(wages[40:60]) + ")") == [1]
    shuffled = "\n".join(sorted(wages[40:120]))
    assert found(shuffled, single=True) == [1]
    assert found("\n".join(f"replace x = {wage}" for wage in sorted(wages[40:43]))) == []


def test_columns_that_are_published_as_they_are_may_be_in_a_public_table() -> None:
    rng = np.random.default_rng(1)
    people = pd.Series(rng.integers(10_000, 99_999, 40).astype(float))
    area = pd.Series(rng.normal(size=40))
    region = rng.integers(0, 40, N)
    frame = firms().data.assign(people=people[region].to_numpy(), area=area[region].to_numpy())
    book = "\n".join(f"{k},{people[k]:.0f},{area[k]:.8f}" for k in range(40))
    table = Table(frame, firms().columns)
    public = frozenset({"people", "area"})
    assert places_of_rows([Text("a", book, 1, public, single=True)], [table]) == []
    assert places_of_rows([Text("a", book, 1, frozenset(), single=True)], [table])
    whole = frame[["people", "wage", "area"]].to_csv(index=False, header=False)
    assert places_of_rows([Text("a", whole, 1, public, single=True)], [table])


def test_missing_cells_are_passed_over() -> None:
    frame = firms().data.copy()
    frame.loc[17, "female"] = np.nan
    table = Table(frame, firms().columns)
    assert found(",".join(["a", *cells(17)[:1], ".", *cells(17)[2:]]), table) == [1]


@pytest.mark.long
def test_a_long_text_is_searched_in_parts() -> None:
    line = ",".join(cells(250))
    parts = [Text("a", "no rows here 1 2 3\n" * 50_000, 1 + 50_000 * k) for k in range(4)]
    assert places_of_rows([*parts, Text("a", line, 200_001)], [firms()]) == [("a", 200_001)]


def test_no_text_and_no_rows() -> None:
    assert places_of_rows([], [firms()]) == []
    assert places_of_rows([Text("a", "")], [firms()]) == []
    assert places_of_rows([Text("a", "1 2 3")], [Table(firms().data.iloc[:0], {})]) == []
    assert places_of_rows([Text("a", "1 2 3")], []) == []


def test_names_that_one_row_has_are_found_by_themselves_in_any_order() -> None:
    rng = np.random.default_rng(4)
    letters = np.array([*"abcdefghijkl"])
    names = [" ".join("".join(rng.choice(letters, 6)).title() for _ in range(2)) for _ in range(N)]
    table = Table(firms().data.assign(name=pd.Series(names, dtype=object)), firms().columns)
    some = [names[at] for at in rng.permutation(N)[:9]]
    assert found("Thanks to\n" + "\n".join(f"- {name}" for name in some), table) == [2]
    assert found("Thanks to " + ", ".join(some), table, program=True) == [1]
    turned = "\n".join(", ".join(name.upper().split()[::-1]) for name in some)
    assert found(turned, table) == [1]
    assert found("code_" + "_".join(some).replace(" ", "_") + ".do", table) == [1]
    assert found("Thanks to " + ", ".join(some[:3]), table) == []
    villages = table.data.assign(name=pd.Series(names[:20] * (N // 20), dtype=object))
    recoded = "\n".join(f'replace village = "{name}" if v == {at}' for at, name
                        in enumerate(names[:20]))  # fmt: skip
    assert found(recoded, Table(villages, table.columns), program=True) == []


def test_amounts_are_found_by_themselves_and_ids_in_a_program_are_not() -> None:
    rng = np.random.default_rng(5)
    table = Table(firms().data.assign(pid=rng.permutation(N) + 20_001.0), firms().columns)
    some = table.data.iloc[rng.permutation(N)[:40]]
    amounts = "\n".join(f"x <- append(x, {value})" for value in some["wage"])
    assert found(amounts, table, program=True) == [1]
    assert found(amounts.replace("x <- append(x, ", "earned "), table) == [1]
    others = "\n".join(f"x <- append(x, {value + 0.0037:.4f})" for value in some["wage"])
    assert found(others, table, program=True) == []
    dropped = "\n".join(f"drop if pid == {value:.0f}" for value in some["pid"])
    assert found(dropped, table, program=True) == []


@pytest.mark.parametrize("way", ["%Y-%m-%d", "%d%b%Y", "%d/%m/%Y", "%B %d, %Y", "%m.%d.%Y"])
def test_dates_are_found_as_people_write_them(way: str) -> None:
    rng = np.random.default_rng(6)
    days = rng.choice(20_000, N, replace=False) - 3_000.0
    table = Table(pd.DataFrame({"born": days}), {"born": Column("born", format="%td")})
    dates = [(pd.Timestamp("1960-01-01") + pd.Timedelta(days=day)).strftime(way) for day
             in rng.permutation(days)[:60]]  # fmt: skip
    assert found("They were born\n" + "\n".join(f"- {date}" for date in dates), table) == [2]
    assert found("Version 1 of 2021-03-04, version 2 of 2022-05-06\n", table) == []


def test_a_number_that_no_double_holds_is_passed_over() -> None:
    assert found("local v " + "12" * 200) == []
