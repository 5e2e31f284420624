"""Whom a sum of charges protects: checked against all pairs of small tables, pair by pair."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.charges import ROW, Entry, together, unit_words
from dprct.privacy.composition import (
    SLACK_SHARE,
    Charge,
    gdp_delta,
    pure_mu,
    pure_rho,
    root,
    zcdp_delta,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Four rows of three columns, of which t is the design; persons and clusters are not nested.
COLUMNS = ("t", "y", "x")
IDS = {"pid": (1, 1, 2, 2), "g": (1, 2, 2, 2)}
CELLS = [(row, column) for row in range(4) for column in COLUMNS]
CHANGES = [frozenset(cells) for k in range(1, 5) for cells in itertools.combinations(CELLS, k)]
"""Pairs of tables: the cells, up to four, in which they differ."""

PUBLIC = {name: f"column {name} (declared public)" for name in ("y", "x")}


def entry(number: int = 1, epsilon: object = 1, **facts: Any) -> Entry:
    given_facts = {
        "relation": "replace-one", "unit": "person", "public_facts": (), "not_covered": (), **facts
    }  # fmt: skip
    charge = Charge(Budget(epsilon), "pure")  # type: ignore[arg-type]
    return Entry(f"{number}-0123456789ab", "2026-11-22T10:00:00Z", "m", charge, **given_facts)


@st.composite
def charges(draw: st.DrawFn) -> list[Entry]:
    kinds = [
        ("person", None, 1),
        ("person", "pid", 1),
        ("person", "pid", 2),
        ("household", "pid", 2),
        ("cluster of g", "g", 2),
        ("cluster of g", "g", 3),
    ]
    found = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        unit, unit_id, max_rows = draw(st.sampled_from(kinds))
        found.append(
            entry(
                number,
                draw(st.fractions(Fraction(1, 100), 1)),
                relation=draw(st.sampled_from(["replace-one", "replace-one-design-public"])),
                unit=unit,
                unit_id=unit_id,
                max_rows=max_rows,
                public_facts=("n",),
                not_covered=tuple(PUBLIC[name] for name in draw(st.sets(st.sampled_from("yx")))),
            )
        )
    return found


def protects(
    change: frozenset[tuple[int, str]],
    relation: str,
    unit_id: str | None,
    max_rows: int,
    not_covered: Iterable[str],
) -> bool:
    """Return whether a claim is about two tables that differ in these cells."""
    rows = {row for row, _ in change}
    columns = {column for _, column in change}
    if relation == "replace-one-design-public" and "t" in columns:
        return False
    if any(PUBLIC.get(column) in set(not_covered) for column in columns):
        return False
    if unit_id is None:
        return len(rows) == 1
    return len(rows) <= max_rows and len({IDS[unit_id][row] for row in rows}) == 1


def protected_by(one: Entry, change: frozenset[tuple[int, str]]) -> bool:
    assert one.relation is not None
    return protects(change, one.relation, one.unit_id, one.max_rows, one.not_covered or ())


@settings(max_examples=60, deadline=None)
@given(charges())
def test_what_the_sum_protects_every_charge_protects(entries: list[Entry]) -> None:
    found = together(entries)
    for relation in found.relations:
        for change in CHANGES:
            if protects(change, relation, found.unit_id, found.max_rows, found.not_covered):
                assert all(protected_by(one, change) for one in entries)


@settings(max_examples=60, deadline=None)
@given(charges())
def test_single_cells_that_every_charge_protects_the_sum_protects(entries: list[Entry]) -> None:
    """The weakest is no weaker than it must be: no private cell of one row is given up."""
    found = together(entries)
    for change in (frozenset({cell}) for cell in CELLS):
        if all(protected_by(one, change) for one in entries):
            assert any(
                protects(change, r, found.unit_id, found.max_rows, found.not_covered)
                for r in found.relations
            )


@settings(max_examples=60, deadline=None)
@given(st.data(), charges())
def test_the_order_of_charges_does_not_matter(data: st.DataObject, entries: list[Entry]) -> None:
    def facts(found: Sequence[Entry]) -> dict[str, object]:
        values = together(found).to_dict()
        return {k: set(v) if isinstance(v, list) else v for k, v in values.items()}

    assert facts(entries) == facts(data.draw(st.permutations(entries)))


@settings(max_examples=40, deadline=None)
@given(charges())
def test_the_sum_is_what_every_pair_costs(entries: list[Entry]) -> None:
    accountant = Accountant(10)
    for one in entries:
        accountant.charge(
            one.charge, method="m", relation=one.relation, unit=one.unit, unit_id=one.unit_id,
            max_rows=one.max_rows, public_facts=one.public_facts, not_covered=one.not_covered,
        )  # type: ignore[arg-type]  # fmt: skip
    exact = sum((one.budget.epsilon for one in entries), Fraction(0))
    assert accountant.spent == Budget(exact)
    found = accountant.together
    assert found is not None
    assert found.to_dict() == together(entries).to_dict() | {"not_recorded": []}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.fractions(Fraction(1, 100), Fraction(1, 10)), min_size=2, max_size=8))
def test_no_rule_states_less_than_pure_charges_cost(epsilons: list[Fraction]) -> None:
    """Recomputed from rho and mu that cover each pure charge; relations may differ."""
    delta = Fraction(1, 10**6)
    rho = sum((pure_rho(e) for e in epsilons), Fraction(0))
    mu = root(sum((pure_mu(e) ** 2 for e in epsilons), Fraction(0)), "down")
    for composition in ("zcdp", "gdp"):
        accountant = Accountant(9, delta, composition=composition)  # type: ignore[arg-type]
        for number, e in enumerate(epsilons):
            relation = ("replace-one", "replace-one-design-public")[number % 2]
            accountant.charge(Budget(e), method="m", relation=relation)  # type: ignore[arg-type]
        spent = accountant.spent
        if composition == "zcdp":
            assert zcdp_delta(rho, spent.epsilon) <= delta
        else:
            assert gdp_delta(mu, spent.epsilon) <= delta * (1 - SLACK_SHARE / 2)


@pytest.mark.parametrize(
    ("relations", "holds"),
    [
        (["replace-one"], ("replace-one", "replace-one-design-public")),
        (["replace-one-design-public"], ("replace-one-design-public",)),
        (["replace-one", "replace-one-design-public"], ("replace-one-design-public",)),
        (["add-remove", "add-remove"], ("add-remove",)),
        (["add-remove", "replace-one"], None),
        (["replace-one-design-public", "add-remove"], None),
    ],
)
def test_relations_compose_to_the_weaker_one(relations, holds) -> None:
    entries = [entry(i, relation=r) for i, r in enumerate(relations, 1)]
    if holds is None:
        with pytest.raises(ParameterError, match="relation is known"):
            together(entries)
    else:
        assert together(entries).relations == holds


def test_rows_of_one_id_are_added_up_to_the_least_number() -> None:
    found = together([entry(i, unit_id="pid", max_rows=k) for i, k in enumerate((4, 2, 3), 1)])
    assert (found.unit, found.unit_id, found.max_rows) == ("person", "pid", 2)
    assert "every person (by pid) with no more rows in a release than its entry" in found.claim()
    alike = together([entry(i, unit_id="pid", max_rows=2) for i in (1, 2)])
    assert "for every person (by pid, up to 2 rows)" in alike.claim()


def test_different_units_share_a_row() -> None:
    entries = [entry(1), entry(2, unit_id="pid", max_rows=3),
               entry(3, unit="cluster of g", unit_id="g", max_rows=9)]  # fmt: skip
    found = together(entries)
    assert (found.unit, found.unit_id, found.max_rows) == (ROW, None, 1)
    assert "for every single row, and not for several rows of one unit together" in found.claim()
    assert "person; person (by pid, up to 3 rows); cluster of g (by g, up to 9" in found.claim()


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ([("person", None), ("donor", None)], "per 'person' and per 'donor'"),
        ([("donor", None), ("cluster of g", "g")], "per 'donor' and per 'cluster of g'"),
        ([("person", "pid"), ("donor", None)], "per 'person' and per 'donor'"),
        ([("person", None), ("school", None)], "per 'person' and per 'school'"),
    ],
)
def test_units_without_a_common_part_are_refused(units, words: str) -> None:
    entries = [entry(i, unit=u, unit_id=c) for i, (u, c) in enumerate(units, 1)]
    for order in (entries, entries[::-1]):
        with pytest.raises(ParameterError, match="cannot be added together"):
            together(order)
    with pytest.raises(ParameterError, match=words):
        together(entries)
    assert together(entries[:1] * 2).unit == units[0][0]


def test_what_one_charge_takes_as_public_the_sum_does() -> None:
    found = together([
        entry(1, public_facts=("n = 9", "who has a value of y"), not_covered=("column g",)),
        entry(2, public_facts=("n = 9",), not_covered=("participation", "column g")),
        entry(3, public_facts=None, not_covered=None),
    ])  # fmt: skip
    assert found.public_facts == ("n = 9", "who has a value of y")
    assert found.not_covered == ("column g", "participation")
    assert found.unrecorded == ("3",)
    text = "\n".join(found.sentences())
    assert "takes as public what any charge does: n = 9; who has a value of y." in text
    assert "not protect what any charge does not: column g; participation." in text
    assert "was not recorded of entry 3." in text


def test_a_unit_in_words() -> None:
    assert unit_words("person", None, 1) == "person"
    assert unit_words("donor", None, 6) == "donor (up to 6 rows)"
