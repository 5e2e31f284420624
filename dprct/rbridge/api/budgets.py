"""Accountants: budgets that many fits share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.privacy.accountant import Accountant
from dprct.privacy.charges import unit_words
from dprct.rbridge.convert import Record
from dprct.rbridge.dialect import method_in_r
from dprct.rbridge.registry import export

if TYPE_CHECKING:
    from dprct.privacy.budget import Budget


@export("accountant")
def accountant(
    epsilon: float | None,
    delta: float = 0,
    path: str | None = None,
    dataset_id: str | None = None,
    relation: Any = None,
    unit: str | None = None,
) -> Record:
    """Return an accountant: of this session, of a new file, or of one that is there."""
    terms: dict[str, Any] = {
        name: value for name, value in {"relation": relation, "unit": unit}.items() if value
    }
    if path is not None and epsilon is None and Path(path).exists():
        if delta or terms:
            raise ParameterError(
                "an accountant that is read from its file has its terms from there; leave delta, "
                "relation and unit out, or give epsilon too, which checks them all"
            )
        found = Accountant.load(path, dataset_id=dataset_id)
    elif epsilon is None:
        raise ParameterError("an accountant needs epsilon, the total that may be spent; give it")
    elif path is None:
        if dataset_id is not None:
            raise ParameterError(
                "dataset_id is for an accountant in a file; give its path, or leave dataset_id out"
            )
        found = Accountant(epsilon, delta, **terms)
    elif dataset_id is None:
        raise ParameterError("an accountant in a file needs dataset_id, the name of the data set")
    else:
        found = Accountant.open(
            path,
            dataset_id=dataset_id,
            epsilon=epsilon,
            delta=delta,
            **terms,
        )
    return Record(("dprct_accountant",), {"unit": found.unit}, live=found)


@export("accountant_state")
def accountant_state(accountant: Accountant) -> dict[str, Any]:
    """Return total, spent and remaining, what they hold for, and the entries of the ledger."""
    entries = [
        {
            "entry": entry.id,
            "when": entry.when,
            "method": method_in_r(entry.method),
            "epsilon": float(entry.budget.epsilon),
            "delta": float(entry.budget.delta),
            "relation": entry.relation,
            "unit": unit_words(entry.unit, entry.unit_id, entry.max_rows),
            "description": entry.description,
        }
        for entry in accountant.ledger
    ]
    columns = ["entry", "when", "method", "epsilon", "delta", "relation", "unit", "description"]
    together = accountant.together
    return {
        "total": _numbers(accountant.total),
        "spent": _numbers(accountant.spent),
        "remaining": _numbers(accountant.remaining),
        "together": [] if together is None else together.sentences(),
        "in_memory": accountant.in_memory,
        "ledger": pd.DataFrame(entries, columns=columns),
    }


def _numbers(budget: Budget) -> dict[str, float]:
    return {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
