"""What a synthetic control is asked for: bounds, penalty, placebos and shares, checked."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.defaults import (
    CONTROL_SHARES,
    MEAN_SHARE,
    PLACEBO_SHARE,
    PRE_FIT_SHARE,
    ridge_penalty,
)
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.synthetic.panel import number
from dprct.privacy.budget import exact
from dprct.queries import LARGEST_PENALTY
from dprct.queries.donors import Scale
from dprct.schema.arguments import one_name
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.estimate.synthetic.draws import Rule
    from dprct.estimate.synthetic.panel import Panel
    from dprct.privacy.budget import Real
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema

Bound = float | tuple[float, float]


def scale_of(bound: Bound | None, column: Column | None = None) -> Scale:
    """Return public bounds: those given, or those of the schema."""
    if bound is None:
        declared = None if column is None else column.bounds
        if declared is None:
            name = "the outcome" if column is None else f"outcome {column.name!r}"
            raise SchemaError(
                f"{name} has no bounds; declare bounds=(low, high) from public knowledge, never "
                "from the data, or give bound="
            )
        return Scale(float(declared[0]), float(declared[1]))
    pair = isinstance(bound, (tuple, list))
    ends = tuple(map(number, bound)) if isinstance(bound, (tuple, list)) else (number(bound),)
    if len(ends) != 1 + pair or any(math.isnan(end) for end in ends):
        raise ParameterError(
            f"bound={given(bound)}; give a positive number B, or (low, high), from public knowledge"
        )
    return Scale(ends[0], ends[1]) if pair else Scale(-ends[0], ends[0])


def check_complete(schema: Schema, outcome: object) -> None:
    """Refuse an outcome that may be missing: whether it is, in a series, would be a private fact.

    Raises
    ------
    SchemaError
    """
    name = one_name(outcome, "outcome")
    if schema.column(name).missing != ():
        raise SchemaError(
            f"outcome {name!r} may be missing, or has no declared missing policy; declare "
            "missing='never', for a synthetic control takes complete panels"
        )


def record_of(schema: Schema, unit: str | None) -> str:
    """Return what one record is called: the schema's word where it is for these units."""
    declared = schema.unit
    return declared.name if declared.id is not None and declared.id == unit else "donor"


def penalty_of(lam: object, T0: int) -> float:
    """Return the penalty, 20 T0 by default."""
    if lam is None:
        return ridge_penalty(T0)
    penalty = number(lam)
    if not 0 < penalty <= LARGEST_PENALTY:
        raise ParameterError(
            f"lam={given(lam)}; give a number above 0, such as 20 * T0, and at most "
            f"{LARGEST_PENALTY:g}"
        )
    return penalty


def placebos_of(wanted: object, panel: Panel) -> tuple[int, ...]:
    """Return which donors are placebos."""
    if isinstance(wanted, str) and wanted == "all":
        wanted = panel.names
    if isinstance(wanted, str) or not hasattr(wanted, "__iter__"):
        raise ParameterError(f"placebos={given(wanted)}; give 'all' or a list of donors")
    names = [str(name) for name in wanted]
    unknown = [name for name in names if name not in panel.names]
    if unknown or len(set(names)) < len(names):
        raise ParameterError(
            "placebos= names what is no donor, or a donor twice; name donors as the weights do"
        )
    if names and len(panel.names) < 3:
        raise ParameterError("a placebo takes one donor away; it needs at least 3 donors")
    return tuple(panel.names.index(name) for name in names)


def shares_of(
    asked: Mapping[str, Real] | None,
    rule: Rule,
    *,
    pre_fit: bool,
    placebos: bool,
    auto: bool,
    mean_effect: bool = False,
) -> dict[str, Fraction]:
    """Return the share of each part of the budget, adding up to one.

    Parameters
    ----------
    asked : mapping, or None for the defaults
    rule : {"ridge", "uniform"}
    pre_fit, placebos : bool
        Whether there are such parts.
    auto : bool
        Equal weights were chosen in place of ridge ones, whose share goes to the path.
    mean_effect : bool
        Whether the mean after treatment is a part of its own.

    Raises
    ------
    ParameterError
        If another part is named, or shares do not add up.

    Examples
    --------
    >>> shares_of(None, "ridge", pre_fit=False, placebos=False, auto=False)
    {'weights': Fraction(1, 2), 'prediction': Fraction(1, 2)}
    """
    wanted = ["prediction"] if rule == "uniform" else ["weights", "prediction"]
    wanted += ["mean"] * mean_effect + ["pre_fit"] * pre_fit + ["placebos"] * placebos
    if asked is None:
        return _default_shares(wanted)
    found = {name: exact(share, "share") for name, share in asked.items()}
    if auto and rule == "uniform" and "weights" in found:
        found["prediction"] = found.get("prediction", Fraction(0)) + found.pop("weights")
    if set(found) != set(wanted) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"shares names {', '.join(map(str, found)) or 'nothing'}; give a positive share for "
            f"each of {', '.join(wanted)}"
        )
    if sum(found.values()) != 1:
        raise ParameterError("shares do not sum to one exactly; give fractions that do")
    return {name: found[name] for name in wanted}


def _default_shares(wanted: Sequence[str]) -> dict[str, Fraction]:
    """Return the default shares: fixed ones for what is extra, the rest in proportion."""
    placebo = PLACEBO_SHARE if "placebos" in wanted else Fraction(0)
    fit = (1 - placebo) * PRE_FIT_SHARE if "pre_fit" in wanted else Fraction(0)
    left = {name: CONTROL_SHARES[name] for name in wanted if name in CONTROL_SHARES}
    rest = (1 - placebo - fit) / sum(left.values())
    found = {name: share * rest for name, share in left.items()}
    if "mean" in wanted:
        found["mean"] = found["prediction"] * MEAN_SHARE
        found["prediction"] -= found["mean"]
    return found | {k: v for k, v in (("pre_fit", fit), ("placebos", placebo)) if v}
