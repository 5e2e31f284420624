"""What fits return, as R's lists: numbers, names and text; the live object stays here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.certificate.certificate import Certificate, digest_of
from dprct.custodian import RiskReport, UtilityReport
from dprct.errors import ParameterError, SimulationError
from dprct.estimate.moments.results import Moments
from dprct.lazy import pandas as pd
from dprct.rbridge.api.session import whole
from dprct.rbridge.api.spelling import guarantee_in_r, spelled
from dprct.rbridge.convert import Likeness, Matrix, Record, Table
from dprct.rbridge.dialect import method_in_r
from dprct.rbridge.names import r_name_of, r_words
from dprct.rbridge.registry import export, revives
from dprct.records import dataclass
from dprct.release.release import Release
from dprct.release.writing import write_protected
from dprct.results.base import LinearResults, Origin
from dprct.results.plan import Contents, Plan, PlannedNumber
from dprct.results.tables import Table as ResultTable
from dprct.results.typeset import Summary

if TYPE_CHECKING:
    from dprct.privacy.budget import Guarantee


_VIEWS = {
    "tidy": "tidy",
    "glance": "glance",
    "text": "summary",
}
"""Fields of a result in R, and the methods that give them."""


_ENDS = {
    "low": "conf.low",
    "high": "conf.high",
}
"""Ends of intervals, and what R's broom calls them."""


def guarantee_record(guarantee: Guarantee) -> Record:
    """Return a guarantee as R's ``dprct_guarantee``."""
    said = guarantee_in_r(guarantee)
    facts = said.to_dict()
    budget = guarantee.budget
    if budget is not None:
        facts |= {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    return Record(("dprct_guarantee",), {**facts, "holds": guarantee.holds, "text": str(said)})


def _plan_in_r(plan: Plan) -> Plan:
    said = plan.in_words(r_words)

    def made() -> Contents:
        numbers = tuple(map(_number_in_r, said.contents.numbers))
        return replace(said.contents, numbers=numbers)

    return replace(said, made=made, method=method_in_r(plan.method))


def _number_in_r(number: PlannedNumber) -> PlannedNumber:
    """Return a planned number whose estimate is named as R names it."""
    return replace(
        number,
        regression=r_name_of(number.regression),
        outcome=r_name_of(number.outcome),
        term=r_name_of(number.term),
    )


def plan_record(plan: Plan) -> Record:
    """Return a plan as R's ``dprct_plan``."""
    said = _plan_in_r(plan)
    return Record(
        ("dprct_plan",),
        {
            "method": said.method,
            "epsilon": float(plan.budget.epsilon),
            "delta": float(plan.budget.delta),
            "facts": dict(said.facts),
            "consequences": list(said.consequences),
            "warnings": list(said.warnings),
            "refusal": said.refusal,
            "numbers": said.to_frame(),
            "text": str(said),
        },
        live=plan,
    )


def result_record(result: Any, call: str = "dprct_private", like: Likeness | None = None) -> Record:
    """Whatever ``fit`` returned as an R object; ``call`` is the first S3 class of an estimate."""
    if isinstance(result, Release):
        return release_record(result, like)
    if isinstance(result, LinearResults):
        return estimate_record(spelled(result, None), call)
    return other_record(result)


def release_record(release: Release, like: Likeness | None = None) -> Record:
    """Return a release as R's ``dprct_release``."""
    looks = None if like is None else like.of_release()
    return Record(
        ("dprct_release",),
        {
            "protected": Table(release.protected, release.schema, looks, attach=True),
            "estimates": _estimates_of(release.estimates),
            "guarantee": guarantee_record(release.guarantee),
            "plan": plan_record(release.plan),
            "ledger": release.ledger,
            "certificate": (certificate := _certificate(release)),
            "standing": _standing(release, certificate),
            "text": _release_text(release),
        },
        live=release,
    )


def _estimates_of(found: Any) -> Record | dict[str, Record] | None:
    """Released estimates as an R object, of a published form as one for each outcome."""
    if isinstance(found, Mapping):
        return {name: estimate_record(spelled(one, None)) for name, one in found.items()}
    if isinstance(found, LinearResults):
        return estimate_record(spelled(found, None), "dprct_private")
    return None


def _release_text(release: Release) -> str:
    """Return a release in words, with methods and functions by their names in R."""
    found = release.estimates
    if isinstance(found, Mapping):
        found = {name: spelled(one, None) for name, one in found.items()}
    elif isinstance(found, LinearResults):
        found = spelled(found, None)
    text = replace(release, plan=_plan_in_r(release.plan), estimates=found).summary()
    return text.replace("dprct.ols and", "ols() and")


def _certificate(release: Release) -> str | None:
    """Return the certificate as JSON, with the digest that shows whether the table was changed."""
    if release.issued is None:
        return None
    values = digest_of(release.protected, release.schema)
    return json.dumps(replace(release.issued, values=values).to_dict())


def _standing(release: Release, certificate: str | None) -> str:
    """Facts that a frame of the release carries, so that a fit on it knows its guarantee."""
    found = None if certificate is None else Certificate.from_dict(json.loads(certificate)).values
    return Origin("the certificate of the release", release.guarantee, found).to_json()


@dataclass(frozen=True)
class SavedRelease:
    """A release that another session of R saved; it can be written, and fits run on its table."""

    table: Table
    certificate: Certificate
    estimates: None = None
    """Of the law of the effects only what their record says was saved."""

    def write_dta(self, path: str) -> Certificate:
        """Write the protected file and its certificate.

        Raises
        ------
        ParameterError
            If the table is not the one that was released.
        """
        if digest_of(self.table.data, self.table.schema) != self.certificate.values:
            raise ParameterError(
                "the table of this saved release was changed since, so that its certificate does "
                "not describe it; write the release as it was saved"
            )
        return write_protected(
            self.table.data, self.table.schema, replace(self.certificate, values=None), Path(path)
        )


@revives("dprct_release")
def release_again(saved: Mapping[str, Any]) -> SavedRelease:
    """Return the release of a record that another session saved."""
    certificate = saved.get("certificate")
    if certificate is None:
        raise SimulationError(
            "this saved release has no certificate, as one that was drawn with a seed (rng); "
            "fit without rng to release"
        )
    return SavedRelease(saved["protected"], Certificate.from_dict(json.loads(certificate)))


def estimate_record(result: LinearResults, *classes: str, live: Any = None) -> Record:
    """Return coefficients with inference as R's ``dprct_estimate``."""
    return Record(
        (*classes, "dprct_estimate"),
        {
            "coefficients": result.params,
            "vcov": Matrix.of(result.cov_params()),
            "std.error": result.bse,
            "std.error.noise": result.bse_noise,
            "statistic": result.tvalues,
            "p.value": result.pvalues,
            "df.residual": float(result.df_resid),
            "df.inference": float(result.df_inference),
            "nobs": result.nobs,
            "cov_type": result.cov_type,
            "outcome": result.outcome,
            "formula": result.formula or None,
            "notes": list(result.notes),
            "guarantee": guarantee_record(result.guarantee),
            "tidy": result.tidy(),
            "glance": result.glance(),
            "text": r_name_of(result.summary()),
        },
        live=result if live is None else live,
    )


def other_record(result: Any) -> Record:
    """Return a result without a covariance, such as a path, as R's ``dprct_result``.

    Published forms lack some of the views: R has then no table to show, and a table of the numbers
    that there are.
    """
    views = {
        name: getattr(result, method)() if hasattr(result, method) else None
        for name, method in _VIEWS.items()
    }
    values = {
        name: getattr(result, name, None) for name in ("att", "average", "nobs", "donor_weights")
    }
    params = getattr(result, "params", None)
    if isinstance(views["text"], str):
        views["text"] = method_in_r(views["text"])
    if views["glance"] is None:
        facts = {"nobs": values["nobs"], "guarantee": result.guarantee.measure}
        views["glance"] = pd.DataFrame({k: [v] for k, v in facts.items() if v is not None})
    return Record(
        ("dprct_result",),
        {
            **values,
            **views,
            "coefficients": params,
            "guarantee": guarantee_record(result.guarantee),
        },
        live=result,
    )


def table_record(table: ResultTable, **more: Any) -> Record:
    """Return a table as R's ``dprct_table``."""
    return Record(
        ("dprct_table",),
        {
            **more,
            "frame": table.displayed(),
            "text": r_words(table.to_text()),
        },
        live=table,
    )


@export("result_text")
def result_text(result: Any, width: float) -> str | None:
    """Return a result as text of at most so many characters a line; None where it has no table."""
    shown, columns = getattr(result, "shown", result), whole(width, "width")
    if isinstance(shown, Plan):
        return _plan_in_r(shown).to_text(columns)
    if isinstance(shown, ResultTable | UtilityReport | RiskReport):
        return r_words(shown.to_text(columns))
    if isinstance(shown, Moments):
        return r_words(shown.as_text(columns))
    if isinstance(shown, Release) and isinstance(shown.estimates, LinearResults):
        # R goes on to break the lines of words
        table = spelled(shown.estimates, None).summary()
        return r_words(_release_text(shown).replace(str(table), table.as_text(columns)))
    made = shown.summary() if hasattr(shown, "summary") else None
    return r_name_of(made.as_text(columns)) if isinstance(made, Summary) else None


@export("result_tidy")
def result_tidy(result: Any, alpha: float) -> pd.DataFrame:
    """Rows of shapes with the ends of intervals as broom has them; of a path, of noise."""
    takes = inspect.signature(result.tidy).parameters if hasattr(result, "tidy") else {}
    if "alpha" not in takes:
        raise ParameterError("this result has no intervals: the law of its noise is unknown")
    found: pd.DataFrame = result.tidy(alpha)
    return found.rename(columns=_ENDS)


@export("result_view")
def result_view(result: Any, view: str) -> str | None:
    """Return a result as LaTeX or HTML, made when a document asks; None where it has no table."""
    shown = getattr(result, "shown", result)
    method = getattr(shown, {"latex": "to_latex", "html": "to_html"}[view], None)
    return None if method is None else str(method())
