"""How often confidential data were opened under declared facts, and refused them.

Who widens a bound each time the data refuse it finds their maximum, and nothing is charged for it.
So what was tried is remembered: in the ledger of the data set, where there is one, else in a small
file next to the data, and in memory where there is no file.  A record that was deleted cannot be
detected, and neither can one of a copy of the data in another folder: what counts them says so.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from dprct import disk
from dprct.errors import DprctError
from dprct.privacy.accountant import Accountant
from dprct.privacy.charges import Opening, now
from dprct.privacy.ledger import SUFFIX, checked_id, kept_ledger, ledger_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

RECORD = ".openings.jsonl"
"""How the file ends that remembers openings where there is no ledger."""

_MOST = 1 << 26


class Openings:
    """What is remembered of openings; a schema and all that are made of it share one.

    Examples
    --------
    >>> found = Openings()
    >>> found.note(None, None, {"wage": "0 to 1"}, refused=True)
    >>> found.counted(None, None, lambda name: "0 to 3")
    (1, 0)
    """

    def __init__(self) -> None:
        self._here: list[Opening] = []

    def note(
        self,
        source: Path | None,
        dataset_id: str | None,
        facts: Mapping[str, str],
        *,
        refused: bool,
    ) -> None:
        """Remember an opening before anybody is told how it ended.

        Without a file, or where nothing can be written next to it, it is remembered in memory.
        Every refusal counts; of what passed, the same facts count once, and without a
        ``dataset_id`` not at all.
        """
        if source is not None and (refused or self._is_new(source, dataset_id, facts)):
            with contextlib.suppress(OSError, DprctError):
                _write(source, dataset_id, dict(facts), refused)
                return
        if refused:
            name = "" if source is None else source.name
            self._here.append(Opening(now(), refused, dict(facts), name, ""))

    def counted(
        self, source: Path | None, dataset_id: str | None, fact_of: Callable[[str], str | None]
    ) -> tuple[int, int]:
        """How many openings were refused, and how many other facts passed before.

        ``fact_of`` gives the hash of what is declared of a column now.
        """
        found = [*self._here, *([] if source is None else _kept(source, dataset_id))]
        names = {name for one in found for name in one.facts}
        facts = {name: said for name in names if (said := fact_of(name)) is not None}
        passed = {
            tuple(sorted(one.facts.items()))
            for one in found
            if not one.refused and one.differs(facts)
        }
        return sum(one.refused for one in found), len(passed)

    def _is_new(self, source: Path, dataset_id: str | None, facts: Mapping[str, str]) -> bool:
        return dataset_id is not None and not any(
            one.facts == facts for one in _kept(source, dataset_id) if not one.refused
        )


def record_path(source: Path, dataset_id: str | None) -> Path:
    """Place where openings of a data set without a ledger are remembered: next to the data."""
    folder = ledger_path(source, "any").parent
    name = source.name if dataset_id is None else checked_id(dataset_id)
    return folder / f"{name}{RECORD}"


def _write(source: Path, dataset_id: str | None, facts: dict[str, str], refused: bool) -> None:
    opening = Opening(now(), refused, facts, source.name, disk.sha256(source))
    ledger = None if dataset_id is None else kept_ledger(source, dataset_id)
    if ledger is not None:
        with contextlib.suppress(DprctError):  # one that is damaged: the file remembers as well
            Accountant.load(ledger, dataset_id=dataset_id).note_opening(opening)
            return
    line = json.dumps(asdict(opening)).encode()
    disk.append_line(record_path(source, dataset_id), line)


def _kept(source: Path, dataset_id: str | None) -> list[Opening]:
    """Return the openings of a data set, and those of the same file under other names."""
    own = record_path(source, dataset_id)
    mine = [own] if dataset_id is None else [own, ledger_path(source, dataset_id)]
    found = [one for path in mine for one in _read(path)]
    # of one data set with several files, facts that passed are those of this file alone
    known = [one for one in found if one.refused or one.file == source.name]
    others = [path for end in (RECORD, SUFFIX) for path in sorted(own.parent.glob(f"*{end}"))]
    rest = [one for path in others if path not in mine for one in _read(path)]
    if rest:
        with contextlib.suppress(OSError, DprctError):
            sha256 = disk.sha256(source)
            known += [one for one in rest if sha256 == one.sha256 or one.file == source.name]
    return known


def _read(path: Path) -> Iterator[Opening]:
    """Yield what a record or a ledger has; a line that cannot be read counts as a refusal."""
    if path.name.endswith(SUFFIX):
        if path.exists():
            with contextlib.suppress(DprctError):  # whoever charges it is told of its damage
                yield from Accountant.load(path).openings
        return
    try:
        lines = disk.content(path, _MOST).splitlines()
    except FileNotFoundError:
        return
    except OSError:
        lines = [b""]
    for line in lines:
        try:
            yield Opening(**json.loads(line))
        except (ValueError, TypeError, AttributeError, RecursionError):
            yield Opening("", True, {}, "", "")
