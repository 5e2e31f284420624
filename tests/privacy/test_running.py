"""Sums of a ledger that are kept, and not counted again."""

from __future__ import annotations

import json
from fractions import Fraction

from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.charges import Sums

FACTS = {"method": "m", "relation": "replace-one"}


def test_sums_stay_short_and_never_too_small() -> None:
    accountant = Accountant(50)
    exact = Fraction(0)
    for k in range(1, 700):
        part = Fraction(1, 2**20 + 2 * k + 1)
        accountant.charge(Budget(part), **FACTS)
        exact += part
    spent = accountant.spent.epsilon
    assert exact <= spent <= exact + Fraction(1, 2**1900)
    assert spent.denominator.bit_length() <= 4000


def test_json_brings_sums_back() -> None:
    accountant = Accountant(9)
    accountant.charge(Budget(Fraction(1, 3)), public_facts=["n"], not_covered=[], **FACTS)
    accountant.charge(Budget(1), parallel_group="arms", block="a", **FACTS)
    accountant.charge(Budget(2), parallel_group="arms", block="b", unit_id="v", **FACTS)
    accountant.note_unprotected(method="published.X", reason="none")
    sums = accountant._current().sums
    assert Sums.from_dict(json.loads(json.dumps(sums.to_dict()))) == sums
    assert sums.cost == (Fraction(7, 3), 0)
    assert (sums.entries, sums.priced, sums.first) == (4, 3, Budget(Fraction(1, 3)))
    assert sums.parts.unrecorded == ((2, 3),)
