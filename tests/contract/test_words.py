"""Every refusal's words, in Python, in study files and in R, are those that are on file."""

from __future__ import annotations

import ast
import difflib

import pytest

from scripts import refusals


def test_words_of_refusals_are_those_on_file() -> None:
    """A change of words is read in the difference of the file."""
    known, now = refusals.GOLDEN.read_text("utf-8").splitlines(), refusals.written().splitlines()
    changed = [*difflib.unified_diff(known, now, "on file", "now", lineterm="", n=0)]
    assert not changed, "run python scripts/refusals.py\n" + "\n".join(changed[:40])


def test_nearly_all_refusals_are_on_file() -> None:
    """Those that are not say what another module put together."""
    raised = found = 0
    for path in (refusals.TOP / "dprct").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        raised += sum(
            isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and getattr(node.exc.func, "id", "") in refusals.KINDS
            for node in ast.walk(tree)
        )
        found += len({line for line, _, _ in refusals.refusals(tree)})
    assert raised > 1000
    assert found > 0.95 * raised


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("raise ParameterError(f'``lam={given(lam)}``; give more')", "``lam=LAM``; give more"),
        ("raise SchemaError('no ' + (f'{name!r} here'))", "no 'NAME' here"),
        ("warnings.warn('at its bound', DprctWarning, stacklevel=2)", "at its bound"),
        ("yield errors.StudyError('a b' if few else 'a c')", "a b"),
    ],
)
def test_a_sentence_is_read_off_the_code(code: str, text: str) -> None:
    assert text in [said for _, _, said in refusals.refusals(ast.parse(code))]


def test_each_language_has_its_words() -> None:
    text = refusals.GOLDEN.read_text("utf-8")
    assert "declare bounds=(low, high)" in text
    assert "declare bounds = [low, high]" in text
    assert "declare bounds = c(low, high)" in text
