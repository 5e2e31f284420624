"""Design matrices: numbers, names, coding and complete cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.formula import complete_cases, design, parse
from dprct.missing import tagged
from dprct.schema import Column, Schema


@pytest.fixture
def rows():
    return pd.DataFrame(
        {
            "y": [1.0, 2, 3, 4, 5, 6],
            "x": [1.0, 2, 3, 3, 2, 1],
            "z": [5.0, 1, 6, 7, 8, 9],
            "s": list("abcabc"),
            "a b": range(6),
        }
    )


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ C(x) + z", ["Intercept", "C(x)[T.2]", "C(x)[T.3]", "z"]),
        ("y ~ 0 + C(x)", ["C(x)[1]", "C(x)[2]", "C(x)[3]"]),
        ("y ~ C(x):z", ["Intercept", "C(x)[1]:z", "C(x)[2]:z", "C(x)[3]:z"]),
        ("y ~ z*s", ["Intercept", "z", "s[T.b]", "s[T.c]", "z:s[T.b]", "z:s[T.c]"]),
        ("y ~ `a b` + I(`a b` ** 2)", ["Intercept", "a b", "I(`a b` ** 2)"]),
        ("y ~ 1", ["Intercept"]),
    ],
)
def test_columns_are_named_like_statsmodels(rows, formula, columns):
    assert list(design(formula, rows).columns) == columns


def test_columns_of_numbers_are_made_as_formulaic_makes_them(rows):
    for right in ("a b`*z*x + I(z ** 2)", "a b` + x:z - 1", "a b`:z:x + z:x + x"):
        plain, coded = (design(f"y ~ `{right}{more}", rows) for more in ("", " + C(s)"))
        own = [i for i, name in enumerate(coded.columns) if "C(s)" not in name]
        assert plain.columns == tuple(coded.columns[i] for i in own)
        np.testing.assert_array_equal(plain.X, coded.X[:, own])


def test_numbers(rows):
    found = design("y + z ~ C(x)*z + I(z > 6)", rows)
    two, three, z = rows["x"] == 2, rows["x"] == 3, rows["z"]
    expected = np.column_stack([np.ones(6), two, three, z, z > 6, two * z, three * z])
    np.testing.assert_array_equal(found.X, expected)
    np.testing.assert_array_equal(found.y, rows[["y", "z"]])
    assert found.outcomes == ("y", "z")
    assert found.terms == ("Intercept", "C(x)", "C(x)", "z", "I(z > 6)", "C(x):z", "C(x):z")


def test_every_row_is_accounted_for(rows):
    rows.loc[0, "y"] = np.nan
    rows["z"] = rows["z"].where(rows.index != 1, tagged([3])[0])
    rows.loc[2, "s"] = None
    found = design("y ~ z + s", rows)
    assert found.used.tolist() == [False, False, False, True, True, True]
    assert len(found.X) == len(found.y) == 3
    np.testing.assert_array_equal(found.used, complete_cases(parse("y ~ z + s"), rows))
    assert design("~ x", rows).used.all()


def test_only_kept_rows_decide_on_levels(rows):
    found = design("y ~ C(x)", rows, keep=(rows["x"] != 1).to_numpy())
    assert found.columns == ("Intercept", "C(x)[T.3]")
    assert found.used.sum() == 4


def test_one_sided_designs_have_no_outcome(rows):
    assert design("~ x", rows).y.shape == (6, 0)


def test_levels_of_the_schema_do_not_depend_on_the_data(rows):
    schema = Schema((Column("y"), Column("x", levels=(0, 1, 2, 3)), Column("s", "str1")))
    columns = ("Intercept", "C(x)[T.1]", "C(x)[T.2]", "C(x)[T.3]")
    for some in (rows, rows.iloc[:1], rows.iloc[:0]):
        assert design("y ~ C(x)", some, schema, levels="schema").columns == columns
    with pytest.raises(SchemaError, match="'s' is a factor without levels"):
        design("y ~ s", rows, schema, levels="schema")
    with pytest.raises(FormulaError, match="private fit"):
        design("y ~ log(x)", rows, schema, levels="schema")
    with pytest.raises(SchemaError, match="needs a schema"):
        design("y ~ x", rows, levels="schema")


def test_names_are_never_read_as_code(rows):
    odd = 'os.system("true")\n{z}'
    found = design(
        f"y ~ `{odd}` + `C` + `lambda`", rows.assign(**{odd: 2.0, "C": 3.0, "lambda": 4})
    )
    assert found.columns == ("Intercept", odd, "C", "lambda")
    np.testing.assert_array_equal(found.X[0], [1, 2, 3, 4])


def test_the_caller_s_variables_are_out_of_reach(rows):
    secret = np.arange(6)
    with pytest.raises(KeyError, match="no column 'secret'"):
        design("y ~ secret", rows)
    assert len(secret) == len(rows)


def test_index_and_input_do_not_matter(rows):
    before = rows.copy()
    moved = rows.set_axis([9, 9, 3, 2, 1, 0])
    np.testing.assert_array_equal(
        design("y ~ s + I(z*2)", rows).X, design("y ~ s + I(z*2)", moved).X
    )
    pd.testing.assert_frame_equal(rows, before)


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("s ~ x", "'s' holds text"),
        ("y ~ I(s * 2)", "'s', which holds text"),
        ("y ~ d", "'d' holds dates"),
        ("y ~ 0", "regressor nor"),
    ],
)
def test_refused(rows, formula, match):
    with pytest.raises(FormulaError, match=match):
        design(formula, rows.assign(d=pd.Timestamp("2020-01-01")))


def test_unknown_levels_option(rows):
    with pytest.raises(ParameterError, match="allowed: schema, data"):
        design("y ~ x", rows, levels="sample")


@pytest.mark.parametrize("formula", ["y ~ C(x)*z + s", "y ~ 0 + s", "y ~ 1", "~ z"])
def test_rows_are_coded_some_at_a_time_as_they_are_at_once(monkeypatch, rows, formula):
    rows = pd.concat([rows.sort_values("s")] * 3, ignore_index=True)  # levels that a part lacks
    whole = design(formula, rows)
    monkeypatch.setattr("dprct.formula.design_matrix._ROWS", 4)
    parts = design(formula, rows)
    assert parts.columns == whole.columns
    np.testing.assert_array_equal(parts.X, whole.X)
