"""What R users read: every fragment of code in R's words, and nothing else touched."""

from __future__ import annotations

import ast
import pickle
from typing import TYPE_CHECKING

import pytest

import dprct
from dprct import published
from dprct.errors import DprctWarning, ParameterError
from dprct.privacy.budget import Budget
from dprct.rbridge.dialect import FUNCTIONS, in_r
from dprct.results.plan import Contents, Plan, notes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("python", "r"),
    [
        ("declare ``bounds=(low, high)`` from", "declare bounds = c(low, high) from"),
        ("``bounds=`` is ``float``; give", "bounds is a number; give"),
        ("give ``sd={'y': 1.0}``", "give sd = list(y = 1)"),
        ("give ``columns=[...]``", "give columns = c(...)"),
        ("such as ``[('x1', 'x2')]``", "such as list(c('x1', 'x2'))"),
        ("(``schema.declare_rest('withheld')``)", "(declare(schema, rest = 'withheld'))"),
        ("print ``model.plan(epsilon, delta)``", "print plan(model, epsilon, delta)"),
        (
            "``classical=False``, or ``override=True``, or ``None``",
            "classical = FALSE, or override = TRUE, or NULL",
        ),
        ("such as ``dprct.Accountant(epsilon=1)``", "such as accountant(epsilon = 1)"),
        (
            "``assignment=dprct.Complete(levels, arm=column)``",
            "assignment = design_complete(levels, arm = column)",
        ),
        ("or use ``dprct.published.IPW``.", "or use published_ipw."),
        ("``y=2 * T0``, ``lam=-1e-06``", "y = 2 * T0, lam = -1e-06"),
        ("got ``list``; give ``a dict`` of", "got a vector; give a named list of"),
        ("``cov_type='HC... (900 characters)``", "cov_type = 'HC... (900 characters)"),
        ("install it with: ``pip install 'dprct[r]'``", "install it with: install_dprct()"),
    ],
)
def test_fragments_are_written_as_r_writes_them(python: str, r: str) -> None:
    assert in_r(python) == r
    assert in_r(ParameterError(python)) == in_r(DprctWarning(python)) == r


@pytest.mark.parametrize(
    "message",
    [
        "no column 'bounds=(low, high)' in the data; it has None, x=True",
        "'y ~ `poly(t, 2)`' is refused (at character 3)",
        "``a ), f(b``, ``x y z``, ````, ``if``, ``1 +``",
    ],
)
def test_what_is_not_marked_or_no_code_stays(message: str) -> None:
    assert in_r(message) == message.replace("``", "")


def test_python_prints_no_mark_and_the_mark_survives() -> None:
    error = ParameterError("give ``hajek=True``")
    assert str(error) == error.args[0] == "give hajek=True"
    again = pickle.loads(pickle.dumps(error))
    assert in_r(again) == "give hajek = TRUE"


def test_a_plan_speaks_r_in_all_its_parts() -> None:
    plan = Plan(
        "m", Budget(1), Contents(notes({"how": "``a=1``"}), ("``b=True``",), ("``c='x'``",)),
        "``d=None``",
    )  # fmt: skip
    assert "a=1" in str(plan)
    said = plan.in_words(in_r)
    assert said.facts["how"] == "a = 1"
    assert (*said.consequences, *said.warnings, said.refusal) == ("b = TRUE", "c = 'x'", "d = NULL")


def test_every_function_of_the_table_is_one_of_both_packages(checkout: Path) -> None:
    namespace = (checkout / "r-wrapper" / "NAMESPACE").read_text()
    for python, r in FUNCTIONS.items():
        strict, paper = hasattr(dprct, python.split(".")[0]), hasattr(published, python)
        assert strict or paper, python
        assert (not strict) or f"export({r})" in namespace
        assert (not paper) or f"export(published_{r})" in namespace


def test_no_door_reads_english_by_patterns(checkout: Path) -> None:
    """Messages are translated by their marks alone: who words them imports no ``re``."""
    for place in ("rbridge/dialect.py", "study/wording.py"):
        tree = ast.parse((checkout / "dprct" / place).read_text("utf-8"))
        found = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert not found & {"re", "regex"}, place


def test_a_missing_extra_is_installed_by_r() -> None:
    assert in_r("install it with: ``pip install 'dprct[ebm]'``").endswith(
        'install_dprct(extras = "ebm")'
    )
    assert in_r("install: ``pip install 'dprct[r]'``").endswith("install_dprct()")
