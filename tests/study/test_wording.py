"""Whoever writes TOML is told in TOML what to change: every message that a study file can reach."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd
import pytest

import dprct
from dprct.cli.main import main
from dprct.errors import MARK, DprctWarning
from dprct.io.stata import write_dta
from dprct.privacy.budget import Budget
from dprct.results.plan import Contents, Plan, notes
from dprct.schema import Schema
from dprct.study import sections
from dprct.study.methods import METHODS, python_name
from dprct.study.wording import DESIGNS, in_options, in_toml, plan_in_toml, spelled
from tests.contract.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMED = {python_name(model): key for key, model in METHODS.items()}
HOUSE = Path(__file__).parents[2] / "dprct"
ELSEWHERE = (
    "app", "cli", "dofile", "study/draft.py", "certificate/page.py", "results/typeset.py",
    "rbridge/dialect.py", "study/wording.py", "study/valid_files.py", "study/added_do_files.py",
)  # fmt: skip
"""Where text is no message: pages, options of commands, words of Stata, a study file to fill in."""

NO_MESSAGES = (
    r"<?(?:7|published\.)?\w*\(|<|\w+ \(one |PrivateATE \(|published\.\w+ \(| style="
    r"|module 'dprct|Relation \| None|  method "
)
"""How what is printed otherwise begins: models and results, titles of methods, budgets."""

NOT_TO_BE_WRITTEN = (
    "and of sd=",  # the public facts on which a guarantee rests
    "dprct.ols and tables", "dprct.Calibrated, of a later",  # in certificates
    "0, 1, 2, ...)", "pandas, Polars (eager",
    "a.merge(b,",
)  # fmt: skip
PYTHON = re.compile(
    r"\b(?!(?:epsilon|delta|rho|mu)=)[a-z_]\w*=(?!=)"  # save how a budget is written
    r"|\bTrue\b|\bFalse\b|\bNone\b|\bdprct\.[A-Z]\w+|\(low, high\)|\bdeclare\("
    r"|(?:^| )(?:pandas|numpy|pip|dict|tuple) |\{'|\['\w|\.\.\.\)|\b(?:schema|model)\.\w+\("
)


def messages() -> Iterator[tuple[str, str]]:
    """Yield file and text of each string with a blank that is no docstring; values are ``7``."""
    for path in sorted(HOUSE.rglob("*.py")):
        file = path.relative_to(HOUSE).as_posix()
        if file.startswith(ELSEWHERE):
            continue
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
                yield file, text


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


@pytest.fixture(scope="module")
def found() -> list[tuple[str, str]]:
    """File and text of every message."""
    return [
        (file, text)
        for file, text in messages()
        if not re.match(NO_MESSAGES, text) and not any(words in text for words in NOT_TO_BE_WRITTEN)
    ]


def test_what_is_to_be_written_is_marked_in_every_message(found: list[tuple[str, str]]) -> None:
    """So that R and the shell can say it in their words; the marks stand in pairs."""
    marked = [text for _, text in found if MARK in text]
    assert len(marked) > 400  # the test sees what there is to translate
    unpaired = [text for text in marked if text.count(MARK) % 2]
    left = [
        f"{file}: {text!r} has {left_out.group()!r}"
        for file, text in found
        if (left_out := PYTHON.search("".join(text.split(MARK)[::2]))) is not None
    ]
    assert not left + unpaired, "\n".join(left + unpaired)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_what_is_marked_is_said_in_every_language(
    language: str, found: list[tuple[str, str]]
) -> None:
    said_in, python = LANGUAGES[language]
    fragments = {part for _, text in found for part in text.split(MARK)[1::2]}
    assert len(fragments) > 250
    left = [
        f"{fragment!r} is {said!r}"
        for fragment in fragments
        if python.search(said := said_in(f"{MARK}{fragment}{MARK}"))
    ]
    assert not left, "\n".join(left)


@pytest.mark.parametrize(
    ("python", "toml"),
    [
        ("``trim=0.7``; give", "trim = 0.7; give"),
        ("``hajek=True, overlap=False``", "hajek = true, overlap = false"),
        ("declare ``bounds=(low, high)``", "declare bounds = [low, high]"),
        ("the outcome as ``outcome=``", "the outcome as outcome"),
        (
            "give ``assignment=dprct.Complete(levels, arm=column)``",
            'give [design] kind = "complete"',
        ),
        ("needs a ``dprct.Factorial`` design", 'needs a kind = "factorial" design'),
        ("or ``None``, got ``dict``", "or nothing, got a table"),
        ("``{'outcome': 0.3, 'effect': 0.7}``", "{outcome = 0.3, effect = 0.7}"),
        ("``blocks={1.0: 'pool'}``", 'blocks = {"1.0" = "pool"}'),
        ("or give ``confirm=True``", "or give confirm = true in [release]"),
        ("or use ``PrivateATE``, whose", 'or use method = "private_ate", whose'),
        ("declare ``Unit(name, id=...)`` with", "declare [unit] name = ... and id = ... with"),
        ("or continue it with ``Accountant.load``", "or continue it with no [budget]"),
        ("[study] sample = 'x=1 | y=True' is", "[study] sample = 'x=1 | y=True' is"),
        ("nobody's file 'a=b.dta' isn't there", "nobody's file 'a=b.dta' isn't there"),
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


def test_every_name_of_the_tables_is_one_of_study_files() -> None:
    assert all(in_toml(f"``dprct.{name}``") == f'method = "{key}"' for name, key in NAMED.items())
    assert in_toml("``dprct.published.IPW``") == "published.IPW"  # which no study file asks for
    assert set(DESIGNS.values()) == set(get_args(sections.DesignKind))
    assert all(hasattr(dprct, name) for name in DESIGNS)


def test_options_of_a_command_are_named_as_options() -> None:
    assert in_options("``cov_type='HC9'``; allowed: HC1") == "--cov-type 'HC9'; allowed: HC1"
    assert in_options("``where=`` names 'x', effects == 1") == "--where names 'x', effects == 1"


def test_a_plan_speaks_toml_in_all_its_parts() -> None:
    plan = Plan(
        "m", Budget(1), Contents(notes({"how": "``a=1``"}), ("``b=True``",), ("``c='x'``",)),
        "``d=True``",
    )  # fmt: skip
    said = plan_in_toml(plan)
    assert said.facts["how"] == "a = 1"
    assert (said.consequences, said.warnings) == (("b = true",), ('c = "x"',))
    assert said.refusal == "d = true"
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

    _show_warning(DprctWarning("declare ``missing='never'``"), DprctWarning)
    assert 'note: declare missing = "never"' in capsys.readouterr().err
