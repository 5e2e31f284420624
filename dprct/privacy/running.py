"""The running state of a ledger: what its charges cost and promise, however many they are.

A charge needs the sums of those before it and not the charges: with the sums kept, it takes as
long in a ledger of ten thousand entries as in an empty one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dprct.privacy.budget import Budget, spelled
from dprct.privacy.chain import link_after
from dprct.privacy.composition import NOTHING, Cost
from dprct.privacy.numbers import fraction
from dprct.privacy.together import Parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.charges import Entry
    from dprct.privacy.composition import Rule


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of all entries of a ledger together.

    Parameters
    ----------
    head : str
        The last link of their chain.
    entries, priced : int
        How many there are, and how many claim something.
    first : Budget or None
        The claim of the first that has a price.
    alone : (Fraction, Fraction)
        The summed cost of the charges that are in no parallel group.
    groups : mapping of str to mapping of str to (Fraction, Fraction)
        The summed cost of each block of each parallel group.
    parts : Parts
        What the charges promise together.
    """

    head: str
    entries: int = 0
    priced: int = 0
    first: Budget | None = None
    alone: Cost = NOTHING
    groups: Mapping[str, Mapping[str, Cost]] = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)

    def with_entry(self, entry: Entry, rule: Rule) -> Sums:
        """Return the sums with one more entry; ParameterError if the rule does not add it."""
        head = link_after(self.head, entry.to_dict())
        counted = replace(self, head=head, entries=self.entries + 1)
        if not entry.priced:
            return counted
        cost, alone, groups = rule.cost(entry.charge), self.alone, self.groups
        if entry.parallel_group is None:
            alone = added(alone, cost)
        else:
            blocks = dict(groups.get(entry.parallel_group, {}))
            block = entry.block or ""
            blocks[block] = added(blocks.get(block, NOTHING), cost)
            groups = {**groups, entry.parallel_group: blocks}
        return replace(
            counted,
            priced=self.priced + 1,
            first=self.first or entry.budget,
            alone=alone,
            groups=groups,
            parts=self.parts.with_entry(entry),
        )

    @property
    def cost(self) -> Cost:
        """The summed cost: blocks of one parallel group count as the largest of them."""
        total = self.alone
        for blocks in self.groups.values():
            largest = max(c[0] for c in blocks.values()), max(c[1] for c in blocks.values())
            total = added(total, largest)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; numbers are exact text."""
        return {
            "head": self.head,
            "entries": self.entries,
            "priced": self.priced,
            "first": None if self.first is None else _text((self.first.epsilon, self.first.delta)),
            "alone": _text(self.alone),
            "groups": {
                group: {block: _text(cost) for block, cost in blocks.items()}
                for group, blocks in self.groups.items()
            },
            "parts": self.parts.to_dict(),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Sums:
        """Return the sums that :meth:`to_dict` wrote."""
        values = dict(facts)
        first = values["first"]
        values["first"] = None if first is None else Budget(*_cost(first))
        values["alone"] = _cost(values["alone"])
        values["groups"] = {
            group: {block: _cost(cost) for block, cost in blocks.items()}
            for group, blocks in values["groups"].items()
        }
        values["parts"] = Parts.from_dict(values["parts"])
        return cls(**values)


_MOST_BITS, _KEPT_BITS = 4000, 2000


def added(left: Cost, right: Cost) -> Cost:
    """Return the sum of two costs, exact unless its denominator passes a thousand digits.

    Such a sum is rounded up, so that it stays a bound and a ledger of any length can be written.
    """
    return _held(left[0] + right[0]), _held(left[1] + right[1])


def _held(number: Fraction) -> Fraction:
    if number.denominator.bit_length() <= _MOST_BITS:
        return number
    return Fraction(math.ceil(number * 2**_KEPT_BITS), 2**_KEPT_BITS)


def _text(cost: Cost) -> list[str]:
    return [spelled(cost[0]), spelled(cost[1])]


def _cost(text: list[str]) -> Cost:
    return fraction(text[0]), fraction(text[1])
