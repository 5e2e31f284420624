"""Commands that change what is in memory: files, rows, columns; and where results are stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dprct.dofile.macros import known, quoted_words
from dprct.dofile.memory import Memory, file_name, negation
from dprct.dofile.syntax import Parsed, Prefix, full_name, parse
from dprct.dofile.varlists import words

if TYPE_CHECKING:
    from dprct.dofile.reader import Reader


def take(reader: Reader, parsed: Parsed, prefixes: Sequence[Prefix]) -> bool:
    """Run a command that is about data; false where it is not."""
    command = _COMMANDS.get(parsed.name)
    if command is None:
        return False
    command(reader, parsed)
    return True


def _use(reader: Reader, parsed: Parsed) -> None:
    name = file_name(parsed.using or parsed.before)
    if not name:
        return
    reader.memory = reader.opened(name)
    if parsed.using:
        reader.memory.keep(words(parsed.before))
    reader.memory.only(parsed.condition)


def _import(reader: Reader, parsed: Parsed) -> None:
    text = parsed.using or (quoted_words(parsed.before) or [""])[-1]
    reader.memory = reader.opened(file_name(text, ""))


def _save(reader: Reader, parsed: Parsed) -> None:
    name = file_name(parsed.before) or reader.memory.dataset
    if name and len(reader.saved) < 5_000:
        reader.saved[name] = reader.memory.copied()
        if not name.startswith("__"):
            reader.memory.dataset = name


def _combine(how: str) -> Callable[[Reader, Parsed], None]:
    def run(reader: Reader, parsed: Parsed) -> None:
        for text in quoted_words(parsed.using):
            name = file_name(text)
            other = reader.saved.get(name) or reader.opened(name)
            reader.memory.combined(other, name, how)

    return run


def _keep(reader: Reader, parsed: Parsed) -> None:
    _rows(reader, parsed)
    if parsed.before and not parsed.condition:
        reader.memory.keep(words(parsed.before))


def _drop(reader: Reader, parsed: Parsed) -> None:
    if parsed.condition:
        reader.memory.only(negation(parsed.condition))
    elif parsed.within:
        reader.memory.only(f"not in {parsed.within}")
    elif parsed.before == "_all":
        reader.memory = Memory()
    else:
        reader.memory.drop(words(parsed.before))


def _rows(reader: Reader, parsed: Parsed) -> None:
    reader.memory.only(parsed.condition)
    if parsed.within:
        reader.memory.only(f"in {parsed.within}")


def _generate(reader: Reader, parsed: Parsed) -> None:
    text = parsed.before
    if parsed.name == "egen" and (by := parsed.option("by", 2)):
        text += f" by {by}"
    reader.memory.generate(parsed.name, text, parsed.condition)


def _made(reader: Reader, parsed: Parsed) -> None:
    """Take commands with ``generate()``: ``recode``, ``encode``, ``destring``, ``tabulate``."""
    into = parsed.option("generate", 1)
    if not into:
        if parsed.name == "recode":
            for name in words(parsed.before)[:1]:
                reader.memory.generate("replace", f"{name} = recoded", parsed.condition)
        return
    if parsed.name == "tabulate":
        reader.memory.open = True
        reader.memory.derived[into] = f"indicators of {parsed.before}"
        return
    for name in words(into):
        reader.memory.add(name, f"{parsed.name} {parsed.before}")


def _predict(reader: Reader, parsed: Parsed) -> None:
    last = reader.rows[-1].command if reader.rows else "an estimation"
    for name in parsed.before.split()[-1:]:
        reader.memory.add(name, f"predicted after {last}")


def _xtile(reader: Reader, parsed: Parsed) -> None:
    reader.memory.generate("egen", f"{parsed.before} (quantiles)", parsed.condition)


def _clonevar(reader: Reader, parsed: Parsed) -> None:
    reader.memory.generate("generate", parsed.before, parsed.condition)


def _rename(reader: Reader, parsed: Parsed) -> None:
    reader.memory.rename(parsed.before)


def _reshape(reader: Reader, parsed: Parsed) -> None:
    reader.memory.reshape(parsed.before, parsed.option("j", 1) or "")


def _collapse(reader: Reader, parsed: Parsed) -> None:
    reader.memory.only(parsed.condition)
    reader.memory.collapse(parsed.before, parsed.option("by", 2) or "")


def _stepped(name: str) -> Callable[[Reader, Parsed], None]:
    def run(reader: Reader, parsed: Parsed) -> None:
        reader.memory.step(name)
        reader.memory.open = True

    return run


def _preserve(reader: Reader, parsed: Parsed) -> None:
    if len(reader.preserved) < 50:
        reader.preserved.append(reader.memory.copied())


def _restore(reader: Reader, parsed: Parsed) -> None:
    if not reader.preserved:
        return
    before = reader.preserved[-1] if parsed.option("preserve") else reader.preserved.pop()
    if parsed.option("not", 3) is None:
        reader.memory = before.copied()


def _panel(reader: Reader, parsed: Parsed) -> None:
    if parsed.before:
        reader.memory.panel = known(parsed.before.split()[0])


def _survey(reader: Reader, parsed: Parsed) -> None:
    reader.memory.survey = parsed.weights


def _clear(reader: Reader, parsed: Parsed) -> None:
    if parsed.before in ("", "all", "*"):
        reader.memory = Memory()
    if parsed.before in ("all", "*"):
        reader.programs.clear()
        reader.macros.scalars.clear()


def _estimates(reader: Reader, parsed: Parsed) -> None:
    listed = words(parsed.before)
    if len(listed) > 1 and listed[0] in ("store", "sto", "stor"):
        reader.store(listed[1:2])
    elif listed[:1] == ["clear"] or listed[:2] == ["drop", "_all"]:
        reader.stored.clear()


def _eststo(reader: Reader, parsed: Parsed) -> None:
    listed = words(parsed.before)
    if listed[:1] == ["clear"]:
        reader.stored.clear()
    else:
        reader.store(listed[:1] or [f"est{len(reader.stored) + 1}"])


def _table(reader: Reader, parsed: Parsed) -> None:
    names = words(parsed.before)
    if parsed.name in ("esttab", "estout") and (not names or "*" in names[0]):
        names = [*reader.stored]
    elif parsed.name.startswith("outr"):
        names = []
    target = quoted_words(parsed.using)
    reader.name_table(names, target[0] if target else "")


def _expanded_xi(reader: Reader, parsed: Parsed) -> None:
    """Take ``xi i.group`` as a command of its own: it makes indicators."""
    reader.memory.open = True


def _opened(reader: Reader, parsed: Parsed) -> None:
    reader.memory.open = True


def _nothing(reader: Reader, parsed: Parsed) -> None:
    """Take a command that leaves all of this as it is."""


_COMMANDS: dict[str, Callable[[Reader, Parsed], None]] = {
    **dict.fromkeys(("use", "sysuse", "webuse"), _use),
    **dict.fromkeys(("insheet", "import", "infile", "infix", "usespss", "xmluse"), _import),
    **dict.fromkeys(("save", "saveold"), _save),
    **dict.fromkeys(("merge", "mmerge", "joinby", "cross"), _combine("merge")),
    "append": _combine("append"),
    "keep": _keep,
    "drop": _drop,
    **dict.fromkeys(("generate", "egen", "replace"), _generate),
    **dict.fromkeys(
        ("recode", "encode", "decode", "destring", "tostring", "tabulate", "winsor", "winsor2"),
        _made,
    ),
    "predict": _predict,
    "xtile": _xtile,
    "clonevar": _clonevar,
    "rename": _rename,
    "renvars": _opened,
    "reshape": _reshape,
    "collapse": _collapse,
    "contract": _stepped("collapse"),
    **dict.fromkeys(("expand", "fillin", "stack", "xpose"), _stepped("expand")),
    **dict.fromkeys(("sample", "bsample"), _stepped("sample")),
    "duplicates": _nothing,
    "preserve": _preserve,
    "restore": _restore,
    **dict.fromkeys(("xtset", "tsset", "iis"), _panel),
    "svyset": _survey,
    "clear": _clear,
    "estimates": _estimates,
    "eststo": _eststo,
    **dict.fromkeys(("esttab", "estout", "outreg2", "outreg", "outtex"), _table),
    "xi": _expanded_xi,
    **dict.fromkeys(("separate", "svmat", "pca", "factor", "statsmat", "input"), _opened),
    **dict.fromkeys(("label", "order", "summarize", "cd", "mkmat", "delete", "version"), _nothing),
}

__all__ = ["full_name", "parse", "take"]
