"""Released moments: regressions and effects that R reads off them, and their file."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError, SimulationError
from dprct.estimate.moments.declared import Regression
from dprct.estimate.moments.document import document_of, parts_of
from dprct.estimate.moments.effects import EffectResults
from dprct.estimate.moments.groups import names_of
from dprct.estimate.moments.regression import RegressionResults
from dprct.estimate.moments.results import Moments
from dprct.formula import parse
from dprct.rbridge.api.regressions import Fitted
from dprct.rbridge.api.results import estimate_record, guarantee_record, table_record
from dprct.rbridge.api.spelling import spelled
from dprct.rbridge.convert import Record
from dprct.rbridge.names import r_name_of, r_words
from dprct.rbridge.registry import export, revives
from dprct.schema import Schema
from dprct.schema.columns import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def moments_record(moments: Moments) -> Record:
    """Return released moments as R's ``dprct_moments``; the document is what a session saves."""
    simulated = moments.guarantee.simulation
    return Record(
        ("dprct_moments",),
        {
            "columns": [r_name_of(name) for name in moments.columns],
            "factors": _factors(moments),
            "arms": list(moments.arms),
            "groups": names_of(moments.groups, moments.schema),
            "outcomes": list(moments.outcomes),
            "nobs": moments.n,
            "clipped": None if moments.clipped is None else asdict(moments.clipped),
            "facts": {name: r_words(said) for name, said in moments.facts()},
            "guarantee": guarantee_record(moments.guarantee),
            "ledger": moments.ledger,
            "document": None if simulated else json.dumps(document_of(moments)),
            "text": r_words(moments.summary()),
        },
        live=moments,
    )


def _factors(moments: Moments) -> dict[str, list[str]]:
    """Columns that are factors in R, with the labels where all are public, else none.

    They are those released by their levels alone, those of declared formulas that are factors in
    all of these, and treatment by the labels of codes from 1 on, as R has them.
    """
    parts = [part for place in moments.layout.places for part in place.variable.parts]
    found = {part.column.name: list[str]() for part in parts if part.level is not None}
    declared = [one.formula for one in moments.declared] + [one.formula for one in moments.models]
    parsed = [parse(text, functions=True, structural=True) for text in declared]
    factors = [factor for one in parsed for term in one.terms for factor in term]
    plain = {name for factor in factors if factor.kind != "C" for name in factor.names}
    found |= {factor.names[0]: [] for factor in factors if factor.kind == "C"}
    found |= public_labels(moments.schema, {*found, *moments.treatment})
    hidden = plain.union(moments.columns)
    return {name: labels for name, labels in found.items() if name not in hidden}


def public_labels(schema: Schema, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the labels of codes from 1 on, as factors of R have them, where these are public."""
    found = {name: schema.labels_of(name) for name in names if name in schema.names}
    return {
        name: [shown(words) for words in labels.values()]
        for name, labels in found.items()
        if labels and schema.column(name).confirmed and [*labels] == [*range(1, len(labels) + 1)]
    }


@revives("dprct_moments")
def moments_again(saved: Mapping[str, Any]) -> Moments:
    """Return the moments of a record that another session saved."""
    document = saved.get("document")
    if document is None:
        raise SimulationError(
            "these moments were drawn with a seed (rng) in another session, so nothing is kept of "
            "them; fit without rng to release"
        )
    return Moments(**parts_of(json.loads(document), "the saved object"))


def declared_of(formulas: Any) -> list[str | Regression]:
    """Return formulas as text, and what R's ``regression()`` made of others as regressions."""
    listed = [formulas] if isinstance(formulas, (str, dict)) else formulas
    return [one if isinstance(one, str) else Regression(**one) for one in listed]


@export("moments_read")
def moments_read(path: str) -> Record:
    """Return the moments that a file holds."""
    return moments_record(Moments.load(path))


@export("moments_write")
def moments_write(moments: Moments, path: str) -> None:
    """Write moments as a file, which may be published."""
    moments.save(path)


@export("moments_declared")
def moments_declared(moments: Moments) -> dict[str, Record]:
    """Return every declared regression and model, by its title."""
    found: dict[str, Any] = {one.title: moments.ols(one.title) for one in moments.declared}
    found |= {one.title: moments.iv(one.title) for one in moments.instrumented}
    found |= {one.title: moments.glm(one.title) for one in moments.models}
    each = {r_words(title): spelled(one, None) for title, one in found.items()}
    return {title: estimate_record(one, "dprct_private") for title, one in each.items()}


@export("moments_effects")
def moments_effects(
    result: Any, outcomes: Any = None, where: Any = None, joint: Any = None,
    factors: Mapping[str, Any] | None = None, arms: Mapping[str, str] | None = None,
) -> Record:  # fmt: skip
    """Return the effect of every arm on every outcome, of moments or of private_ate().

    ``factors`` are the labels of the columns of a fit of private_ate() that are factors in R, and
    ``arms`` its arms by their codes.
    """
    if joint is not None:
        if not isinstance(result, Moments) or outcomes is not None or where is not None:
            raise ParameterError(
                "``joint=`` names a family of declared regressions of released moments; give it "
                "alone"
            )
        return estimate_record(spelled(result.joint(joint), None), "dprct_private")
    if not isinstance(result, Moments | EffectResults):
        raise ParameterError(
            "these effects are not of private_ate() with delta, which has subgroups; give what "
            "its fit() returned"
        )
    asked = _groups(where, result.schema if isinstance(result, Moments) else factors or {})
    found = spelled(result.effects(outcomes, where=asked), None, arms)
    return estimate_record(found, "dprct_private")


@export("moments_fit")
def moments_fit(
    moments: Moments,
    formula: Any,
    kind: str = "ols",
    cov_type: str | None = None,
    where: Mapping[str, Any] | None = None,
    spelling: Mapping[str, Any] | None = None,
) -> Record:
    """Return a regression (``"ols"``), a declared one too, or one with instruments (``"iv"``)."""
    if kind not in ("ols", "iv"):
        raise ParameterError(f"there is no fit {kind!r}; allowed: ols, iv")
    fit: Any = moments.ols if kind == "ols" else moments.iv
    (asked,) = declared_of(formula)
    result = fit(asked, cov_type=cov_type, where=_groups(where, moments.schema))
    found = spelled(result, spelling)
    if isinstance(result, RegressionResults) and " | " not in result.formula:
        live = Fitted(result, found, _levels_of(result.formula, moments.schema), dated=False)
        return estimate_record(found, "dprct_ols", "dprct_private", live=live)
    return estimate_record(found, "dprct_private")


def _levels_of(formula: str, schema: Schema) -> dict[str, tuple[Any, ...]]:
    """Return the declared levels of the factors of a formula, by which new rows are read."""
    terms = parse(formula).terms
    names = {factor.names[0] for term in terms for factor in term if factor.kind == "C"}
    return {name: tuple(schema.column(name).levels or ()) for name in names}


@export("moments_margins")
def moments_margins(moments: Moments, formula: Any, family: str = "logit") -> Record:
    """Return the average marginal effects of a declared regression, as after logit or Poisson."""
    (asked,) = declared_of(formula)
    return estimate_record(spelled(moments.margins(asked, family=family), None), "dprct_private")


@export("moments_glm")
def moments_glm(
    moments: Moments, formula: Any, family: str | None = None, margins: str | None = None
) -> Record:
    """Return a declared logit, probit, cloglog or Poisson, or a regressor's average effect."""
    (asked,) = declared_of(formula)
    found: Any = moments.glm(asked, family=family)  # type: ignore[arg-type]
    shown = found if margins is None else found.margins(margins)
    return estimate_record(spelled(shown, None), "dprct_private")


@export("moments_table")
def moments_table(
    moments: Moments,
    outcomes: Any = None,
    arms: Any = None,
    adjust: bool = False,
    where: Mapping[str, Any] | None = None,
) -> Record:
    """Return the effects in the layout of experimental papers."""
    found = moments.itt_table(
        outcomes, arms=arms, adjust=adjust, where=_groups(where, moments.schema)
    )
    return table_record(found, estimates=found.tidy())


@export("moments_wald")
def moments_wald(result: Any, hypothesis: Any) -> Record:
    """Return the joint test of restrictions on effects, or on coefficients."""
    found = _combined(result)
    first = next(iter(inspect.signature(found.wald_test).parameters.values()))
    if hypothesis is None and first.default is first.empty:
        raise ParameterError(
            "``hypothesis=`` is missing, and defaults to all being 0 only for released moments and "
            "regressions that are tested together; give one, such as 'treat = 0', or several"
        )
    test = found.wald_test(hypothesis)
    return Record(
        ("dprct_wald",),
        {
            "statistic": test.statistic,
            "p.value": test.pvalue,
            "df": test.df,
            "df.residual": test.df_denom,
            "hypothesis": test.hypothesis,
            "text": str(test),
        },
    )


@export("moments_lincom")
def moments_lincom(result: Any, combination: Any) -> Record:
    """Return a linear combination of effects, or of coefficients."""
    found = _combined(result)
    if isinstance(found, Moments):
        found = spelled(found.effects(), None)
    return estimate_record(found.lincom(combination), "dprct_private")


def _combined(result: Any) -> Any:
    """Estimates that have a joint law; released moments have that of their effects."""
    result = getattr(result, "shown", result)
    if not hasattr(result, "lincom"):
        raise ParameterError(
            "this result has no combinations of coefficients; give released moments, or what "
            "effects() or ols() returned"
        )
    return result


@export("moments_index")
def moments_index(
    moments: Moments,
    outcomes: Any,
    scales: Mapping[str, float] | None = None,
    signs: Mapping[str, float] | None = None,
    where: Mapping[str, Any] | None = None,
) -> Record:
    """Return the effects on the mean of outcomes, each in units of its scale."""
    directions = None if signs is None else {name: int(sign) for name, sign in signs.items()}
    found = moments.outcome_index(
        outcomes, scales=scales, signs=directions, where=_groups(where, moments.schema)
    )
    return estimate_record(spelled(found, None), "dprct_private")


def _groups(where: Any, known: Schema | Mapping[str, Any]) -> Any:
    """Return a condition of R's, whose labels, whole numbers and logicals are levels.

    ``known`` are public labels, by code or as factors of R have them.
    """
    if where is None or isinstance(where, str):
        return where
    return {name: _level(known, name, level) for name, level in where.items()}


def _level(known: Schema | Mapping[str, Any], name: str, level: Any) -> Any:
    if isinstance(level, str):
        codes = dict(enumerate(known.get(name, ()), 1)) if not isinstance(known, Schema) else (
            known.labels_of(name) if name in known.names else {}
        )  # fmt: skip
        level = next((code for code, words in codes.items() if words == level), level)
    return level if isinstance(level, str) or level is None else float(level)
