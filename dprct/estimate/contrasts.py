"""Which comparisons of arm means an experiment reports: arms, main effects, interactions, any."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal

from dprct.assignment import Factorial
from dprct.assignment.groups import CONTROL
from dprct.errors import ParameterError
from dprct.schema.arguments import check_choice
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.assignment.base import Design
    from dprct.assignment.factorial import Combination

EffectRule = Literal["arms", "main", "factorial"]

_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d+)?|\.\d+)\s*\*\s*)?(`[^`]+`|[^\s+\-*`]+)\s*")
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Contrast:
    """A comparison of arm means.

    Parameters
    ----------
    name : str
    weights : tuple of Fraction, length A
        Of sum zero, the control group first.
    """

    name: str
    weights: tuple[Fraction, ...]


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
    """Return what ``effects=`` asks for.

    Parameters
    ----------
    effects : {"arms", "main", "factorial"}
        Each arm against control; main effects of the factors; these and all interactions.
    design : Design
        A factorial one for ``"main"`` and ``"factorial"``.
    order : sequence of int, length A
        The design's group of each arm.
    arms : sequence of str, length A
        The control group first.

    Raises
    ------
    ParameterError
        If the design has no factors.

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
            f"effects={effects!r} needs a dprct.Factorial design, which says the factors; got "
            f"{type(design).__name__}"
        )
    most = 1 if effects == "main" else len(design.factors)
    places = [design.combinations[group] for group in order]
    return tuple(_factorial(design, places, most))


def parse_contrast(contrast: str | Mapping[str, float], arms: Sequence[str]) -> Contrast:
    """Read ``"a - b"``, ``"0.5*a + 0.5*b - control"``, or a mapping from arm to weight.

    Raises
    ------
    ParameterError
        If it names no arm, an unknown one, or its weights do not sum to zero.

    Examples
    --------
    >>> parse_contrast("a - b", ("control", "a", "b")).weights
    (Fraction(0, 1), Fraction(1, 1), Fraction(-1, 1))
    """
    wanted = dict(contrast) if isinstance(contrast, Mapping) else _read(contrast, arms)
    unknown = [name for name in wanted if name not in arms]
    if unknown or not wanted:
        got = given(unknown[0]) if unknown else "nothing"
        raise ParameterError(f"contrast names {got}, which is no arm; arms are {', '.join(arms)}")
    weights = [_weight(wanted.get(arm, 0)) for arm in arms]
    if abs(float(sum(weights))) > _SUM_TOLERANCE or not any(weights):
        raise ParameterError(
            f"the weights of contrast {given(contrast)} do not sum to zero, or are all zero; a "
            "contrast compares arms, such as 'a - b' or {'a': 1, 'b': -1}"
        )
    name = contrast if isinstance(contrast, str) else _written(wanted)
    return Contrast(" ".join(name.split()), tuple(weights))


def _read(text: Any, arms: Sequence[str]) -> dict[str, Fraction]:
    """Return the weight of each arm in a text; an arm whose name has signs is in backquotes."""
    if not isinstance(text, str):
        raise ParameterError(f"contrast is {given(text)}; give 'a - b' or a mapping of weights")
    found: dict[str, Fraction] = {}
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (found and not term[1]):
            raise ParameterError(
                f"contrast {given(text)} is not read at character {at + 1}; write 'a - b' or "
                f"'0.5*a + 0.5*b - c' of the arms {', '.join(arms)} (in backquotes where a name "
                "has signs or spaces), or give a mapping"
            )
        name = term[3].strip("`")
        weight = Fraction(term[2] or 1) * (-1 if term[1] == "-" else 1)
        found[name] = found.get(name, Fraction(0)) + weight
        at = term.end()
    return found


def _weight(value: Any) -> Fraction:
    number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    if not (number and math.isfinite(value)):
        raise ParameterError(f"a contrast has the weight {given(value)}; give finite numbers")
    return Fraction(value)


def _written(weights: Mapping[str, Any]) -> str:
    parts = [
        f"{'-' if w < 0 else '+'} {'' if abs(w) == 1 else f'{float(abs(w)):g}*'}{arm}"
        for arm, w in weights.items()
        if w != 0
    ]
    return " ".join(parts).removeprefix("+ ")


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
