"""Declared pools of blocks, for blocks in which an arm has fewer than two people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from dprct.assignment.units import Units


def pooled(units: Units, pools: Mapping[Any, str], chances: NDArray[np.float64]) -> Units:
    """Return units with some blocks put together; blocks that are not named stay.

    Parameters
    ----------
    units : Units
        With B blocks.
    pools : mapping from label of a block to name of a pool
        Labels as in the design: the value of the block column, or a tuple where several columns
        make the blocks; None is a missing value.
    chances : (n, G) array
        Declared probability of each group for each row.

    Raises
    ------
    ParameterError
        If a label is no block, a pool has no name, or its blocks have different declared shares.

    Notes
    -----
    Given the number of each arm in each block, the pooled difference in means is unbiased where
    the blocks of a pool have the same shares (exactly so in proportion to them), and its variance
    formula is that of complete randomisation within the pool, which is conservative.  Pools are
    declared, so that they are public like the blocks: they do not enter the privacy argument.

    Examples
    --------
    >>> import numpy as np
    >>> from dprct.assignment.units import Units
    >>> units = Units(np.arange(3), np.array([0, 1, 2]), ["a", "b", "c"])
    >>> pooled(units, {"a": "north", "c": "north"}, np.full((3, 2), 0.5)).block.tolist()
    [0, 1, 0]
    """
    known = set(units.labels)
    for label, pool in pools.items():
        if label not in known:
            raise ParameterError(
                f"blocks= names {given(label)}, which is no block of the design; give labels as "
                "they stand in the block column (a tuple where several columns make the blocks)"
            )
        if not isinstance(pool, str) or not pool:
            raise ParameterError(f"blocks= has the pool {given(pool)}; give its name, as text")
    named: list[Hashable] = [
        ("pool", pools[label]) if label in pools else ("block", label) for label in units.labels
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(named))}
    block = np.array([places[name] for name in named], np.int64)[units.block]
    _check_alike(block[units.member], chances, list(places))
    return replace(units, block=block, labels=list(places))


def _check_alike(
    block: NDArray[np.int64], chances: NDArray[np.float64], names: list[Hashable]
) -> None:
    first = np.zeros(len(names), np.int64)
    first[block[::-1]] = np.arange(len(block))[::-1]
    alike = np.isclose(chances, chances[first[block]], rtol=0, atol=1e-12).all(axis=1)
    if not alike.all():
        raise ParameterError(
            "the declared shares differ between blocks of one pool, so that pooling would be "
            "biased; pool blocks with the same shares"
        )
