"""What a saved release belongs to, and the refusal to rebuild it as anything else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dprct.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.charges import Entry
    from dprct.release.unconverted import UnconvertedRelease
    from dprct.results.plan import Plan

_STUDY = "study"


def with_study(state: Mapping[str, Any], model: UnconvertedRelease, plan: Plan) -> dict[str, Any]:
    """Return a released state that also says which public facts it rests on.

    Parameters
    ----------
    state : mapping
        JSON-ready; what was released.
    model : UnconvertedRelease
        That released it.
    plan : Plan
        What was planned for it.
    """
    return {**state, _STUDY: _study(model, plan)}


def resumed_state(
    accountant: Accountant, entry: Entry, model: UnconvertedRelease
) -> tuple[dict[str, Any], Plan]:
    """Return what was saved for an entry and its plan, if the model is that which it was saved for.

    Raises
    ------
    LedgerError
        If nothing was saved, or it belongs to another method or to other public facts: decoded by
        other bins or labels, released counts would be counts of something else.
    """
    if not entry.priced:
        raise LedgerError(
            f"entry {entry.id} notes a release without a guarantee, of which nothing is saved: "
            f"{type(model).__name__} cannot be resumed from it; fit it again"
        )
    if not accountant.is_saved(entry.id):
        raise LedgerError(
            f"entry {entry.id} was charged, and its process ended before anything was saved; it "
            "is spent and cannot be resumed; what is left pays for a new release"
        )
    state = accountant.recover(entry.id)
    if entry.method != model.method or not isinstance(state, dict):
        raise LedgerError(
            f"entry {entry.id} paid for {entry.method!r}, not for {model.method!r}; resume it "
            "with that method"
        )
    plan = model.plan(entry.budget.epsilon, entry.budget.delta)
    if state.get(_STUDY) != _study(model, plan):
        raise LedgerError(
            f"the data file or what the study declares is not what it was when entry {entry.id} "
            "was released; restore both to resume it"
        )
    return state, plan


def _study(model: UnconvertedRelease, plan: Plan) -> dict[str, Any]:
    """Return the public facts that a release rests on, hashed; a plan is a function of them."""
    planned = hashlib.sha256(str(plan).encode()).hexdigest()
    return {"n": model.n, "facts": model.schema.digest(), "plan": planned}
