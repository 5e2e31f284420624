"""Files against their certificates, and releases against the truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.certificate import RegressionWorth
from dprct.custodian import risk as closeness
from dprct.custodian import utility as compared
from dprct.custodian.tables import ci_overlap as overlap
from dprct.errors import ParameterError
from dprct.io import read
from dprct.lazy import pandas as pd
from dprct.rbridge.api.options import options_for
from dprct.rbridge.convert import Record, Table
from dprct.rbridge.registry import export
from dprct.release.verify import verify as verified
from dprct.study.package_checks import checked_package

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.custodian import UtilityReport


@export("verify")
def verify(path: str, certificate: str | None = None, ledger: str | None = None) -> Record:
    """Whether a file holds what its certificate describes, or a package what it promises."""
    if Path(path).is_dir():
        return _verified_package(Path(path), certificate, None if ledger is None else Path(ledger))
    found = verified(path, certificate, ledger=ledger)
    facts = found.to_dict()
    return Record(
        ("dprct_verification",),
        {"verified": bool(found), "values": facts["values"], "text": str(found)},
    )


def _verified_package(folder: Path, certificate: str | None, ledger: Path | None) -> Record:
    if certificate is not None:
        raise ParameterError("a package has its own certificates; leave ``certificate=`` out")
    found = checked_package(folder, ledger)
    worths = [row.worth() for one in found.releases for row in one.verdicts]
    return Record(
        ("dprct_verification",),
        {
            "verified": bool(found),
            "values": "as written" if found.changed is None else "changed",
            "regressions": regressions_frame(worths),
            "text": str(found),
        },
    )


def regressions_frame(worths: Sequence[RegressionWorth]) -> pd.DataFrame:
    """Verdicts on regressions of do-files, one row each."""
    rows = [{**asdict(one), "also": "; ".join(one.also)} for one in worths]
    return pd.DataFrame(rows, columns=[*RegressionWorth.__dataclass_fields__])


@export("utility")
def utility(
    a: Any, b: Any, formula: str | None = None, options: Mapping[str, Any] | None = None
) -> Record:
    """Return effects on confidential and released data side by side; confidential by nature."""
    given = options_for(compared, {"formula": formula, **(options or {})})
    report = compared(_pair(a), _pairs(b), **given)
    return Record(
        ("dprct_utility",), {"effects": report.to_frame(), "text": report.to_text()}, live=report
    )


@export("utility_summary")
def utility_summary(report: UtilityReport, quantiles: Sequence[float]) -> pd.DataFrame:
    """Return the distribution of each measure over the draws of a method."""
    return report.summary([float(one) for one in quantiles])


@export("ci_overlap")
def ci_overlap(low: Any, high: Any, low_released: Any, high_released: Any) -> NDArray[np.float64]:
    """Return the overlap of intervals."""
    ends = [np.atleast_1d(one) for one in (low, high, low_released, high_released)]
    return overlap(*ends)


@export("risk")
def risk(a: Any, b: Any, holdout: Any = None, options: Mapping[str, Any] | None = None) -> Record:
    """Return how close released rows are to confidential ones; confidential by nature."""
    given = options_for(closeness, {"keys": None, **(options or {})})
    kept = None if holdout is None else _pair(holdout)
    report = closeness(_pair(a), _pair(b), holdout=kept, **given)
    return Record(
        ("dprct_risk",), {"measures": report.to_frame(), "text": report.to_text()}, live=report
    )


def _pairs(given: Any) -> Any:
    if isinstance(given, dict):
        return {name: _pairs(one) for name, one in given.items()}
    return list(map(_pair, given)) if isinstance(given, list) else _pair(given)


def _pair(given: Any) -> Any:
    return (given.data, given.schema) if isinstance(given, Table) else read(given)
