"""The design of a confidential treatment, held against the schema alone: no row is asked."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import ParameterError, SchemaError
from dprct.queries import HiddenArms

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from dprct.assignment.base import Design
    from dprct.assignment.groups import Groups
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema

_SAME = 1e-12
_FINEST_SHARE = 10**7


def check_hidden(design: Design | None, schema: Schema) -> None:
    """Refuse a design whose probabilities would not be public facts were treatment private.

    Raises
    ------
    ParameterError, SchemaError
        If no design is declared, clusters were assigned, shares are not the same for everybody or
        lack a legal block, or the schema allows a row that is in no group of the design.

    Notes
    -----
    Who is in which arm and block is private, and so is how many are.  Whether the data could have
    come from the design would be a fact about them, which whoever knows all rows but one could read
    the last one from.  What is refused here is therefore a function of design and schema, and every
    table that is legal in the schema passes.
    """
    if design is None:
        raise ParameterError(
            "neighbors='replace-one' needs assignment=, such as dprct.Complete('treat', "
            "shares=0.5): the probabilities of the arms are public facts, their sizes are not"
        )
    parts = list(_parts(design))
    if any(getattr(one, "cluster_columns", ()) for one in parts):
        raise ParameterError(
            "clusters were assigned, and neighbors='replace-one' protects the treatment of one "
            "person, who shares it with the cluster; use 'replace-one-design-public'"
        )
    if any(_varies(one) for one in parts):
        raise ParameterError(
            "the declared shares differ between blocks, and with neighbors='replace-one' nobody's "
            "block is public; use 'replace-one-design-public'"
        )
    for one in parts:
        _check_blocks(one, schema)
    _check_groups(design.groups, schema)


def hidden_arms(design: Design, order: Sequence[int], n: int) -> HiddenArms:
    """Return the arms of a design, with the probabilities that are public facts.

    Parameters
    ----------
    design : Design
    order : sequence of int, length A
        The design's group of each arm, the control group first.
    n : int
        Rows; public.

    Raises
    ------
    ParameterError
        If a group has no share.

    Notes
    -----
    A share is the fraction of denominator up to 10^7 that is nearest to the design's number, so
    that 0.3 is three tenths and 1/3 a third, exactly.
    """
    chances = design.common(n)
    shares = tuple(_exact(float(chances[group])) for group in order)
    if 0 in shares:
        raise ParameterError("a group has the declared share 0; leave it out of the design")
    groups = design.groups
    return HiddenArms(groups.columns, tuple(groups.values[group] for group in order), shares, n)


def _parts(design: Design) -> Iterator[Design]:
    yield design
    for factor in getattr(design, "factors", ()):
        yield from _parts(factor)


def _varies(design: Design) -> bool:
    law = getattr(design, "law", None)
    rows = np.array(law.rows) if law is not None else np.zeros((1, 1))
    return not np.allclose(rows, rows[:1], rtol=0, atol=_SAME)


def _check_blocks(design: Design, schema: Schema) -> None:
    """Refuse shares by block that lack a block which the schema allows."""
    law = getattr(design, "law", None)
    if law is None or not law.blocks:
        return
    legal = [_labels(schema.column(name)) for name in getattr(design, "block_columns", ())]
    # more legal blocks than declared ones cannot all be declared, and may be too many to list
    if prod(map(len, legal)) <= len(law.blocks):
        labels = legal[0] if len(legal) == 1 else product(*legal)
        if set(labels) <= set(law.blocks):
            return
    raise ParameterError(
        "shares= lacks a block that the schema allows, and nobody's block is public; give one "
        "share for all, or shares for every declared level (None where a block may be missing)"
    )


def _labels(column: Column) -> tuple[Hashable, ...]:
    """Return the blocks that a column can make, as the keys of a mapping of shares name them."""
    if column.levels is None or (column.missing is None and not column.is_text):
        raise SchemaError(
            f"block column {column.name!r} has no declared levels or no declared missing policy, "
            "and shares= is a mapping; declare levels=[...] and missing='never' (or the codes that "
            "are legal), or give one share for all blocks"
        )
    return (*column.levels, *([None] if column.missing else []))


def _check_groups(groups: Groups, schema: Schema) -> None:
    """Refuse a schema that allows a row which is in no group."""
    columns = {name: schema.column(name) for name in groups.columns}
    legal = {name: _legal(column, groups) for name, column in columns.items()}
    together: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.exclusive is not None and set(legal[name]) <= {0.0, 1.0}:
            together.setdefault(column.exclusive, []).append(name)
    alone = [[name] for name in columns if not any(name in found for found in together.values())]
    parts = [*alone, *together.values()]
    states = [_states(part, legal) for part in parts]
    # more legal rows than groups cannot all be in one, and may be too many to list
    if prod(map(len, states)) <= len(groups.values):
        names = [name for part in parts for name in part]
        places = [names.index(name) for name in groups.columns]
        rows = [sum(found, ()) for found in product(*states)]
        if {tuple(row[i] for i in places) for row in rows} <= set(groups.values):
            return
    listed = ", ".join(map(repr, groups.columns))
    raise SchemaError(
        f"treatment is private, and the schema allows rows of {listed} that are in no group of the "
        "design; declare arms of which everybody is in one at most exclusive='arm', and where no "
        "arm is the control group leave the column of the group to compare with out of the design"
    )


def _legal(column: Column, groups: Groups) -> tuple[float | str, ...]:
    """Return the values that a treatment column can have, all of them values of groups."""
    name = column.name
    known = {values[groups.columns.index(name)] for values in groups.values}
    if column.missing != () and not column.is_text:
        raise SchemaError(
            f"treatment {name!r} is private and may be missing, or has no declared missing policy; "
            "declare missing='never', as everybody is in some group"
        )
    if column.levels is None or not set(column.levels) <= known:
        shown = ", ".join(x if isinstance(x, str) else f"{x:g}" for x in sorted(known, key=str))
        raise SchemaError(
            f"treatment {name!r} is private, and the schema allows values of it that no group of "
            f"the design has; declare its levels, here {shown}"
        )
    return column.levels


def _states(
    names: Sequence[str], legal: dict[str, tuple[float | str, ...]]
) -> list[tuple[float | str, ...]]:
    """Return what a row can have in columns of which at most one is 1, or in a single column."""
    if len(names) == 1:
        return [(value,) for value in legal[names[0]]]
    rows = [tuple(float(name == one) for name in names) for one in (None, *names)]
    return [
        row
        for row in rows
        if all(value in legal[name] for name, value in zip(names, row, strict=True))
    ]


def _exact(share: float) -> Fraction:
    near = Fraction(share).limit_denominator(_FINEST_SHARE)
    return near if abs(float(near) - share) <= _SAME else Fraction(share)
