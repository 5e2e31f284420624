"""Commands that change what is in memory: files, rows, columns; and where results are stored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dprct.dofile.macros import known, quoted_words
from dprct.dofile.made import MAKING, TYPED, Context, make
from dprct.dofile.memory import Memory, file_name, negation
from dprct.dofile.varlists import is_plain, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.dofile.session import Session
    from dprct.dofile.syntax import Parsed


def take(session: Session, parsed: Parsed) -> bool:
    """Run a command that is about data; false where it is not."""
    command = _COMMANDS.get(parsed.name)
    if command is None:
        return False
    if parsed.name in _COPYING:
        session.macros.spend(len(session.memory.derived) + (len(session.memory.columns or ()) >> 3))
    if parsed.name in MAKING:
        session.makings += 1
        make(parsed, _context(session))
    session.memory.place = session.file, session.line
    command(session, parsed)
    return True


def _context(session: Session) -> Context:
    memory = session.memory
    doubts = [*session.doubts, *(f"after {name}, which is not known" for name in memory.unknown)]
    if session.makings > _MOST_MAKINGS:
        doubts = ["more columns are made than are read"]
    return Context(
        memory.made,
        memory.derived,
        memory.expand,
        None if memory.open else memory.columns,
        session.macros.scalars,
        (session.file, session.line),
        doubts[0] if doubts else "",
    )


_MOST_MAKINGS = 10_000
_COPYING = frozenset({"use", "save", "preserve", "restore", "merge", "append"})
"""Commands that copy what is known of the columns, which is work."""


def _use(session: Session, parsed: Parsed) -> None:
    name = file_name(parsed.using or parsed.before)
    if not name:
        return
    session.memory = session.opened(name)
    if parsed.using:
        session.memory.keep(words(parsed.before))
    session.memory.only(parsed.condition)


def _import(session: Session, parsed: Parsed) -> None:
    """Take ``import``, ``insheet`` and the like; columns that these choose or type are unknown."""
    text = parsed.using or (quoted_words(parsed.before) or [""])[-1]
    listed = words(parsed.before)
    kind = listed.pop(0) if listed and parsed.name == "import" else ""
    delimited = len(kind) >= 5 and "delimited".startswith(kind)
    if not delimited and parsed.name != "insheet":
        session.memory = session.opened(file_name(text, ""))
        return
    case = parsed.option("case", 2)  # of insheet it has no word
    case = "lower" if case is None else case or "preserve"
    session.memory = session.imported(file_name(text, ".csv" if delimited else ".raw"), case)
    chosen = listed if parsed.using else listed[1:]
    chosen += [name for name in _CHOOSING if parsed.option(name, 4) is not None]
    if chosen or parsed.option("varnames", 4) not in (None, "1"):
        session.memory.open = True
        session.memory.strange(f"{parsed.word} that chooses or types rows or columns")


_CHOOSING = ("colrange", "rowrange", "numericcols", "stringcols")


def _save(session: Session, parsed: Parsed) -> None:
    name = file_name(parsed.before) or session.memory.dataset
    if name and len(session.saved) < 5_000:
        session.saved[name] = session.memory.copied()
        if not name.startswith("__"):
            session.memory.dataset = name


def _combine(how: str) -> Callable[[Session, Parsed], None]:
    def run(session: Session, parsed: Parsed) -> None:
        for text in quoted_words(parsed.using):
            name = file_name(text)
            if (merged := session.merged(name, _matched_on(parsed))) is not None:
                session.memory.joined(merged)
                continue
            mine = how == "append" and not parsed.options and name not in session.saved
            if mine and session.memory.appended(name.rpartition("/")[2]):
                continue
            other = session.saved.get(name) or session.opened(name)
            session.memory.combined(other, name, how, _matched_on(parsed))
        kept = (parsed.option("keep", 4) or "").split()
        if parsed.name == "merge" and kept and {*kept} <= _MATCHED:
            session.memory.only("_merge==3")

    return run


_MATCHED = frozenset({"3", "match", "matched", "mat", "matc"})
"""What ``merge, keep()`` calls the rows that both files have."""


def _matched_on(parsed: Parsed) -> str:
    """Return the columns by which ``merge`` matches rows, "" where it matches in another way."""
    listed = parsed.before.split()
    if parsed.name != "merge" or "update" in parsed.options or {"_n", *_REPEATING} & {*listed}:
        return ""
    return " ".join(word for word in listed if word not in _KINDS)


_KINDS = frozenset({"1:1", "m:1"})
_REPEATING = frozenset({"1:m", "m:m"})


def _keep(session: Session, parsed: Parsed) -> None:
    _rows(session, parsed)
    if parsed.before and not parsed.condition:
        session.memory.keep(words(parsed.before))


def _drop(session: Session, parsed: Parsed) -> None:
    if parsed.condition:
        session.memory.only(negation(parsed.condition))
    elif parsed.within:
        session.memory.only(f"not in {parsed.within}")
    elif parsed.before == "_all":
        session.memory = Memory(spend=session.macros.spend)
    else:
        session.memory.drop(words(parsed.before))


def _rows(session: Session, parsed: Parsed) -> None:
    session.memory.only(parsed.condition)
    if parsed.within:
        session.memory.only(f"in {parsed.within}")


_GROUP = re.compile(r"(\w+)\s*=\s*group\s*\(([^()]+)\)\s*")


def _generate(session: Session, parsed: Parsed) -> None:
    text = parsed.before
    if parsed.name == "egen" and (by := parsed.option("by", 2)):
        text += f" by {by}"
    session.memory.generate(parsed.name, text, parsed.condition)
    group = _GROUP.fullmatch(TYPED.sub("", parsed.before, count=1))
    if parsed.name == "egen" and group and parsed.option("missing", 1) is None:
        session.memory.numbered(group[1], session.memory.expand(group[2]), parsed.condition)


def _made(session: Session, parsed: Parsed) -> None:
    """Take commands with ``generate()``: ``recode``, ``encode``, ``destring``, ``tabulate``."""
    into = parsed.option("generate", 1)
    if not into:
        if parsed.name == "recode":
            _changed(session, re.sub(r"\([^()]*\)|\S*=\S*", " ", parsed.before), parsed)
        elif parsed.option("replace", 3) is not None:
            _changed(session, parsed.before, parsed)
        return
    if parsed.name == "tabulate":
        session.memory.open = True
        session.memory.derived[into] = f"indicators of {parsed.before}"
        if is_plain(parsed.before) and not parsed.within:
            session.memory.dummies[into] = (parsed.before, parsed.condition)
        return
    for name in words(into):
        session.memory.add(name, f"{parsed.name} {parsed.before}")
        if parsed.name == "encode":
            session.memory.numbered(name, words(parsed.before), parsed.condition)


def _changed(session: Session, names: str, parsed: Parsed) -> None:
    for name in session.memory.expand(names):
        if name.isidentifier() and name != "_all":
            session.memory.generate("replace", f"{name} = by {parsed.word}", parsed.condition)
        elif _UNLISTED.match(name):
            session.memory.strange(f"{parsed.word} {name}")


_UNLISTED = re.compile(r"_all$|[*?~]|[A-Za-z_]\w*[*?~-]")
"""Words for columns that no header tells."""


def _predict(session: Session, parsed: Parsed) -> None:
    last = session.rows[-1].command if session.rows else "an estimation"
    for name in parsed.before.split()[-1:]:
        session.memory.add(name, f"predicted after {last}")


def _collapse(session: Session, parsed: Parsed) -> None:
    session.memory.only(parsed.condition)
    plain = not parsed.weights and parsed.option("cw") is None and not parsed.within
    session.memory.collapse(parsed.before, parsed.option("by", 2) or "", plain=plain)


def _stepped(name: str) -> Callable[[Session, Parsed], None]:
    def run(session: Session, parsed: Parsed) -> None:
        session.memory.step(name)
        session.memory.open = True

    return run


def _preserve(session: Session, parsed: Parsed) -> None:
    if len(session.preserved) < 50:
        session.preserved.append(session.memory.copied())


def _restore(session: Session, parsed: Parsed) -> None:
    if not session.preserved:
        return
    before = session.preserved[-1] if parsed.option("preserve") else session.preserved.pop()
    if parsed.option("not", 3) is None:
        session.memory = before.copied()


def _panel(session: Session, parsed: Parsed) -> None:
    if parsed.before:
        session.memory.panel = known(parsed.before.split()[0])


def _clear(session: Session, parsed: Parsed) -> None:
    if parsed.before in ("", "all", "*"):
        session.memory = Memory(spend=session.macros.spend)
    if parsed.before in ("all", "*"):
        session.programs.clear()
        session.macros.scalars.clear()


def _estimates(session: Session, parsed: Parsed) -> None:
    listed = words(parsed.before)
    if len(listed) > 1 and listed[0] in ("store", "sto", "stor"):
        session.store(listed[1:2])
    elif listed[:1] == ["clear"] or listed[:2] == ["drop", "_all"]:
        session.stored.clear()


def _eststo(session: Session, parsed: Parsed) -> None:
    listed = words(parsed.before)
    if listed[:1] == ["clear"]:
        session.stored.clear()
    else:
        session.store(listed[:1] or [f"est{len(session.stored) + 1}"])


def _table(session: Session, parsed: Parsed) -> None:
    names = words(parsed.before)
    if parsed.name in ("esttab", "estout") and (not names or "*" in names[0]):
        names = [*session.stored]
    elif parsed.name.startswith("outr"):
        names = []
    target = quoted_words(parsed.using)
    session.name_table(names, target[0] if target else "")


def _typed_in(session: Session, parsed: Parsed) -> None:
    session.memory.open = True
    session.memory.strange(parsed.name)


def _set(session: Session, parsed: Parsed) -> None:
    """Take ``set``, of which ``set obs`` adds rows and ``set level`` changes intervals."""
    what, *held = parsed.before.split()[:2] or [""]
    if what.startswith("ob"):
        session.memory.step("expand")
    if what == "level":
        session.level = known("".join(held))


def _opened(session: Session, parsed: Parsed) -> None:
    """Take a command that makes columns of names which are not known."""
    session.memory.open = True


_COMMANDS: dict[str, Callable[[Session, Parsed], None]] = {
    **dict.fromkeys(("use", "sysuse", "webuse"), _use),
    **dict.fromkeys(("insheet", "import", "infile", "infix", "usespss", "xmluse"), _import),
    **dict.fromkeys(("save", "saveold"), _save),
    **dict.fromkeys(("merge", "mmerge", "joinby", "cross"), _combine("merge")),
    "append": _combine("append"),
    "keep": _keep,
    "drop": _drop,
    **dict.fromkeys(("generate", "egen", "replace"), _generate),
    **dict.fromkeys(
        (
            "recode",
            "encode",
            "decode",
            "destring",
            "tostring",
            "tabulate",
            "winsor",
            "winsor2",
            "ipolate",
        ),
        _made,
    ),
    **dict.fromkeys(("mvdecode", "mvencode"), lambda s, p: _changed(s, p.before, p)),
    "predict": _predict,
    "xtile": lambda s, p: s.memory.generate("egen", f"{p.before} (quantiles)", p.condition),
    "clonevar": lambda s, p: s.memory.generate("generate", p.before, p.condition),
    "rename": lambda s, p: s.memory.rename(p.before),
    "reshape": lambda s, p: s.memory.reshape(p.before, p.option("i") or "", p.option("j") or ""),
    "collapse": _collapse,
    "contract": _stepped("collapse"),
    **dict.fromkeys(("expand", "fillin", "stack", "xpose"), _stepped("expand")),
    **dict.fromkeys(("sample", "bsample"), _stepped("sample")),
    "duplicates": lambda s, p: None,
    "preserve": _preserve,
    "restore": _restore,
    **dict.fromkeys(("xtset", "tsset", "iis"), _panel),
    "svyset": lambda s, p: setattr(s.memory, "survey", p.weights),
    "set": _set,
    "input": _typed_in,
    "clear": _clear,
    "estimates": _estimates,
    "eststo": _eststo,
    **dict.fromkeys(("esttab", "estout", "outreg2", "outreg", "outtex"), _table),
    **dict.fromkeys(("xi", "renvars", "separate", "svmat", "pca", "factor", "statsmat"), _opened),
    **dict.fromkeys(
        ("label", "order", "summarize", "cd", "mkmat", "delete", "version"), lambda s, p: None
    ),
}
