"""What Stata would hold in memory: the file, its rows, its columns, and what these are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from dprct.dofile.macros import known, unquoted
from dprct.dofile.made import ASSIGNED, TYPED, Made, copy_of, forget
from dprct.dofile.varlists import expanded, is_plain, words
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_MOST_CONDITIONS = 60
_KEPT = re.compile(r"_m(?:e(?:r(?:ge?)?)?)?(?:(?P<all>!=2|~=2)|==3|!=1|~=1|>1|>2|>=2|>=3)")
"""Conditions on ``_merge`` that hold for rows that found their key, or (``all``) for all rows."""
_NAMES = re.compile(r"[A-Za-z_]\w*")
_MERGED = frozenset({"_merge", "_merg", "_mer", "_me", "_m"})


class Merged(NamedTuple):
    """A file that a study merges before the release."""

    # keys, columns: by what it is merged, and what it adds.
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    complete: bool  # whether every row of the data finds its key in it


class Restacked(NamedTuple):
    """A change of its rows that a study makes before the release, in the order of the study."""

    how: str  # append, reshape long, reshape wide, collapse; in do-files also merge
    by: str  # the file, "" if it is not one as it was given; the id; the columns of the groups
    # Columns that vary, or of the key; of a collapse each as "statistic new=old".
    parts: tuple[str, ...] = ()
    wave: str = ""
    waves: tuple[float, ...] = ()
    columns: tuple[str, ...] | None = None  # of the data after it, where these are known
    runs: bool = True  # whether regressions after it are those of the release
    place: tuple[str, int] = ("", 0)  # of a do-file: its line

    @property
    def varying(self) -> set[str]:
        """The columns of single waves."""
        return {f"{name}{wave:g}" for name in self.parts for wave in self.waves}


Merges = Mapping[str, Merged | Restacked]
"""Files that a study merges, by their names; and under other names how it changes its rows."""


def _free(_amount: int) -> None:
    """Count no work."""


@dataclass
class Memory:
    """The data in memory; ``columns`` is None where no header is known.

    ``made`` are columns as expressions of those of the file, ``asked`` those of conditions as they
    were when rows were chosen by them; ``torn`` are two of one name.  Of data that were
    ``prepared`` all that comes before a merge, a collapse and the like was done in the file.
    ``dummies`` are stubs of ``tabulate, generate()``, with their column and the rows tabulated;
    ``codes`` are columns that number others' values, with these as factors and the rows numbered.
    ``matched`` says of what a study merged as the do-file does whether all rows found a key.
    ``pending`` is what a study does to its rows, and the do-file has not done so far.
    ``changes`` are those that no study makes, and merges; ``place`` is the line that is read.
    ``spend`` counts work: 1 is about a microsecond, as a bound on all of it needs.
    """

    dataset: str = ""
    sources: tuple[str, ...] = ()
    sample: tuple[str, ...] = ()
    columns: list[str] | None = None
    open: bool = True
    derived: dict[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    panel: str = ""
    survey: str = ""
    made: dict[str, Made] = field(default_factory=dict)
    asked: dict[str, Made | None] = field(default_factory=dict)
    torn: frozenset[str] = frozenset()
    prepared: bool = False
    dummies: dict[str, tuple[str, str]] = field(default_factory=dict)
    codes: dict[str, tuple[str, str]] = field(default_factory=dict)
    matched: bool | None = None
    pending: tuple[Restacked, ...] = ()
    changes: tuple[Restacked, ...] = ()
    place: tuple[str, int] = ("", 0)
    spend: Callable[[int], None] = _free

    def copied(self) -> Memory:
        """Return a copy that later commands do not change."""
        columns = None if self.columns is None else [*self.columns]
        return replace(
            self,
            columns=columns,
            derived={**self.derived},
            made={**self.made},
            asked={**self.asked},
            dummies={**self.dummies},
            codes={**self.codes},
        )

    def expand(self, text: str) -> list[str]:
        """Return the variables of a list, written out where the header tells."""
        return self.expand_each(words(text))

    def expand_each(self, listed: list[str]) -> list[str]:
        """Return the variables that words mean; each word is looked for among the columns."""
        if self.columns is None or not listed:
            return [*listed]
        here, names = {*self.columns}, []
        self.spend((len(here) >> 6) + len(listed))
        for word in listed:
            names += [word] if word in here else self._expand_one(word)
        return names

    def _expand_one(self, word: str) -> list[str]:
        """Return the variables that a pattern, a range or an abbreviation means."""
        found = expanded(word, self.columns)
        self.spend((len(self.columns or ()) >> 3) + len(found) // 4)
        return found

    def add(self, name: str, made_of: str = "") -> None:
        """Take in a column that a command makes."""
        if not is_plain(name):
            return
        self.spend(len(self.columns or ()) >> 5)
        self._changed(name)
        if self.columns is not None and name not in self.columns:
            self.columns.append(name)
        if made_of:
            self.derived[name] = " ".join(known(made_of).split())[:300]

    def _changed(self, name: str) -> None:
        """Forget what numbers the values of a column that has others now."""
        self.codes = {
            code: of for code, of in self.codes.items() if name not in (code, *factors_in(of[0]))
        }
        self.dummies = {stub: of for stub, of in self.dummies.items() if of[0] != name}

    def numbered(self, name: str, columns: list[str], condition: str) -> None:
        """Take in a column that numbers the values of others, or how these occur together."""
        if name not in columns and all(map(is_plain, (name, *columns))):
            self.codes[name] = "##".join(f"i.{column}" for column in columns), condition

    def step(self, name: str) -> None:
        """Note what was done to the rows."""
        if name not in self.steps:
            self.steps = (*self.steps, name)

    def strange(self, name: str) -> None:
        """Note a command that may have done anything to the data."""
        if name not in self.unknown and len(self.unknown) < 20:
            self.unknown = (*self.unknown, name)

    def only(self, condition: str) -> None:
        """Leave the rows for which a condition holds."""
        condition = " ".join(condition.split())
        kept = None if self.matched is None else _KEPT.fullmatch(condition.replace(" ", ""))
        if kept is not None and (self.matched or kept["all"]):
            return  # rows of the other file alone have no outcome
        if self.prepared and {*re.findall(r"[A-Za-z_]\w*", condition)} & _MERGED:
            return  # who matched was chosen as files were merged
        for name in re.findall(r"[A-Za-z_]\w*", condition):
            now = self.made.get(name)
            if self.asked.setdefault(name, now) != now:
                self.torn |= {name}
        if condition and len(self.sample) < _MOST_CONDITIONS and condition not in self.sample:
            self.sample = (*self.sample, condition)

    def generate(self, command: str, text: str, condition: str) -> None:
        """Take ``gen``, ``egen`` and ``replace``."""
        while found := TYPED.match(text):
            text = text[found.end() :]
        assigned = ASSIGNED.match(text)
        if assigned is None:
            if command == "replace":
                self.strange("replace of a column that is not known")
            return
        name, made_of = assigned[1], text[assigned.end() :].strip()
        self._changed(name)
        if condition:
            made_of += f" if {condition}"
        if command == "replace":
            before = self.derived.get(name)
            if before is None:
                self.derived[name] = f"replaced: {known(made_of)}"[:300]
            elif len(before) < 200:
                self.derived[name] = f"{before}; replaced: {known(made_of)}"[:300]
            return
        self.add(name, ("egen " if command == "egen" else "") + made_of)

    def _rows_made_anew(self, why: str) -> None:
        """Refuse the columns that were made so far, or take them for those of a prepared file."""
        self.codes = {}
        self.spend(len(self.made) >> 4)
        if not self.prepared:
            forget(self.made, why)
            return
        self.made, self.derived, self.asked, self.dummies = {}, {}, {}, {}
        self.sample, self.unknown, self.torn = (), (), frozenset()

    def drop(self, names: list[str]) -> None:
        """Forget columns."""
        gone = {*self.expand_each(names)}
        if self.columns is not None:
            self.columns = [name for name in self.columns if name not in gone]
        for name in gone:
            self.derived.pop(name, None)
            self.made.pop(name, None)

    def keep(self, names: list[str]) -> None:
        """Forget all columns but these."""
        if self.columns is None:
            return
        kept = {*self.expand_each(names)}
        self.columns = [name for name in self.columns if name in kept]

    def rename(self, text: str) -> None:
        """Take ``rename old new`` and ``rename (a b) (c d)``."""
        groups = re.findall(r"\(([^()]*)\)", text)
        pairs = (
            list(zip(groups[0].split(), groups[1].split(), strict=False))
            if len(groups) == 2
            else [tuple(text.split()[:2])]
        )
        for pair in pairs:
            if len(pair) == 2 and is_plain(pair[0]) and is_plain(pair[1]):
                self._renamed(pair[0], pair[1])
            else:
                self.open = True

    def _renamed(self, old: str, new: str) -> None:
        if self.columns is not None:
            self.spend(len(self.columns) >> 5)
            self.columns = [new if name == old else name for name in self.columns]
        self._changed(old)
        copied = copy_of(old, unknown=old in self.derived)
        self.made[new] = self.made.pop(old, copied)
        self.derived[new] = self.derived.pop(old, f"renamed from {old}")

    def take_names(self, names: list[str], columns: list[str]) -> None:
        """Take columns under other names, which are empty where they are not known."""
        self.spend(len(columns))
        if self.columns is not None:
            self.columns = [name for name in names if name]
            self.open = self.open or len(self.columns) < len(columns)
        for name, column in zip(names, columns, strict=True):
            if name and name != column:
                self.made[name] = copy_of(column, unknown=False)
                self.derived[name] = f"renamed from {column}"

    def collapse(self, text: str, by: str, *, plain: bool = True) -> None:
        """Take ``collapse (mean) a b (sum) c=d, by(e)``; ``plain`` without weights and options."""
        made: dict[str, tuple[str, str]] = {}
        statistic = "mean"
        for word in re.findall(r"\([^()]*\)|[^\s()]+", re.sub(r"\s*=\s*", "=", text)):
            if word.startswith("("):
                statistic = word.strip("() ")
                continue
            new, _, old = word.partition("=")
            made |= {name: (statistic, old or name) for name in self.expand_each([new])}
        step = self._next("collapse") if plain else None
        if step is not None and self._collapses(step, made, {*self.expand(by)}):
            self._restacked(step)
            return
        said_in_order = tuple(f"{how} {name}={old}" for name, (how, old) in made.items() if plain)
        self._changed_rows(Restacked("collapse", " ".join(self.expand(by)), said_in_order))
        self.step("collapse")
        self._rows_made_anew("it is made before rows are collapsed")
        if not self.prepared:
            for name, (how, old) in made.items():
                self.derived[name] = f"collapse ({how}) {old} by {by or 'all'}"[:300]
        if self.columns is not None:
            self.columns = [*self.expand(by), *made]

    def _collapses(
        self, step: Restacked, made: Mapping[str, tuple[str, str]], by: set[str]
    ) -> bool:
        """Whether a do-file computes of the same groups what a study does, of unchanged columns."""
        said = {f"{how} {name}={old}" for name, (how, old) in made.items()}
        of = by | {old for _, old in made.values()}
        return by == {*step.by.split()} and said >= {*step.parts} and not of & {*self.derived}

    def appended(self, name: str) -> bool:
        """Whether the study puts the rows of a file below those of its data, as this does."""
        step = self._next("append")
        if step is None or step.by != name:
            return False
        self._restacked(step)
        return True

    def _changed_rows(self, change: Restacked) -> None:
        """Keep a change of rows that no study makes, for a draft of one."""
        if len(self.changes) < _MOST_CONDITIONS:
            parts = tuple(map(known, change.parts))
            by, wave = known(change.by), known(change.wave)
            change = change._replace(by=by, wave=wave, parts=parts, place=self.place)
            self.changes = (*self.changes, change)

    def _next(self, how: str) -> Restacked | None:
        """Return what a study does next to its rows, if it is this, and to all of them."""
        step = next(iter(self.pending), None)
        if step is None or step.how != how or not step.runs or self.steps or self.torn:
            return None
        conditions = {*_NAMES.findall(" ".join(self.sample))}
        if how != "reshape long":
            return None if self.sample else step
        rows = any(one.startswith(("in ", "not in ")) for one in self.sample)
        return None if rows or conditions & {*step.varying, *self.derived} else step

    def _restacked(self, step: Restacked) -> None:
        """Take a change of rows that the study makes as well."""
        self.pending = self.pending[1:]
        why = "it is made before rows are changed"
        if step.how == "reshape long":
            if self.derived.get(step.by) == "_n":  # the study numbers its rows, too
                del self.derived[step.by]
                self.made.pop(step.by, None)
            kept = {
                name: one
                for name, one in self.made.items()
                if one.expression and not {*_NAMES.findall(one.expression)} & step.varying
            }
            forget(self.made, why)
            self.made |= kept
        else:
            forget(self.made, why)
            self.dummies, self.codes = {}, {}
        if step.columns is not None and self.columns is not None:
            new = {*step.parts, *step.varying, step.wave, *step.by.split()}
            new |= {part.partition(" ")[2].partition("=")[0] for part in step.parts}
            there = {*step.columns} if step.how == "append" else {*self.columns} | new
            others = [*self.derived] if step.how in ("append", "reshape long") else []
            self.columns = [name for name in dict.fromkeys((*step.columns, *others))
                            if name in there or name in others]  # fmt: skip

    def reshape(self, text: str, i: str, j: str) -> None:
        """Take ``reshape long stub, i(id) j(year)``; a wide one opens the header."""
        kind, *stubs = text.replace("@", "").split() or [""]
        step = self._next(f"reshape {kind}")
        if step and (step.by, step.wave) == (i.strip(), j.strip()) and self._same(step, stubs):
            self._restacked(step)
            return
        waves = tuple(sorted(self._waves(stubs))) if kind == "long" else ()
        self._changed_rows(Restacked(f"reshape {kind}", i.strip(), tuple(stubs), j.strip(), waves))
        self.step("reshape")
        self._rows_made_anew("it is made before rows are reshaped")
        if self.columns is None:
            return
        if not text.startswith("long"):
            self.open = True
            return
        for stub in text.split()[1:]:
            stub = stub.replace("@", "")
            made = re.compile(re.escape(stub) + r"\d+$")
            self.spend(len(self.columns) >> 3)
            self.columns = [name for name in self.columns if not made.match(name)]
            self.columns.append(stub)
        if j:
            self.columns.append(j.split()[0])

    def _same(self, step: Restacked, stubs: list[str]) -> bool:
        """Whether a do-file reshapes the same waves as a study, and columns that vary as its do."""
        if {*step.varying, *step.parts, step.wave} & {*self.derived}:
            return False
        if step.how == "reshape wide":
            return {*self.expand_each(stubs)} == {*step.parts} and step.by not in self.derived
        if not {*stubs} & {*step.parts}:
            return False
        if self.columns is None:
            return {*stubs} <= {*step.parts} or {*step.parts} <= {*stubs}
        return self._waves(stubs) == {*step.waves}

    def _waves(self, stubs: list[str]) -> set[float]:
        """Return the waves of which there are columns."""
        return {
            float(name.removeprefix(stub))
            for stub in stubs
            for name in self.columns or ()
            if name.startswith(stub) and name.removeprefix(stub).isdecimal()
        }

    def joined(self, file: Merged) -> None:
        """Take a merge that the study makes as well: the rows stay what they are."""
        self.matched = file.complete if self.matched is None else self.matched and file.complete
        if self.columns is not None:
            here = {*self.columns}
            self.columns += [name for name in (*file.columns, "_merge") if name not in here]

    def combined(self, other: Memory | None, name: str, how: str, by: str = "") -> None:
        """Take in the columns of another file; one whose header is not known opens this one.

        What a merge matches on is kept where the other file is whole, with the rows that it has.
        """
        if how in ("append", "merge"):
            whole = other is not None and not (other.sample or other.steps or other.unknown)
            made = {*self.derived, *(other.derived if other is not None else ())}
            keys = by.split() if whole and not made & {*by.split()} else ()
            file = (other.sources[:1] if other is not None else ()) or (name,)
            self._changed_rows(Restacked(how, file[0] if whole else "", tuple(keys)))
        self.step(how)
        self._rows_made_anew(f"it is made before the {how} of another file")
        others = (0, 0) if other is None else (len(other.derived), len(other.columns or ()))
        self.spend((sum(others) + len(self.sources) + len(self.columns or ())) >> 3)
        more = (name,) if other is None or not other.sources else other.sources
        self.sources = tuple(dict.fromkeys((*self.sources, *more)))
        if other is None or other.columns is None or other.open:
            self.open = True
        if other is not None:
            self.unknown = tuple(dict.fromkeys((*self.unknown, *other.unknown)))[:20]
            for key, made_of in () if self.prepared else other.derived.items():
                self.derived.setdefault(key, made_of)
            forget(other.made, f"it is made before the {how} of another file")
            self.made = {} if self.prepared else {**other.made, **self.made}
            if self.columns is not None and other.columns is not None:
                here = {*self.columns}
                self.columns += [c for c in other.columns if c not in here]
        if how == "merge" and self.columns is not None and "_merge" not in self.columns:
            self.columns.append("_merge")


def file_name(text: str, ending: str = ".dta") -> str:
    """Return a data file's name as it would stand in the folder.

    Of a path of another machine the last part is left.
    """
    name = unquoted(known(text).split(",")[0].strip()).strip("\"'` ").replace("\\", "/")
    if re.match(r"(?:[A-Za-z]:|/|~|\.\.)", name) or "//" in name:
        name = name.rstrip("/").rpartition("/")[2]
    name = re.sub(r"^(?:\./)+", "", name)
    last = name.rpartition("/")[2]
    return name + ending if last and "." not in last[1:] else name


def conjunction(conditions: list[str]) -> str:
    """Return conditions as one; those with an "or" in them get brackets."""
    kept = [condition for condition in dict.fromkeys(conditions) if condition]
    if len(kept) < 2:
        return "".join(kept)
    return " & ".join(c if not _has_or(c) else f"({c})" for c in kept)


def _has_or(condition: str) -> bool:
    depth = 0
    for letter in condition:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            return True
    return False


def negation(condition: str) -> str:
    """Condition that remains where another is dropped."""
    if re.fullmatch(r"[\w.]+\s*(?:==|!=|~=)\s*[\w.\"-]+", condition):
        if "==" in condition:
            return condition.replace("==", "!=", 1)
        return re.sub(r"!=|~=", "==", condition, count=1)
    return f"!({condition})"


def bindings(derived: dict[str, str], names: list[str]) -> dict[str, str]:
    """Sources of those of the names that are made by do-files."""
    found: dict[str, str] = {}
    left = [*reversed(dict.fromkeys(names))]
    while left:
        name = left.pop()
        if name in derived and name not in found:
            found[name] = derived[name]
            left += reversed(factors_of(derived[name]))
    return found


def multiplied(name: str, derived: dict[str, str]) -> list[str] | None:
    """Return the columns of the data whose product a column is, each once; None if it is none.

    Examples
    --------
    >>> multiplied("txrp", {"txr": "treat*rural", "txrp": "txr*post"})
    ['treat', 'rural', 'post']
    """
    found = []
    for part in factors_of(derived[name]):
        inner = multiplied(part, derived) if part in derived else [part]
        if inner is None:
            return None
        found += inner
    return found if found and len({*found}) == len(found) else None


def factors_in(word: str) -> list[str]:
    """Return the columns of a product of factors.

    Examples
    --------
    >>> factors_in("i.village##i.wave")
    ['village', 'wave']
    """
    return [part.removeprefix("i.") for part in re.split("#+", word)]


_PRODUCT = re.compile(r"[A-Za-z_]\w*(?:\s*\*\s*[A-Za-z_]\w*)+")


def factors_of(made_of: str) -> list[str]:
    """Return the columns whose product a column is; none where it is something else.

    Examples
    --------
    >>> factors_of("treat * post"), factors_of("replaced: treat*post"), factors_of("2*post")
    (['treat', 'post'], [], [])
    """
    if not _PRODUCT.fullmatch(made_of.strip()):
        return []
    return [part.strip() for part in made_of.split("*")]


def depends_on(name: str, wanted: Collection[str], derived: dict[str, str], depth: int = 0) -> bool:
    """Whether a column is one of those wanted, or is made of one."""
    if name in wanted:
        return True
    if depth > 6 or name not in derived:
        return False
    parts = set(re.findall(r"[A-Za-z_]\w*", derived[name])) - {name}
    return any(depends_on(part, wanted, derived, depth + 1) for part in parts)
