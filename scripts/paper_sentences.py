"""List the sentences that say what a replicated paper says, and those without a place in it.

A sentence that quotes one of the papers names the page, section, table, figure, equation, algorithm
or theorem that it quotes, or the sentence before or after it does.  What is listed as without a
place lacks one, or is no quotation: then other words say so better.  What the authors' code does is
not in the paper and has no place there.

Usage: python scripts/paper_sentences.py [--all]
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[1]

WHERE = (
    "papers/**/*.py", "dprct/published/*.py", "docs/papers.md", "docs/heterogeneous_effects.md",
    "docs/synthetic_control.md", "docs/ipw.md", "vignettes/rct_paper.py",
)  # fmt: skip
"""What speaks of these papers; elsewhere "the paper" is that of the reader."""

VERBS = (
    "assum|averag|claim|clip|compar|cross|describ|draw|find|found|gives|has|leaves|measur|motivat|"
    "paper has|print|prov|ran|reports?|repeats?|rests|runs|samples|say|scores|sets|simulat|spik|"
    "states|takes|tells|uses|varies|writes"
)
QUOTES = re.compile(
    rf"\b(?:the|this|its) papers? (?:also )?(?:{VERBS})\w*\b|\b(?:in|unlike) the paper\b(?! on)|"
    r"\bthe paper's (?:own |printed )?(?:columns?|numbers?|proofs?|bounds?|claims?|remarks?)\b",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"\b(?:tables?|figures?|sections?|equations?|eqs?\.|algorithms?|theorems?|lemmas?|remarks?|"
    r"corollar(?:y|ies)|appendi(?:x|ces)|definitions?|assumptions?|def\.|pages?|lines?|footnotes?|"
    r"related work|abstract)\s*(?:\(?[0-9]|[A-F]\b)|\(related work\)|related work",
    re.IGNORECASE,
)


class Quoted(NamedTuple):
    """A sentence about a paper: its file, its line, its words, and whether it says where."""

    path: str
    line: int
    text: str
    placed: bool


def quoted(path: Path) -> list[Quoted]:
    """Sentences of a file that quote a paper."""
    found = []
    for line, text in _texts(path):
        sentences = _sentences(text)
        for k, (offset, sentence) in enumerate(sentences):
            if not QUOTES.search(sentence):
                continue
            around = " ".join(words for _, words in sentences[max(0, k - 1) : k + 2])
            placed = bool(PLACE.search(around))
            name = str(path.relative_to(TOP))
            found.append(Quoted(name, line + offset, " ".join(sentence.split()), placed))
    return found


def _texts(path: Path) -> list[tuple[int, str]]:
    """Paragraphs of a page, or texts and comments of a program, with their lines."""
    source = path.read_text("utf-8")
    if path.suffix == ".md":
        return _paragraphs(source, 1)
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [v.value for v in node.values if isinstance(v, ast.Constant)]
            found.append((node.lineno, " ".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            found += _paragraphs(node.value, node.lineno)
    comments, first = [], 0
    for number, text in enumerate([*source.splitlines(), ""], start=1):
        stripped = text.strip()
        if stripped.startswith("#"):
            first = first or number
            comments.append(stripped.lstrip("#% "))
        elif comments:
            found += _paragraphs("\n".join(comments), first)
            comments, first = [], 0
    return found


def _paragraphs(text: str, line: int) -> list[tuple[int, str]]:
    found, start = [], 0
    for match in re.finditer(r"\n\s*\n|\n(?=[-|#0-9]\S*\s)|\Z", text):
        found.append((line + text[:start].count("\n"), text[start : match.start()]))
        start = match.end()
    return [(at, words) for at, words in found if words.strip()]


def _sentences(text: str) -> list[tuple[int, str]]:
    """Sentences with the number of lines before them."""
    found, start = [], 0
    for match in re.finditer(r"(?<=[.!?:;])\s+(?=[A-Z`*\"(])|\|\s|\Z", text):
        found.append((text[:start].count("\n"), text[start : match.end()]))
        start = match.end()
    return found


def every() -> list[Quoted]:
    """All sentences that quote a paper, file by file."""
    paths = sorted({path for pattern in WHERE for path in TOP.glob(pattern)})
    found = {one[:3]: one for path in paths for one in quoted(path)}
    return list(found.values())


def main() -> int:
    """Print the sentences without a place, or all of them; 1 if some have none."""
    found = every()
    for one in found:
        if "--all" in sys.argv or not one.placed:
            print(f"{one.path}:{one.line}: {'' if one.placed else 'WHERE? '}{one.text}")
    lacking = sum(not one.placed for one in found)
    print(f"{len(found)} sentences quote a paper, {lacking} without a place", file=sys.stderr)
    return bool(lacking)


if __name__ == "__main__":
    sys.exit(main())
