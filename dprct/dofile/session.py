"""What one session of Stata would hold: macros, data, saved files, programs, stored estimates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.dofile.macros import Macros, known, unquoted
from dprct.dofile.memory import Memory, Merged, Restacked
from dprct.dofile.regression import Regression
from dprct.dofile.varlists import imported_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.dofile.lines import Block
    from dprct.dofile.memory import Merges

MOST_ROWS = 20_000
_MOST_NOTES = 200


class Session:
    """Macros, data in memory, saved files, programs, and the rows found so far."""

    def __init__(
        self,
        header: Sequence[str] | None,
        dataset: str | None,
        treatments: frozenset[str],
        work: int,
        others: Mapping[str, Sequence[str]] | None = None,
        *,
        prepared: bool = False,
        merges: Merges | None = None,
        former: Mapping[str, str] | None = None,
    ) -> None:
        self.former = former or {}
        given = merges or {}
        self.merges: dict[str, tuple[Merged, int]] = {}
        self.restacked: tuple[Restacked, ...] = ()
        for name, one in given.items():
            if isinstance(one, Merged):
                self.merges[_base(name)] = one, len(self.restacked)
            else:
                self.restacked = (*self.restacked, one)
        self.prepared = prepared
        self.header = None if header is None else [*header]
        self.header_of = dataset
        self.headers = {_base(name): [*columns] for name, columns in (others or {}).items()}
        self.treatments = treatments
        self.macros = Macros(work, columns=self._written_out)
        self.saved: dict[str, Memory] = {}
        self.memory = self.opened("")
        self.preserved: list[Memory] = []
        self.programs: dict[str, tuple[Block, str]] = {}  # with the file that defines each
        self.stored: dict[str, Regression] = {}
        self.rows: list[Regression] = []
        self.notes: list[str] = []
        self.passed_over: dict[str, int] = {}
        self.doubts: list[str] = []
        self.table = ""
        self.level = ""
        self.file = ""
        self.line = 0
        self.makings = 0
        self.folder = Path()
        self.depth = 0
        self.temporary = 0
        self.run_from_others: set[Path] = set()
        self.begun: list[Path] = []
        self.own_rows: dict[Path, tuple[int, int]] = {}

    def opened(self, name: str) -> Memory:
        """Return the memory after ``use``: what was saved under the name, or a file of theirs."""
        self.macros.spend(len(self.header or ()) // 32)
        if name in self.saved:
            self.macros.spend(len(self.saved[name].derived))
            memory = self.saved[name].copied()
            memory.dataset = name
            return memory
        mine = name and (self.header_of is None or _base(name) == _base(self.header_of))
        columns = [*self.header] if self.header is not None and (mine or not name) else None
        if name and _base(name) in self.headers and not (mine and self.header_of is not None):
            columns = [*self.headers[_base(name)]]
            self.macros.spend(len(columns) // 32)
        return Memory(
            name, (name,) if name else (), columns=columns, open=columns is None or not name,
            spend=self.macros.spend, prepared=self.prepared,
            pending=self.restacked if mine or not name else (),
        )  # fmt: skip

    def imported(self, name: str, case: str) -> Memory:
        """Return the memory after a text file was read, under the names that Stata makes of its."""
        memory = self.opened(name)
        of_text = (self.header_of or "").lower().endswith(".csv") and name not in self.saved
        if of_text and _base(name) == _base(self.header_of or ""):
            columns = [*self.former] if memory.columns is None else memory.columns
            former = [self.former.get(one, one) for one in columns]
            memory.take_names(imported_names(former, case), columns)
        return memory

    def merged(self, name: str, by: str) -> Merged | None:
        """Return how the study merges a file as the do-file does; None if it does not.

        Rows that are appended after a merge have none of its columns.
        """
        found, before = self.merges.get(_base(name), (None, 0))
        if found is None or name in self.saved or {*by.split()} != {*found.keys}:
            return None
        done = len(self.restacked) - len(self.memory.pending)
        between = self.restacked[min(before, done) : max(before, done)]
        if any(one.how == "append" for one in between):
            return None
        return None if {*found.keys} & {*self.memory.derived} else found

    def _written_out(self, listed: Sequence[str]) -> list[str]:
        return self.memory.expand(" ".join(listed))

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(known(text))

    def store(self, names: Sequence[str]) -> None:
        """Keep the last estimation under its names."""
        self.stored[""] = self.rows[-1] if self.rows else Regression("", 0, "")
        for name in names:
            if self.rows and len(self.stored) < MOST_ROWS:
                self.stored[name] = self.rows[-1]

    def name_table(self, names: Sequence[str], using: str) -> None:
        """Give a table's file name to the estimations that it shows and no comment names."""
        title = unquoted(known(using)).replace("\\", "/").rpartition("/")[2][:80]
        if not title:
            return
        begin = max(len(self.rows) - 400, 0)
        place = {id(row): n for n, row in enumerate(self.rows[begin:], begin)}
        self.macros.spend(50)
        fits = [(name, self.stored[name]) for name in names if name in self.stored]
        if not names and self.rows:
            fits = [("", self.rows[-1])]
        for name, row in fits:
            number = place.get(id(row), -1)
            if number < 0 or row.table:
                continue
            note = "; ".join(part for part in (title, row.note) if part)
            self.rows[number] = replace(row, table=title, note=note)
            self.stored[name] = self.rows[number]


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".dta")
