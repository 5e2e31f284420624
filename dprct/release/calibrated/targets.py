"""What a release of effects says to a file: targets of its regressions, and sizes of its arms.

All of it is post-processing of what was released, of public facts and of fresh randomness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dprct.estimate.ate import standard_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.assignment.groups import Design
    from dprct.estimate.ate import JointATEResults
    from dprct.schema.columns import Column

Array = NDArray[np.float64]

FEWEST = 10
"""People that every arm of a file has where their number is private, if there are as many."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What was released of one outcome.

    Parameters
    ----------
    effects : (K - 1,) array
    covariance : (K - 1, K - 1) array
    control : float
        Mean of the control group.
    index : (n,) array or None
        What covariates contribute to the outcome of each row; nothing if None.
    counts : tuple of K int
        Released numbers of values in all arms, control first, where it is private who has one.
    control_error : float or None
        Error that the regression on the arms alone is to find of the control mean; any if None.
    control_known : float or None
        Error of the control mean, sampling and privacy noise together, whatever regressions find;
        None where it has none.
    within : tuple of Target
        What was released of the same outcome in every public group, in order; none without groups.
    """

    effects: Array
    covariance: Array
    control: float
    index: Array | None = None
    counts: tuple[int, ...] = ()
    control_error: float | None = None
    control_known: float | None = None
    within: tuple[Target, ...] = ()


def targets_of(
    estimates: Any, released: Sequence[Any], indices: Array | None = None
) -> list[Target]:
    """Return what the regressions of each outcome are to return.

    Parameters
    ----------
    estimates : PrivateATEResults
        Effects of each arm against control, by outcome.
    released : sequence of Released
        What they were made of.
    indices : (n, q) array or None
        What covariates contribute to each outcome.
    """
    effects = np.split(estimates.params.to_numpy(np.float64), len(released))
    cov = estimates.cov.to_numpy(np.float64)
    size = len(effects[0])
    return [
        Target(
            np.asarray(effects[q], np.float64),
            cov[q * size : (q + 1) * size, q * size : (q + 1) * size],
            float(estimates.control["mean"].iloc[q]),
            None if indices is None else indices[:, q],
            one.counts,
            control_known=known if math.isfinite(known) else None,
        )
        for q, (one, known) in enumerate(
            zip(released, estimates.control["std_error"].tolist(), strict=True)
        )
    ]


def joint_targets(
    estimates: JointATEResults,
    columns: Sequence[Column],
    indices: Array | None = None,
    *,
    clipped: bool = True,
) -> list[Target]:
    """Return what the regressions of each outcome are to return.

    Parameters
    ----------
    estimates : JointATEResults
        Effects of each arm against control, by outcome.
    columns : sequence of q Column
        The outcomes, with bounds.
    indices : (n, q) array or None
        What covariates contribute to each outcome.
    clipped : bool
        Whether control means are brought within the bounds; those of groups are not, so that they
        add up to that of everybody.

    Notes
    -----
    With v_0 the squared error of the control mean and se_a that of the effect of arm a, the
    covariance of two effects is v_0, which is what two comparisons with one control group share.
    An arm that is not estimated (its released number of people is too small to divide by) has its
    mean in the middle of the bounds, with their width for its error: an interval that contains
    every value.
    """
    count = len(estimates.arms)
    every, alphas = estimates.means.each(), estimates.alphas
    found = []
    for j, column in enumerate(columns):
        assert column.bounds is not None
        low, high = column.bounds
        means = every[j * count : (j + 1) * count]
        known = [math.isfinite(mean.value) for mean in means]
        values = np.array(
            [m.value if k else low / 2 + high / 2 for m, k in zip(means, known, strict=True)]
        )
        squares = np.array(
            [
                standard_error(m, alphas) ** 2 if k else (high - low) ** 2
                for m, k in zip(means, known, strict=True)
            ]
        )
        here = slice(j * (count - 1), (j + 1) * (count - 1))
        effects, errors = values[1:] - values[0], squares[1:] + squares[0]
        told = np.array(known[1:]) & known[0]
        effects[told] = estimates.params.to_numpy(np.float64)[here][told]
        errors[told] = np.diag(estimates.cov.to_numpy(np.float64))[here][told]
        covariance = np.full((count - 1, count - 1), squares[0])
        np.fill_diagonal(covariance, errors)
        found.append(
            Target(
                effects,
                covariance,
                float(np.clip(values[0], low, high) if clipped else values[0]),
                None if indices is None else indices[:, j],
                control_error=math.sqrt(squares[0]) if known[0] else None,
                control_known=math.sqrt(squares[0]) if known[0] else None,
            )
        )
    return found


def with_groups(
    targets: Sequence[Target], estimates: JointATEResults, subgroup: str, columns: Sequence[Column]
) -> list[Target]:
    """Return the targets with those of every level of a subgroup."""
    levels = len(estimates.strata[subgroup].levels)
    every = joint_targets(estimates.by(subgroup), [*columns] * levels, clipped=False)
    return [
        replace(target, within=tuple(every[j :: len(targets)])) for j, target in enumerate(targets)
    ]


def sizes_of(counts: Sequence[float], n: int, least: int) -> NDArray[np.int64]:
    """Return whole numbers of people in arms, n together, about in proportion to noisy counts.

    Every arm has at least ``least``, or its equal part of n if that is less.

    Examples
    --------
    >>> sizes_of([60.3, 41.2], 100, 10).tolist(), sizes_of([103.0, -2.0], 100, 10).tolist()
    ([59, 41], [90, 10])
    """
    arms = len(counts)
    fewest = min(least, n // arms)
    noisy = np.clip(np.asarray(counts, np.float64), 0, None)
    whole = noisy.sum()
    wanted = n * (noisy / whole) if whole > 0 else np.full(arms, n / arms)
    beyond = np.clip(wanted - fewest, 0, None)
    rest = n - arms * fewest
    share = beyond * (rest / beyond.sum()) if beyond.sum() > 0 else np.full(arms, rest / arms)
    found = np.floor(share).astype(np.int64)
    largest_rests = np.argsort(found - share, kind="stable")
    found[largest_rests[: rest - int(found.sum())]] += 1
    sizes: NDArray[np.int64] = found + fewest
    return sizes


def assigned(
    there: NDArray[np.bool_],
    design: Design,
    order: Sequence[int],
    counts: Sequence[float],
    least: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Return arms at random, of sizes about the released noisy counts, and their columns.

    Parameters
    ----------
    there : (n,) array of bool
        Who has a value, where that is public; everybody where it is not.
    design : Design
    order : sequence of K int
        Place of each arm among the groups of the design, control first.
    counts : sequence of K float
        Released numbers of people in the arms: of those with a value, where it is public who has
        one.
    least : int
        Fewest people with a value in an arm.
    rng : numpy.random.Generator

    Notes
    -----
    Post-processing: a function of released counts, public facts and fresh randomness, so that
    nobody's arm in the file is that of anybody in the confidential table, and no size is a count.
    Rows without a value have arms in the same proportions, for nothing else is known of them.
    """
    arms = np.zeros(len(there), np.int64)
    for some, fewest in ((there, least), (~there, 0)):
        sizes = sizes_of(counts, int(some.sum()), fewest)
        arms[some] = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    table = design.groups.frame(np.asarray(order, np.int64)[arms])
    return arms, {name: table[name].to_numpy() for name in table.columns}
