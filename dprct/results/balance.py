"""A balance table: means of baseline columns by arm, their differences, and one joint test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import checked
from dprct.errors import ParameterError
from dprct.formula.design_matrix import columns_of, is_factor, numbers_of
from dprct.lazy import pandas as pd
from dprct.plots import Labels
from dprct.records import dataclass
from dprct.results.base import Shown, provenance, table_given
from dprct.results.ols import ORDINARY_FIT, ols
from dprct.results.typeset import Grid, Line, NumberColumn, each, lines_of, p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.privacy.budget import Guarantee
    from dprct.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BalanceTable(Shown):
    """Means by arm and differences; see :func:`balance_table`.

    Parameters
    ----------
    table : DataFrame
        One row per column: ``mean.control, sd.control, mean.treated, sd.treated, difference,
        std.error, p.value, normalized.difference, nobs``.
    joint_f, joint_p : float
        Test that the columns together do not tell the arms apart, and its p-value.
    joint_df : (float, float)
        Its degrees of freedom.
    treatment : str
    nobs : (int, int)
        Rows of control and of treated.
    names : mapping of str to str
        What columns are called in print.
    guarantee : Guarantee
    """

    table: pd.DataFrame
    joint_f: float
    joint_p: float
    joint_df: tuple[float, float]
    treatment: str
    nobs: tuple[int, int]
    names: dict[str, str]
    guarantee: Guarantee
    notes: tuple[str, ...] = ()

    def tidy(self) -> pd.DataFrame:
        """Return the table with a column ``term``."""
        return self.table.rename_axis("term").reset_index()

    def grid(self, alpha: float = 0.05) -> Grid:
        """Return the table, ready to be written in any format."""
        columns = [
            NumberColumn("mean.control", "Control"),
            NumberColumn("sd.control", "(sd)"),
            NumberColumn("mean.treated", "Treated"),
            NumberColumn("difference", "Difference"),
            NumberColumn("std.error", "std err"),
            NumberColumn("p.value", "P>|t|", each(p_value)),
            NumberColumn("normalized.difference", "Norm. diff."),
        ]
        records: dict[str, dict[str, float]] = {
            self.names[str(name)]: {column.key: float(row[column.key]) for column in columns}
            for name, row in self.table.iterrows()
        }
        test = f"F({self.joint_df[0]:g}, {self.joint_df[1]:g}) = {self.joint_f:.3f}"
        lines: tuple[Line, ...] = lines_of(records, columns, list(records))
        return Grid(
            title=f"Balance by {self.treatment}",
            facts=(
                ("Control", f"{self.nobs[0]:,}"), ("Treated", f"{self.nobs[1]:,}"),
                ("Joint test", test), ("Prob > F", p_value(self.joint_p)),
            ),
            corner="",
            headings=tuple(column.heading for column in columns),
            lines=lines,
            notes=(*self.notes, *str(self.guarantee).splitlines()),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<BalanceTable: {len(self.table)} columns by {self.treatment}>"


@checked
def balance_table(
    data: Any,
    schema: Schema | None = None,
    *,
    columns: Sequence[str],
    treatment: str,
    blocks: Sequence[str] = (),
    cluster: str | None = None,
    cov_type: str = "HC1",
    guarantee: Guarantee | None = None,
) -> BalanceTable:
    """Compare baseline columns of two arms, as in the first table of a paper.

    This adds no privacy protection: the table of confidential data is confidential.

    Parameters
    ----------
    data, schema, guarantee
        As of :func:`dprct.ols`.
    columns : list of str
        Numbers that were measured before treatment.
    treatment : str
        A 0/1 column; rows without it are left out.
    blocks : list of str
        Columns that enter as factors, such as strata of the randomisation: differences are then
        within blocks.
    cluster : str, optional
        Clusters, as in :func:`dprct.ols`.
    cov_type : str
        As of :func:`dprct.ols`.

    Returns
    -------
    BalanceTable

    Raises
    ------
    ColumnError
        If a column does not exist.
    ParameterError
        If treatment is not 0 and 1, or a column holds text.

    Notes
    -----
    A difference is the coefficient of treatment in a regression of the column on treatment and
    blocks, on the rows that have it.  The normalized difference is the difference of means over
    sqrt((s0^2 + s1^2) / 2) (Imbens and Rubin 2015, section 14.2), and has no blocks.  The joint
    test regresses treatment on all columns, and blocks, on the rows that have all.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"t": [0, 0, 0, 1, 1, 1], "age": [20.0, 30, 40, 25, 35, 51]})
    >>> found = balance_table(rows, columns=["age"], treatment="t")
    >>> found.table[["mean.control", "mean.treated", "difference"]].iloc[0].round(9).tolist()
    [30.0, 37.0, 7.0]
    """
    if not columns:
        raise ParameterError("``columns=`` is empty; name the columns to compare")
    frame, schema, guarantee = table_given(data, schema, guarantee)
    used = list(dict.fromkeys([*columns, treatment, *blocks, *([cluster] if cluster else [])]))
    rows = columns_of(frame, used)
    for name in (*columns, treatment):
        if is_factor(rows[name]):
            raise ParameterError(f"column {name!r} holds text; compare 0/1 columns of its levels")
    arm = numbers_of(rows[treatment])
    rows = rows.take(np.flatnonzero(np.isfinite(arm))).reset_index(drop=True)
    arm = arm[np.isfinite(arm)]
    if not np.array_equal(np.unique(arm), [0.0, 1.0]):
        raise ParameterError(f"{treatment!r} must be 0 and 1, both of which occur")
    quoted = {name: name if name.isidentifier() else f"`{name}`" for name in used}
    factors = "".join(f" + C({quoted[name]})" for name in blocks)
    options: dict[str, Any] = {"cov_type": cov_type, "cluster": cluster}
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(columns):
        fit = ols(f"{quoted[name]} ~ {quoted[treatment]}{factors}", rows, **options)
        term = str(fit.params.index[1])
        y = numbers_of(rows[name])
        parts = [y[(arm == a) & np.isfinite(y)] for a in (0, 1)]
        spread = [float(part.std(ddof=1)) if len(part) > 1 else math.nan for part in parts]
        means = [float(part.mean()) for part in parts]
        pooled = math.sqrt((spread[0] ** 2 + spread[1] ** 2) / 2)
        found[name] = {
            "mean.control": means[0], "sd.control": spread[0], "mean.treated": means[1],
            "sd.treated": spread[1], "difference": float(fit.params[term]),
            "std.error": float(fit.bse[term]), "p.value": float(fit.pvalues[term]),
            "normalized.difference": (means[1] - means[0]) / pooled if pooled > 0 else math.nan,
            "nobs": fit.nobs,
        }  # fmt: skip
    listed = " + ".join(quoted[name] for name in found)
    joint = ols(f"{quoted[treatment]} ~ {listed}{factors}", rows, **options)
    tested = [str(name) for name in found if name in joint.params.index]
    test = joint.wald_test([f"`{name}` = 0" for name in tested])
    known = provenance(frame, schema, tuple(used), guarantee, by_row=False)
    notes = () if joint.nobs == len(rows) else (
        f"The joint test uses the {joint.nobs:,} rows that have all columns.",
    )  # fmt: skip
    return BalanceTable(
        table=pd.DataFrame.from_dict(found, orient="index"),
        joint_f=test.statistic,
        joint_p=test.pvalue,
        joint_df=(test.df, test.df_denom),
        treatment=treatment,
        nobs=(int((arm == 0).sum()), int((arm == 1).sum())),
        names={name: Labels(schema).of(name) for name in found},
        guarantee=known.guarantee or ORDINARY_FIT,
        notes=notes,
    )
