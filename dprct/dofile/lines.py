"""From the text of a do-file to its commands and blocks: comments, delimiters, braces."""

from __future__ import annotations

import re
from dataclasses import field

from dprct.records import dataclass

OPEN, CLOSE = "\ue000", "\ue001"
"""Around text that only the data could tell; such characters of a file are replaced."""

_INTERESTING = re.compile(r'/\*|//+|`"|"|;')
_DELIMIT = re.compile(r"\s*#d(?:e(?:l(?:i(?:m(?:it?)?)?)?)?)?\s*(;|cr)?", re.IGNORECASE)
_TABLE = re.compile(
    r"[\s*/#=!.\-]*((?:table|tab\.|figure|fig\.)\s*[A-Z]{0,2}[.\-]?\d{1,3}[a-z]?)\b", re.IGNORECASE
)
_PROGRAM = re.compile(
    r"(?:cap\w*\s+|qui\w*\s+|n\w*\s+)*pr(?:o(?:g(?:r(?:am?)?)?)?)?\s+"
    r"(?!drop\b|dir\b|list\b|di\b|l\b)(?:de(?:f(?:i(?:ne?)?)?)?\s+)?([A-Za-z_]\w*)"
)
_FOREIGN = re.compile(r"(?:mata|python)\s*:?\s*$|inp(?:ut?)?\b(?!.*\busing\b)")
_BRACED = re.compile(r"(?:if|else|while|foreach|forv\w*)\b")


@dataclass(frozen=True)
class Command:
    """One command as it is written, or a comment that names a table."""

    line: int
    text: str
    table: str = ""


@dataclass
class Block:
    """A command with its braces, or a program until its ``end``."""

    header: Command
    body: list[Command | Block] = field(default_factory=list)
    program: str = ""


Node = Command | Block


@dataclass
class _Lexer:
    """What is open between one physical line and the next."""

    semicolon: bool = False
    depth: int = 0
    star: bool = False
    start: int = 0
    pieces: list[str] = field(default_factory=list)
    found: list[Command] = field(default_factory=list)

    def blank(self) -> bool:
        return not self.star and not any(map(str.strip, self.pieces))

    def finish(self) -> None:
        text = "".join(self.pieces).strip()
        if text:
            self.found.append(Command(self.start, text))
        self.pieces, self.star = [], False

    def add(self, text: str, line: int) -> None:
        """Take code; a star at the beginning makes a comment of the whole command."""
        if self.star:
            return
        if self.blank() and text.strip():
            self.pieces, self.start = [], line
            if text.lstrip().startswith("*"):
                self.star = True
                self.comment(text, line)
                return
        self.pieces.append(text)

    def comment(self, text: str, line: int) -> None:
        if found := _TABLE.match(text[:200]):
            self.found.append(Command(line, "", " ".join(found[1].split())))


def commands(text: str, notes: list[str]) -> list[Command]:
    """Return the commands of a do-file, each with the line where it begins."""
    state = _Lexer()
    lines = re.split(r"\r\n|\r|\n", text)
    closing = [number for number, line in enumerate(lines) if "*/" in line]
    last = closing[-1] if closing else -1
    for number, line in enumerate(lines):
        if not state.depth and state.blank() and "#" in line:
            directive = _DELIMIT.match(line)
            if directive:
                state.semicolon = directive[1] == ";"
                line = line[directive.end() :]
        going = _line(state, line, number, last, lines)
        if state.depth or state.semicolon:
            state.add(" ", number + 1)
        elif going:
            if state.pieces:
                state.pieces.append(" ")
        else:
            state.finish()
    state.finish()
    if state.depth:
        notes.append("a comment /* is not closed; what follows it is not read")
    return state.found


def _line(state: _Lexer, line: str, number: int, last: int, lines: list[str]) -> bool:
    """Take one physical line; true where ``///`` says that its command goes on."""
    position, here = 0, number + 1
    while position < len(line):
        if state.depth:
            position = _in_comment(state, line, position)
            continue
        mark = _INTERESTING.search(line, position)
        if mark is None:
            state.add(line[position:], here)
            return False
        begin, token = mark.start(), mark[0]
        if token in ('"', '`"'):
            end = begin + len(token) if state.star else _after_string(line, begin)
            state.add(line[position:end], here)
            position = end
        elif token == "/*":
            state.add(line[position:begin], here)
            position = begin + 2
            if not state.star or _closes_soon(lines, number, position):
                state.depth = 1
                state.comment(line[position:], here)
                if last < number:
                    position = len(line)
        elif token == ";":
            end = begin if state.semicolon else begin + 1
            state.add(line[position:end], here)
            if state.semicolon:
                state.finish()
            position = begin + 1
        elif begin and not line[begin - 1].isspace():
            state.add(line[position : mark.end()], here)
            position = mark.end()
        else:
            state.add(line[position:begin], here)
            if state.blank():
                state.comment(line[mark.end() :], here)
            return token.startswith("///")
    return False


def _in_comment(state: _Lexer, line: str, position: int) -> int:
    """Place where a block comment goes on after its next mark; comments nest."""
    end, again = line.find("*/", position), line.find("/*", position)
    if end < 0 and again < 0:
        return len(line)
    if end < 0 or 0 <= again < end:
        state.depth += 1
        return again + 2
    state.depth -= 1
    return end + 2


def _closes_soon(lines: list[str], number: int, position: int) -> bool:
    """Whether a ``/*`` in a line that begins with a star is a comment and not a wildcard."""
    for text in [lines[number][position:], *lines[number + 1 : number + 200]]:
        end, again = text.find("*/"), text.find("/*")
        if end >= 0:
            return again < 0 or end < again
        if again >= 0:
            return False
    return False


def _after_string(line: str, begin: int) -> int:
    """Return the position after a string; one that is not closed on its line is no string."""
    if line.startswith('`"', begin):
        depth = 0
        for mark in re.compile('`"|"\'').finditer(line, begin):
            depth += 1 if mark[0] == '`"' else -1
            if not depth:
                return mark.end()
        return begin + 2
    end = line.find('"', begin + 1)
    return end + 1 if end > 0 else begin + 1


def blocks(found: list[Command], notes: list[str]) -> list[Node]:
    """Put commands into their braces and programs."""
    whole: list[Node] = []
    open_blocks: list[Block] = []
    foreign = False
    waiting = [*reversed(found)]
    while waiting:
        command = waiting.pop()
        text = command.text
        inside = open_blocks[-1].body if open_blocks else whole
        if foreign:
            foreign = text.strip() != "end"
        elif command.table:
            inside.append(command)
        elif text.startswith("}"):
            if open_blocks and not open_blocks[-1].program:
                open_blocks.pop()
            else:
                notes.append(f"line {command.line}: a brace closes nothing")
            if rest := text[1:].strip():
                waiting.append(Command(command.line, rest))
        elif text == "end":
            while open_blocks and not open_blocks[-1].program:
                if not any(block.program for block in open_blocks):
                    break
                open_blocks.pop()
            if open_blocks and open_blocks[-1].program:
                open_blocks.pop()
        elif program := _PROGRAM.match(text):
            block = Block(command, program=program[1])
            inside.append(block)
            open_blocks.append(block)
        elif _FOREIGN.match(text):
            inside.append(Command(command.line, text.split()[0].rstrip(":")))
            foreign = True
        else:
            head, brace, rest = _brace(text)
            if brace == "{":
                block = Block(Command(command.line, head))
                inside.append(block)
                open_blocks.append(block)
            elif head:
                inside.append(Command(command.line, head))
            if rest:
                waiting.append(Command(command.line, rest))
    if open_blocks:
        at = open_blocks[-1].header.line
        notes.append(f"the block that begins in line {at} is not closed; it is read to the end")
    return whole


def _brace(text: str) -> tuple[str, str, str]:
    """Text before a brace that opens or closes a block, the brace, and the rest."""
    if text.endswith("{") and not text.endswith("${"):
        return text[:-1].rstrip(), "{", ""
    if "{" in text and _BRACED.match(text):
        position, end = 0, len(text)
        while position < end:
            letter = text[position]
            if letter == '"':
                position = _after_string(text, position) - 1
            elif letter == "$" and text.startswith("${", position):
                position = max(text.find("}", position), position + 1)
            elif letter == "{":
                return text[:position].rstrip(), "{", text[position + 1 :].strip()
            position += 1
    if text.endswith("}") and text.count("{") < text.count("}"):
        return text[:-1].rstrip(), "", "}"
    return text, "", ""
