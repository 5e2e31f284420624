from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

import dprct
from dprct import published
from dprct.rbridge.idioms import FUNCTIONS, in_r

if TYPE_CHECKING:
    from pathlib import Path

PYTHON_ONLY = re.compile(
    r"dprct\.[A-Z]|\(low, high\)(?<!c\(low, high\))|=\(|=True|=False|=None|=\[|declare_rest\("
)


@pytest.mark.parametrize(
    ("python", "r"),
    [
        ("declare bounds=(low, high) from", "declare bounds = c(low, high) from"),
        ("bounds are (low, high); got float", "bounds are c(low, high); got a number"),
        ("give sd={'y': 1.0}", "give sd=list(y = 1.0)"),
        ("declare levels=[0, 1], or its", "declare levels = c(0, 1), or its"),
        ("give columns=[...]", "give columns = c(...)"),
        ("codes such as ['.', '.a'] that", "codes such as c('.', '.a') that"),
        (
            "(schema.declare_rest('withheld') for all)",
            "(declare(schema, rest = 'withheld') for all)",
        ),
        ("use classical=False, or override=True", "use classical=FALSE, or override=TRUE"),
        ("a number between 0 and 0.5, or None", "a number between 0 and 0.5, or NULL"),
        ("accountant is str; give", "accountant is text; give"),
        ("such as dprct.Accountant(epsilon=1)", "such as accountant(epsilon=1)"),
        (
            "assignment=dprct.Complete(levels, arm=column)",
            "assignment=design_complete(levels, arm=column)",
        ),
        ("or use dprct.CATE", "or use cate"),
        ("is for dprct.PrivateATE; a", "is for private_ate; a"),
        ("the strict form of dprct.published.IPW.", "the strict form of published_ipw."),
        ("give a pandas or Polars data frame", "give a data frame"),
        ("blocks={'label': 'pool', ...}", "blocks=list(label = 'pool')"),
        ("as dprct.read returns them", "as read_dta returns them"),
        (
            "sd= is list of float; give a dict whose keys are text or None",
            "sd= is a vector of numbers; give a named list or NULL",
        ),
        ("cov_type= is list of str; give text", "cov_type= is a vector of text; give text"),
        ("bounds must be finite; got nan", "bounds must be finite; got NA"),
        ("a.json: give it with --certificate", "a.json: give it as certificate ="),
    ],
)
def test_forms_of_python_become_those_of_r(python: str, r: str) -> None:
    assert in_r(python) == r


@pytest.mark.parametrize(
    "message",
    [
        "asked for epsilon=2, and epsilon=1 is left",
        "no column 'None' in the data; it has True, x (y, z)",
        "'y ~ poly(t, 2)' is refused (at character 3)",
        "the file 'dprct.CATE' does not exist",
        "the dprct.toml of this folder is no schema",
    ],
)
def test_what_is_no_python_stays(message: str) -> None:
    assert in_r(message) == message


def test_every_function_of_the_table_is_one_of_both_packages(checkout: Path) -> None:
    namespace = (checkout / "r-wrapper" / "NAMESPACE").read_text()
    for python, r in FUNCTIONS.items():
        strict, paper = hasattr(dprct, python.split(".")[0]), hasattr(published, python)
        assert strict or paper, python
        assert (not strict) or f"export({r})" in namespace
        assert (not paper) or f"export(published_{r})" in namespace


def test_no_literal_refusal_keeps_a_form_of_python_alone(checkout: Path) -> None:
    left = []
    for source in sorted((checkout / "dprct").rglob("*.py")):
        if source.relative_to(checkout / "dprct").parts[0] in ("cli", "study"):
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Error", "_warn")):
                for words in node.args:
                    if isinstance(words, ast.Constant) and isinstance(words.value, str):
                        text = in_r(words.value)
                        if PYTHON_ONLY.search(text.replace("c(low, high)", "")):
                            left.append(f"{source.name}: {text}")
    assert left == []
