"""Hashes of a ledger: a checksum over all of it, and a chain in which every entry stands."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TERMS = ("dataset_id", "epsilon", "delta", "relation", "unit", "composition")
"""What a ledger fixes before its first entry."""


def checksum(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-ready values, whatever their order.

    Examples
    --------
    >>> checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1})
    True
    """
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def chained(ledger: Mapping[str, Any]) -> list[str]:
    """Return the link of every entry: the SHA-256 of the link before it and of the entry.

    Parameters
    ----------
    ledger : mapping
        The values of a ledger file; links that its entries have already do not count.

    Returns
    -------
    list of str
        One longer than the entries: the first link is of the terms.

    Notes
    -----
    The last link stands for the terms and for every entry up to it.  Certificates carry it, so
    that a ledger from which entries were removed, or in which they were changed, contradicts the
    certificates of the releases that it paid for, even if its own checksum was computed again.

    Examples
    --------
    >>> links = chained({"epsilon": "1", "entries": [{"id": "1-a"}, {"id": "2-b"}]})
    >>> links[:2] == chained({"epsilon": "1", "entries": [{"id": "1-a"}]})
    True
    """
    links = [first_link(ledger)]
    for entry in ledger["entries"]:
        links.append(link_after(links[-1], entry))
    return links


def first_link(terms: Mapping[str, Any]) -> str:
    """Return the link of the terms of a ledger."""
    return checksum({name: terms.get(name) for name in TERMS})


def link_after(before: str, entry: Mapping[str, Any]) -> str:
    """Return the link of an entry that follows a link; one that it has already does not count."""
    bare = {name: value for name, value in entry.items() if name != "chain"}
    return checksum({"after": before, "entry": bare})


def first_broken(ledger: Mapping[str, Any], links: Sequence[str]) -> int | None:
    """Return the number of the first entry, from 1, that does not continue the chain."""
    for number, (entry, link) in enumerate(zip(ledger["entries"], links[1:], strict=True), 1):
        if entry.get("chain") != link:
            return number
    return None
