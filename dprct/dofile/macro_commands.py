"""Commands that define macros and scalars: ``local``, ``global``, ``syntax``, ``tokenize`` ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dprct.dofile.expressions import value_of
from dprct.dofile.lines import OPEN
from dprct.dofile.macros import Macros, quoted_words, unknown, unquoted
from dprct.dofile.syntax import parse, top_level
from dprct.dofile.varlists import words

if TYPE_CHECKING:
    from dprct.dofile.session import Session

_DEFINED = re.compile(r"\s*(\+\+|--)?\s*([A-Za-z_0-9]\w*)(\+\+|--)?\s*")


def take(session: Session, name: str, text: str) -> bool:
    """Run a command that is about macros; false where it is not."""
    macros = session.macros
    if name in ("local", "global"):
        _define(macros, text, of_all=name == "global")
    elif name == "macro":
        _macro(macros, text.strip())
    elif name in ("tempvar", "tempname", "tempfile"):
        for one in text.split():
            session.temporary += 1
            macros.set(one, f"__{session.temporary:05}_{one}")
    elif name == "tokenize":
        _tokenize(macros, text)
    elif name == "gettoken":
        _gettoken(macros, text)
    elif name == "args":
        for number, one in enumerate(text.split(), 1):
            macros.set(one, macros.locals.get(str(number), ""))
    elif name == "syntax":
        _syntax(session, text.strip())
    elif name == "scalar":
        _scalar(macros, text)
    elif name in ("levelsof", "unab", "ds", "numlist"):
        _listed(session, name, text)
    elif name == "matrix":
        pass
    else:
        return False
    return True


def _define(macros: Macros, text: str, *, of_all: bool) -> None:
    found = _DEFINED.match(text)
    if not found:
        return
    name, rest = found[2], text[found.end() :]
    if found[1] or found[3]:
        macros.step(name, -1 if "-" in (found[1] or found[3]) else 1)
        return
    macros.set(name, macros.assigned(rest), of_all=of_all)


def _macro(macros: Macros, text: str) -> None:
    action, _, rest = text.partition(" ")
    if "define".startswith(action) and len(action) > 1:
        _define(macros, rest, of_all=True)
    elif action == "drop":
        names = rest.split()
        if "_all" in names:
            macros.globals.clear()
        for name in names:
            macros.globals.pop(name, None)
            if name.startswith("_"):
                macros.locals.pop(name[1:], None)
    elif action == "shift":
        count = int(rest) if rest.isdigit() and len(rest) < 4 else 1
        given = [macros.locals[str(n)] for n in range(1, 501) if str(n) in macros.locals]
        _number(macros, given[count:])


def _number(macros: Macros, given: list[str]) -> None:
    for number in range(1, 501):
        if macros.locals.pop(str(number), None) is None and number > len(given):
            break
    for number, one in enumerate(given[:500], 1):
        macros.set(str(number), one)
    macros.set("*", " ".join(given))


def _tokenize(macros: Macros, text: str) -> None:
    held, *options = top_level(text, ",")
    held = unquoted(held)
    marks = re.search(r'p(?:arse)?\(\s*"?([^")]*)"?\s*\)', ",".join(options))
    if marks and marks[1].strip():
        pieces = re.split(f"([{re.escape(marks[1].strip())}])", held)
        _number(macros, [piece for piece in pieces if piece])
    else:
        _number(macros, quoted_words(held))


def _gettoken(macros: Macros, text: str) -> None:
    """Take ``gettoken first rest : from``, with ``parse()`` where it is given."""
    left, *right = top_level(text, ":")
    if not right:
        return
    names = left.split()
    source, *options = top_level(":".join(right), ",")
    source = source.strip()
    held = macros.locals.get(source, macros.globals.get(source, ""))
    held = macros.expand(held, 1)
    marks = re.search(r'p(?:arse)?\(\s*"?([^")]*)"?\s*\)', ",".join(options))
    if OPEN in held:
        first, rest = unknown(held), unknown(held)
    else:
        stops = marks[1] if marks else " "
        place = next((n for n, letter in enumerate(held.lstrip()) if letter in stops), None)
        held = held.lstrip()
        if held.startswith('"') and (end := held.find('"', 1)) > 0:
            first, rest = held[1:end], held[end + 1 :]
        elif place is None:
            first, rest = held, ""
        else:
            place = max(place, 1)
            first, rest = held[:place], held[place:]
    if names:
        macros.set(names[0].removeprefix("(local)"), first.strip())
    if len(names) > 1:
        macros.set(names[1], rest)


def _scalar(macros: Macros, text: str) -> None:
    found = re.match(r"\s*(?:de(?:f(?:i(?:ne?)?)?)?\s+)?([A-Za-z_]\w*)\s*=(?!=)(.*)", text)
    if found and len(macros.scalars) < 10_000:
        macros.scalars[found[1]] = value_of(found[2], macros.scalars)


def _listed(session: Session, name: str, text: str) -> None:
    """Take commands that put a list of columns or of values into a macro."""
    macros = session.macros
    parsed = parse(f"{name} {text}")
    into = parsed.option("local", 1)
    if name == "unab":
        into, _, listed = text.partition(":")
        macros.set(into.strip(), " ".join(session.memory.expand(listed)))
    elif name == "ds" and into:
        macros.set(into, " ".join(session.memory.expand(parsed.before)))
    elif into:
        macros.set(into, unknown(f"{name} {parsed.before}"))


def _syntax(session: Session, text: str) -> None:
    macros = session.macros
    given = parse("called " + macros.locals.get("0", ""))
    head, *options = top_level(text.replace("[", " ").replace("]", " "), ",")
    wanted = {word.partition("(")[0].strip().lower(): word for word in words(head)}
    before = given.before
    for kind in ("varlist", "varname", "newvarlist", "newvarname", "anything", "namelist", "name"):
        if kind in wanted:
            whole = kind in ("anything", "namelist", "name")
            name = kind.removeprefix("new").replace("varname", "varlist")
            macros.set(name, before if whole else " ".join(session.memory.expand(before)))
    if "name" in wanted:
        macros.set("namelist", before)
    macros.set("if", f"if {given.condition}" if given.condition else "")
    macros.set("in", f"in {given.within}" if given.within else "")
    macros.set("using", f"using {given.using}" if given.using else "")
    weight, _, expression = given.weights.partition("=")
    macros.set("weight", weight)
    macros.set("exp", f"= {expression}" if expression else "")
    if "/exp" in head.replace(" ", "") and (found := re.match(r"\s*=?(.*)", before)):
        macros.set("exp", found[1].strip())
    _options(macros, ",".join(options), given.options)


def _options(macros: Macros, text: str, given: dict[str, str]) -> None:
    taken: set[str] = set()
    for found in re.finditer(r"(\*)|([A-Za-z_]\w*)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?", text):
        if found[1]:
            rest = [
                f"{name}({held})" if held else name
                for name, held in given.items()
                if name not in taken
            ]
            macros.set("options", " ".join(rest))
            continue
        written, kind = found[2], found[3]
        least = len(re.match(r"[A-Z]*", written)[0]) or len(written)  # type: ignore[index]
        name = written.lower()
        match = next(
            (g for g in given if len(g) >= min(least, len(name)) and name.startswith(g)), None
        )
        if match is not None:
            taken.add(match)
        if kind is None:
            macros.set(name, name if match is not None else "")
        else:
            default = (
                kind.split()[-1] if kind[:3] in ("int", "rea") and len(kind.split()) > 1 else ""
            )
            macros.set(name, unquoted(given[match]) if match is not None else default)
