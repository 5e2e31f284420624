"""Comparisons of the arms of an experiment: each with control, of factors, and as a user asks."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Literal

from dprct.arguments import check_choice, given
from dprct.assignment import Factorial
from dprct.assignment.groups import CONTROL
from dprct.errors import ParameterError
from dprct.records import dataclass
from dprct.results.joint import restrictions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dprct.assignment.factorial import Combination
    from dprct.assignment.groups import Design

EffectRule = Literal["arms", "main", "factorial"]

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Contrast:
    """A comparison of arm means."""

    name: str
    weights: tuple[Fraction, ...]  # of sum zero, the control group first


def arm_contrasts(arms: Sequence[str]) -> tuple[Contrast, ...]:
    """Return each arm against control, which comes first.

    Examples
    --------
    >>> [contrast.name for contrast in arm_contrasts(("control", "a", "b"))]
    ['a', 'b']
    """
    return tuple(
        Contrast(name, tuple(Fraction((i == a) - (i == 0)) for i in range(len(arms))))
        for a, name in enumerate(arms)
        if a > 0
    )


def contrasts_of(
    effects: EffectRule, design: Design, order: Sequence[int], arms: Sequence[str]
) -> tuple[Contrast, ...]:
    """What ``effects=`` asks for: arms against control, main effects, or these and interactions.

    ``order`` is the design's group of each of ``arms``, the control group first.

    Notes
    -----
    The reference of a factor is its group in the control arm.  The main effect of a group g is
    mean over the combinations of the other factors of (mean with g - mean with the reference),
    all combinations weighing the same; an interaction is the difference of such differences,
    averaged over the factors outside it.

    References
    ----------
    Gerber and Green (2012), Field Experiments, chapter 9.
    """
    check_choice("effects", effects, ("arms", "main", "factorial"))
    if effects == "arms":
        return arm_contrasts(arms)
    if not isinstance(design, Factorial):
        raise ParameterError(
            f"``effects={effects!r}`` needs a ``dprct.Factorial`` design, which says the "
            f"factors; got ``{type(design).__name__}``"
        )
    most = 1 if effects == "main" else len(design.factors)
    places = [design.combinations[group] for group in order]
    return tuple(_factorial(design, places, most))


def parse_contrast(contrast: str | Mapping[str, float], arms: Sequence[str]) -> Contrast:
    """Read ``"a - b"``, ``"0.5*a + 0.5*b - control"``, or a mapping from arm to weight.

    Examples
    --------
    >>> parse_contrast("a - b", ("control", "a", "b")).weights
    (Fraction(0, 1), Fraction(1, 1), Fraction(-1, 1))
    """
    refused = ParameterError(
        f"contrast ``{given(contrast)}`` compares no arms; write 'a - b' or '0.5*a + 0.5*b - c' of "
        f"the arms {', '.join(arms)} (in backquotes where a name has signs or spaces), or give a "
        "``mapping`` of weights that sum to zero"
    )
    try:
        asked = restrictions(contrast, arms)
    except ParameterError:
        raise refused from None
    weights = asked.weights
    if len(weights) > 1 or asked.values[0] or abs(float(weights.sum())) > _SUM_TOLERANCE:
        raise refused
    return Contrast(asked.texts[0], tuple(map(Fraction, weights[0].tolist())))


def _factorial(design: Factorial, places: list[Combination], most: int) -> Iterator[Contrast]:
    """Yield main effects, then interactions of up to ``most`` factors."""
    factors = range(len(design.factors))
    reference = places[0]
    for size in range(1, most + 1):
        for chosen in combinations(factors, size):
            others = [len(design.factors[f].groups.names) for f in factors if f not in chosen]
            groups = [
                [g for g in range(len(design.factors[f].groups.names)) if g != reference[f]]
                for f in chosen
            ]
            for treated in product(*groups):
                against = {f: (g, reference[f]) for f, g in zip(chosen, treated, strict=True)}
                name = ":".join(_named(design.factors[f], against[f][0]) for f in chosen)
                share = Fraction(1, math.prod(others))
                yield Contrast(name, tuple(share * _sign(place, against) for place in places))


def _named(factor: Design, group: int) -> str:
    """Return the column of a group, with the level where a column has several."""
    groups = factor.groups
    name = groups.names[group]
    if name in groups.columns:
        return str(name)
    column = "+".join(groups.columns)
    if len(groups.columns) == 1 and len(groups.names) == 2 and name != CONTROL:
        return column
    return f"{column}={name if isinstance(name, str) else f'{name:g}'}"


def _sign(place: Combination, against: Mapping[int, tuple[int, int]]) -> int:
    """Return the product over factors of +1 for the group, -1 for the reference, 0 else."""
    return math.prod(
        1 if place[f] == group else -1 if place[f] == reference else 0
        for f, (group, reference) in against.items()
    )


def compared_words(arms: Sequence[str], contrasts: Sequence[Contrast]) -> str:
    """Return which difference effects are, in words."""
    if tuple(contrasts) == arm_contrasts(arms):
        return f"difference from {arms[0]}"
    return "factorial effect, all combinations of the other factors weighing the same,"
