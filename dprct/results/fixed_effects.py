"""The fixed effects that a regression names: read, matched to its rows, taken out, described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.formula.design_matrix import INTERCEPT, columns_of, is_missing
from dprct.results.absorb import within, without_singletons
from dprct.results.counting import (
    Absorbed,
    check_rule,
    counted,
    dummy_rank,
    is_nested,
    pairwise_rank,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narwhals.typing import IntoFrame

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask
    from dprct.results.counting import FeRule
    from dprct.results.covariance import Array, Codes


@dataclass(frozen=True, slots=True, eq=False)
class FixedEffects:
    """Factors to absorb, of all rows that were given.

    Parameters
    ----------
    names : tuple of str
        Columns; none where nothing is absorbed.
    codes : tuple of (N,) array of int
        Levels, -1 where missing.
    rule : {"areg", "reghdfe", "fixest", "xtreg"}
    """

    names: tuple[str, ...]
    codes: tuple[Codes, ...]
    rule: FeRule

    @classmethod
    def read(
        cls, absorb: str | Sequence[str], rule: str, cov_type: str, data: IntoFrame
    ) -> FixedEffects:
        """Return the factors that ``absorb`` names.

        Raises
        ------
        ColumnError
            If a column does not exist.
        ParameterError
            If the rule is unknown, or does not go with ``cov_type`` or so many factors.

        Examples
        --------
        >>> rows = pd.DataFrame({"v": ["a", "b", "", "a"]})
        >>> FixedEffects.read("v", "areg", "HC1", rows).codes[0].tolist()
        [0, 1, -1, 0]
        """
        names = tuple(dict.fromkeys([absorb] if isinstance(absorb, str) else absorb))
        if not names:
            return cls((), (), check_rule(rule, "nonrobust", 1))
        frame = columns_of(data, names)
        codes = tuple(_codes(frame[name]) for name in names)
        return cls(names, codes, check_rule(rule, cov_type, len(names)))

    def present(self, rows: Mask) -> Mask:
        """Return those of the rows (N,) in which no factor is missing."""
        for codes in self.codes:
            rows = rows & (codes >= 0)
        return rows

    def usable(self, keep: Mask) -> Mask:
        """Return the rows to be used: under ``reghdfe`` none is alone in a level."""
        return without_singletons(self.codes, keep) if self.rule == "reghdfe" else keep

    def of(self, keep: Mask) -> tuple[Codes, ...]:
        """Return the levels of the rows kept, coded from 0, each occurring."""
        return tuple(
            np.unique(codes[keep], return_inverse=True)[1].astype(np.intp) for codes in self.codes
        )

    def described(self, factors: Sequence[Codes], groups: Codes | None) -> Absorbed:
        """Return what the results print.

        Parameters
        ----------
        factors : sequence of (n,) array of int
            From :meth:`of`.
        groups : (n,) array of int or None
        """
        return Absorbed(
            names=self.names,
            levels=tuple(int(codes.max()) + 1 for codes in factors),
            nested=tuple(is_nested(codes, groups) for codes in factors),
            rule=self.rule,
            parameters=counted(factors, groups, self.rule),
            rank=dummy_rank(factors) if self.rule == "areg" else pairwise_rank(factors),
        )


def taken_out(frame: Design, factors: Sequence[Codes], total: Array) -> Design:
    """Return the design that the fixed effects leave, without the intercept.

    Parameters
    ----------
    frame : Design
    factors : sequence of (n,) array of int
    total : (n,) array
        Root of the weight of each row.

    Raises
    ------
    ParameterError
        If no regressor varies within the levels.
    """
    slopes = [j for j, name in enumerate(frame.columns) if name != INTERCEPT]
    left = within(np.column_stack([frame.y, frame.X[:, slopes]]), factors, total)
    if not left[:, 1:].any():
        raise ParameterError(
            "no regressor varies within the levels of the absorbed factors; "
            "absorb fewer of them, or choose other regressors"
        )
    return replace(
        frame,
        y=left[:, :1],
        X=left[:, 1:],
        columns=tuple(frame.columns[j] for j in slopes),
        terms=tuple(frame.terms[j] for j in slopes),
    )


def _codes(column: pd.Series[Any]) -> Codes:
    codes, _ = pd.factorize(column)
    return np.where(is_missing(column), -1, codes).astype(np.intp)
