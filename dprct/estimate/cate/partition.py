"""A random partition of rows into parts of fixed sizes, independent of every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dprct.defaults import KNOWN_PARTS, NUISANCE_PARTS
from dprct.errors import ParameterError
from dprct.privacy.budget import exact
from dprct.privacy.partition import random_part

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.privacy.budget import Real
    from dprct.privacy.noise import NoiseSource

PARTS = ("propensity", "outcome", "effect")
FEWEST_ROWS = 2


def shares_of(
    asked: Mapping[str, Real] | None, *, known: bool, constant: bool = False
) -> dict[str, Fraction]:
    """Return the share of every part of the rows, of sum one.

    Parameters
    ----------
    asked : mapping, or None for the defaults
    known : bool
        The propensity is known, so that no part estimates it.
    constant : bool
        No nuisance is estimated at all (S-learner).

    Raises
    ------
    ParameterError
        If this is no mapping, a part is unknown, superfluous, needed and not there, or shares do
        not sum to one.

    Examples
    --------
    >>> shares_of(None, known=True)
    {'effect': Fraction(1, 1)}
    """
    if asked is None:
        return dict(KNOWN_PARTS if known or constant else NUISANCE_PARTS)
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"parts= is {type(asked).__name__}; give the share of each part, such as "
            "{'outcome': 0.3, 'effect': 0.7}"
        )
    found = {str(name): exact(share, "share") for name, share in asked.items()}
    allowed = ["effect"] if constant else ["propensity"] * (not known) + ["outcome", "effect"]
    needed = {"effect"} if known or constant else {"propensity", "effect"}
    if not needed <= set(found) <= set(allowed) or any(share <= 0 for share in found.values()):
        raise ParameterError(
            f"parts= names {', '.join(found) or 'nothing'}; allowed here: {', '.join(allowed)}, of "
            f"which needed: {', '.join(sorted(needed))}, each with a share above 0"
        )
    if sum(found.values()) != 1:
        raise ParameterError("parts= does not sum to one exactly; give fractions that do")
    return {name: found[name] for name in PARTS if name in found}


def sizes_of(shares: Mapping[str, Fraction], n: int) -> dict[str, int]:
    """Return the rows of every part; what rounding leaves goes to the effect.

    Raises
    ------
    ParameterError
        If a part would have fewer than two rows.

    Examples
    --------
    >>> from fractions import Fraction
    >>> sizes_of({"outcome": Fraction(1, 3), "effect": Fraction(2, 3)}, 100)
    {'outcome': 33, 'effect': 67}
    """
    sizes = {name: int(share * n) for name, share in shares.items()}
    sizes["effect"] += n - sum(sizes.values())
    small = [name for name, size in sizes.items() if size < FEWEST_ROWS]
    if small:
        raise ParameterError(
            f"parts= leaves {small[0]!r} with fewer than {FEWEST_ROWS} of {n:,} rows; give it a "
            "larger share"
        )
    return sizes


def partition(sizes: Mapping[str, int], noise: NoiseSource) -> dict[str, NDArray[np.int64] | None]:
    """Return the places of the rows of every part, uniformly; None where one part has all rows.

    Parameters
    ----------
    sizes : mapping of part to number of rows
    noise : NoiseSource

    Notes
    -----
    **Rows at fixed places** (a table in memory): the guarantee needs that the partition does not
    depend on any value, and not that it is uniform: neighbours differ at one place, and it holds
    for every single partition.

    **Rows in any order**: an engine promises none, and where it puts rows may depend on what they
    hold, so that one changed value moves many.  Let s(i) be the place of person i, and P the
    partition of places, drawn without regard to s, uniformly from all of its sizes.  Whatever s is,
    relabelling by s is a bijection of the partitions of places to those of persons, so that the
    partition Q of persons is uniform, too, for either of two neighbours.  What is released is the
    mixture, with the same weights for both, of M_Q(D), which adds whole numbers within the parts
    of Q and so has no order of rows in it.  Each M_Q has the guarantee, because one person is in
    one part; so has the pair of Q and its release, and so has the release alone.

    One part after the other is uniform among the rows that are left, exactly
    (:func:`~dprct.privacy.partition.random_part`), so that the partition is uniform.
    """
    if len(sizes) == 1:
        return dict.fromkeys(sizes)
    left = np.arange(sum(sizes.values()))
    found: dict[str, NDArray[np.int64] | None] = {}
    for name, size in sizes.items():
        inside = random_part(len(left), size, noise)
        found[name], left = left[inside], left[~inside]
    return found
