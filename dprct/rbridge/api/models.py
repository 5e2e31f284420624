"""Designs, models, their plans and their fits; the one place where R spends privacy."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import dprct
from dprct.errors import FormulaError, ParameterError
from dprct.estimate.ate.model import PrivateATE
from dprct.estimate.moments.results import Moments
from dprct.formula import names
from dprct.lazy import pandas as pd
from dprct.rbridge.api.moments import declared_of, moments_record, public_labels
from dprct.rbridge.api.options import options_for
from dprct.rbridge.api.results import estimate_record, plan_record, result_record
from dprct.rbridge.api.session import whole
from dprct.rbridge.api.spelling import spelled
from dprct.rbridge.convert import Likeness, Matrix, Record, RFunction, RProcedure, Table
from dprct.rbridge.convert.calls import messages
from dprct.rbridge.convert.vectors import fields, text
from dprct.rbridge.dialect import method_in_r
from dprct.rbridge.registry import export
from dprct.records import dataclass
from dprct.schema import Schema
from dprct.study.methods import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.assignment import Design
    from dprct.privacy.accountant import Accountant
    from dprct.release.release import Release
    from dprct.results.base import LinearResults


DESIGNS = ("Simple", "Complete", "Block", "Cluster", "BlockCluster", "Factorial", "Custom")


def design_of(spec: Mapping[str, Any], table: Table | None = None) -> Design:
    """The design that R describes by ``kind``, one of :data:`DESIGNS`, and ``options``.

    ``table`` is what R knows of the data frame whose synthetic rows an R function will be given.
    """
    kind = spec["kind"]
    if kind not in DESIGNS:
        raise ParameterError(f"there is no design {kind!r}; allowed: {', '.join(DESIGNS)}")
    options = dict(spec["options"])
    if kind == "Factorial":
        options["factors"] = [design_of(factor, table) for factor in options["factors"]]
    if kind == "Custom":
        facts, like = (Schema(()), None) if table is None else (table.schema, table.like)
        options["procedure"] = RProcedure(options["procedure"], facts, like)
    make = getattr(dprct, kind)
    found: Design = make(**options_for(make, _by_code(options, table)))
    return found


def _by_code(options: dict[str, Any], table: Table | None) -> dict[str, Any]:
    """Return options whose shares are named by codes of blocks, which R has as text."""
    shares, block = options.get("shares"), options.get("block")
    if not isinstance(shares, dict) or not isinstance(block, str):
        return options
    text = table is not None and block in table.schema.names and table.schema.column(block).is_text
    codes = {_number(name): share for name, share in shares.items()}
    return options if text or None in codes else {**options, "shares": codes}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@export("design_describe")
def design_describe(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a design's sentence and its treatment columns, or refuse it."""
    design = design_of(spec)
    return {"text": design.describe(), "columns": list(design.columns)}


@export("design_assign")
def design_assign(spec: Mapping[str, Any], data: Table, rng: float | None = None) -> pd.DataFrame:
    """Return a draw of the treatment columns."""
    seed = None if rng is None else whole(rng, "rng")
    return design_of(spec, data).assign(data.data, seed)


def method_named(name: str) -> type[Any]:
    """Return the class of a method.

    Examples
    --------
    >>> method_named("published.GenModel").__name__
    'GenModel'
    """
    if name not in BY_NAME:
        raise ParameterError(
            f"the Python package dprct {dprct.__version__} has no method {name!r}; allowed: "
            f"{', '.join(BY_NAME)}; or update it, in R with install_dprct()"
        )
    return BY_NAME[name]


@dataclass(frozen=True)
class Bound:
    """A method bound to its data, and how R keeps the columns of these."""

    method: Any
    like: Likeness | None = None


@export("model")
def model(
    method: str,
    data: Table,
    options: Mapping[str, Any] | None = None,
    formula: str | None = None,
) -> Record:
    """Return a method bound to its data; the data are checked against the schema here."""
    kind = method_named(method)
    named = dict(options or {})
    if "index" in named:
        named["index"] = _index_of(named["index"], data)
    if named.get("assignment") is not None:
        named["assignment"] = design_of(named["assignment"], data)
    if "formulas" in named:
        named["formulas"] = declared_of(named["formulas"])
    given = options_for(kind, named)
    if formula is not None and hasattr(kind, "from_formula"):
        made = kind.from_formula(formula, data.data, data.schema, **given)
    else:
        made = kind(data.data, data.schema, **_named_by(formula, kind), **given)
    return Record(("dprct_model",), {"method": method_in_r(method)}, live=Bound(made, data.like))


def _index_of(index: Any, table: Table) -> Any:
    """Return functions of R that get factors as factors, and whose messages nobody hears.

    A message may show rows, as may a warning, which the index keeps from everybody itself.
    """
    if isinstance(index, dict):
        return {outcome: _index_of(rule, table) for outcome, rule in index.items()}
    if not isinstance(index, RFunction):
        return index
    levels = _levels_of_factors(table)

    def rule(rows: pd.DataFrame) -> Any:
        token = messages.set(lambda _: None)
        try:
            return index(
                rows.assign(**{n: _factor(rows[n], k) for n, k in levels.items() if n in rows})
            )
        finally:
            messages.reset(token)

    rule.__qualname__ = "of R's"
    return rule


def _levels_of_factors(table: Table) -> dict[str, list[str]]:
    if table.like is None:
        return {}
    columns = fields(fields(table.like.attributes)["columns"])
    names = [name for name, one in columns.items() if text(fields(one)["kind"]) == "factor"]
    return {name: [*table.schema.labels_of(name).values()] for name in names}


def _factor(codes: pd.Series[Any], levels: list[str]) -> pd.Series[Any]:
    places = codes.where(codes.isin(range(1, len(levels) + 1)), 0).astype(int) - 1
    kind = pd.CategoricalDtype(levels)
    return pd.Series(pd.Categorical.from_codes(places, dtype=kind), codes.index)


def _named_by(formula: str | None, kind: type[Any]) -> dict[str, Any]:
    """Columns that a formula names, for a class that takes columns."""
    if formula is None:
        return {}
    left, right = names(formula)
    if len(left) != 1:
        raise FormulaError(f"{formula!r} has {len(left)} columns on the left; give one")
    if "features" in inspect.signature(kind).parameters:
        return {"outcome": left[0], "features": list(right)}
    return {"treatment": left[0], "covariates": list(right)}


@export("plan")
def plan(
    model: Bound, epsilon: float, delta: float = 0, accept_large_delta: bool = False
) -> Record:
    """Plan of a fit: its cost and how noisy it will be; free."""
    method = model.method
    options = {"delta": delta, "accept_large_delta": accept_large_delta}
    return plan_record(method.plan(epsilon, **_taken(method.plan, **options)))


@export("fit")
def fit(
    model: Bound,
    epsilon: float,
    delta: float = 0,
    accountant: Accountant | None = None,
    rng: float | None = None,
    confirm: bool = False,
    accept_large_delta: bool = False,
) -> Record:
    """Spend the budget once, and return what was released."""
    seed = None if rng is None else whole(rng, "rng")
    if not isinstance(confirm, bool):
        raise ParameterError(f"confirm is ``{type(confirm).__name__}``; give ``True`` or ``False``")
    method = model.method
    options = {"delta": delta, "confirm": confirm, "accept_large_delta": accept_large_delta}
    asked = _taken(method.fit, **options)
    return _fitted(method.fit(epsilon, accountant=accountant, rng=seed, **asked), model)


@export("fit_again")
def fit_again(model: Bound, entry: str, accountant: Accountant | None = None) -> Record:
    """Return the result of a ledger entry from its saved state; nothing is charged."""
    return _fitted(model.method.resume(entry, accountant=accountant), model)


def _fitted(found: Any, model: Bound) -> Record:
    if isinstance(found, Moments):
        return moments_record(found)
    if isinstance(model.method, PrivateATE):
        return _of_arms(found, model.method)
    return result_record(found, like=model.like)


def _of_arms(found: LinearResults, method: PrivateATE) -> Record:
    """Return effects whose arms and subgroups R knows by the levels of its factors."""
    spec, schema = method.spec, method.facts.schema
    factors = public_labels(schema, [*spec.design.columns, *spec.subgroups])
    arms: dict[str, str] = {}
    for name in spec.design.columns:
        for code, label in enumerate(factors.get(name, ()), 1):
            arms[str(code)] = name + label
            for said in ("difference from {} in", "; {} mean "):
                was, now = said.format(code), said.format(label)
                found = replace(found, notes=tuple(x.replace(was, now) for x in found.notes))
    record = estimate_record(spelled(found, None, arms), "dprct_private")
    return replace(record, fields={**record.fields, "factors": factors, "arms": arms})


def _taken(method: Any, **options: Any) -> dict[str, Any]:
    """Return the options that a method has; one that it has not may only say nothing."""
    known = inspect.signature(method).parameters
    for name, value in options.items():
        if value and name not in known:
            raise ParameterError(f"this method takes no {name}; leave it out")
    return {name: value for name, value in options.items() if name in known}


@export("release_write")
def release_write(release: Release, path: str) -> Record:
    """Write a protected file and its certificate."""
    certificate = release.write_dta(path)
    return Record(("dprct_certificate",), {"file": path, "text": str(certificate)})


@export("estimate_interval")
def estimate_interval(estimate: LinearResults, alpha: float) -> Matrix:
    """Return intervals by the law of the estimate; of released effects by that of the release."""
    return Matrix.of(getattr(estimate, "shown", estimate).conf_int(alpha))


@export("result_band")
def result_band(estimate: Any, alpha: float) -> Any:
    """Return the interval of an average, and of each level by its name."""
    if hasattr(estimate, "average_interval"):
        rows = estimate.tidy(alpha)
        if "low" not in rows:
            ends = np.array([estimate.average_interval(alpha)])
            return Matrix(ends, ["average"], ["low", "high"])
        words = [
            f"{term} {level}".strip() for term, level in zip(rows.term, rows.level, strict=True)
        ]
        return Matrix(rows[["low", "high"]].to_numpy(np.float64), words, ["low", "high"])
    if hasattr(estimate, "noise_band"):
        return estimate.conf_int(alpha)
    raise ParameterError("this published form has no interval: the law of its noise is unknown")


@export("noise_band")
def noise_band(estimate: Any, alpha: float) -> Any:
    """Return the band of the privacy noise alone around the effects of a path."""
    if not hasattr(estimate, "noise_band"):
        raise ParameterError(
            "this result has no band of noise alone: its intervals, those of confint(), contain "
            "sampling error too"
        )
    ends = estimate.noise_band(alpha)
    return pd.DataFrame(
        {
            "term": [*ends.index],
            "noise.low": ends["low"].to_numpy(),
            "noise.high": ends["high"].to_numpy(),
        }
    )


@export("result_predict")
def result_predict(estimate: Any, data: Table) -> Any:
    """Return a released function at public rows."""
    for name in ("predict", "effect"):
        function = getattr(estimate, name, None)
        if callable(function):
            return function(data.data)
    raise ParameterError("this result is not a function of covariates, so it predicts nothing")
