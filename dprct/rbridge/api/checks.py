"""Files against their certificates, and releases against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.custodian import risk as closeness
from dprct.custodian import utility as compared
from dprct.io import read
from dprct.rbridge.api.options import options_for
from dprct.rbridge.convert import Record, Table
from dprct.rbridge.registry import export
from dprct.release.verify import verify as verified

if TYPE_CHECKING:
    from collections.abc import Mapping


@export("verify")
def verify(path: str, certificate: str | None = None, ledger: str | None = None) -> Record:
    """Whether a file holds what its certificate describes."""
    found = verified(path, certificate, ledger=ledger)
    facts = found.to_dict()
    return Record(
        ("dprct_verification",),
        {"verified": bool(found), "values": facts["values"], "text": str(found)},
    )


@export("utility")
def utility(
    a: Any, b: Any, formula: str | None = None, options: Mapping[str, Any] | None = None
) -> Record:
    """Return effects on confidential and released data side by side; confidential by nature."""
    given = options_for(compared, {"formula": formula, **(options or {})})
    report = compared(_pair(a), _pair(b), **given)
    return Record(
        ("dprct_utility",), {"effects": report.to_frame(), "text": report.to_text()}, live=report
    )


@export("risk")
def risk(a: Any, b: Any, holdout: Any = None, options: Mapping[str, Any] | None = None) -> Record:
    """Return how close released rows are to confidential ones; confidential by nature."""
    given = options_for(closeness, {"keys": None, **(options or {})})
    kept = None if holdout is None else _pair(holdout)
    report = closeness(_pair(a), _pair(b), holdout=kept, **given)
    return Record(
        ("dprct_risk",), {"measures": report.to_frame(), "text": report.to_text()}, live=report
    )


def _pair(given: Any) -> Any:
    return (given.data, given.schema) if isinstance(given, Table) else read(given)
