"""The door of a private effect: what is refused before anything is counted or charged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct.assignment.base import Design
from dprct.errors import ColumnError, ParameterError, SchemaError, withheld
from dprct.estimate.counted import CountedOutcome
from dprct.estimate.horvitz import HiddenOutcome
from dprct.estimate.mechanism import Outcome
from dprct.privacy.budget import Budget, exact
from dprct.queries import EXTREMES, Clipped, HiddenArms, observed_number
from dprct.schema.facts import given
from dprct.schema.table import eager, names_of, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from dprct.estimate.experiment import Experiment
    from dprct.privacy.budget import Real
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema
    from dprct.schema.table import Frame, Table

MissingRule = str | float
AnyOutcome = Outcome | HiddenOutcome | CountedOutcome


def check_relation(neighbors: object) -> None:
    """Refuse a relation that effects are not offered under."""
    allowed = ("replace-one", "replace-one-design-public")
    if not isinstance(neighbors, str) or neighbors not in allowed:
        raise ParameterError(
            f"neighbors={given(neighbors)}; allowed: 'replace-one-design-public' (treatment is "
            "public), 'replace-one' (treatment is private too)"
        )


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


def table_of(data: object) -> Frame:
    """Return the one table of a fit that needs its rows in memory.

    Raises
    ------
    SchemaError
        If several tables are given, or no eager data frame with rows.
    """
    _check_single(data)
    return eager(data)


def any_table_of(data: object) -> Table:
    """Return the one table of a fit, which may stay in its engine.

    Raises
    ------
    SchemaError
        If several tables are given, or no table with rows.
    EngineError, MissingDependencyError
        As of :func:`dprct.schema.table.table`.
    """
    _check_single(data)
    return table(data)


def _check_single(data: object) -> None:
    if isinstance(data, (list, tuple, Mapping)):
        raise SchemaError(
            f"data is {type(data).__name__}; one fit reads one table: merge the files first and "
            "protect once, or release them separately with the same key map and ledger"
        )


def check_columns(
    frame: Table,
    outcomes: Iterable[str],
    treatment: str | Sequence[str] | None,
    assignment: Design | None,
) -> None:
    """Refuse a fit whose outcomes and design are not all in its table.

    Raises
    ------
    ColumnError, ParameterError
    """
    named = [treatment] if isinstance(treatment, str) else treatment or ()
    if treatment is not None and not named:
        raise ParameterError("treatment= names no column; name the 0/1 columns of the arms")
    designed = (*assignment.columns, *assignment.uses) if isinstance(assignment, Design) else ()
    there = names_of(frame)
    for name in (*outcomes, *named, *designed):
        if name not in there:
            where = "the data (from another file? merge first, protect once)"
            raise ColumnError.unknown(name, there, where)


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
    if not isinstance(weights, Mapping):
        raise ParameterError(
            f"weights={given(weights)}; give a mapping from outcome to its share of the budget "
            "(sampling weights are not used: a private effect counts everybody the same)"
        )
    if set(weights) != set(names):
        raise ParameterError(
            f"weights= names {', '.join(map(str, weights))}; give one share for each of "
            f"{', '.join(names)}"
        )
    parts = [exact(weights[name], f"weight of {name!r}") for name in names]
    if min(parts) <= 0 or sum(parts) != 1:
        raise ParameterError(
            f"weights= sum to {float(sum(parts)):g}; give each outcome a share of the budget above "
            "0, of sum one exactly"
        )
    return tuple(b.epsilon for b in Budget(1).split(parts))


def sds_of(sd: object, names: Sequence[str]) -> dict[str, float]:
    """Return the declared standard deviations of outcomes.

    Raises
    ------
    ParameterError
        If it is no mapping, names no outcome, or is no number above 0.
    """
    if sd is None:
        return {}
    if not isinstance(sd, Mapping):
        raise ParameterError(
            f"sd={given(sd)}; give a mapping from outcome, such as sd={{{names[0]!r}: 1.0}}"
        )
    check_outcomes("sd", sd, names)
    found = {name: float(exact(value, f"sd of {name!r}")) for name, value in sd.items()}
    for name, value in found.items():
        if not 0 < value <= EXTREMES[1]:
            raise ParameterError(
                f"sd of {name!r} is {value:g}; declare a number above 0 and up to {EXTREMES[1]:g}"
            )
    return found


def check_outcomes(what: str, mapping: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse an option whose keys are no outcomes."""
    for name in mapping:
        if name not in names:
            raise ParameterError(
                f"{what}= names {given(name)}, which is no outcome of this fit; it has "
                f"{', '.join(names)}"
            )


def constant_of(policy: object, column: Column) -> float:
    """Return the declared number that stands for a missing value."""
    if isinstance(policy, bool) or not isinstance(policy, (int, float)):
        raise _no_policy(policy, column)
    assert column.bounds is not None
    if not column.bounds[0] <= policy <= column.bounds[1]:
        raise ParameterError(f"missing={policy!r} is outside the bounds of {column.name!r}")
    return float(policy)


def levels_of(levels: Sequence[float]) -> tuple[float, ...]:
    """Return the sizes of tests at which errors are to be valid."""
    refusal = ParameterError(
        f"levels= is {type(levels).__name__}; give a sequence of sizes of tests between 1e-9 "
        "and 0.5, such as (0.05, 0.01)"
    )
    with withheld(lambda _: refusal):
        found = tuple(float(level) for level in levels)
    if not found or not all(1e-9 <= level <= 0.5 for level in found):
        raise refusal
    return found


def outcome_of(
    frame: Table,
    column: Column,
    experiment: Experiment,
    missing: MissingRule | Mapping[str, MissingRule] | None,
    share: Fraction,
) -> Outcome | CountedOutcome:
    """Return one outcome with who counts for it, by the declared policy for missing values.

    Raises
    ------
    SchemaError
        If it may be missing and no policy is declared.
    ParameterError
        If the policy does not go with blocks or clusters.
    """
    policy = policy_of(column, missing)
    if policy == "private":
        if experiment.clustered or len(experiment.units.labels) > 1:
            raise ParameterError(
                f"missing='private' for {column.name!r} is not offered with clusters or weighted "
                "blocks, where too few have a value in each; say blocks='ignore' where shares are "
                "the same everywhere, or missing='public' or a number"
            )
        return CountedOutcome(column, experiment.counted(), share)
    if policy == "public":
        counted = experiment.among_observed(frame, column)
        return Outcome(column, counted, share, among_observed=True)
    fill = None if policy is None else constant_of(policy, column)
    return Outcome(column, experiment.counted(), share, fill)


def hidden_outcome_of(
    frame: Table,
    column: Column,
    arms: HiddenArms,
    missing: MissingRule | Mapping[str, MissingRule] | None,
    share: Fraction,
) -> HiddenOutcome:
    """Return one outcome of an experiment whose treatment is private.

    Raises
    ------
    SchemaError
        If it may be missing and no policy is declared.
    ParameterError
        If who has a value is to be private too, or fewer than two rows count.
    """
    policy = policy_of(column, missing)
    if policy == "private":
        raise ParameterError(
            f"missing='private' for {column.name!r} needs public arm sizes, and with "
            "neighbors='replace-one' treatment is private; give a number that stands for a missing "
            "value"
        )
    if policy == "public":
        arms = replace(arms, n=observed_number(frame, column), present=column.name)
    if arms.n < 2:
        raise ParameterError(f"fewer than two rows count for {column.name!r}; two are needed")
    fill = None if policy in (None, "public") else constant_of(policy, column)
    return HiddenOutcome(column, arms, share, fill, among_observed=policy == "public")


def policy_of(
    column: Column, missing: MissingRule | Mapping[str, MissingRule] | None
) -> MissingRule | None:
    """Return what happens to missing values of an outcome; None if it has none.

    Raises
    ------
    SchemaError
        If it may be missing and no policy is declared.
    """
    policy = missing.get(column.name) if isinstance(missing, Mapping) else missing
    if column.missing == ():
        return None
    if policy is not None and not isinstance(policy, (str, int, float)):
        raise _no_policy(policy, column)
    if policy is None:
        raise SchemaError(
            f"outcome {column.name!r} may be missing; say missing='public' (who has no value "
            "is public), missing='private' (who has none is private), or a number that stands for "
            "it, or declare missing='never'"
        )
    return policy


def _no_policy(policy: object, column: Column) -> ParameterError:
    return ParameterError(
        f"missing={given(policy)} for {column.name!r}; allowed: 'public', 'private', or a number "
        "within the bounds"
    )
