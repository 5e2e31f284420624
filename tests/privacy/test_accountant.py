from __future__ import annotations

import copy
import pickle
import re
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import BudgetError, LedgerError, ParameterError
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import RELATIONS, Budget
from dprct.privacy.composition import Charge, gdp_mu, zcdp_rho

if TYPE_CHECKING:
    from pathlib import Path

FACTS: dict[str, Any] = {"method": "MVHistogram", "relation": "replace-one"}


def gaussian(epsilon: float, delta: float, measure: str) -> dict[str, Any]:
    parameter = gdp_mu(epsilon, delta) if measure == "gdp" else zcdp_rho(epsilon, delta)
    return {"cost": Budget(epsilon, delta), "measure": measure, "parameter": parameter, **FACTS}


@pytest.mark.parametrize(("part", "times"), [(0.1, 10), (Fraction(1, 3), 3), (0.7, 1)])
def test_exact_parts_of_a_budget_fit_and_nothing_more(part: float, times: int) -> None:
    accountant = Accountant(Fraction(str(part)) * times if times != 3 else 1)
    for _ in range(times):
        accountant.charge(Budget(part), **FACTS)
    assert accountant.remaining == Budget(0)
    assert accountant.spent == accountant.total
    with pytest.raises(BudgetError):
        accountant.charge(Budget(Fraction(1, 10**30)), **FACTS)
    assert len(accountant.ledger) == times


def test_a_refusal_says_what_was_asked_left_and_total_and_changes_nothing() -> None:
    accountant = Accountant(1, 1e-6)
    accountant.charge(Budget(0.75, 1e-7), **FACTS)
    before = accountant.to_dict()
    with pytest.raises(BudgetError) as refusal:
        accountant.charge(Budget(0.5), **FACTS)
    text = str(refusal.value)
    for part in ("epsilon=0.5,", "epsilon=0.25, delta=9e-07", "epsilon=1, delta=1e-06", "ask for"):
        assert part in text
    assert accountant.to_dict() == before


def test_delta_alone_can_be_what_does_not_fit() -> None:
    with pytest.raises(BudgetError, match="delta"):
        Accountant(1).charge(Budget(0.5, 1e-9), **FACTS)


@pytest.mark.parametrize("charged", list(RELATIONS))
@pytest.mark.parametrize("kept", list(RELATIONS))
def test_a_relation_that_is_demanded_is_kept(charged, kept) -> None:
    accountant = Accountant(1, relation=kept)
    allowed = charged == kept or (charged, kept) == ("replace-one", "replace-one-design-public")
    if allowed:
        accountant.charge(Budget(0.5), method="m", relation=charged)
        assert accountant.ledger[0].relation == charged
    else:
        with pytest.raises(ParameterError, match="hold under relation"):
            accountant.charge(Budget(0.5), method="m", relation=charged)
        assert accountant.ledger == ()


def test_a_unit_that_is_demanded_is_kept() -> None:
    accountant = Accountant(1, unit="household")
    with pytest.raises(ParameterError, match=r"'person'.*'household'"):
        accountant.charge(Budget(0.5), unit="person", **FACTS)
    accountant.charge(Budget(0.5), **FACTS)
    assert accountant.ledger[0].unit == "household"


def test_without_a_demand_the_sum_says_what_all_charges_protect() -> None:
    accountant = Accountant(1)
    assert (accountant.relation, accountant.unit, accountant.together) == (None, None, None)
    accountant.charge(Budget(0.25), not_covered=["column g"], public_facts=["n = 9"], **FACTS)
    assert accountant.together is not None
    assert accountant.together.relations == ("replace-one", "replace-one-design-public")
    accountant.charge(
        Budget(0.5), method="Calibrated", relation="replace-one-design-public",
        unit="cluster of g", unit_id="g", max_rows=4, public_facts=["n = 9", "arm sizes"],
        not_covered=["treatment of anybody"],
    )  # fmt: skip
    with pytest.raises(ParameterError, match="no relation is known"):
        accountant.charge(Budget(0.25), method="m", relation="add-remove")
    with pytest.raises(ParameterError, match="'person' and per 'donor' cannot be added"):
        accountant.charge(Budget(0.25), unit="donor", **FACTS)
    for text in (
        "per row (any relation, sequential)",
        "under replace-one-design-public, the weakest relation of them.",
        "takes as public what any charge does: n = 9; arm sizes.",
        "not protect what any charge does not: column g; treatment of anybody.",
    ):
        assert text in str(accountant)
    assert accountant.spent == Budget(0.75)


def test_a_refusal_for_want_of_budget_advises_no_way_around_it(tmp_path: Path) -> None:
    accountant = Accountant.open(tmp_path / "t.ledger.json", dataset_id="t", epsilon=1)
    accountant.charge(Budget(1), **FACTS)
    for use in (
        lambda: accountant.charge(Budget(0.5), **FACTS),
        lambda: accountant.rehearse(Charge.of(Budget(0.5)), relation="replace-one", unit="person"),
    ):
        with pytest.raises(BudgetError, match="stays spent; ask for less") as refusal:
            use()
        assert not re.search(
            r"accountant|data set|dataset|open|start|new|another", str(refusal.value)
        )


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_what_a_rule_cannot_add_is_refused_without_a_way_around_the_budget(composition) -> None:
    accountant = Accountant(1, 1e-6, composition=composition)
    with pytest.raises(ParameterError, match="fit with delta=0") as refusal:
        accountant.charge(Budget(0.5, 1e-7), **FACTS)
    assert "open" not in str(refusal.value)
    assert accountant.ledger == ()
    accountant.charge(Budget(0.5), **FACTS)
    assert accountant.spent.fits(accountant.total)


def test_an_entry_holds_what_was_charged() -> None:
    accountant = Accountant(1, 1e-6)
    mu = gdp_mu(0.5, 1e-7)
    entry = accountant.charge(description="table 2", **gaussian(0.5, 1e-7, "gdp"))
    assert accountant.ledger == (entry,)
    assert (entry.method, entry.budget, entry.measure, entry.parameter) == (
        "MVHistogram",
        Budget(0.5, 1e-7),
        "gdp",
        mu,
    )
    assert entry.description == "table 2"
    assert entry.when.endswith("Z")
    with pytest.raises(AttributeError):
        entry.method = "other"  # type: ignore[misc]


def test_a_mechanisms_charge_is_taken_as_it_is() -> None:
    accountant = Accountant(1)
    charge = Charge(Budget(0.5), "pure")
    assert accountant.charge(charge, **FACTS).charge is charge
    with pytest.raises(ParameterError, match="states its measure"):
        accountant.charge(charge, measure="pure", **FACTS)


def test_parallel_charges_cost_the_largest() -> None:
    accountant = Accountant(1)
    for block in ("treated", "control"):
        accountant.charge(Budget(0.6), parallel_group="arms", block=block, **FACTS)
    assert accountant.spent == Budget(0.6)
    with pytest.raises(BudgetError):
        accountant.charge(Budget(0.6), parallel_group="arms", block="control", **FACTS)


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_gaussians_compose_more_tightly_than_their_claims(composition) -> None:
    accountant = Accountant(1, 1e-6, composition=composition)
    times = 16
    for _ in range(times):
        accountant.charge(**gaussian(0.2, 1e-6, composition))
    assert accountant.spent.delta == Fraction(1, 10**6)
    assert 0.2 * 4 * 0.9 < accountant.spent.epsilon < 1 < 0.2 * times
    left = accountant.remaining
    accountant.charge(**gaussian(left.epsilon, left.delta, composition))
    with pytest.raises(BudgetError):
        accountant.charge(**gaussian(0.01, 1e-6, composition))
    assert accountant.spent.fits(Budget(accountant.total.epsilon * (1 + Fraction(1, 10**9)), 1e-6))


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_the_first_charge_may_be_the_whole_budget(composition) -> None:
    accountant = Accountant(1, 1e-6, composition=composition)
    accountant.charge(**gaussian(1, 1e-6, composition))
    assert accountant.spent.fits(accountant.total)
    assert accountant.remaining.epsilon < Fraction(1, 100)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1), max_size=12))
def test_spent_and_left_always_make_the_total(parts: list[Fraction]) -> None:
    accountant = Accountant(1)
    for part in parts:
        before = accountant.remaining
        if part <= before.epsilon:
            accountant.charge(Budget(part), **FACTS)
        else:
            with pytest.raises(BudgetError):
                accountant.charge(Budget(part), **FACTS)
        assert accountant.spent + accountant.remaining == Budget(1)


def test_threads_share_a_budget_without_overspending() -> None:
    accountant = Accountant(1)
    refused: list[BudgetError] = []

    def spend() -> None:
        for _ in range(20):
            try:
                accountant.charge(Budget(0.02), **FACTS)
            except BudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(accountant.ledger), len(refused)) == (50, 50)
    assert len({entry.id for entry in accountant.ledger}) == 50


def test_saved_and_loaded_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trial.ledger.json"
    accountant = Accountant(1, 1e-6, "replace-one-design-public", "household", composition="gdp")
    entry = accountant.charge(**gaussian(0.5, 1e-7, "gdp"))
    accountant.record(entry.id, b"released")
    accountant.save(path)
    loaded = Accountant.load(path, dataset_id="trial")
    assert loaded.ledger == accountant.ledger == (entry,)
    assert loaded.recover(entry.id) == b"released"
    assert (loaded.total, loaded.relation, loaded.unit, loaded.composition, loaded.path) == (
        accountant.total,
        "replace-one-design-public",
        "household",
        "gdp",
        path,
    )
    loaded.charge(Budget(0.1), **FACTS)
    assert accountant.spent == loaded.spent  # both read the file


def test_save_makes_no_second_copy_of_a_budget(tmp_path: Path) -> None:
    accountant = Accountant(1)
    accountant.save(tmp_path / "a.json")
    accountant.save(tmp_path / "a.json")
    assert accountant.dataset_id == "a"
    with pytest.raises(LedgerError, match="spent twice"):
        accountant.save(tmp_path / "b.json")
    with pytest.raises(LedgerError, match="exists"):
        Accountant(1).save(tmp_path / "a.json")


def test_copies_in_memory_are_refused_and_on_file_shared(tmp_path: Path) -> None:
    accountant = Accountant(1)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match="spent twice"):
            duplicate(accountant)
    accountant.save(tmp_path / "a.json")
    twin = pickle.loads(pickle.dumps(accountant))
    twin.charge(Budget(1), **FACTS)
    with pytest.raises(BudgetError):
        accountant.charge(Budget(0.1), **FACTS)


def test_open_takes_the_demands_of_a_ledger_that_is_there(tmp_path: Path) -> None:
    path, terms = tmp_path / "trial.ledger.json", {"dataset_id": "trial", "epsilon": 1}
    Accountant.open(path, relation="replace-one", unit="household", **terms)
    again = Accountant.open(path, **terms)
    assert (again.relation, again.unit) == ("replace-one", "household")
    with pytest.raises(LedgerError, match="not what was asked for"):
        Accountant.open(path, relation="replace-one-design-public", **terms)


def test_open_begins_once_and_then_continues(tmp_path: Path) -> None:
    path = tmp_path / "trial.ledger.json"
    first = Accountant.open(path, dataset_id="trial", epsilon=1)
    first.charge(Budget(0.75), **FACTS)
    again = Accountant.open(path, dataset_id="trial", epsilon=1)
    assert again.remaining == Budget(0.25)


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": 2},
        {"epsilon": 1, "delta": 1e-6},
        {"epsilon": 1, "relation": "add-remove"},
        {"epsilon": 1, "unit": "household"},
        {"epsilon": 1, "dataset_id": "other"},
    ],
)
def test_open_on_other_terms_is_refused(tmp_path: Path, terms: dict[str, Any]) -> None:
    path = tmp_path / "trial.ledger.json"
    Accountant.open(path, dataset_id="trial", epsilon=1)
    with pytest.raises(LedgerError, match="trial"):
        Accountant.open(path, **{"dataset_id": "trial", **terms})


def test_an_older_copy_put_back_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "trial.ledger.json"
    accountant = Accountant.open(path, dataset_id="trial", epsilon=1)
    old = path.read_bytes()
    accountant.charge(Budget(1), **FACTS)
    path.write_bytes(old)
    with pytest.raises(LedgerError, match="lost entries"):
        accountant.charge(Budget(1), **FACTS)


def test_a_changed_data_file_continues_the_ledger(tmp_path: Path) -> None:
    accountant = Accountant.open(tmp_path / "t.ledger.json", dataset_id="t", epsilon=1)
    accountant.charge(Budget(0.5), **FACTS)
    assert [accountant.note_content(c * 64) for c in "aab"] == [False, False, True]
    assert accountant.contents == ("a" * 64, "b" * 64)
    assert accountant.spent == Budget(0.5)
    with pytest.raises(ParameterError, match="sha256"):
        accountant.note_content("not a hash")


@pytest.mark.parametrize("on_file", [True, False])
def test_released_states_belong_to_entries(tmp_path: Path, on_file: bool) -> None:
    accountant = Accountant(1)
    if on_file:
        accountant.save(tmp_path / "t.ledger.json")
    entry = accountant.charge(Budget(0.5), **FACTS)
    with pytest.raises(LedgerError, match="no released state"):
        accountant.recover(entry.id)
    accountant.record(entry.id, {"x": [1, 2]})
    accountant.record(entry.id, {"x": [1, 2]})
    assert accountant.recover(entry.id) == {"x": [1, 2]}
    with pytest.raises(LedgerError, match="charge again"):
        accountant.record(entry.id, {"x": [1, 3]})
    for use in (lambda: accountant.record("../x", b""), lambda: accountant.recover("../x")):
        with pytest.raises(LedgerError, match="no entry"):
            use()


def test_the_ledger_beside_a_data_file_is_found(tmp_path: Path) -> None:
    data = tmp_path / "liberia.dta"
    assert find_ledger(data, "liberia") is None
    Accountant.open(tmp_path / "liberia.ledger.json", dataset_id="liberia", epsilon=1)
    found = find_ledger(data, "liberia")
    assert found is not None
    assert found.total == Budget(1)
    (tmp_path / "other.ledger.json").write_bytes((tmp_path / "liberia.ledger.json").read_bytes())
    with pytest.raises(LedgerError, match="belongs to data set"):
        find_ledger(data, "other")


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": "1"},
        {"epsilon": float("nan")},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "relation": "swap"},
        {"epsilon": 1, "composition": "best"},
        {"epsilon": 1, "composition": "gdp"},
    ],
)
def test_impossible_accounts_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Accountant(**arguments)


def test_it_prints_its_entries() -> None:
    accountant = Accountant(1)
    accountant.charge(Budget(0.25), description="figure 1", **FACTS)
    assert repr(accountant) == "<Accountant epsilon=1, epsilon=0.25 spent in 1 charges>"
    assert "spent: epsilon=0.25; left: epsilon=0.75" in str(accountant)
    assert "figure 1" in str(accountant)
