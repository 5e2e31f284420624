"""What a private IPW is asked for, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

from dprct.defaults import IPW_SPLIT, propensity_trim
from dprct.errors import ParameterError, SchemaError
from dprct.privacy.budget import exact
from dprct.queries.weighted import Estimand, Scheme
from dprct.schema.arguments import check_choice
from dprct.schema.facts import given

if TYPE_CHECKING:
    from dprct.privacy.budget import Real
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema

FEWEST_ROWS = 10
"""Of each part."""


def check_unweighted(schema: Schema, weights: object) -> None:
    """Refuse sampling weights and surveys, several rows a person, and undeclared panels."""
    kept = {name for _, name, _ in schema.file.characteristics}
    declared = any(column.role == "weight" for column in schema.columns)
    if weights is not None or declared or any(name.startswith("_svy") for name in kept):
        raise SchemaError(
            "sampling weights were given or are declared; a private IPW refuses them until the "
            "sensitivity of its weighted sums is proved: drop them if everybody is to count the "
            "same"
        )
    if schema.unit.max_rows > 1 or (schema.unit.id is None and kept & {"iis", "_TSpanel"}):
        raise SchemaError(
            f"one {schema.unit.name} may have several rows; give one row per {schema.unit.name}, "
            "for an IPW protects one row"
        )


def relation_of(neighbors: object, estimand: Estimand) -> Any:
    """Return the relation, refusing one that is not offered for the estimand."""
    check_choice("neighbors", neighbors, ("replace-one", "replace-one-design-public"))
    if neighbors != "replace-one" and estimand == "ate":
        raise ParameterError(
            "neighbors='replace-one-design-public' is for the ATT and the ATC, which divide by a "
            "number of people; the ATE has neighbors='replace-one'"
        )
    return neighbors


def scheme_of(estimand: object, trim: object, n: int) -> Scheme:
    """Return estimand and trimming."""
    check_choice("estimand", estimand, get_args(Estimand))
    if trim is None:
        trim = propensity_trim(n)
    if isinstance(trim, bool) or not isinstance(trim, (int, float)) or not 0 < trim < 0.5:
        raise ParameterError(f"trim={given(trim)}; give a number between 0 and 0.5, such as 0.1")
    return Scheme(estimand, float(trim))  # type: ignore[arg-type]


def penalty_of(lam: object) -> float | None:
    """Return the penalty; None for the default, which depends on the budget."""
    if lam is None:
        return None
    if isinstance(lam, bool) or not isinstance(lam, (int, float)) or not 0 < lam < float("inf"):
        raise ParameterError(f"lam={given(lam)}; give a number above 0, such as 0.01")
    return float(lam)


def split_of(split: Real | None, n: int) -> tuple[int, int]:
    """Return how many rows each part has."""
    share = IPW_SPLIT if split is None else exact(split, "split")
    if not 0 < share < 1:
        raise ParameterError(f"split={float(share):g}; give a share between 0 and 1")
    n1 = int(share * n + Fraction(1, 2))
    if n1 < FEWEST_ROWS or n - n1 < FEWEST_ROWS:
        raise ParameterError(
            f"{n} rows with split={float(share):g} leave a part with fewer than {FEWEST_ROWS}; "
            "use more rows or another split"
        )
    return n1, n - n1


def treated_code(schema: Schema, column: Column, asked: object) -> tuple[float | str, str]:
    """Return the code of the treated, and how to say it; the larger of two codes by default.

    Raises
    ------
    SchemaError
        If the column has not two levels, may be missing, or has no missing policy.
    ParameterError
        If ``asked`` is neither of the codes or their labels.
    """
    name, levels = column.name, column.levels or ()
    if len(levels) != 2:
        raise SchemaError(
            f"treatment {name!r} needs two levels; declare levels=[0, 1], or its two codes or texts"
        )
    if column.missing != ():
        raise SchemaError(
            f"treatment {name!r} may be missing, or has no declared missing policy; declare "
            "missing='never', for an IPW needs to know who was treated"
        )
    ordered = sorted(levels, key=lambda level: (isinstance(level, str), level))
    labels: Mapping[Any, str] = {} if column.is_text else schema.labels_of(name)
    words = [_label(labels, level) for level in ordered]
    code, word = ordered[1], words[1]
    if asked is not None:
        if asked not in (*ordered, *words) or isinstance(asked, bool):
            raise ParameterError(
                f"treated={given(asked)} is no level of {name!r}; allowed: {', '.join(words)}"
            )
        place = ordered.index(asked) if asked in ordered else words.index(str(asked))
        code, word = ordered[place], words[place]
    return code, f"treated are those with {name} = {word}"


def _label(labels: Mapping[Any, str], level: float | str) -> str:
    if isinstance(level, str):
        return level
    return labels.get(int(level), f"{float(level):g}") if labels else f"{float(level):g}"


def fills_of(missing: object, outcome: Column) -> tuple[float | None, dict[str, float]]:
    """Return what stands for a missing outcome, and for missing covariates, by declaration.

    Raises
    ------
    SchemaError
        If the outcome may be missing and nothing stands for it.
    ParameterError
        If something stands for it that is no number, or out of bounds.
    """
    own: Any = missing.get(outcome.name) if isinstance(missing, Mapping) else missing
    others = dict(missing) if isinstance(missing, Mapping) else {}
    others.pop(outcome.name, None)
    if outcome.missing != () and own is None:
        raise SchemaError(
            f"outcome {outcome.name!r} may be missing; give the number that stands for a missing "
            f"value, missing={{{outcome.name!r}: ...}}, or declare missing='never'"
        )
    for name, value in [(outcome.name, own), *others.items()]:
        wrong = isinstance(value, bool) or not isinstance(value, (int, float))
        if wrong and not (name == outcome.name and value is None):
            raise ParameterError(
                f"missing={given(value)} for {name!r}; give the number that stands for a missing "
                "value; a covariate without one has an indicator of its own"
            )
    assert outcome.bounds is not None
    if own is not None and not outcome.bounds[0] <= own <= outcome.bounds[1]:
        raise ParameterError(f"missing={given(own)} is outside the bounds of {outcome.name!r}")
    fill = None if outcome.missing == () or own is None else float(own)
    return fill, {name: float(value) for name, value in others.items()}
