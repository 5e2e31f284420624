"""Do the released data say what the confidential data say? Effects side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dprct import plots
from dprct.arguments import number_between
from dprct.custodian.tables import (
    Cells,
    Source,
    cells_of,
    compared,
    confidential_source,
    level_words,
    released_sources,
    summarised,
)
from dprct.errors import FormulaError, ParameterError
from dprct.formula import complete_cases, parse
from dprct.formula.design_matrix import INTERCEPT, Array, Mask, columns_of, is_missing
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import WATERMARK, Confidential, caution, marked
from dprct.results.covariance import WeightsType, check_weights_type
from dprct.results.itt_estimates import Fitted, assignment_of, by_rows, fitted, panels_of
from dprct.results.ols import covariance_named
from dprct.results.tables import Column, Row, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from dprct.custodian.tables import Given, Source
    from dprct.results.covariance import WeightsType
    from dprct.schema import Schema

_NUMBERS = ("estimate", "std.error", "conf.low", "conf.high", "df", "nobs")


class Residuals(NamedTuple):
    """Fitted values and residuals of the rows that a regression used, (n,) arrays."""

    fitted: Array
    resid: Array


@dataclass(frozen=True, kw_only=True)
class Regressions:
    """What is regressed on what, and which coefficients are compared; holds no rows."""

    outcomes: tuple[str, ...]  # left sides, as formulas spell them
    panels: Mapping[str, str]  # right sides, by covariate set
    arms: tuple[str, ...] = ()  # the coefficients that are compared; all but the intercept if empty
    indicators: bool = False  # whether arms are 0/1 columns of which a row has at most one
    control: str | None = None  # column of the control group; rows in neither are left out
    cov_type: str = "HC1"
    # cluster, weights: columns, so that every table has its own.
    cluster: str | None = None
    weights: str | None = None
    weights_type: WeightsType = "aweight"
    alpha: float = 0.05  # intervals have level ``1 - alpha``

    def __post_init__(self) -> None:
        for option in ("cluster", "weights"):
            if not isinstance(getattr(self, option), str | None):
                raise ParameterError(f"{option} must be a column, which every table has its own of")
        number_between("alpha", self.alpha, 0, 1)
        cov_type = covariance_named(self.cov_type, self.cluster)
        check_weights_type(self.weights_type, cov_type, given=self.weights is not None)
        object.__setattr__(self, "cov_type", cov_type)

    @classmethod
    def from_formula(cls, formula: str, arms: tuple[str, ...], **options: Any) -> Regressions:
        """Return the regressions of one or several outcomes on one right side."""
        parsed = parse(formula, functions=True)
        if not parsed.outcomes:
            raise FormulaError(f"{parsed.text!r} names no outcome; write y ~ treat + x")
        side = formula.partition("~")[2].strip()
        labels = tuple(
            factor.label if factor.expression else _spelled(factor.label)
            for factor in parsed.outcomes
        )
        return cls(outcomes=labels, panels={"": side}, arms=arms, **options)

    @classmethod
    def of_arms(
        cls,
        outcomes: tuple[str, ...],
        arms: tuple[str, ...],
        covariates: Sequence[str] | Mapping[str, Sequence[str]] = (),
        blocks: tuple[str, ...] = (),
        control: str | None = None,
        **options: Any,
    ) -> Regressions:
        """Return the regressions of :func:`dprct.itt_table`."""
        return cls(
            outcomes=tuple(_spelled(name) for name in outcomes),
            panels=panels_of(arms, covariates, blocks),
            arms=arms,
            indicators=True,
            control=control,
            **options,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns used, outcomes first, each once."""
        sides = (name for side in self.panels.values() for name in _names(f"~ {side}"))
        outcomes = (name for outcome in self.outcomes for name in _names(f"{outcome} ~ 1"))
        others = (name for name in (self.control, self.cluster, self.weights) if name)
        return tuple(dict.fromkeys([*outcomes, *sides, *others]))

    def effects(self, source: Source) -> tuple[pd.DataFrame, list[str]]:
        """Fit everything on one table."""
        frame = columns_of(source.data, self.columns)
        found: list[dict[str, Any]] = []
        reasons: list[str] = []
        try:
            if self.indicators:
                assignment_of(frame, self.arms, self.control)
        except ParameterError as refusal:
            return self._ordered(found), [_reason(source, refusal)]
        samples = {
            (panel, outcome): self._rows(frame, panel, outcome)
            for panel in self.panels
            for outcome in self.outcomes
        }
        for (panel, rows), outcomes in by_rows(samples):
            try:
                fit = self._fitted(frame, source, panel, outcomes, rows)
            except ParameterError as refusal:
                reasons.append(_reason(source, refusal))
                continue
            for j, outcome in enumerate(outcomes):
                key = {"covariates": panel, "outcome": _plain(outcome)}
                records = self._records(fit, j, strict=source.draw == 0)
                found += [{**key, **record} for record in records]
        return self._ordered(found), list(dict.fromkeys(reasons))

    def residuals(self, source: Source, outcome: str, panel: str) -> Residuals:
        """Return fitted values and residuals of one regression, neither weighted."""
        spelled = {_plain(one): one for one in self.outcomes}
        if outcome not in spelled or panel not in self.panels:
            raise ParameterError(
                f"no regression of {outcome!r} on covariates {panel!r}; outcomes: "
                f"{', '.join(spelled)}; covariates: {', '.join(map(repr, self.panels))}"
            )
        frame = columns_of(source.data, self.columns)
        name = spelled[outcome]
        rows = self._rows(frame, panel, name)
        found = self._fitted(frame, source, panel, (name,), rows)
        resid = found.fit.fits[0].resid / found.weighting.root
        return Residuals(found.design.y[:, 0] - resid, resid)

    def _rows(self, frame: pd.DataFrame, panel: str, outcome: str) -> Mask:
        rows = complete_cases(parse(f"{outcome} ~ {self.panels[panel]}", functions=True), frame)
        if self.cluster is not None:
            rows = rows & ~is_missing(frame[self.cluster])
        if self.control is not None:
            in_control = frame[self.control].to_numpy(np.float64, na_value=np.nan) == 1
            in_arm = frame[list(self.arms)].to_numpy(np.float64, na_value=np.nan) == 1
            rows = rows & (in_control | in_arm.any(axis=1))
        return rows

    def _fitted(
        self, frame: pd.DataFrame, source: Source, panel: str, outcomes: tuple[str, ...], rows: Mask
    ) -> Fitted:
        def check(rows: Mask) -> None:
            if not rows.any():
                raise ParameterError(
                    "no row has a value in every variable of the regression of "
                    f"{_plain(outcomes[0])!r}"
                )

        groups = None if self.cluster is None else frame[self.cluster]
        return fitted(
            panel, outcomes, f"{' + '.join(outcomes)} ~ {self.panels[panel]}",
            frame, source.schema, rows, check, cov_type=self.cov_type, groups=groups,
            weights=self.weights, weights_type=self.weights_type,
        )  # fmt: skip

    def _records(self, found: Fitted, j: int, *, strict: bool) -> list[dict[str, Any]]:
        fit, df, names = found.fit.fits[j], found.fit.df, found.columns(kept=True)
        errors = np.sqrt(np.diag(found.fit.cov(j)))
        reach = special.stdtrit(df, 1 - self.alpha / 2)
        wanted = self.arms or tuple(name for name in names if name != INTERCEPT)
        unknown = [arm for arm in wanted if arm not in names]
        if strict and unknown:
            raise ParameterError(
                f"the regression has no coefficient {unknown[0]!r}, or it is a linear combination "
                f"of others; it has {', '.join(names)}"
            )
        records = []
        for arm in wanted:
            if arm in unknown:
                continue
            place = names.index(arm)
            estimate, error = float(fit.beta[place]), float(errors[place])
            ends = estimate - reach * error, estimate + reach * error
            numbers = (estimate, error, *ends, df, int(fit.nobs))
            records.append({"arm": arm, **dict(zip(_NUMBERS, numbers, strict=True))})
        return records

    def _ordered(self, records: list[dict[str, Any]]) -> pd.DataFrame:
        """Return records in the order of the question, whichever were fitted together."""
        panels, outcomes = list(self.panels), [_plain(outcome) for outcome in self.outcomes]
        records = sorted(
            records, key=lambda r: (panels.index(r["covariates"]), outcomes.index(r["outcome"]))
        )
        return pd.DataFrame(records, columns=["covariates", "outcome", "arm", *_NUMBERS])


def _reason(source: Source, refusal: ParameterError) -> str:
    """Reason why a release has no effects; what is wrong with the confidential data is raised."""
    if source.draw == 0:
        raise refusal
    return f"{source}: {refusal}"


def _names(formula: str) -> tuple[str, ...]:
    return parse(formula, functions=True).names


def _spelled(label: str) -> str:
    return f"`{label}`"


def _plain(outcome: str) -> str:
    return outcome.strip("`")


_BY = ["method", "covariates", "outcome", "arm"]
_MEASURES = ["released.estimate", "overlap", "difference", "abs.difference"]
_FEW_LEVELS = 12
_SHOWN_REASONS = 5
_TEXT = (
    ("estimate", "confidential"),
    ("released.estimate.mean", "released"),
    ("overlap.mean", "overlap"),
    ("overlap.median", "median"),
    ("overlap.q05", "5%"),
    ("overlap.q95", "95%"),
    ("difference.mean", "diff."),
    ("abs.difference.median", "|diff.| median"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UtilityReport(Confidential):
    """Effects on confidential and released data side by side; see :func:`utility`.

    Parameters
    ----------
    effects : DataFrame
        One row per method, draw, covariate set, outcome and arm.
    regressions : Regressions
        The regressions that were fitted.
    confidential : Source
    released : tuple of Source
        The tables as they were given, not copied; diagnostic plots read them.
    labels : mapping of str to str
        Names of outcomes and arms to print.
    reasons : tuple of str
        Reasons why effects could not be estimated on a release.

    Notes
    -----
    The report is confidential: every text, frame and figure of it says so, it refuses to be
    pickled, and a :class:`~dprct.Release` refuses to hold it or one of its frames.
    """

    effects: pd.DataFrame
    regressions: Regressions
    confidential: Source
    released: tuple[Source, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per method, draw, covariate set, outcome and arm.

        Returns
        -------
        DataFrame
            ``method``, ``draw``, ``covariates``, ``outcome``, ``arm``; ``estimate``, ``std.error``,
            ``conf.low``, ``conf.high`` of the confidential data and, after ``released.``, of the
            release; ``overlap``, ``difference`` (released minus confidential), ``abs.difference``.
            The watermark is in ``attrs``.
        """
        return marked(self.effects.copy())

    def summary(self, quantiles: Sequence[float] = (0.05, 0.95)) -> pd.DataFrame:
        """Return the distribution of each measure over the draws of a method.

        Parameters
        ----------
        quantiles : sequence of float

        Returns
        -------
        DataFrame
            One row per method, covariate set, outcome and arm: the confidential ``estimate``,
            ``draws``, ``estimated`` (draws on which the effect exists), and ``.mean``,
            ``.median`` and quantiles (``.q05``) of ``released.estimate``, ``overlap``,
            ``difference`` and ``abs.difference``.
        """
        out = summarised(self.effects, _BY, _MEASURES, tuple(quantiles))
        groups = self.effects.groupby(_BY, sort=False)
        out.insert(4, "estimate", groups["estimate"].first().to_numpy())
        out.insert(6, "estimated", groups["overlap"].count().to_numpy())
        return marked(out)

    def to_text(self, width: int | None = None) -> str:
        """Return the report as text, under its watermark; ``width`` as in a table's."""
        return self._table().to_text(width)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        draws = self.effects[["method", "draw"]].drop_duplicates()
        effects = self.effects[_BY].drop_duplicates()
        return f"<UtilityReport: {len(effects)} effects, {len(draws)} releases. {WATERMARK}>"

    def plot_overlap(self, statistic: str = "mean", ax: Axes | None = None) -> Axes:
        """Draw the overlap of intervals as a heat map of outcomes by methods and arms.

        Parameters
        ----------
        statistic : {"mean", "median"}
            Over draws.
        ax : Axes, optional
        """
        return self._heat_map(
            "overlap", statistic, ax, title="Overlap of confidence intervals", limits=(0.0, 1.0)
        )

    def plot_difference(self, statistic: str = "median", ax: Axes | None = None) -> Axes:
        """Draw the absolute difference of estimates as a heat map, shaded by its logarithm.

        Parameters
        ----------
        statistic : {"mean", "median"}
            Over draws.
        ax : Axes, optional
        """
        title = "|released - confidential estimate|"
        return self._heat_map("abs.difference", statistic, ax, title=title, log=True)

    def plot_effects(
        self, outcome: str | None = None, covariates: str | None = None, *, draw: int = 1,
        ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """Draw the effects on the confidential data and those of a release per method, row by row.

        Parameters
        ----------
        outcome, covariates : str, optional
            By default, the first ones.
        draw : int
            Which release of each method.
        ax : Axes, optional
        """
        outcome, covariates = self._place(outcome, covariates)
        here = self.effects[
            (self.effects["outcome"] == outcome)
            & (self.effects["covariates"] == covariates)
            & (self.effects["draw"] == draw)
        ]
        if here.empty:
            known = self.effects[["outcome", "covariates", "draw"]].drop_duplicates()
            there = "; ".join(" / ".join(map(str, row)) for row in known.to_numpy())
            raise ParameterError(
                f"no effects on {outcome!r} with covariates {covariates!r} in draw {draw!r}; there "
                f"are (outcome / covariates / draw): {there}"
            )
        frames: list[pd.DataFrame] = []
        names: list[str] = []
        for method in self._methods():
            part = here[here["method"] == method]
            part = part.set_index(part["arm"].map(self._label))
            sides = {"released.": method} if names else {"": "confidential", "released.": method}
            for prefix, name in sides.items():
                columns = [prefix + one for one in ("estimate", "conf.low", "conf.high")]
                frames.append(part[columns].set_axis(["estimate", "low", "high"], axis=1))
                names.append(name)
        return plots.side_by_side(
            frames,
            names,
            label="Effect, with its interval",
            title=self._label(outcome),
            watermark=WATERMARK,
            ax=ax,
        )

    def plot_residuals(
        self, outcome: str | None = None, covariates: str | None = None, *, draw: int = 1
    ) -> list[Axes]:
        """Draw residuals over fitted values: the confidential data, then a release per method.

        Parameters
        ----------
        outcome, covariates : str, optional
            By default, the first ones.
        draw : int
            Which release of each method.
        """
        return self._diagnosed(
            lambda fit, **how: plots.residuals_fitted(*fit, **how), outcome, covariates, draw
        )

    def plot_quantiles(
        self, outcome: str | None = None, covariates: str | None = None, *, draw: int = 1
    ) -> list[Axes]:
        """Draw normal quantiles of residuals; arguments as in :meth:`plot_residuals`."""
        return self._diagnosed(
            lambda fit, **how: plots.normal_quantiles(fit.resid, **how), outcome, covariates, draw
        )

    def plot_distributions(
        self, columns: Sequence[str] | None = None, method: str | None = None
    ) -> list[Axes]:
        """Draw columns of the original against all releases of a method.

        Parameters
        ----------
        columns : sequence of str, optional
            By default, those of the regressions.
        method : str, optional
            By default, the first one.

        Notes
        -----
        Text, and numeric columns with at most a dozen values, are drawn as shares of levels, of
        which each missing code is one.  Other numbers are drawn as densities of the observed
        values.
        """
        method = self._methods()[0] if method is None else method
        several = [source for source in self.released if source.method == method]
        if not several:
            raise ParameterError(
                f"``method={method!r}``; the releases have {', '.join(map(repr, self._methods()))}"
            )
        names = list(self.regressions.columns if columns is None else columns)
        axes = plots.panels(len(names), columns=3, size=(3.8, 3.0))
        for name, ax in zip(names, axes, strict=True):
            tables = [cells_of(source.data, name) for source in (self.confidential, *several)]
            _draw_column(name, tables, ax)
        return axes

    def _methods(self) -> list[str]:
        return list(dict.fromkeys(source.method for source in self.released))

    def _heat_map(self, measure: str, statistic: str, ax: Axes | None, **options: Any) -> Axes:
        if statistic not in ("mean", "median"):
            raise ParameterError(f"``statistic={statistic!r}``; allowed: mean, median")
        found = self.summary()
        place = list(zip(found["covariates"], found["outcome"], strict=True))
        across = list(zip(found["method"], found["arm"], strict=True))
        # by hand: pandas 2.2 shuffles the values when it unstacks two levels unsorted
        rows, columns = list(dict.fromkeys(place)), list(dict.fromkeys(across))
        cells = np.full((len(rows), len(columns)), np.nan)
        at = [rows.index(key) for key in place], [columns.index(key) for key in across]
        cells[at] = found[f"{measure}.{statistic}"]
        wide = pd.DataFrame(
            cells, pd.MultiIndex.from_tuples(rows), pd.MultiIndex.from_tuples(columns)
        )
        return plots.heat_map(
            wide.rename(index=self._label, columns=self._label),
            ax=ax,
            label=f"{statistic} over draws",
            watermark=WATERMARK,
            **options,
        )

    def _diagnosed(
        self, plot: Callable[..., Axes], outcome: str | None, covariates: str | None, draw: int
    ) -> list[Axes]:
        outcome, covariates = self._place(outcome, covariates)
        drawn = [source for source in self.released if source.draw == draw]
        if not drawn:
            most = max(source.draw for source in self.released)
            raise ParameterError(f"``draw={draw!r}``; releases are numbered 1 to {most}")
        fits = [
            (source, self.regressions.residuals(source, outcome, covariates))
            for source in (self.confidential, *drawn)
        ]
        axes = plots.panels(len(fits), columns=3, size=(4.0, 3.2))
        for (source, fit), ax in zip(fits, axes, strict=True):
            plot(fit, ax=ax, title=f"{self._label(outcome)}: {source}", watermark=WATERMARK)
        return axes

    def _place(self, outcome: str | None, covariates: str | None) -> tuple[str, str]:
        """Return an outcome and a covariate set, by default the first ones."""
        first = self.effects.iloc[0]
        return (
            str(first["outcome"]) if outcome is None else outcome,
            str(first["covariates"]) if covariates is None else covariates,
        )

    def _label(self, name: Any) -> str:
        return self.labels.get(str(name), str(name))

    def _table(self) -> Table:
        found = self.summary()
        rows: list[Row] = []
        section = ""
        for record in found.to_dict("records"):
            heading = ", ".join(part for part in (record["method"], record["covariates"]) if part)
            if heading != section:
                rows.append(Row(heading, heading, kind="section"))
                section = heading
            name = f"{self._label(record['outcome'])}: {self._label(record['arm'])}"
            cells = [float(record[key]) for key, _ in _TEXT]
            draws = (int(record["draws"]), int(record["estimated"]))
            rows.append(Row(name, name, (*cells, "{1:,d} of {0:,d}".format(*draws))))
        columns = [Column(key, heading) for key, heading in (*_TEXT, ("draws", "draws"))]
        return Table(
            columns=tuple(columns),
            rows=tuple(rows),
            parts=(("estimate", ""),),
            title=WATERMARK,
            corner="Effect",
            notes=(self._note(), *self._failures(), WATERMARK + "."),
        )

    def _note(self) -> str:
        level = 100 * (1 - self.regressions.alpha)
        return (
            f"Overlap is the mean share of each {level:g}% interval that lies in the other "
            f"({self.regressions.cov_type} standard errors); differences are of estimates. "
            "Neither counts the noise of the release in its standard errors."
        )

    def _failures(self) -> list[str]:
        more = len(self.reasons) - _SHOWN_REASONS
        shown = [f"Not estimated on {reason}." for reason in self.reasons[:_SHOWN_REASONS]]
        return shown + ([f"And {more} more."] if more > 0 else [])


def _draw_column(name: str, tables: Sequence[Cells], ax: Axes) -> None:
    numbers = [cells.numbers[cells.present] for cells in tables]
    if not tables[0].is_text and len(np.unique(np.concatenate(numbers))) > _FEW_LEVELS:
        plots.distribution(numbers[0], numbers[1:], ax=ax, title=name, watermark=WATERMARK)
        return
    words = [pd.Series(level_words(cells)) for cells in tables]
    shares = pd.DataFrame({k: one.value_counts(normalize=True) for k, one in enumerate(words)})
    plots.level_shares(_in_order(shares.fillna(0.0)), ax=ax, title=name, watermark=WATERMARK)


def _in_order(shares: pd.DataFrame) -> pd.DataFrame:
    """Sort numbers by size, words by the alphabet, missing codes last; put rare ones together."""

    def rank(level: str) -> tuple[int, float, str]:
        if level.startswith("."):
            return 2, 0.0, level
        try:
            return 0, float(level), level
        except ValueError:
            return 1, 0.0, level

    common = shares.loc[shares[0].sort_values(ascending=False, kind="stable").index[:_FEW_LEVELS]]
    ordered = common.loc[sorted(common.index, key=rank)]
    if len(common) == len(shares):
        return ordered
    others = shares.drop(index=common.index).sum().to_frame("(others)").T
    return pd.concat([ordered, others])


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
    cluster: str | None = None,
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
        A list contains several draws of one method; a mapping names methods.
    formula : str, optional
        ``"y1 + y2 ~ treat + x"``, as in :func:`dprct.ols`; or give outcomes and arms:
    outcomes, arms : list of str, or mapping of str to str
        Columns, or a mapping from columns to the names to print; arms are 0/1 columns.  With
        ``formula``, ``arms`` are the coefficients to compare, by default all but the intercept.
    covariates, blocks, control
        As in :func:`dprct.itt_table`; not with ``formula``.
    cov_type : {"HC1", "HC0", "HC2", "HC3", "nonrobust", "cluster"}
    cluster, weights : str, optional
        Columns of clusters and of weights.
    weights_type : {"aweight", "fweight", "pweight"}
    alpha : float
        Intervals have level ``1 - alpha``.
    schema : Schema, optional
        Schema of tables that come without one.

    Returns
    -------
    UtilityReport
        ``to_frame()``, ``summary()``, ``to_text()`` and plots; confidential.

    Raises
    ------
    ParameterError
        If options contradict each other, or a regression cannot be run on the confidential data.
        If one cannot be run on a release, it is counted, and the report says why.
    ColumnError
        If a column does not exist in one of the tables.
    FormulaError
        If the formula is not one that :func:`dprct.ols` accepts.

    Warns
    -----
    DprctWarning
        Always: to publish the result, or to choose the best of several draws by it, is itself a
        disclosure.

    Notes
    -----
    The result is not private in any sense.  Overlap is defined in equation (5) of the paper;
    ``difference`` is the released minus the confidential estimate.  One release is one draw: judge
    a method by several seeded draws made for this purpose, and publish another draw, made without
    looking.

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
        "cluster": cluster,
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
            raise ParameterError("give ``formula=``, or ``outcomes=`` and ``arms=``")
        regressions = Regressions.of_arms(
            tuple(outcome_names), tuple(arm_names), covariates, tuple(blocks), control, **options
        )
    truth = confidential_source(confidential, schema)
    sources = released_sources(released, schema)
    effects, reasons = _compared(regressions, truth, sources)
    caution(stacklevel=3)
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
    if isinstance(given, str):
        raise ParameterError(f"``{option}={given!r}``; give a list of columns")
    if isinstance(given, Mapping):
        return dict(given)
    return {name: name for name in given}
