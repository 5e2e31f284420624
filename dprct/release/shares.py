"""How the budget of a calibrated release is divided, and what its plan says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dprct.defaults import COVARIATE_SHARE
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, exact
from dprct.privacy.composition import sequential
from dprct.release.covariates import price_of
from dprct.results.plan import Plan

if TYPE_CHECKING:
    from fractions import Fraction

    from dprct.privacy.budget import Real
    from dprct.release.calibrated import CalibratedAllocation, CalibratedFacts, CalibratedSpec
    from dprct.release.covariates import Covariates, Rule

Wanted = Literal["auto", "histogram", "marginals", "filler"]


@dataclass(frozen=True, slots=True)
class Division:
    """What each part of a release may spend; the sum is the whole budget.

    Parameters
    ----------
    rule : {"histogram", "marginals", "filler"}
    reason : str
    covariates, effects, slopes : Budget
    """

    rule: Rule
    reason: str
    covariates: Budget
    effects: Budget
    slopes: Budget

    @property
    def whole(self) -> Budget:
        """The sum of all parts."""
        return sequential([self.covariates, self.effects, self.slopes])


def share_of(share: Real | None, wanted: Wanted) -> Fraction:
    """Return the share of epsilon that drawn covariates get, checked.

    Raises
    ------
    ParameterError
        If it is not between 0 and 1, or given for filler.
    """
    if share is None:
        return COVARIATE_SHARE
    found = exact(share, "share")
    if not 0 < found < 1:
        raise ParameterError(
            f"share={float(found):g}; give the share of covariates between 0 and 1, or "
            "covariates='filler' to spend nothing on them"
        )
    if wanted == "filler":
        raise ParameterError("covariates='filler' costs nothing; leave share= out")
    return found


def division(
    budget: Budget, share: Fraction, wanted: Wanted, covariates: Covariates, slopes: Fraction
) -> Division:
    """Divide a budget between covariates and effects, by public facts.

    Parameters
    ----------
    budget : Budget
    share : Fraction
        Of epsilon for covariates that are drawn; they get all of delta, the effects being pure.
    wanted : {"auto", "histogram", "marginals", "filler"}
    covariates : Covariates

    slopes : Fraction
        Share of epsilon for coefficients of covariates, which then get all of delta.

    Raises
    ------
    ParameterError
        If delta is not 0 and nothing uses it, or 0 and something needs it.
    """
    if slopes and not budget.delta:
        raise ParameterError(
            "gamma='moments' is Gaussian noise and needs a delta, far below 1/n; give one, or say "
            "gamma='zero'"
        )
    if share + slopes >= 1:
        raise ParameterError(
            f"share={float(share):g} beside {float(slopes):g} for gamma='moments' leaves nothing "
            "for the effects; lower share"
        )
    part = Budget(budget.epsilon * share, 0 if slopes else budget.delta)
    if not covariates.names:
        rule, reason = "filler", "no covariate is modelled"  # type: tuple[Rule, str]
    elif wanted == "auto":
        rule, reason = covariates.chosen(part)
    else:
        rule, reason = wanted, "as asked"
    if rule != "filler":
        of_slopes = Budget(budget.epsilon * slopes, budget.delta if slopes else 0)
        rest = Budget(budget.epsilon * (1 - share - slopes))
        return Division(rule, reason, part, rest, of_slopes)
    if budget.delta:
        raise ParameterError(
            f"delta={float(budget.delta):g}, and nothing of this release uses it (covariates are "
            f"filler: {reason}); leave delta out" + (", and gamma='moments'" if slopes else "")
        )
    return Division(rule, reason, Budget(0), budget, Budget(0))


def plan_of(spec: CalibratedSpec, known: CalibratedFacts, allocation: CalibratedAllocation) -> Plan:
    """Return the plan of a calibrated release."""
    part = allocation.division
    effects = spec.effects.plan(known.effects, allocation.effects)
    facts = {"budget": _budget(part)}
    facts |= {"regressions": "; ".join(known.regressions.formulas())}
    facts |= effects.facts
    facts |= {"covariates": f"{part.rule}: {part.reason}"}
    warnings, refusal = list(effects.warnings), ""
    if part.rule != "filler":
        drawn = known.covariates.plan(part.rule, part.covariates)
        facts |= price_of(drawn, known.covariates.names)
        facts |= {"covariates: price": _price(part)}
        rows = known.covariates.rows
        if rows > 1:
            facts |= {"covariates: price of clusters": f"each row gets 1/{rows} of their epsilon"}
        warnings += drawn.warnings
        refusal = drawn.refusal
    return Plan(
        spec.method,
        part.whole,
        facts,
        (*effects.consequences, *_consequences(spec, known, part)),
        tuple(warnings),
        refusal,
    )


def _budget(part: Division) -> str:
    if part.rule == "filler":
        return f"all of it, {part.effects}, on effects; nothing on covariates"
    slopes = f", {part.slopes} on their coefficients" if part.slopes.epsilon else ""
    return (
        f"{part.effects} on effects (to which the numbers below refer), {part.covariates} on "
        f"covariates{slopes}"
    )


def _price(part: Division) -> str:
    """Return by how much the spending on covariates raises the errors of effects."""
    more = float(part.whole.epsilon / part.effects.epsilon)
    return (
        f"spending nothing on covariates would divide the noise of every effect by {more:.3g}; "
        "they buy no precision, only a file that resembles the original"
    )


def _consequences(spec: CalibratedSpec, known: CalibratedFacts, part: Division) -> tuple[str, ...]:
    filled = "" if part.rule != "filler" or not known.covariates.names else (
        "covariates are filled uniformly over their public domain: they carry no information"
    )  # fmt: skip
    outcomes = ", ".join(known.regressions.outcomes)
    legal = (
        f"{outcomes}: rounded and clipped to legal values, so that regressions return the effects "
        "and errors up to a calibration error that the release reports"
        if spec.legal == "strict"
        else f"{outcomes}: real numbers stored as double, beyond the legal values of the original"
    )
    mine = "covariates buy no precision: their coefficients are zero up to noise and mean nothing"
    if spec.gamma == "moments":
        mine = (
            "covariates buy no precision: their coefficients are shrunk towards zero by the noise, "
            "and the errors printed beside them mean nothing"
        )
    return tuple(line for line in (mine, filled, legal) if line)
