"""Reading a ledger: what was saved, by which entry, and entries that promise nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import BudgetError, DprctError, LedgerError, ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.composition import Charge, zcdp_rho

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["memory", "file"])
def accountant(request: pytest.FixtureRequest, tmp_path: Path) -> Accountant:
    if request.param == "memory":
        return Accountant(1)
    return Accountant.open(tmp_path / "t.ledger.json", dataset_id="t", epsilon=1)


def test_an_entry_is_found_by_id_and_by_number(accountant: Accountant) -> None:
    made = [
        accountant.charge(Budget(0.25), method=m, relation="replace-one") for m in ("one", "two")
    ]
    assert accountant.entry(made[1].id) == accountant.entry("2") == made[1]
    for unknown in ("3", "", made[0].id[:-1]):
        with pytest.raises(LedgerError, match="no entry"):
            accountant.entry(unknown)


def test_what_was_saved_is_known(accountant: Accountant) -> None:
    entry = accountant.charge(Budget(0.25), method="m", relation="replace-one")
    assert not accountant.is_saved(entry.id)
    accountant.record(entry.id, {"x": [1]})
    assert accountant.is_saved(entry.id)
    assert [one["entry"] for one in accountant.to_dict()["saved"]] == [entry.id]
    with pytest.raises(LedgerError, match="no entry"):
        accountant.is_saved("9")


def test_a_charge_is_rehearsed_and_not_made(accountant: Accountant) -> None:
    accountant.charge(Budget(0.25), method="m", relation="replace-one")
    accountant.rehearse(Charge.of(Budget(0.75)), relation="replace-one", unit="person")
    with pytest.raises(BudgetError, match=r"epsilon=0\.75 of epsilon=1 is left"):
        accountant.rehearse(Charge.of(Budget(0.76)), relation="replace-one", unit="person")
    with pytest.raises(BudgetError, match="delta=1e-09"):
        accountant.rehearse(Charge.of(Budget(0.5, 1e-9)), relation="replace-one", unit="person")
    accountant.rehearse(
        Charge.of(Budget(0.5)),
        relation="replace-one-design-public",
        unit="village",
        unit_id="v",
        max_rows=9,
    )
    with pytest.raises(ParameterError, match="no relation is known"):
        accountant.rehearse(Charge.of(Budget(0.5)), relation="add-remove", unit="person")
    with pytest.raises(ParameterError, match="per 'village'"):
        accountant.rehearse(Charge.of(Budget(0.5)), relation="replace-one", unit="village")
    assert len(accountant.ledger) == 1


@pytest.mark.parametrize("composition", ["sequential", "zcdp", "gdp"])
@pytest.mark.parametrize(
    ("cost", "facts"),
    [
        (Charge.of(Budget(0.5)), {}),
        (Charge.of(Budget(0.5, 1e-7)), {}),
        (Charge(Budget(0.5, 1e-7), "approximate", rho=Fraction(1, 200)), {}),
        (
            Charge(Budget(0.5, 1e-7), "approximate", gaussian=(Fraction(1, 200), Fraction(0))),
            {},
        ),
        (Charge(Budget(0.5, 1e-7), "approximate", rho=Fraction(1, 200)), {"max_rows": 40}),
        (Charge.of(Budget(3)), {}),
        (Charge.of(Budget(0.5)), {"relation": "replace-one-design-public"}),
        (Charge.of(Budget(0.5)), {"unit": "village"}),
    ],
)
def test_a_rehearsal_says_what_the_charge_says(composition, cost, facts) -> None:
    def said(use: Any) -> str | None:
        try:
            use()
        except DprctError as error:
            return f"{type(error).__name__}: {error}"
        return None

    accountant = Accountant(1, 1e-6, composition=composition, relation="replace-one")
    facts = {"relation": "replace-one", **facts}
    rehearsed = said(lambda: accountant.rehearse(cost, **facts))
    assert accountant.ledger == ()
    assert said(lambda: accountant.charge(cost, method="m", **facts)) == rehearsed
    # each rule takes one of these and refuses another, so that neither is silent throughout
    if cost == Charge.of(Budget(3)):
        assert rehearsed is not None
    if cost.rho and facts.get("max_rows") is None and composition != "gdp":
        assert rehearsed is None


def test_an_entry_without_guarantee_costs_nothing_and_is_not_hidden(accountant: Accountant) -> None:
    accountant.charge(Budget(0.25), method="m", relation="replace-one")
    entry = accountant.note_unprotected(method="published.X", reason="bins come from the data")
    assert (entry.priced, entry.relation, entry.budget, entry.measure) == (
        False, None, Budget(0), "none",
    )  # fmt: skip
    assert accountant.spent == Budget(0.25)
    assert accountant.remaining == Budget(0.75)
    assert "NO GUARANTEE for 1 of 2 entries" in str(accountant)
    assert accountant.to_dict()["entries"][1]["description"] == "bins come from the data"


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_every_rule_leaves_it_out(composition) -> None:
    accountant = Accountant(1, 1e-6, composition=composition)
    accountant.note_unprotected(method="published.X", reason="bins come from the data")
    assert accountant.spent == Budget(0)
    assert accountant.remaining == accountant.total
    if composition == "zcdp":  # what would be the first charge still is judged by its own claim
        rho = zcdp_rho(1, 1e-6)
        accountant.charge(
            Budget(1, 1e-6), measure="zcdp", parameter=rho, method="m", relation="replace-one"
        )
        assert accountant.spent == Budget(1, 1e-6)


def test_an_entry_holds_unit_and_rows(accountant: Accountant) -> None:
    entry = accountant.charge(
        Budget(0.5), method="m", relation="replace-one", unit_id="hhid", max_rows=3
    )
    assert (entry.unit_id, entry.max_rows) == ("hhid", 3)
    assert accountant.ledger == (entry,)
    assert accountant.to_dict()["entries"][0]["max_rows"] == 3
