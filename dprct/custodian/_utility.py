"""Do the released data say what the confidential data say?  Effects beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dprct.custodian.overlap import compared
from dprct.custodian.regressions import Regressions
from dprct.custodian.sources import Source, confidential_source, released_sources
from dprct.custodian.utility_report import UtilityReport
from dprct.errors import ParameterError
from dprct.formula.design_matrix import columns_of
from dprct.results.confidential import caution

if TYPE_CHECKING:
    import pandas as pd

    from dprct.custodian.sources import Given
    from dprct.results.weights import WeightsType
    from dprct.schema import Schema


def utility(
    confidential: Given,
    released: Given,
    *,
    formula: str | None = None,
    outcomes: Sequence[str] | Mapping[str, str] = (),
    arms: Sequence[str] | Mapping[str, str] = (),
    covariates: Sequence[str] | Mapping[str, Sequence[str]] = (),
    blocks: Sequence[str] = (),
    control: str | None = None,
    cov_type: str = "HC1",
    groups: str | None = None,
    weights: str | None = None,
    weights_type: WeightsType = "aweight",
    alpha: float = 0.05,
    schema: Schema | None = None,
) -> UtilityReport:
    """Compare the effects that releases give with those of the confidential data.

    Parameters
    ----------
    confidential : data frame or (data frame, Schema)
    released : Release, data frame, (data frame, Schema), list of them, or mapping of str to these
        A list is several draws of one method; a mapping names methods.
    formula : str, optional
        ``"y1 + y2 ~ treat + x"``, as in :func:`dprct.ols`; or else outcomes and arms:
    outcomes, arms : list of str, or mapping of str to str
        Columns, or columns and what to call them.  With ``formula``, ``arms`` are the
        coefficients to compare, all but the intercept if not given; else columns of 0 and 1.
    covariates, blocks, control
        As in :func:`dprct.itt_table`; not with ``formula``.
    cov_type : {"HC1", "HC0", "HC2", "HC3", "nonrobust", "cluster"}
    groups, weights : str, optional
        Columns of clusters and of weights.
    weights_type : {"aweight", "fweight", "pweight"}
    alpha : float
        Intervals have level ``1 - alpha``.
    schema : Schema, optional
        For tables that come without one.

    Returns
    -------
    UtilityReport
        ``to_frame()``, ``summary()``, ``to_text()`` and plots; confidential.

    Raises
    ------
    ParameterError
        If options contradict each other, or a regression cannot be run on the confidential data.
        One that cannot be run on a release is counted, and the report says why.
    ColumnError
        If a column does not exist in one of the tables.
    FormulaError
        If the formula is not in the grammar.

    Warns
    -----
    DprctWarning
        Always: publishing what is found, or choosing the best of several draws by it, is itself
        a disclosure.

    Notes
    -----
    Not private in any sense.  Overlap is that of equation (5) of the paper, ``difference`` the
    released less the confidential estimate.  One release is one draw: judge a method by several
    draws made for the purpose with a seed, and publish one made without looking.

    References
    ----------
    "Assessing Utility of Differential Privacy for RCTs", section 4.1; Karr et al. (2006), The
    American Statistician 60.

    Examples
    --------
    >>> import warnings, pandas as pd
    >>> rows = pd.DataFrame({"y": [1.0, 2, 4, 3, 6, 5], "treat": [0, 0, 0, 1, 1, 1]})
    >>> moved = rows.assign(y=rows["y"] + rows["treat"])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     report = utility(rows, [rows, moved], formula="y ~ treat")
    >>> report.to_frame()[["draw", "overlap", "difference"]].round(2).values.tolist()
    [[1.0, 1.0, 0.0], [2.0, 0.86, 1.0]]
    """
    options = {
        "cov_type": cov_type,
        "groups": groups,
        "weights": weights,
        "weights_type": weights_type,
        "alpha": alpha,
    }
    arm_names, outcome_names = _named("arms", arms), _named("outcomes", outcomes)
    if formula is not None:
        if outcomes or covariates or blocks or control is not None:
            raise ParameterError(
                "formula says outcomes and covariates; leave out outcomes, covariates, blocks and "
                "control"
            )
        regressions = Regressions.from_formula(formula, tuple(arm_names), **options)
    else:
        if not outcomes or not arms:
            raise ParameterError("give formula=, or outcomes= and arms=")
        regressions = Regressions.of_arms(
            tuple(outcome_names), tuple(arm_names), covariates, tuple(blocks), control, **options
        )
    truth = confidential_source(confidential, schema)
    sources = released_sources(released, schema)
    effects, reasons = _compared(regressions, truth, sources)
    caution()
    return UtilityReport(
        effects=effects,
        regressions=regressions,
        confidential=truth,
        released=tuple(sources),
        labels=outcome_names | arm_names,
        reasons=tuple(reasons),
    )


def _compared(
    regressions: Regressions, truth: Source, sources: Sequence[Source]
) -> tuple[pd.DataFrame, list[str]]:
    """Fit every table; a release without a column is refused before any is fitted."""
    for source in sources:
        columns_of(source.data, regressions.columns)
    expected, _ = regressions.effects(truth)
    found, reasons = {}, []
    for source in sources:
        found[source.method, source.draw], why = regressions.effects(source)
        reasons += why
    return compared(expected, found), reasons


def _named(option: str, given: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return columns and what to call them."""
    if isinstance(given, str):
        raise ParameterError(f"{option}={given!r}; give a list of columns")
    if isinstance(given, Mapping):
        return dict(given)
    return {name: name for name in given}
