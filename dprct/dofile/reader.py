"""Walk through do-files as Stata would, and collect what they estimate; nothing is run.

The work is bounded, in characters and commands rather than in seconds: a loop has at most 10,000
passes, programs and files call each other at most 40 deep.  Where a bound ends a reading, the rows
that were found stand, and a note says what is missing.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from dprct.dofile import data_commands, macro_commands
from dprct.dofile.estimators import is_estimator, regression
from dprct.dofile.expressions import truth, value_of
from dprct.dofile.lines import CLOSE, OPEN, Block, Command, Node, blocks, commands
from dprct.dofile.loops import foreach_values, forvalues_values, old_for
from dprct.dofile.macros import BoundReached, known, quoted_words, unquoted
from dprct.dofile.regression import Regression
from dprct.dofile.session import MOST_ROWS, Session
from dprct.dofile.syntax import Prefix, full_name, is_silent, parse, split_prefixes
from dprct.dofile.varlists import words
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dprct.dofile.memory import Merges

_TOUCHES = re.compile(r"\bst_s?(?:store|view|addvar|dropvar|keepobsif|dropobsif)\b|sfi\b")
_FIRST = re.compile(r"\s*(\w*)")
WORK = 1_000_000
"""Work of one reading, about a microsecond each: commands, and characters in steps of 16.

The largest do-files of ten papers take an eighth of it.
"""
_ESTIMATION, _FILE = 50, 100
_LEAVING = ("statsby", "simulate", "rolling")
"""Prefixes whose results may stay in memory."""

MOST_PASSES, _DEEPEST, _LARGEST = 10_000, 40, 50_000_000


class _Exit(Exception):
    """``exit``: the file or program ends here."""


class _Continue(Exception):
    """``continue``, with whether it breaks the loop."""

    def __init__(self, breaks: bool) -> None:
        super().__init__()
        self.breaks = breaks


@dataclass(frozen=True)
class Reading(Sequence[Regression]):
    """The estimations of do-files in the order in which these run them."""

    rows: tuple[Regression, ...]
    notes: tuple[str, ...] = ()  # what was not read, or not as Stata would
    # Commands that are not known here, with how often they occur.
    passed_over: Mapping[str, int] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()  # globals that the do-files use and none of them defines

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # a row, or a tuple of rows
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Regression]:
        return iter(self.rows)


def read_files(
    paths: Sequence[tuple[Path, Path]],
    header: Sequence[str] | None = None,
    dataset: str | None = None,
    treatments: Sequence[str] = (),
    work: int = WORK,
    others: Mapping[str, Sequence[str]] | None = None,
    *,
    prepared: bool = False,
    merges: Merges | None = None,
    former: Mapping[str, str] | None = None,
) -> Reading:
    """Read do-files, each with the folder that bounds it, as one session of Stata.

    ``prepared`` data are those after the last merge, collapse or reshape; ``merges`` are files that
    the study merges as well; ``former`` are names in a text file of columns that have others in the
    header.
    """
    reader = Reader(
        header, dataset, frozenset(treatments), work, others, prepared=prepared, merges=merges,
        former=former,
    )  # fmt: skip
    try:
        for path, folder in paths:
            reader.read(path, folder)
    except BoundReached as reached:
        reader.note(f"{reached}; what follows is not read")
    return reader.result()


class Reader(Session):
    """A session that walks through files."""

    def read(self, path: Path, folder: Path) -> None:
        """Read a do-file that was asked for; files that it runs are those of the folder."""
        whole = path.resolve()
        if whole in self.run_from_others:
            return
        self.folder = folder.resolve()
        self.memory = self.opened("")
        self.macros.frames = [{}]
        self.doubts, self.table, self.depth, self.preserved = [], "", 0, []
        begin = len(self.rows)
        try:
            self._run_file(whole)
        finally:
            self.own_rows[whole] = (begin, len(self.rows))

    def result(self) -> Reading:
        """Result of reading; a file that another one runs is not listed a second time."""
        gone = {
            row
            for path, (begin, end) in self.own_rows.items()
            if path in self.run_from_others
            for row in range(begin, end)
        }
        if undefined := sorted(self.macros.undefined):
            self.note("globals that nothing defines are empty: " + " ".join(undefined[:20]))
        rows = tuple(row for number, row in enumerate(self.rows) if number not in gone)
        passed_over = dict(sorted(self.passed_over.items()))
        return Reading(rows, tuple(self.notes), passed_over, tuple(undefined))

    def _run_file(self, path: Path) -> None:
        if path in self.begun or len(self.begun) > _DEEPEST:
            self.note(f"{path.name} runs itself; the inner run is not read")
            return
        text = self._text(path)
        if text is None:
            return
        notes: list[str] = []
        self.macros.spend(len(text) // 64)
        nodes = blocks(commands(text, notes), notes)
        before = self.file
        self.file = _relative(path, self.folder)
        self.begun.append(path)
        for note in notes[:20]:
            self.note(f"{self.file}: {note}")
        try:
            with suppress(_Exit, _Continue):
                self.run(nodes)
        finally:
            self.begun.pop()
            self.file = before

    def _text(self, path: Path) -> str | None:
        try:
            if path.stat().st_size > _LARGEST:
                self.note(f"{path.name} is larger than {_LARGEST} bytes and is not read")
                return None
            raw = path.read_bytes()
        except OSError:
            self.note(f"{path.name} cannot be opened")
            return None
        return decoded(raw)

    def found(self, name: str) -> Path | None:
        """Return a do-file of the folder by the name given to ``do``; never a file outside it."""
        text = unquoted(known(name)).replace("\\", "/").strip()
        if not text or "\0" in text or len(text) > 400:
            return None
        if "." not in text.rpartition("/")[2]:
            text += ".do"
        here = self.begun[-1].parent if self.begun else self.folder
        last = text.rpartition("/")[2]
        tries = [here / last, self.folder / last]
        if not text.startswith(("/", "~")) and ":" not in text:
            tries = [self.folder / text, here / text, *tries]
        for path in tries:
            with suppress(OSError, RuntimeError, ValueError):
                whole = path.resolve()
                if whole.is_relative_to(self.folder) and whole.is_file():
                    return whole
        return None

    def do(self, name: str, arguments: Sequence[str], *, include: bool) -> None:
        """Take ``do``, ``run`` and ``include``."""
        self.macros.spend(_FILE)
        path = self.found(name)
        if path is None:
            text = unquoted(known(name))[:80]
            self.note(f"{self.file}: {text} is not in the folder; not read")
            self.memory.open = True
            self.memory.strange(f"do {text}")
            return
        if path not in self.begun:
            self.run_from_others.add(path)
        if include:
            self._run_file(path)
            return
        self.macros.frames.append(_positional(" ".join(arguments), arguments))
        try:
            self._run_file(path)
        finally:
            self.macros.frames.pop()

    def run(self, nodes: Sequence[Node]) -> None:
        """Take commands and blocks in their order."""
        condition: bool | None = False
        for node in nodes:
            self.macros.spend(2)
            if isinstance(node, Command) and node.table:
                self.table = node.table
                continue
            header = node.header if isinstance(node, Block) else node
            body = node.body if isinstance(node, Block) else None
            if isinstance(node, Block) and node.program:
                self.programs[node.program] = node, self.file
                continue
            word = _first_word(header.text)
            if word == "else":
                condition = self._else(header, body, condition)
            elif word == "if":
                condition = self._if(header.text[2:], header.line, body)
            else:
                self._one(header, body)

    def _one(self, header: Command, body: list[Node] | None) -> None:
        """Take one command, or a block that is no ``if``."""
        word = full_name(_first_word(header.text))
        if body is not None and word in ("foreach", "forvalues", "while"):
            self._loop(word, header, body)
            return
        text = self.macros.expand(header.text)
        if body is not None:
            prefixes, rest = split_prefixes(text)
            if rest and _first_word(rest) in ("foreach", "forvalues", "forval", "while", "if"):
                place = header.text.find(_first_word(rest))
                inner = Command(header.line, header.text[max(place, 0) :])
                self.run([Block(inner, body)])
            elif prefixes or not rest or not is_estimator(full_name(_first_word(rest))):
                self._deeper(body)
            return
        self.command(text, header.line)

    def _if(self, text: str, line: int, body: list[Node] | None) -> bool | None:
        """Take ``if``; None where the data decide, and then both branches are read."""
        text = self.macros.expand(text)
        if body is None:
            text, rest = _condition_and_rest(text)
            body = [Command(line, rest)] if rest else []
        holds = truth(value_of(text, self.macros.scalars))
        self._branch(holds, body)
        return holds

    def _else(self, header: Command, body: list[Node] | None, before: bool | None) -> bool | None:
        rest = header.text[4:].strip()
        if before is True:
            return True
        if _first_word(rest) == "if":
            if before is False:
                return self._if(rest[2:], header.line, body)
            with self._doubting("whether this runs depends on the data"):
                self._if(rest[2:], header.line, body)
            return None
        self._branch(
            True if before is False else None,
            body if body is not None else [Command(header.line, rest)],
        )
        return True

    def _branch(self, holds: bool | None, body: Sequence[Node]) -> None:
        if holds is False:
            return
        if holds is True:
            self._deeper(body)
            return
        with self._doubting("whether this runs depends on the data"), suppress(_Exit, _Continue):
            self._deeper(body)

    @contextmanager
    def _doubting(self, *why: str) -> Iterator[None]:
        """Say of what is read meanwhile why it is not sure."""
        self.doubts += why
        try:
            yield
        finally:
            del self.doubts[len(self.doubts) - len(why) :]

    def _deeper(self, body: Sequence[Node]) -> None:
        if self.depth >= _DEEPEST:
            self.note(f"{self.file}: more than {_DEEPEST} levels deep; the inner ones are not read")
            return
        self.depth += 1
        try:
            self.run(body)
        finally:
            self.depth -= 1

    def _loop(self, word: str, header: Command, body: list[Node]) -> None:
        if word == "while":
            self._while(header, body)
            return
        text = self.macros.expand(header.text).partition(" ")[2]
        expand = self._written_out
        values = (
            foreach_values(text, self.macros, expand)
            if word == "foreach"
            else forvalues_values(text, MOST_PASSES)
        )
        if values is None:
            self.note(f"{self.file}, line {header.line}: this loop is not understood; not read")
            return
        name, each, sure = values
        self.macros.spend(2 * len(each))  # its numbers are written out before the first pass
        if len(each) > MOST_PASSES:
            self.note(f"{self.file}, line {header.line}: only {MOST_PASSES} passes are read")
            each = each[:MOST_PASSES]
        doubt = [] if sure else ["the data say over what this loop goes; one pass is shown"]
        with self._doubting(*doubt):
            self._passes(name, each, header.line, body)
        self.macros.locals.pop(name, None)

    def _passes(self, name: str, each: list[str], line: int, body: list[Node]) -> None:
        """Take the passes of a loop, as long as they read otherwise than those before."""
        repeats = len(each) > 2 and not _mentions(name, body)
        begin: list[int] = []
        states: list[dict[str, str]] = []
        for value in each:
            if repeats:
                begin.append(len(self.rows))
                self.macros.spend((len(self.macros.globals) + len(self.macros.locals)) >> 4)
                states.append({**self.macros.globals, **self.macros.locals, name: ""})
                if len(begin) == 3:
                    if states[1] == states[2]:
                        self._drop_repeated(begin, line, len(each))
                        return
                    repeats = False
            self.macros.spend(2)
            self.macros.set(name, value)
            try:
                self._deeper(body)
            except _Continue as jump:
                if jump.breaks:
                    return

    def _drop_repeated(self, begin: list[int], line: int, passes: int) -> None:
        """List one pass of a loop, such as a bootstrap, whose passes read the same."""
        if self.rows[begin[0] : begin[1]] == self.rows[begin[1] : begin[2]]:
            del self.rows[begin[1] :]
        self.note(f"{self.file}, line {line}: {passes} passes read the same; one is listed")

    def _while(self, header: Command, body: list[Node]) -> None:
        condition = header.text.strip()[5:]
        for _ in range(MOST_PASSES):
            self.macros.spend(4)
            holds = truth(value_of(self.macros.expand(condition), self.macros.scalars))
            if holds is False:
                return
            try:
                self._branch(holds, body)
            except _Continue as jump:
                if jump.breaks:
                    return
            if holds is None:
                return
        self.note(f"{self.file}, line {header.line}: only {MOST_PASSES} passes are read")

    def command(self, text: str, line: int) -> None:
        """Take one command whose macros are written out."""
        self.macros.spend(len(text) // 16 + 2)
        self.line = line
        prefixes, rest = split_prefixes(text)
        if not rest or rest.startswith("*"):
            return
        word = _first_word(rest)
        name = full_name(word)
        if name == "if" and prefixes:
            self._if(rest[2:], line, None)
            return
        if word in self.programs:
            self._call(word, rest, line)
        elif is_estimator(name):
            self._estimation(rest, prefixes)
        elif name == "for":
            self._old_for(rest, line)
        elif name in ("do", "run", "include"):
            given = quoted_words(rest[len(word) :].split(",")[0])
            if given:
                self.do(given[0], given[1:], include=name == "include")
        elif name == "exit":
            raise _Exit
        elif name == "continue":
            raise _Continue("br" in rest)
        elif name == "program":
            self._drop_programs(rest)
        elif is_silent(word):
            if word in ("mata", "python") and (rest == word or _TOUCHES.search(rest)):
                self.memory.strange(word)
        elif not (
            macro_commands.take(self, name, rest[len(word) :])
            or data_commands.take(self, parse(rest))
            or is_silent(name)
            or not word.isidentifier()
        ):
            self.passed_over[word] = self.passed_over.get(word, 0) + 1
            self.memory.strange(word)

    def _drop_programs(self, text: str) -> None:
        listed = text.split()
        if len(listed) > 1 and listed[1] == "drop":
            for name in listed[2:]:
                self.programs.pop(name, None)
            if "_all" in listed[2:]:
                self.programs.clear()

    def _old_for(self, text: str, line: int) -> None:
        for made in old_for(text, self._written_out, MOST_PASSES):
            self.macros.spend(len(made) // 16 + 1)
            if self.depth >= _DEEPEST:
                return
            self.depth += 1
            try:
                self.command(made, line)
            finally:
                self.depth -= 1

    def _call(self, name: str, text: str, line: int) -> None:
        """Run through a program that the do-files define."""
        if self.depth >= _DEEPEST or len(self.macros.frames) > _DEEPEST:
            self.note(f"{self.file}, line {line}: {name} calls itself too deep; not read further")
            return
        before = self.file
        given = text[len(name) :].strip()
        self.macros.frames.append(_positional(given, quoted_words(given)))
        block, self.file = self.programs[name]
        kept_doubts = [*self.doubts]
        try:
            with suppress(_Exit, _Continue):
                self._deeper(block.body)
        finally:
            self.doubts = kept_doubts
            self.macros.frames.pop()
            self.file = before

    def _estimation(self, text: str, prefixes: Sequence[Prefix]) -> None:
        parsed = parse(text)
        self.macros.spend(_ESTIMATION + len(text) // 4 + len(self.memory.columns or ()) // 16)
        row = regression(parsed, self, prefixes)
        if row is None:
            return
        named = (*row.regressors, *row.sources, *row.instruments, *row.absorb)
        self.macros.spend((len(row.sample) + len(row.note)) // 16 + len(named))
        if len(self.rows) >= MOST_ROWS:
            raise BoundReached(f"{MOST_ROWS} estimations are listed")
        self.rows.append(row)
        for prefix in prefixes:
            if prefix.name in _LEAVING:
                self.memory.strange(prefix.name)
            if prefix.name == "eststo":
                self.store(words(prefix.text.split(",")[0])[:1])


def decoded(raw: bytes) -> str:
    """Return the text of a do-file in whatever encoding it came."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = raw.decode("utf-16", "replace")
    else:
        try:
            text = raw.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", "replace")
    for mark in (OPEN, CLOSE, "\0"):
        text = text.replace(mark, " ")
    return text


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _first_word(text: str) -> str:
    found = _FIRST.match(text)
    return found[1] if found else ""


def _mentions(name: str, body: Sequence[Node]) -> bool:
    """Whether a loop's macro is used by a command that means something here."""
    waiting: list[Node] = [*body]
    used = re.compile(rf"`[^'\s]*\b{re.escape(name)}\b")
    while waiting:
        node = waiting.pop()
        if isinstance(node, Block):
            waiting += [node.header, *node.body]
        elif used.search(node.text):
            _, rest = split_prefixes(node.text)
            word = _first_word(rest)
            if not is_silent(word) and full_name(word) != "matrix":
                return True
    return False


def _positional(whole: str, given: Sequence[str]) -> dict[str, str]:
    """Return the locals 0, 1, 2, ... and * of a program or file that is called."""
    numbered = {str(number): text for number, text in enumerate(given[:500], 1)}
    return {"0": whole, "*": " ".join(given), **numbered}


def _condition_and_rest(text: str) -> tuple[str, str]:
    """Return the condition of a one-line ``if``, and its command."""
    text = text.strip()
    depth, quoted = 0, False
    for place, letter in enumerate(text[:2_000]):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter.isspace() and not depth and place:
            before, after = text[:place].rstrip(), text[place:].lstrip()
            if before[-1:] in "=<>!~&|+-*/^" or after[:1] in "=<>!~&|+-*/^":
                continue
            if after[:1].isalpha() or after[:1] in "_{":
                return before, after
    return text, ""
