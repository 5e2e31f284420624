"""Coefficients by the names that ``lm`` gives them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct.formula import parse
from dprct.formula.design_matrix import INTERCEPT
from dprct.lazy import pandas as pd
from dprct.rbridge.names import r_name_of, r_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.formula.syntax import Term
    from dprct.privacy.budget import Guarantee


def spelled(
    result: Any, spelling: Mapping[str, Any] | None, arms: Mapping[str, str] | None = None
) -> Any:
    """A fit whose coefficients and formula are spelled as in R.

    ``arms`` are names of arms by their codes; ``spelling`` has ``formula``, the text of R's;
    ``terms``, R's words for its factors; and ``levels``, of each R factor the labels by code.
    """
    asked = spelling or {}
    # R's empty list has no names, so that it comes as a list
    terms = dict(asked.get("terms") or {})
    levels = {name: dict(labels or {}) for name, labels in dict(asked.get("levels") or {}).items()}
    words = {
        parse(f"~ {text}", functions=True).terms[0][0].label: said for text, said in terms.items()
    }
    # the longest first, for a level may be spelled as a product
    candidates = (
        sorted(parse(_regressed(result), functions=True).terms, key=len, reverse=True)
        if words
        else []
    )

    def one(name: str) -> str:
        if name == INTERCEPT:
            return "(Intercept)"
        head, colon, code = name.rpartition(": ")
        if arms and code in arms:
            return f"{head}{colon}{arms[code]}"
        found = (_product(name, term, words, levels) for term in candidates)
        return next((said for said in found if said is not None), r_name_of(name))

    def named(table: Any) -> Any:
        return table.set_axis(pd.Index([one(name) for name in table.index], dtype=object))

    noise, read = result.bse_noise, getattr(result, "estimated", None)
    also: dict[str, Any] = {
        name: tuple(map(one, getattr(result, name)))
        for name in ("not_released", "not_carried")
        if hasattr(result, name)
    }
    if isinstance(read, pd.Series):
        also["estimated"] = named(read)
    return replace(
        result,
        notes=tuple(map(r_words, result.notes)),
        guarantee=guarantee_in_r(result.guarantee),
        params=named(result.params),
        cov=named(named(result.cov).T).T,
        bse_noise=None if noise is None else named(noise),
        layout=tuple(one(name) for name in result.layout),
        formula=asked.get("formula", result.formula),
        **also,
    )


def guarantee_in_r(guarantee: Guarantee) -> Guarantee:
    """Return a guarantee whose sentences speak R."""
    return replace(
        guarantee,
        public_facts=tuple(map(r_words, guarantee.public_facts)),
        not_covered=tuple(map(r_words, guarantee.not_covered)),
        reason=r_words(guarantee.reason),
    )


def _regressed(result: Any) -> str:
    """Formula of a fit, without the effects of units."""
    text: str = result.formula
    return text.partition(" | ")[0]


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
