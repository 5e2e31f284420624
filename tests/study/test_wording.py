"""Whoever writes TOML is told in TOML what to change: every message that a study file can reach."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dprct.cli.main import main
from dprct.errors import DprctWarning
from dprct.io.stata import write_dta
from dprct.privacy.budget import Budget
from dprct.results.plan import Plan
from dprct.schema import Schema
from dprct.study.wording import in_options, in_toml, plan_in_toml, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOUSE = Path(__file__).parents[2] / "dprct"
ROOMS = (
    "assignment", "encoding.py", "estimate", "formula", "model.py", "queries", "release",
    "results/plan.py", "schema", "study",
    *(f"published/{name}.py" for name in ("covariates", "genmodel", "histogram", "informed")),
)  # fmt: skip
"""Where a refusal, a warning or the words of a plan that a study gets can come from."""

NEVER_REACHED = {
    "assignment/custom.py": "a design that is a function of Python",
    "estimate/moments/results.py": "what is asked of released moments, in Python and by options",
    "schema/frames.py": "data frames of Python",
    "schema/tables.py": "data frames of Python",
    "study/valid_files.py": "commands of Stata and R",
    "study/wording.py": "the translation itself",
}
"""Files whose messages speak to nobody who has a study file, each with the reason."""

NOT_FOR_STUDIES = (
    "(None where a block may be missing)",  # shares by block are no key of [design]
    "give a dprct.Schema",  # a study has one
    "Schema(tuple",
    "see by(...)",  # a method of released moments
    "accountant is",
    "dprct.defaults",  # the name of a public function, not something to write
    "dprct.ols and tables",  # the name of a reader's function
    "give a data frame (",
    "Relation | None",  # an annotation
    "module 'dprct",
)
PYTHON = re.compile(
    r"\b[a-z_]\w*=(?!=)|\bTrue\b|\bFalse\b|\bNone\b|\bdprct\.[A-Z]\w+|\b[A-Z]\w+\(|\(low, high\)"
    r"|\bdeclare\(|\.\.\.\)"
)


def messages() -> Iterator[tuple[str, str]]:
    """Yield file and text of each string with a blank that is no docstring; values are ``7``."""
    for room in ROOMS:
        place = HOUSE / room
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            tree = ast.parse(path.read_text("utf-8"))
            parts = {
                id(part)
                for node in ast.walk(tree)
                if isinstance(node, (ast.JoinedStr, ast.Expr))
                for part in ast.walk(node)
                if part is not node and (isinstance(node, ast.JoinedStr) or part is node.value)
                if isinstance(part, (ast.Constant, ast.JoinedStr)) and not is_call(node)
            }
            for node in ast.walk(tree):
                if id(node) not in parts and (text := said(node)) and " " in text:
                    yield str(path.relative_to(HOUSE)), text


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)


def said(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "'x'" * is_repr(part) or "7"
                for part in values
            )
    return ""


def is_repr(part: ast.expr) -> bool:
    return isinstance(part, ast.FormattedValue) and part.conversion == ord("r")


FOUND = [
    (file, text)
    for file, text in messages()
    if file not in NEVER_REACHED and not any(words in text for words in NOT_FOR_STUDIES)
    if not re.match(r"<?(7|[A-Z]\w+)\(", text)  # how a model prints itself
]


def test_no_message_that_a_study_can_reach_speaks_python() -> None:
    before = [text for _, text in FOUND if PYTHON.search(text)]
    assert len(before) > 150  # the test sees what there is to translate
    assert PYTHON.search(in_toml("say model.declare(y=[0, 1])"))  # and what is not
    left = [
        f"{file}: {in_toml(text)!r} has {found.group()!r}"
        for file, text in FOUND
        if (found := PYTHON.search(in_toml(text))) is not None
    ]
    assert not left, "\n".join(left)


def test_what_is_in_toml_stays_so() -> None:
    for _, text in FOUND:
        assert in_toml(in_toml(text)) == in_toml(text)


@pytest.mark.parametrize(
    ("python", "toml"),
    [
        ("trim=0.7; give", "trim = 0.7; give"),
        ("noise='laplace'", 'noise = "laplace"'),
        ("hajek=True, overlap=False", "hajek = true, overlap = false"),
        ("declare bounds=(low, high)", "declare bounds = [low, high]"),
        ("missing={'y': ...}", "missing = {y = ...}"),
        ("budget_shares= names x", "budget_shares names x"),
        ("the outcome as outcome=", "the outcome as outcome"),
        ("lam=-1", "lam = -1"),
        ("a == b and c >= d", "a == b and c >= d"),
        ("give assignment=dprct.Complete(levels, arm=column)", 'give [design] kind = "complete"'),
        ("needs a dprct.Factorial design", 'needs [design] kind = "factorial"'),
        (
            "privacy_unit='cluster' needs largest_cluster=, the",
            'privacy_unit = "cluster" needs largest_cluster, the',
        ),
    ],
)
def test_messages_speak_toml(python: str, toml: str) -> None:
    assert in_toml(python) == toml


@pytest.mark.parametrize(
    ("value", "toml"),
    [(True, "true"), ("arms", '"arms"'), ({"y": (0, 1.5)}, "{y = [0, 1.5]}"), ((), "[]"), (3, "3")],
)
def test_chosen_options_are_written_as_toml(value: object, toml: str) -> None:
    assert spelled(value) == toml


@pytest.mark.parametrize(
    ("python", "toml"),
    [
        ("parts such as {'outcome': 0.3, 'effect': 0.7}", "{outcome = 0.3, effect = 0.7}"),
        ("blocks={1.0: 'pool', 2.0: 'pool'}", "blocks = {\"1.0\" = 'pool', \"2.0\" = 'pool'}"),
        ("bounds are (low, high); got 3", "bounds are [low, high]; got 3"),
        ("bounds (9, 1) are reversed", "bounds [9, 1] are reversed"),
        ("or give confirm=True (in a study file: confirm = true)", "confirm = true in [release]"),
        ("or use PrivateATE, whose effects", 'use method = "private_ate", whose'),
        ("dprct.Calibrated, of a later", 'method = "calibrated", of a later'),
        ("declare Unit(name, id=...) with", "declare [unit] name = ... and id = ... with"),
        ("[study] sample = 'x=1 | y=True' is", "[study] sample = 'x=1 | y=True' is"),
        ("nobody's file 'a=b.dta' isn't there", "nobody's file 'a=b.dta' isn't there"),
    ],
)
def test_other_words_of_python(python: str, toml: str) -> None:
    assert toml in in_toml(python)


def test_options_of_a_command_are_named_as_options() -> None:
    assert in_options("cov_type='HC9'; allowed: HC1") == "--cov-type 'HC9'; allowed: HC1"
    assert in_options("where= names 'x', effects == 1") == "--where names 'x', effects == 1"


def test_a_plan_speaks_toml_in_all_its_parts() -> None:
    plan = Plan("m", Budget(1), {"how": "a=1"}, ("b=True",), ("c='x'",), "confirm=True")
    said = plan_in_toml(plan)
    assert said.facts == {"how": "a = 1"}
    assert (said.consequences, said.warnings) == (("b = true",), ('c = "x"',))
    assert said.refusal == "confirm = true"
    assert said.budget == plan.budget


STUDY = """\
version = 1
data = "visits.dta"
dataset_id = "visits"
[release]
method = "METHOD"
epsilon = 1.0
FORMULA
[design]
kind = "complete"
arms = ["given"]
[header]
confirm = true
[columns.score]
FACTS
[columns.given]
levels = [0, 1]
missing = "never"
fate = "public"
[columns.bmi_z]
fate = "withheld"
"""


@pytest.mark.parametrize("command", ["check", "plan", "protect"])
@pytest.mark.parametrize(
    ("method", "facts"),
    [
        ("private_ate", "bounds = [0, 9]\nmissing = ['.']"),
        ("private_ate", ""),
        ("calibrated", "bounds = [0, 9]\nfate = 'modelled'"),
        ("calibrated", "bounds = [9, 0]\nfate = 'modelled'\nmissing = 'never'"),
        ("calibrated", "bounds = [0, 9]\nfate = 'modelled'\nmissing = 'sometimes'"),
        ("mv_histogram", "fate = 'modelled'\nmissing = 'never'"),
        ("mv_histogram", "fate = 'modelled'\nbounds = [0, 9]\nbins = 3"),
        ("mv_histogram", "fate = 'modelled'\nbounds = [0, 9]\nbins = 60000\nmissing = 'never'"),
        ("mv_histogram", "fate = 'modelled'\nbounds = [0, 9]\nbins = true\nmissing = 'never'"),
    ],
)
def test_the_shell_speaks_toml(
    command: str, method: str, facts: str, tmp_path: Path, command_line: Callable[..., Any]
) -> None:
    frame = pd.DataFrame({"score": [1.0, 2.0] * 30, "given": [0.0, 1.0] * 30, "bmi_z": [0.0] * 60})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "visits.dta")
    text = STUDY.replace("METHOD", method).replace("FACTS", facts)
    text = text.replace("FORMULA", "" if method == "mv_histogram" else 'formula = "score ~ given"')
    if method == "mv_histogram":
        text = re.sub(r"\[design\]\n.*\n.*\n", "", text)
    path = tmp_path / "study.toml"
    path.write_text(text, "utf-8")
    found = command_line(main)(command, path, *(["--yes"] if command == "protect" else []))
    assert found.code != 0 or command == "plan"
    assert not re.search(r"=True|missing='|bounds=|levels=\[|\(low, high\)", found.out + found.err)
    assert " = " in found.out + found.err


def test_a_warning_on_the_shell_speaks_toml(capsys: pytest.CaptureFixture[str]) -> None:
    from dprct.cli.main import _show_warning

    _show_warning("declare missing='never'", DprctWarning)
    assert 'note: declare missing = "never"' in capsys.readouterr().err
