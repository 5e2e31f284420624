"""Two-stage least squares with Stata's small-sample inference, for ordinary fits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import checked
from dprct.certificate.valid_groups import level_of
from dprct.certificate.valid_regressions import (
    Specification,
    Validity,
    column_named,
    terms_of,
)
from dprct.errors import FormulaError, ParameterError
from dprct.formula import Formula, complete_cases, design, parse
from dprct.formula.design_matrix import is_missing
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import provenance, table_given, void_notes
from dprct.results.covariance import (
    FeRule,
    FixedEffects,
    Weighting,
    check_weights_type,
    least_squares,
    taken_out,
)
from dprct.results.ols import (
    ORDINARY_FIT,
    RELEASED_NOTE,
    absorbed_by,
    check_finite,
    check_outcome,
    check_rows,
    cluster_codes,
    covariance_named,
    of_moments,
    one_per_row,
    wald,
    weights_of,
)
from dprct.results.ordinary import OrdinaryResults
from dprct.results.typeset import number, p_value, statistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask
    from dprct.privacy.budget import Guarantee
    from dprct.results.covariance import Array, Codes, WeightsType
    from dprct.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InstrumentalResults(OrdinaryResults):
    """Two-stage least squares; see :func:`iv`.

    Parameters
    ----------
    endogenous : str
    instruments : tuple of str
        Excluded instruments, without those that are combinations of others.
    first_stage_f, first_stage_p : float
        Wald test that all excluded instruments have no effect on the endogenous regressor, with
        the covariance of the fit.  Below about 10, intervals and t are not to be relied on.
    rmse : float
        Root of the residual variance, with ``n - k`` degrees of freedom.
    """

    endogenous: str
    instruments: tuple[str, ...]
    first_stage_f: float
    first_stage_p: float
    rmse: float

    def _fit_as_a_whole(self) -> dict[str, float]:
        return {
            "sigma": self.rmse,
            "statistic.first.stage": self.first_stage_f,
            "p.value.first.stage": self.first_stage_p,
        }

    def residual_variance(self) -> float:
        """Return the variance of the structural residuals."""
        return self.rmse**2

    def _own_facts(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Root MSE", number(self.rmse)),
            ("Endogenous", self.endogenous),
            ("Instruments", ", ".join(self.instruments)),
            ("First-stage F", statistic(self.first_stage_f)),
            ("Prob > F", p_value(self.first_stage_p)),
        )


@checked
def iv(
    formula: str,
    data: Any,
    schema: Schema | None = None,
    cov_type: str = "HC1",
    cluster: str | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    weights_type: WeightsType = "aweight",
    *,
    absorb: str | Sequence[str] = (),
    fe_df: FeRule = "areg",
    guarantee: Guarantee | None = None,
) -> InstrumentalResults:
    """Fit two-stage least squares with the standard errors of Stata's ``ivregress 2sls, small``.

    Nothing about this fit is private: on confidential data its results are confidential, on
    released data they are free.

    Parameters
    ----------
    formula : str
        ``"y ~ age + [takeup ~ assigned]"``: takeup is endogenous, assigned its instrument;
        ``"y ~ [d ~ z1 + z2] | village"`` absorbs the village.
    data, schema, cov_type, cluster, weights, weights_type, absorb, fe_df, guarantee
        As of :func:`dprct.ols`, without ``HC2`` and ``HC3``.  Of released moments the fit is
        that of ``Moments.iv``, with their noise.

    Returns
    -------
    InstrumentalResults
        Coefficients, inference, first-stage F and counts; no row of the data.

    Raises
    ------
    FormulaError
        If the formula is not in the grammar, names no instruments, or not one outcome.
    ColumnError
        If a column does not exist.
    ParameterError
        If an option is not allowed, or the instruments are not correlated with the endogenous
        regressor given the others.

    Notes
    -----
    With W the exogenous regressors, Z = [W, instruments] and X = [d, W], b = (X'PX)^-1 X'Py for the
    projection P on Z.  The covariances are those of least squares on PX with the residuals
    y - X b: HC1 is scaled by n / (n - k), CR1 by G/(G-1) (n-1)/(n-k); inference uses t(n - k), with
    clusters t(G - 1).

    References
    ----------
    StataCorp, manual entry ``ivregress``, Methods and formulas (2SLS, option small).

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [1.0, 2, 2, 5, 4, 6], "d": [0, 0, 1, 1, 0, 1],
    ...                      "z": [0, 0, 0, 1, 1, 1]})
    >>> fit = iv("y ~ [d ~ z]", rows)
    >>> fit.params.round(3).to_dict()
    {'d': 10.0, 'Intercept': -1.667}
    """
    if getattr(type(data), "holds_moments", False):
        options = (schema, cluster, weights, absorb or None)
        read: InstrumentalResults = of_moments(data.iv, formula, cov_type, options)
        return read
    data, schema, guarantee = table_given(data, schema, guarantee)
    cov_type = covariance_named(cov_type, cluster)
    if cov_type in ("HC2", "HC3"):
        raise ParameterError(f"``cov_type={cov_type!r}`` is not defined for instruments; use HC1")
    check_weights_type(weights_type, cov_type, given=weights is not None)
    parsed = parse(formula, functions=True, structural=True)
    check_outcome(parsed, "iv")
    if not parsed.endogenous:
        raise FormulaError(
            f"{parsed.text!r} names no instruments; write y ~ x + [d ~ z], z being the instrument"
        )
    effects = FixedEffects.read(absorbed_by(parsed, absorb), fe_df, cov_type, data)
    whole = replace(
        parsed, terms=(parsed.endogenous, *parsed.terms, *parsed.instruments), endogenous=(),
        instruments=(),
    )  # fmt: skip
    complete = effects.present(complete_cases(whole, data))
    clusters = None if cluster is None else one_per_row(cluster, data, len(complete), "cluster")
    if clusters is not None:
        complete = complete & ~is_missing(clusters)
    weight = None if weights is None else weights_of(weights, weights_type, data, complete)
    keep = effects.usable(complete if weight is None else complete & (weight > 0))
    check_rows(whole, data, keep)
    codes = None if clusters is None else cluster_codes(clusters, keep)
    used_weight = None if weight is None else weight[keep]
    weighting = Weighting.of(used_weight, weights_type, int(keep.sum()))
    parts = Parts.of(parsed, data, schema, keep, effects, weighting)
    results = _fit(parsed, parts, cov_type, weighting, codes, effects)
    by_name = [one for one in (cluster, weights) if isinstance(one, str)]
    given = [one for one in (cluster, weights) if one is not None]
    used = (*parsed.names, *effects.names, *by_name)
    known = provenance(data, schema, used, guarantee, by_row=len(by_name) < len(given))
    notes = (RELEASED_NOTE,) if known.is_released else ()
    if (valid := Validity.of(schema)) is not None:
        taken = parsed.endogenous[0].label
        excluded = terms_of(replace(parsed, terms=parsed.instruments))
        spec = Specification(
            outcome=parsed.outcomes[0].label, terms=(*excluded, *terms_of(parsed, effects.names)),
            cov_type=cov_type, cluster=column_named(cluster), rows=int(keep.sum()),
            weighted=weights is not None, intercept=parsed.intercept,
            fe_df=effects.rule if effects.names else "areg",
            within=level_of(valid.groups, data, keep),
        )  # fmt: skip
        supported = valid.ratio_reason(spec, taken, excluded) is None
        if not known.contradicted and spec.outcome in valid.outcomes:
            kept = {taken} if supported else set()
            results = results.without([n for n in map(str, results.params.index) if n not in kept])
        notes = (
            () if known.contradicted and supported else (valid.ratio_note(spec, taken, excluded),)
        )
    return replace(
        results,
        guarantee=known.guarantee or ORDINARY_FIT,
        notes=(*results.notes, *void_notes(schema), *notes),
        rows_dropped=int((~keep).sum()),
    )


@dataclass(frozen=True, eq=False)
class Parts:
    """Outcome, endogenous regressor, exogenous ones and excluded instruments of the rows used."""

    y: Array
    total: Array
    outcome: str
    d: Array
    name: str
    W: Array
    names: tuple[str, ...]
    Z: Array
    instruments: tuple[str, ...]
    levels: dict[str, Any]
    factors: tuple[Codes, ...]

    @classmethod
    def of(
        cls, parsed: Formula, data: Any, schema: Schema | None, keep: Mask, effects: FixedEffects,
        weighting: Weighting,
    ) -> Parts:  # fmt: skip
        """Return the parts; fixed effects are taken out of each."""
        bare = replace(parsed, endogenous=(), instruments=(), effects=())
        factors = effects.of(keep)
        exogenous = design(bare, data, schema, keep=keep)
        inside = replace(bare, outcomes=(), intercept=True)
        endogenous = design(replace(inside, terms=(parsed.endogenous,)), data, schema, keep=keep)
        excluded = design(replace(inside, terms=parsed.instruments), data, schema, keep=keep)
        if len(endogenous.columns) != 2:
            raise FormulaError(
                f"{parsed.endogenous[0].label!r} is a factor; name one endogenous number"
            )
        for frame in (exogenous, endogenous, excluded):
            check_finite(frame)
        root = weighting.total
        columns = [exogenous.y, endogenous.X[:, 1:], excluded.X[:, 1:], exogenous.X]
        if factors:
            columns = _within(columns, exogenous, factors, root)
        y, d, Z, W = columns
        names = exogenous.columns if not factors else exogenous.columns[int(parsed.intercept) :]
        return cls(
            y=y[:, 0], total=exogenous.y[:, 0], outcome=exogenous.outcomes[0], d=d,
            name=endogenous.columns[1], W=W, names=tuple(names), Z=Z,
            instruments=tuple(excluded.columns[1:]),
            levels={**exogenous.levels, **endogenous.levels}, factors=factors,
        )  # fmt: skip


def _within(
    columns: list[Array], exogenous: Design, factors: Sequence[Codes], root: Array
) -> list[Array]:
    """Return the columns as the fixed effects leave them, the intercept gone."""
    y, d, Z, W = columns
    slopes = W[:, [j for j, name in enumerate(exogenous.columns) if name != "Intercept"]]
    everything = np.column_stack([d, Z, slopes])
    names = tuple(str(j) for j in range(everything.shape[1]))
    frame = replace(exogenous, y=y, X=everything, columns=names, terms=names)
    left = taken_out(frame, factors, root)
    ends = np.cumsum([d.shape[1], Z.shape[1]])
    return [left.y, *np.split(left.X, ends, axis=1)]


def _fit(
    parsed: Formula,
    parts: Parts,
    cov_type: str,
    weighting: Weighting,
    groups: Codes | None,
    effects: FixedEffects,
) -> InstrumentalResults:
    absorbed = effects.described(parts.factors, groups) if parts.factors else None
    extra = 0 if absorbed is None else absorbed.parameters
    (first,), kept = least_squares(np.column_stack([parts.W, parts.Z]), parts.d, weighting)
    first = replace(first, absorbed=extra)
    exogenous, excluded = kept[: len(parts.names)], kept[len(parts.names) :]
    if not excluded.any():
        raise ParameterError(
            f"no instrument of {parts.name!r} varies once the other regressors are taken out; "
            "name another instrument"
        )
    Z = np.column_stack([parts.W, parts.Z])[:, kept]
    fitted = Z @ first.beta
    X = np.column_stack([parts.d[:, 0], parts.W[:, exogenous]])
    projected = np.column_stack([fitted, parts.W[:, exogenous]])
    (second,), identified = least_squares(projected, parts.y[:, None], weighting)
    if not identified.all():
        raise ParameterError(
            f"the instruments are uncorrelated with {parts.name!r} given the other "
            "regressors; name another instrument"
        )
    resid = (parts.y - X @ second.beta) * weighting.root
    second = replace(second, resid=resid, absorbed=extra)
    if second.df_resid <= 0 or first.df_resid <= 0:
        raise ParameterError(
            f"{second.nobs:g} observations for {first.rank + extra} regressors and instruments "
            "leave nothing to estimate errors from; use fewer"
        )
    ways = [] if groups is None else [groups]
    cov, df = second.inference(weighting.times(projected), cov_type, ways)
    cov_first, _ = first.inference(weighting.times(Z), cov_type, ways)
    tail = slice(int(exogenous.sum()), None)
    strength = wald(first.beta[tail], cov_first[tail, tail], df)
    tested = int(excluded.sum())
    names = [parts.name, *(n for n, keep in zip(parts.names, exogenous, strict=True) if keep)]
    return InstrumentalResults(
        params=pd.Series(second.beta, index=names),
        cov=pd.DataFrame(cov, index=names, columns=names),
        df_inference=df,
        df_resid=second.df_resid,
        nobs=int(second.nobs),
        cov_type=cov_type,
        guarantee=ORDINARY_FIT,
        outcome=parts.outcome,
        formula=parsed.text,
        title="Two-stage least squares",
        layout=(parts.name, *parts.names),
        levels=parts.levels,
        endogenous=parts.name,
        instruments=tuple(
            n for n, keep in zip(parts.instruments, excluded, strict=True) if keep
        ),
        first_stage_f=strength,
        first_stage_p=float(special.fdtrc(tested, df, strength)) if strength >= 0 else math.nan,
        rmse=float(np.sqrt(second.copies @ resid**2 / second.df_resid)),
        n_groups=None if groups is None else int(groups.max()) + 1,
        notes=() if absorbed is None else (absorbed.note(),),
        absorbed=absorbed,
    )  # fmt: skip
