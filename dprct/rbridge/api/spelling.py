"""Coefficients by the names that ``lm`` gives them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct.formula import parse
from dprct.formula.design_matrix import INTERCEPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.formula.syntax import Term
    from dprct.results.base import LinearResults
    from dprct.results.ols import OLSResults


def spelled(result: OLSResults, spelling: Mapping[str, Any]) -> OLSResults:
    """Return a fit whose coefficients and formula are spelled as in R.

    Parameters
    ----------
    spelling : mapping
        ``formula``, the text of R's; ``terms``, R's words for the factors of the formula; and
        ``levels``, of each R factor the labels by code.
    """
    # R's empty list has no names, so that it comes as a list
    terms, levels = dict(spelling["terms"] or {}), dict(spelling["levels"] or {})
    words = {
        parse(f"~ {text}", functions=True).terms[0][0].label: said for text, said in terms.items()
    }
    # the longest first, for a level may be spelled as a product
    candidates = sorted(parse(result.formula, functions=True).terms, key=len, reverse=True)

    def one(name: str) -> str:
        if name == INTERCEPT:
            return "(Intercept)"
        found = (_product(name, term, words, levels) for term in candidates)
        return next((said for said in found if said is not None), name)

    noise = result.bse_noise
    return replace(
        result,
        params=result.params.rename(one),
        cov=result.cov.rename(index=one, columns=one),
        bse_noise=None if noise is None else noise.rename(one),
        layout=tuple(one(name) for name in result.layout),
        not_released=tuple(map(one, result.not_released)),
        not_carried=tuple(map(one, result.not_carried)),
        formula=spelling["formula"],
    )


def in_r_names(result: LinearResults) -> Any:
    """Return a fit whose constant is named as in R, all else as it is."""

    def one(name: str) -> str:
        return "(Intercept)" if name == INTERCEPT else name

    noise, found = result.bse_noise, getattr(result, "estimated", None)
    also: dict[str, Any] = {"estimated": found.rename(one)} if isinstance(found, pd.Series) else {}
    return replace(
        result,
        params=result.params.rename(one),
        cov=result.cov.rename(index=one, columns=one),
        bse_noise=None if noise is None else noise.rename(one),
        layout=tuple(one(name) for name in result.layout),
        **also,
    )


def _product(
    name: str, term: Term, words: Mapping[str, str], levels: Mapping[str, Mapping[str, str]]
) -> str | None:
    """Return R's name of a column that belongs to a term; None if it does not belong to it."""
    first, *others = term
    ends = [len(name)] if not others else [i for i, c in enumerate(name) if c == ":"]
    for end in ends:
        piece = name[:end]
        found = re.fullmatch(re.escape(first.label) + r"(?:\[(?:T\.)?(.*)\])?", piece, re.DOTALL)
        if found is None:
            continue
        level = found[1] or ""
        said = words.get(first.label, first.label) + levels.get(first.names[0], {}).get(
            level, level
        )
        if not others:
            return said
        rest = _product(name[end + 1 :], tuple(others), words, levels)
        if rest is not None:
            return f"{said}:{rest}"
    return None
