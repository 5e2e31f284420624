"""What certificates and documents of results say that a ledger has, and whether it has it.

They are read for this alone: a ledger is shown without what reads data and methods.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from dprct import disk
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.charges import Entry


@dataclass(frozen=True)
class Needed:
    """What a ledger must have for a file to be found in it, as the file's certificate says."""

    dataset_id: str
    entries: tuple[str, ...]  # ids of entries
    heads: tuple[str, ...]  # the first 16 digits of links of the chain

    @classmethod
    def of(cls, words: str) -> Needed | None:
        """Receipt that the words of a :class:`Receipt` name; None where no ledger on file is named.

        Examples
        --------
        >>> Needed.of("entry 1-0123456789ab of data set 'trial'; ledger head 0123456789abcdef")
        Needed(dataset_id='trial', entries=('1-0123456789ab',), heads=('0123456789abcdef',))
        >>> Needed.of("charged to no ledger") is None
        True
        """
        found = _ENTRY_OF.findall(words)
        if not found:
            return None
        return cls(found[0][1], tuple(entry for entry, _ in found), tuple(_HEAD.findall(words)))

    def __str__(self) -> str:
        in_chain = f" with {', '.join(self.heads)} in its chain" if self.heads else ""
        return f"a ledger of {self.dataset_id!r} that has entry {', '.join(self.entries)}{in_chain}"


_ENTRY_OF = re.compile(r"entry ([0-9]{1,9}-[0-9a-f]{12}) of data set '([A-Za-z0-9._-]+)'")
_HEAD = re.compile(r"ledger head ([0-9a-f]{16})")


def lacking(ledger: Accountant, needed: Needed) -> list[str]:
    """Facts of a certificate that its ledger lacks, in words.

    The head that a certificate carries is a link of the chain: whoever takes an entry away, or
    changes one, and computes all hashes again has a ledger without it.
    """
    ids, links = {entry.id for entry in ledger.ledger}, ledger.heads
    lost = [f"entry {one}" for one in needed.entries if one not in ids]
    return lost + [f"head {h}" for h in needed.heads if not any(k.startswith(h) for k in links)]


def certified_words(folder: Path) -> dict[str, str]:
    """Statements of the certificates and results in a folder on a ledger, by their files.

    What cannot be read, or is neither, says nothing here.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(disk.content(path, disk.MOST_JSON))
            words = content["ledger"]
            name = content["file"]["name"] if "file" in content else path.name
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
        if isinstance(words, str) and isinstance(name, str):
            found[name] = words
    return found


def state_of(entry: Entry, found: Accountant, certified: Mapping[str, str]) -> tuple[str, str]:
    """State of a ledger's entry, and the file that was written.

    The states are ``written``, ``saved`` (it can be resumed, free), ``crashed`` (spent, nothing was
    saved) and ``no-guarantee``.
    """
    if not entry.priced:
        return "no-guarantee", ""
    for name, words in certified.items():
        if f"entry {entry.id} of" in words:
            return "written", name
    return "saved" if found.is_saved(entry.id) else "crashed", ""
