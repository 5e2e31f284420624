from __future__ import annotations

import ast
import os

import numpy as np
import pytest

from dprct.errors import ColumnError, FormulaError
from dprct.missing import missing_numbers, tagged
from dprct.schema.expressions import evaluate, parents, parse

NAN = float("nan")
X = np.array([0.0, 1.0, 2.0, -3.0, NAN])
Y = np.array([2.0, 0.0, 2.0, 0.5, 1.0])


def value(expression: str) -> list[float]:
    return evaluate(expression, {"x": X, "y": Y}).tolist()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x + y", [2, 1, 4, -2.5, NAN]),
        ("x - 2 * y", [-4, 1, -2, -4, NAN]),
        ("x / y", [0, NAN, 1, -6, NAN]),
        ("x ** 2", [0, 1, 4, 9, NAN]),
        ("-x + +y", [2, -1, 0, 3.5, NAN]),
        ("x == y", [0, 0, 1, 0, NAN]),
        ("x != y", [1, 1, 0, 1, NAN]),
        ("x < y", [1, 0, 0, 1, NAN]),
        ("x <= y", [1, 0, 1, 1, NAN]),
        ("x > y", [0, 1, 0, 0, NAN]),
        ("x >= y", [0, 1, 1, 0, NAN]),
        ("x and y", [0, 0, 1, 1, NAN]),
        ("x or y", [1, 1, 1, 1, NAN]),
        ("not x", [1, 0, 0, 0, NAN]),
        ("x > 0 and not y > 1", [0, 1, 0, 0, NAN]),
        ("abs(x)", [0, 1, 2, 3, NAN]),
        ("sqrt(x)", [0, 1, 2**0.5, NAN, NAN]),
        ("log(x)", [NAN, 0, np.log(2), NAN, NAN]),
        ("exp(0 * x)", [1, 1, 1, 1, NAN]),
        ("floor(x / 2)", [0, 0, 1, -2, NAN]),
        ("ceil(x / 2)", [0, 1, 1, -1, NAN]),
        ("round(x / 2)", [0, 0, 1, -2, NAN]),
        ("minimum(x, y)", [0, 0, 2, -3, NAN]),
        ("maximum(x, 1.5)", [1.5, 1.5, 2, 1.5, NAN]),
        ("missing(x)", [0, 0, 0, 0, 1]),
        ("missing(x / y) + 0", [0, 1, 0, 0, 1]),
        ("(x == 2) * 1e3", [0, 0, 1000, 0, NAN]),
        ("x ** 0", [1, 1, 1, 1, NAN]),
        ("1 ** x", [1, 1, 1, 1, NAN]),
        ("y * 0 + 7", [7, 7, 7, 7, 7]),
        ("  x  ", [0, 1, 2, -3, NAN]),
    ],
)
def test_what_the_language_means(expression: str, expected: list[float]) -> None:
    np.testing.assert_array_equal(value(expression), expected)


@pytest.mark.parametrize(
    "expression",
    ["x / 0", "log(0 * y)", "9 ** 9 ** 9 ** 9 + x", "exp(exp(exp(y + 9)))", "-(1 / (0 * y))",
     "(0 * y) ** -1", "(-1 - 0 * y) ** 0.5", "1e308 * 10 + x"],
)  # fmt: skip
def test_what_is_undefined_or_too_large_is_a_plain_missing(expression: str) -> None:
    out = evaluate(expression, {"x": X, "y": Y})
    assert missing_numbers(out).tolist() == [0] * 5


@pytest.mark.parametrize("expression", ["log(y) < 0", "1 / y > 3", "not 1 / y", "1 / y and 1"])
def test_what_is_undefined_is_missing_in_a_comparison_too(expression: str) -> None:
    assert np.isnan(value(expression)[1])
    assert not np.isnan(value(expression)[0])


def test_missing_codes_become_a_plain_missing() -> None:
    out = evaluate("x + 1", {"x": tagged([3, 26])})
    assert missing_numbers(out).tolist() == [0, 0]


@pytest.mark.parametrize(
    "expression",
    [
        "", "   ", "x +", "x y", "x; y", "x = 1", "import os", "# only a comment",
        "x.mean()", "x.__class__", "x[0]", "x[:]", "(x).real",
        "__import__('os')", "open('f')", "eval('1')", "print(x)", "lambda: x", "(lambda a: a)(x)",
        "'text'", "b'1'", "f'{x}'", "x == 'a'", "True", "None", "...", "1j", "x + 1j",
        "[x]", "(x, y)", "{x}", "{x: y}", "[a for a in x]", "sum(a for a in x)", "*x", "abs(*x)",
        "(z := x)", "x if y else 1", "x // 2", "x % 2", "x @ y", "x & y", "x | y", "x ^ y", "~x",
        "x << 2", "0 < x < 1", "x is y", "x in y", "x not in y", "await x", "yield x",
        "abs(x, y)", "abs()", "minimum(x)", "maximum(x, y, x)", "log(x=1)", "log(x, base=2)",
        "max(x, y)", "missing()", "abs(x)(y)", "getattr(x, y)", "1e999", "x + 1e999",
        "9" * 400, "\x00", "x\n+1",
    ],
)  # fmt: skip
def test_everything_else_is_refused(expression: str) -> None:
    with pytest.raises(FormulaError, match=r"derived=.*(allowed|use).* names of columns, numbers"):
        parse(expression)


def test_the_refused_part_is_named() -> None:
    with pytest.raises(FormulaError, match=r"'x\.mean\(\)' is not allowed"):
        parse("1 + x.mean()")


def test_nothing_is_run(tmp_path: object) -> None:
    path = f"{tmp_path}/made"
    for call in (f"open({path!r}, 'w')", f"__import__('pathlib').Path({path!r}).touch()"):
        with pytest.raises(FormulaError):
            evaluate(call, {"x": X})
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "expression",
    ["x" + " + x" * 20_000, "-" * 20_000 + "x", "(" * 5_000 + "x" + ")" * 5_000,
     "not " * 5_000 + "x", "abs(" * 3_000 + "x" + ")" * 3_000, "x" + " ** x" * 5_000],
)  # fmt: skip
def test_no_nesting_is_deep_enough_to_crash(expression: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate(expression, {"x": X})
    assert "nested more than" in str(caught.value) or "is not an expression" in str(caught.value)


def test_a_long_index_is_within_reason() -> None:
    names = [f"item{k}" for k in range(100)]
    expression = "(" + " + ".join(names) + ") / 100"
    assert parents(expression) == set(names)
    assert evaluate(expression, dict.fromkeys(names, np.ones(2))).tolist() == [1, 1]


def test_parents_are_the_columns() -> None:
    assert parents("(arm == 3) * age + log(income)") == {"arm", "age", "income"}
    assert parents("log(log) + missing(abs)") == {"log", "abs"}
    assert parents("1 + 2") == set()
    assert isinstance(parse("x + 1"), ast.BinOp)


def test_a_column_may_be_called_like_a_function() -> None:
    assert evaluate("abs(abs)", {"abs": np.array([-2.0])}).tolist() == [2]


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(ColumnError, match=r"no column 'aeg' .*did you mean 'age'"):
        evaluate("aeg + 1", {"age": X})


def test_the_inputs_are_left_alone() -> None:
    x = X.copy()
    out = evaluate("x", {"x": x})
    out[:] = 0
    np.testing.assert_array_equal(x, X)
