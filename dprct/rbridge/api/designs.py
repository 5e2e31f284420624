"""Randomisation designs: R sends what they are made of, and Python makes them where used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dprct
from dprct.errors import ParameterError
from dprct.rbridge.api.options import options_for
from dprct.rbridge.api.session import whole
from dprct.rbridge.convert import RProcedure, Table
from dprct.rbridge.registry import export
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from dprct.assignment import Design

KINDS = ("Simple", "Complete", "Block", "Cluster", "BlockCluster", "Factorial", "Custom")


def design_of(spec: Mapping[str, Any], table: Table | None = None) -> Design:
    """The design that R describes by ``kind``, one of :data:`KINDS`, and ``options``.

    ``table`` is what R knows of the data frame whose synthetic rows an R function will be given.
    """
    kind = spec["kind"]
    if kind not in KINDS:
        raise ParameterError(f"there is no design {kind!r}; allowed: {', '.join(KINDS)}")
    options = dict(spec["options"])
    if kind == "Factorial":
        options["factors"] = [design_of(factor, table) for factor in options["factors"]]
    if kind == "Custom":
        facts, like = (Schema(()), None) if table is None else (table.schema, table.like)
        options["procedure"] = RProcedure(options["procedure"], facts, like)
    make = getattr(dprct, kind)
    found: Design = make(**options_for(make, _by_code(options, table)))
    return found


def _by_code(options: dict[str, Any], table: Table | None) -> dict[str, Any]:
    """Return options whose shares are named by codes of blocks, which R has as text."""
    shares, block = options.get("shares"), options.get("block")
    if not isinstance(shares, dict) or not isinstance(block, str):
        return options
    text = table is not None and block in table.schema.names and table.schema.column(block).is_text
    codes = {_number(name): share for name, share in shares.items()}
    return options if text or None in codes else {**options, "shares": codes}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@export("design_describe")
def design_describe(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a design's sentence and its treatment columns, or refuse it."""
    design = design_of(spec)
    return {"text": design.describe(), "columns": list(design.columns)}


@export("design_assign")
def design_assign(spec: Mapping[str, Any], data: Table, rng: float | None = None) -> pd.DataFrame:
    """Return a draw of the treatment columns."""
    seed = None if rng is None else whole(rng, "rng")
    return design_of(spec, data).assign(data.data, seed)
