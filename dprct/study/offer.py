"""Protecting a study in three steps, for every door: what is offered, the question, the release.

The command line and the page ask their user between :func:`offered` and :meth:`Offer.taken`;
whatever is checked, charged and written is the same for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.errors import ConfirmationError
from dprct.records import dataclass
from dprct.release.writing import writing_at
from dprct.study.approval import approval_of
from dprct.study.protect import check_places, protected, saying_what_is_kept, written_files
from dprct.study.ready import also_charged, bound_model, planned, price

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dprct.privacy.budget import Budget
    from dprct.release.release import ReleaseModel
    from dprct.results.plan import Plan
    from dprct.study.methods import AnyModel
    from dprct.study.study import Study


_AGAIN = "dprct protect --resume ENTRY (dprct ledger lists the entries)"


@dataclass(frozen=True)
class Made:
    """What was released, and the files that hold it."""

    result: Any
    paths: tuple[Path, ...]  # first the protected file, or the document of results


@dataclass(frozen=True)
class Offer:
    """A release that was checked against the data and not yet paid for."""

    study: Study
    model: ReleaseModel[Any, Any, Any] | AnyModel  # the study's method, bound to its data
    plan: Plan
    # What it will charge; None where nothing is promised and nothing is charged.
    cost: Budget | None

    @property
    def sha256(self) -> str:
        """The hash of what is to be approved."""
        return approval_of(self.study, self.model).sha256

    @property
    def words(self) -> str:
        """What the release charges and promises."""
        if self.cost is None:
            return (
                "NO DP GUARANTEE: nothing is promised to the people in the data, nothing is "
                "charged."
            )
        charge = f"This charges {self.cost} to the ledger of {self.study.dataset_id!r}"
        if self.study.promises:
            return f"{charge}.{self._replaced}"
        return (
            "NO DP GUARANTEE: nothing is promised to the people in the data. "
            f"{charge}, for the covariates alone.{self._replaced}"
        )

    @property
    def _replaced(self) -> str:
        """Say that an earlier release is replaced, and how to have it again without paying."""
        name = self.study.output.name
        if not self.study.output.exists():
            return ""
        return (
            f" {name} was paid for before, and another release takes its place; dprct protect "
            "--resume ENTRY makes the one of before again and charges nothing (dprct ledger lists "
            "the entries)."
        )

    @property
    def also_charged(self) -> str:
        """Say which other ledger was charged for the same data; empty if none was."""
        return also_charged(self.study)

    def check(self) -> None:
        """Refuse what the plan refuses, unless the study confirms it."""
        self.plan.check(confirm=self.study.release.confirm)

    def taken(self, do: Sequence[Path] | None = None, again: str = _AGAIN) -> Made:
        """Charge, release and write; a refusal after the charge says where the numbers are kept.

        Regressions of do-files are judged, by default of those that the study names; ``again`` is
        what writes the files of what is kept.
        """
        with writing_at(self.study.output):
            check_places(self.study)  # another process may have written there meanwhile
            made = protected(self.study, self.model)
            with saying_what_is_kept(self.study, self.cost, again):
                return Made(made, written_files(self.study, self.model, made, do))


def refuse_unpromised(study: Study, *, accepted: bool) -> None:
    """Refuse a method without a guarantee, unless that was accepted."""
    if not study.promises and not accepted:
        raise ConfirmationError(
            f"method {study.release.method!r} has no differential-privacy guarantee, whatever "
            "epsilon is; give --accept-no-guarantee, or use mv_histogram"
        )


def offered(
    study: Study, approved: str | None = None, after_reading: Callable[[], None] | None = None
) -> Offer:
    """The release of a study: the facts are sealed, then the data are read; nothing is paid.

    Any study but the ``approved`` one is refused; ``after_reading`` is called when the rows were
    read, and before the release is planned.
    """
    model = bound_model(study)
    if after_reading is not None:
        after_reading()
    if approved is not None:
        approval_of(study, model).check(approved)
    return Offer(study, model, planned(study, model), price(study, model))


def written_again(
    study: Study, entry: str, approved: str | None = None, do: Sequence[Path] | None = None
) -> Made:
    """Write what a ledger entry paid for and saved; nothing is charged."""
    check_places(study)
    model = bound_model(study)
    if approved is not None:
        approval_of(study, model).check(approved)
    made = model.resume(entry)
    return Made(made, written_files(study, model, made, do))
