"""The door of a private effect: what is refused before anything is counted or charged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.encode import check_own
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.mechanism import Outcome
from dprct.privacy.budget import Budget, exact
from dprct.queries import Clipped, observed
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dprct.estimate.experiment import Experiment
    from dprct.privacy.budget import Real
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema
    from dprct.schema.table import Frame

MissingRule = str | float


def check_relation(neighbors: object) -> None:
    """Refuse a relation that effects are not offered under."""
    if neighbors == "replace-one":
        raise ParameterError(
            "neighbors='replace-one' (treatment private too) is not offered by this version; use "
            "'replace-one-design-public', under which treatment is public"
        )
    if neighbors != "replace-one-design-public":
        raise ParameterError(f"neighbors={given(neighbors)}; allowed: 'replace-one-design-public'")


def check_sample(schema: Schema) -> None:
    """Refuse what a plain difference in means would get wrong: weights, surveys, panels."""
    kept = {name for _, name, _ in schema.file.characteristics}
    weighted = [column.name for column in schema.columns if column.role == "weight"]
    if weighted or any(name.startswith("_svy") for name in kept):
        raise SchemaError(
            "the schema declares sampling weights or a survey design, which a private difference "
            "in means does not use; drop the declaration if everybody is to count the same"
        )
    if schema.unit.id is None and kept & {"iis", "_TSpanel"}:
        raise SchemaError(
            "the file is declared a panel (xtset) and no unit is; declare Unit(name, id=...) with "
            "one row per unit, for one person must not be in several rows"
        )


def with_bounds(column: Column) -> Column:
    """Return an outcome with bounds, those of its levels if it has levels."""
    if column.is_text or (column.bounds is None and column.levels is None):
        raise SchemaError(
            f"outcome {column.name!r} needs bounds=(low, high) or levels of numbers; declare them "
            "from public knowledge, never from the data"
        )
    if column.missing is None:
        raise SchemaError(
            f"outcome {column.name!r} has no declared missing policy; declare missing='never', or "
            "the codes that are legal, such as missing=['.']"
        )
    check_own(column)
    if column.bounds is None:
        ordered = sorted(float(level) for level in column.levels or ())
        column = replace(column, bounds=(ordered[0], ordered[-1]))
    return Clipped(column).column


def shares_of(weights: Mapping[str, Real] | None, names: Sequence[str]) -> tuple[Fraction, ...]:
    """Return each outcome's share of the budget, of sum one."""
    if not names:
        raise ParameterError("outcome= names no column; name one or several")
    if weights is None:
        return tuple(
            b.epsilon for b in Budget(1).split([Budget(1).epsilon / len(names)] * len(names))
        )
    if set(weights) != set(names):
        raise ParameterError(
            f"weights= names {', '.join(map(str, weights))}; give one share for each of "
            f"{', '.join(names)}"
        )
    return tuple(b.epsilon for b in Budget(1).split([exact(weights[n], "weight") for n in names]))


def constant_of(policy: object, column: Column) -> float:
    """Return the declared number that stands for a missing value."""
    if isinstance(policy, bool) or not isinstance(policy, (int, float)):
        raise ParameterError(
            f"missing={given(policy)} for {column.name!r}; allowed: 'public', or a number within "
            "the bounds (a private count of the observed is not offered by this version)"
        )
    assert column.bounds is not None
    if not column.bounds[0] <= policy <= column.bounds[1]:
        raise ParameterError(f"missing={policy!r} is outside the bounds of {column.name!r}")
    return float(policy)


def levels_of(levels: Sequence[float]) -> tuple[float, ...]:
    """Return the sizes of tests at which errors are to be valid."""
    found = tuple(float(level) for level in levels)
    if not found or not all(1e-9 <= level <= 0.5 for level in found):
        raise ParameterError(
            "levels= are sizes of tests between 1e-9 and 0.5, such as (0.05, 0.01)"
        )
    return found


def outcome_of(
    frame: Frame,
    column: Column,
    experiment: Experiment,
    missing: MissingRule | Mapping[str, MissingRule] | None,
    share: Fraction,
) -> Outcome:
    """Return one outcome with who counts for it, by the declared policy for missing values.

    Raises
    ------
    SchemaError
        If it may be missing and no policy is declared.
    """
    policy = missing.get(column.name) if isinstance(missing, Mapping) else missing
    if column.missing == ():
        return Outcome(column, experiment.counted(), share)
    if policy is None:
        raise SchemaError(
            f"outcome {column.name!r} may be missing; say missing='public' (who has no value "
            "is public), or a number that stands for it, or declare missing='never'"
        )
    if policy == "public":
        counted = experiment.counted(observed(frame, column))
        return Outcome(column, counted, share, among_observed=True)
    return Outcome(column, experiment.counted(), share, constant_of(policy, column))
