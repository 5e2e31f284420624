"""The releases of a package before the first of them is paid for: all of them can be made, or none.

What an interrupted run paid for and did not write is written first.  Then each data set is read,
planned and its places tried; then all charges together are checked against the ledger.  What is
refused here is refused before anything is charged.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from dprct.errors import (
    BudgetError,
    ConfirmationError,
    DprctError,
    LedgerError,
    StudyError,
    marked,
)
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.certified import certified_words, state_of
from dprct.records import dataclass
from dprct.study.offer import offered
from dprct.study.package import is_made
from dprct.study.protect import check_places, rehearse, released_file, written_files
from dprct.study.ready import bound_model, unaffordable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from dprct.study.offer import Offer
    from dprct.study.package import Contents
    from dprct.study.study import Study


def to_be_made(contents: Contents) -> list[Study]:
    """Return the studies of a package whose release is not there yet."""
    return [one.study for one in contents.held if not is_made(one.study)]


@dataclass(frozen=True)
class Resumed:
    """A release that an interrupted run had paid for, and that is written now."""

    study: Study
    entry: str  # of the ledger
    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return (
            f"{released_file(self.study).name} was charged before (entry {self.entry}) and not "
            "written; it is made from what was saved, and nothing is charged"
        )


def resumed(study: Study) -> Resumed | None:
    """Write the release that a study paid for and did not write; None where there is none.

    It is of the same data, method, budget and public facts: the saved state says so.
    """
    found = find_ledger(study.data, study.dataset_id)
    if found is None or not study.promises:
        return None
    asked = Budget(study.release.epsilon, study.release.delta)
    certified = certified_words(study.output.parent)
    saved = [
        entry.id
        for entry in reversed(found.ledger)
        if entry.budget == asked and state_of(entry, found, certified)[0] == "saved"
    ]
    model = bound_model(study) if saved else None
    for entry in saved:
        assert model is not None
        try:
            made = model.resume(entry)
        except LedgerError:  # it paid for another study of these data
            continue
        check_places(study)
        return Resumed(study, entry, written_files(study, model, made))
    return None


def rehearsed(studies: Sequence[Study], approved: Collection[str] = ()) -> list[Offer]:
    """Offer of each release, after all of them were tried without paying for any.

    A study without one of the approved hashes, which are in any order, is refused.
    """
    hashes = {"".join(one.split()).lower() for one in approved}
    offers = []
    for study in studies:
        try:
            check_places(study)
            offer = offered(study)
            if hashes and offer.sha256 not in hashes:
                raise ConfirmationError(
                    f"the study is not one that was approved: its hash is {offer.sha256}; have it "
                    "approved, and give the hash of the plan of each data set"
                )
            if problems := unaffordable(study):
                raise StudyError("; ".join(problems))
            offer.check()
            rehearse(study, offer.model, offer.plan)
        except DprctError as error:
            if len(studies) == 1:
                raise
            raise type(error)(f"{study.path.name}: {marked(error)}; nothing was charged") from None
        offers.append(offer)
    if len({offer.study.dataset_id for offer in offers}) == 1 < len(offers):
        _check_sum(offers)
    return offers


def _check_sum(offers: Sequence[Offer]) -> None:
    """Refuse releases that the ledger would not pay for one after the other."""
    first = offers[0].study
    found = find_ledger(first.data, first.dataset_id)
    if found is None:
        assert first.budget is not None
        left = Budget(first.budget.epsilon, first.budget.delta)
    else:
        left = found.remaining
    trial = Accountant(left.epsilon, left.delta, relation=first.relation)
    for offer in offers:
        unit = offer.study.protected
        if offer.cost is None:
            continue
        try:
            trial.charge(
                offer.cost,
                method=offer.plan.method,
                relation=offer.study.neighbors,
                unit=unit.name,
                unit_id=unit.id,
                max_rows=unit.max_rows,
            )
        except DprctError:
            costs = " and ".join(f"{one.cost} for {one.study.data.name}" for one in offers)
            raise BudgetError(
                f"the releases of the package cost {costs}, and the ledger of "
                f"{first.dataset_id!r} has {left} left; nothing was charged; ask for less in "
                "[release], or give [budget] a larger total before anything is charged"
            ) from None


@contextlib.contextmanager
def saying_what_was_made(made: Sequence[Study]) -> Iterator[None]:
    """Say of a release that failed which others were paid for before it, and are kept."""
    try:
        yield
    except DprctError as error:
        if not made:
            raise
        names = " and ".join(released_file(one).name for one in made)
        raise type(error)(
            f"{marked(error)}; {names} was made and charged before, and is taken when the package "
            "is made again"
        ) from None
