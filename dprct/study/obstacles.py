"""All that stands between a regression and a release, not only the first rule that fails it.

What a rule objects to is taken out of the regression, and the rest is judged again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dprct.certificate.certificate import MARGINAL
from dprct.dofile.varlists import bare_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dprct.dofile import Regression

    Verdict = Any
    Judge = Callable[[Regression, Any], Verdict]

VALID = ("valid", MARGINAL)
"""Verdicts on regressions whose coefficients and errors are released."""
_TO_THE_ERRORS = (*VALID, "effects only")
_MOST = 12
_DECLARE = "[[regression]]"
_ERRORS = "errors are not: "


class Obstacle(NamedTuple):
    """A reason why a regression is not valid, and what would change it, where something would."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return "; ".join(part for part in self if part)


def after_step(step: str, why: str) -> str:
    """What is said of a regression because of what was done to its rows, or was not yet."""
    if step.startswith("no "):
        return f"before {step[3:]}: the study does that to its rows before the release"
    return f"after {step}: {why}"


def further(first: Verdict, released: Any, judge: Judge) -> tuple[Obstacle, ...]:
    """Return what else stands in the way of a regression, after the reason of its verdict.

    That it is not declared is no second obstacle of one that is to be declared anyway.  ``judge``
    gives the verdict on a regression by the first rule that applies, from what is public of the
    release.
    """
    found: dict[Obstacle, None] = {}
    said, now = Obstacle(first.reason, first.remedy), first
    for _ in range(_MOST):
        left = None if now.kind in _TO_THE_ERRORS else _without_first(now, released, judge)
        if left is None or left[0].kind in VALID:
            break
        now, released = left
        one = _of_the_rest(now)
        if one == said:
            continue
        asked = any(_DECLARE in before.remedy for before in (said, *found))
        if not (asked and now.reason.startswith("it is not declared")):
            found[one] = None
    return tuple(found)


def _of_the_rest(now: Verdict) -> Obstacle:
    """Return the obstacle of a verdict; what is read off the rest is not the regression's."""
    _, of_errors, kind = now.reason.partition(_ERRORS)
    reason = f"its errors are not served: {kind}" if of_errors else now.reason
    return Obstacle(reason, "" if now.reading is not None else now.remedy)


def _without_first(now: Verdict, released: Any, judge: Judge) -> tuple[Verdict, Any] | None:
    """Verdict without what the first rule objects to in a regression; None if that is all of it."""
    for row, wider in _lifted(now.regression, released):
        found = judge(row, wider)
        if (found.kind, found.reason) != (now.kind, now.reason):
            return found, wider
    return None


def _lifted(row: Regression, released: Any) -> Iterator[tuple[Regression, Any]]:
    """Yield a regression without one of its parts, each in turn, in the order of the rules."""
    if row.unknown:
        yield replace(row, unknown=()), released
    words = (*row.regressors, *row.instruments, *row.absorb, *row.cluster)
    used = dict.fromkeys(name for word in (*row.outcomes, *words) for name in bare_names(word))
    for name in used:
        fate = released.fates.get(name)
        if fate in (None, "withheld", "drop") and name not in row.derived:
            yield row, replace(released, fates={**released.fates, name: "modelled"})
    if row.numbered or row.categories:
        yield replace(row, numbered=(), categories={}), released
    if row.endogenous:
        kept = (name for name in row.regressors if name not in row.endogenous)
        reduced = (*row.instruments, *kept)
        yield replace(row, command="regress", regressors=reduced, endogenous=(),
                      instruments=()), released  # fmt: skip
    elif row.command not in ("regress", "areg", "reghdfe") and isinstance(row.outcome, str):
        yield replace(row, command="areg" if row.absorb else "regress"), released
    if row.steps:
        yield replace(row, steps=(), merges=(), sources=row.sources[:1]), released
    if not row.intercept:
        yield replace(row, intercept=True), released
    if row.weights and not (released.served and released.served.weights):
        yield replace(row, weights=""), released
    if row.sample or row.groups:
        yield replace(row, sample="", groups="", remade=()), released
    for name in row.derived:
        if name in used:
            rest = {one: text for one, text in row.derived.items() if one != name}
            fates = {name: "modelled", **released.fates}
            yield replace(row, derived=rest), replace(released, fates=fates)
    if row.level:
        yield replace(row, level=""), released
