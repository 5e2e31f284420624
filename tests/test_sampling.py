"""Of every kind some case is short, and which does not change."""

from __future__ import annotations

from tests.contract.refusals import CASES
from tests.replay.cases import CASES as REPLAYED
from tests.sampling import sampled


def test_one_case_of_a_kind_in_so_many_is_short() -> None:
    found = sampled(["a 1", "a 2", "b 1", "a 3"], lambda case: case[0], str, each=2)
    assert [(one.id, bool(one.marks)) for one in found] == [
        ("a 1", False), ("a 2", True), ("b 1", False), ("a 3", False),
    ]  # fmt: skip


def test_every_method_is_refused_and_replayed_in_short() -> None:
    for names in ([case.words for case in CASES], [*REPLAYED]):
        found = sampled(names, lambda name: name.split(":")[0], str, each=6)
        kinds = {name.split(":")[0] for name in names}
        assert {one.id.split(":")[0] for one in found if not one.marks} == kinds
