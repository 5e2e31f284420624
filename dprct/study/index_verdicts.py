"""Whether a declared logit, probit, cloglog or Poisson regression is one of a do-file's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.study.reading import Reading, ServedRegression

if TYPE_CHECKING:
    from dprct.dofile import Regression
    from dprct.estimate.moments.model import MomentsSpec

COMMANDS = {"logit": "logit", "logistic": "logit", "probit": "probit", "cloglog": "cloglog",
            "poisson": "poisson"}  # fmt: skip
"""Commands whose coefficients private scoring releases, and their families."""


UNSERVED = {
    "probit": "the fitted means of a probit are not those of the arms: its marginal effects are no "
    "effects on the mean, and its coefficients are not released",
    "dprobit": "it prints effects at the mean of covariates, which are not effects on the mean",
    **dict.fromkeys(
        ("tobit", "cnreg", "intreg"),
        "its coefficients are effects on a censored index, which was not released",
    ),
    **dict.fromkeys(
        ("oprobit", "ologit"),
        "its coefficients are effects on an index of ordered categories, which was not released",
    ),
    "mlogit": "it has an equation for each category, of which none was released",
    "clogit": "it is conditional on the number of ones in each group, which was not released",
    "xtlogit": "it has effects of units on the log odds, which are not functions of these numbers",
    "xtprobit": "it has effects of units on an index, which are not functions of these numbers",
    "melogit": "it has random effects on the log odds, which are not functions of these numbers",
    "xtpoisson": "it has effects of units on the log of the mean, which are not functions of these "
    "numbers",
    "cloglog": "the fitted means of a cloglog are not those of the arms, and its coefficients are "
    "not released",
    "nbreg": "its coefficients rest on a law of counts of which no scores are released",
    "heckman": "it has an equation for who is observed, of which nothing was released",
    "qreg": "its coefficients are of quantiles, and what is released are means",
}
"""Commands of which neither coefficients nor average effects are released, and why."""


def planned_models(spec: MomentsSpec) -> tuple[ServedRegression, ...]:
    """The models of an index that a study's release is to have."""
    found = []
    for one in spec.of_index:
        clusters = spec.clusters_of(one)
        kind = "nonrobust" if "nonrobust" in (one.cov_type, spec.cov_type) else "HC1"
        for outcome in one.parsed.outcome_names:
            own = one.of(outcome)
            found.append(ServedRegression(
                own.title, own.formula, clusters, "CR1" if clusters else kind,
                one.condition or "", one.weights or "", family=str(one.family),
            ))  # fmt: skip
    return tuple(found)


def index_verdict(
    one: ServedRegression, row: Regression, file: str
) -> tuple[str, str, str | Reading]:
    """Verdict on a regression of a do-file that is this model, but perhaps for its errors."""
    alike = {
        "classical": one.cov_type == "nonrobust", "": one.cov_type == "nonrobust",
        "robust": one.cov_type == "HC1", "cluster": {*one.clusters} == {*row.cluster} != set(),
    }  # fmt: skip
    command = Reading(file, one.title, ratios=row.command == "logistic")
    # of sampling weights Stata's errors are robust, whether it is said or not
    implied = "robust" if one.weights and row.vce in ("", "classical") else row.vce
    if alike.get(implied, False):
        after = ", by private scoring, of covariates within their ball"
        return "valid", "", replace(command, after=after)
    kinds = {"HC1": "robust ones", "nonrobust": "classical ones"}
    kind = kinds.get(one.cov_type, f"those clustered by {' '.join(one.clusters)}")
    said = f"the coefficients are served, their errors are not: {kind} are released for it"
    return "effects only", said, command


def saturated_verdict(row: Regression, formula: str, file: str) -> tuple[str, str, str | Reading]:
    """Verdict on a model with a coefficient for each group, whose means are released."""
    ratios = row.command == "logistic"
    command = Reading(file, formula, family=COMMANDS[row.command], ratios=ratios)
    # of a poisson classical errors rest on a variance that is the mean
    classical = row.vce in ("", "classical") and row.command != "poisson"
    if row.vce == "robust" or classical:
        return "valid", "", replace(command, after=", from released means")
    said = f"the coefficients are served, their errors are not: those of {row.vce or 'the model'}"
    return "effects only", f"{said} need its scores", command
