"""Write every refusal and warning in the words of Python, of study files and of R.

They are read off the source, module by module: the sentences that are given to errors, with what
they are filled with in capitals.  ``tests/contract/refusals.txt`` has them, so that a change of
words is read in one place; a test compares, and other tests pin only which refusal it is.

Usage: python scripts/refusals.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dprct import errors
from dprct.errors import MARK
from dprct.rbridge.dialect import in_r
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

TOP = Path(__file__).resolve().parents[1]
GOLDEN = TOP / "tests" / "contract" / "refusals.txt"
KINDS = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
DIALECTS = {"TOML": in_toml, "R": in_r}


def sentences(node: ast.expr) -> Iterator[str]:
    """Texts that an expression can be, with what fills them in capitals."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(map(_part, parts))
        case ast.IfExp(body=body, orelse=other):
            yield from sentences(body)
            yield from sentences(other)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for one in sentences(left):
                yield from (one + other for other in (*sentences(right),) or (_blank(right),))


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return f"'{_blank(part.value)}'" if part.conversion == ord("r") else _blank(part.value)
    return str(part.value) if isinstance(part, ast.Constant) else ""


def _blank(node: ast.expr) -> str:
    """The last name of an expression, which says what is put there."""
    words = re.findall(r"[A-Za-z]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", ast.unparse(node)))
    return words[-1].upper() if words else "X"


def refusals(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, class and text of every error or warning that is made with a sentence."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = [node.func, *node.args[1:2]]  # warnings.warn(text, DprctWarning)
        names = {getattr(one, "id", getattr(one, "attr", "")) for one in called}
        for text in sentences(node.args[0]):
            if (kind := next(iter(names & KINDS), "")) and " " in text:
                yield node.lineno, kind, text


def written() -> str:
    """Text of the file: of each sentence Python's words, and others' where they differ."""
    lines = ["Refusals and warnings of the package, written by scripts/refusals.py."]
    for path in sorted((TOP / "dprct").rglob("*.py")):
        found = sorted(refusals(ast.parse(path.read_text("utf-8"))))
        if found:
            lines += ["", path.relative_to(TOP).as_posix()]
        for _, kind, text in found:
            python = text.replace(MARK, "")
            lines.append(f"  {kind}: {python}")
            said = {name: translate(text) for name, translate in DIALECTS.items()}
            if len({*said.values()}) == 1:
                said = {", ".join(said): said.popitem()[1]}
            lines += [f"    {name}: {words}" for name, words in said.items() if words != python]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(written(), encoding="utf-8")
