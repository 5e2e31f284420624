"""What will come out, before it costs anything: planned numbers at an epsilon, for pictures.

Everything is a function of the study file and of the header.  The page draws made-up releases from
these numbers; no row is read for them.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dprct.app.forms import keys
from dprct.app.words import in_fields, in_labels, plain
from dprct.encoding import encoding
from dprct.errors import DprctError
from dprct.results.plan import NOISE_SD, RATIO, STD_ERROR, WITHOUT_PRIVACY
from dprct.study.header_plan import (
    combinations,
    expected_errors,
    header_plan,
    unknown_clusters,
)
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.results.plan import Plan, PlannedNumber
    from dprct.schema.schema import Schema
    from dprct.study.study import Study

_COMBINATIONS = "combinations"
"""The one draw of noise in units that a reader has: rows."""

_KNOWN = {key for of in keys().values() for key in of}
_MOST = 12
"""Estimates of which pictures are drawn; a plan can hold hundreds."""


def outlook(
    study: Study, header: Schema, rows: int | None, epsilon: float, clusters: int | None = None
) -> dict[str, Any]:
    """Planned errors at an epsilon, and what a picture of a protected file is drawn from."""
    try:
        plan = header_plan(study, header, rows, epsilon, clusters)
        found = [] if plan is None else _estimates(plan, study, header)
        known = any("with" in one for one in found)
        every = (
            [] if known or not study.makes_file else expected_errors(study, header, rows, epsilon)
        )
        draws = [one for one in every if one.name == _COMBINATIONS]
        sizes = None if known else combinations(study, header, rows, epsilon)
    except DprctError as error:
        return {"epsilon": epsilon, "refused": in_fields(in_toml(error), _KNOWN)}
    return {
        "epsilon": epsilon,
        "refused": "",
        "needs_rows": plan is None,
        "clusters": unknown_clusters(study, header),
        "estimates": found[:_MOST],
        "more": max(len(found) - _MOST, 0),
        "draws": [asdict(one) for one in draws],
        "sizes": None if sizes is None else asdict(sizes),
        "noise_sd": _noise_of_counts(plan),
        "warnings": []
        if plan is None
        else [in_fields(plain(text), _KNOWN) for text in plan.warnings],
        "error": "" if plan is None else _said(plan, "error"),
        "estimand": "" if plan is None else _said(plan, "estimand"),
    }


def _noise_of_counts(plan: Plan | None) -> float | None:
    """Standard deviation of the noise of the first draw, where a plan says it."""
    if plan is None:
        return None
    found = [n.value for n in plan.numbers if n.of_draw and n.quantity.endswith("noise_sd")]
    return found[0] if found and math.isfinite(found[0]) else None


def _said(plan: Plan, quantity: str) -> str:
    """What a plan says of a quantity in words; empty if nothing."""
    return plan.facts.get(quantity, "")


def _estimates(plan: Plan, study: Study, header: Schema) -> list[dict[str, Any]]:
    """Planned errors of each estimate, in the order of the plan."""
    found: dict[str, dict[str, Any]] = {}
    sds = {n.outcome: n.value for n in plan.numbers if n.quantity == "sd" and not n.term}
    schema, shares = study.declared(header), study.release.method == "marginals"
    for number in plan.numbers:
        if number.quantity not in _KEYS or not math.isfinite(number.value):
            continue
        one = found.setdefault(number.estimate, _about(number, sds, schema, shares=shares))
        one[_KEYS[number.quantity]] = number.value
    return [one for one in found.values() if "with" in one or "ratio" in one]


_KEYS: Mapping[str, str] = {
    STD_ERROR: "with",
    WITHOUT_PRIVACY: "without",
    NOISE_SD: "noise",
    RATIO: "ratio",
    "detectable_effect": "detectable",
}


def _about(
    number: PlannedNumber, sds: Mapping[str, float], schema: Schema, *, shares: bool
) -> dict[str, Any]:
    """Name and unit of an estimate, and the standard deviation of its outcome.

    Shares are of rows in each level or bin of a column, whose number a picture needs.
    """
    outcome = number.outcome or number.regression.split("~")[0].strip() or number.term
    known = schema.column(outcome) if outcome in schema.names else None
    sd = None if known is None or shares else known.sd
    guessed = sd is None
    if sd is None:
        sd = sds.get(number.outcome)
    if sd is None and known is not None and known.bounds is not None and not shares:
        sd = (known.bounds[1] - known.bounds[0]) / 2  # no spread within them is larger
    return {
        "name": in_labels(number.estimate, schema),
        "outcome": outcome,
        "term": number.term,
        "regression": number.regression,
        "unit": number.unit.removeprefix("units of "),
        "cells": 0 if known is None or not shares else len(encoding(known).cells),
        "sd": sd,
        "guessed": guessed,
    }
