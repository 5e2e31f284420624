from __future__ import annotations

import pickle

from dprct.io.compare import Comparison, Difference
from dprct.io.compare.comparison import in_order
from dprct.io.facets import FACETS


def test_the_text_separates_permitted_from_unexpected() -> None:
    found = Comparison(
        (
            Difference("rows", None, "1 in the first, 2 in the second"),
            Difference("notes", "_dta", "note1 only in the first", True, "dropped"),
        ),
        ("a.dta", "b.dta"),
    )
    assert str(found).splitlines() == [
        "a.dta and b.dta differ in 1 way that no certificate permits",
        "  rows: 1 in the first, 2 in the second",
        "a.dta and b.dta differ in 1 way that the certificate permits",
        "  notes of _dta: note1 only in the first [permitted: dropped]",
    ]


def test_nothing_found_is_false_and_anything_found_is_true() -> None:
    assert not Comparison(())
    assert Comparison((Difference("rows", None, "differs", True, "agreed"),))


def test_permitted_and_unexpected_are_all_there_is() -> None:
    found = tuple(Difference("values", f"x{k}", "differs", k % 2 == 0) for k in range(5))
    comparison = Comparison(found)
    assert [d.column for d in comparison.permitted] == ["x0", "x2", "x4"]
    assert [d.column for d in comparison.unexpected] == ["x1", "x3"]
    told = comparison.to_dict()
    assert len(told["permitted"]) + len(told["unexpected"]) == len(found)


def test_differences_are_put_in_the_order_of_the_facets_and_kept_within_one() -> None:
    found = [Difference(facet, name, "") for facet in reversed(FACETS) for name in ("b", "a")]
    ordered = in_order(found)
    assert [d.facet for d in ordered[::2]] == list(FACETS)
    assert [d.column for d in ordered[:2]] == ["b", "a"]


def test_a_comparison_can_be_sent_to_another_process() -> None:
    comparison = Comparison((Difference("rows", None, "differs"),), ("a", "b"))
    assert pickle.loads(pickle.dumps(comparison)) == comparison
