"""One outcome of an experiment: who counts for it, and what becomes of its missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.experiment import constant_of, no_policy
from dprct.queries import observed_number

if TYPE_CHECKING:
    from fractions import Fraction

    from dprct.estimate.experiment import Experiment
    from dprct.model import BoundTable
    from dprct.queries.horvitz_thompson import PrivateArms
    from dprct.schema import Column

MissingRule = str | float


def uncountable(column: Column) -> ParameterError:
    """Return the refusal of a design in which values of an outcome cannot be counted."""
    return ParameterError(
        f"``missing='private'`` for {column.name!r} is not offered with clusters or weighted "
        "blocks, where too few have a value in each; say ``blocks='ignore'`` where shares are "
        "the same everywhere, or ``missing='public'`` or a number"
    )


def outcome_of(
    table: BoundTable,
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
            raise uncountable(column)
        return CountedOutcome(column, experiment.counted(), share)
    if policy == "public":
        counted = experiment.among_observed(table.frame, column, table.counted)
        return Outcome(column, counted, share, among_observed=True)
    fill = None if policy is None else constant_of(policy, column)
    return Outcome(column, experiment.counted(), share, fill)


def hidden_outcome_of(
    table: BoundTable,
    column: Column,
    arms: PrivateArms,
    missing: MissingRule | Mapping[str, MissingRule] | None,
    share: Fraction,
) -> HiddenOutcome:
    """Return one outcome of an experiment whose treatment is private.

    Raises
    ------
    SchemaError
        If it may be missing and no policy is declared.
    ParameterError
        If fewer than two rows count.
    """
    policy = policy_of(column, missing)
    if policy == "public":
        counted = table.counted
        if counted is not None and column.name in counted.present:
            n = counted.having(column.name)
        else:
            n = observed_number(table.frame, column)
        arms = replace(arms, n=n, present=column.name)
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
        raise no_policy(policy, column)
    if policy is None:
        raise SchemaError(
            f"outcome {column.name!r} may be missing; say ``missing='public'`` (it is public whose "
            "value is missing), ``missing='private'`` (it is private), or a number that replaces "
            "it, or declare ``missing='never'``"
        )
    return policy
