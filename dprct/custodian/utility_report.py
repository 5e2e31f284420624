"""What :func:`dprct.custodian.utility` finds, as frames, text and figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct import plots
from dprct.custodian.overlap import summarised
from dprct.custodian.records import Cells, cells_of, level_words
from dprct.errors import ParameterError
from dprct.results.cells import Column, Row
from dprct.results.confidential import WATERMARK, Confidential, marked
from dprct.results.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dprct.custodian.regressions import Regressions
    from dprct.custodian.sources import Source

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
        What was fitted.
    confidential : Source
    released : tuple of Source
        The tables, as they were given and not copied: diagnostic plots read them.
    labels : mapping of str to str
        What to call outcomes and arms.
    reasons : tuple of str
        Why effects could not be estimated on a release.

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
            ``method``, ``draw``, ``covariates``, ``outcome``, ``arm``; ``estimate``,
            ``std.error``, ``conf.low``, ``conf.high`` of the confidential data and, after
            ``released.``, of the release; ``overlap``, ``difference`` (released less
            confidential), ``abs.difference``.  The watermark is in ``attrs``.
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

    def to_text(self) -> str:
        """Return the report as text, under its watermark."""
        return self._table().to_text()

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
        values = self._cells("overlap", statistic)
        return plots.heat_map(
            values,
            ax=ax,
            title="Overlap of confidence intervals",
            label=f"{statistic} over draws",
            limits=(0.0, 1.0),
            watermark=WATERMARK,
        )

    def plot_difference(self, statistic: str = "median", ax: Axes | None = None) -> Axes:
        """Draw the absolute difference of estimates as a heat map, shaded by its logarithm.

        Parameters
        ----------
        statistic : {"mean", "median"}
            Over draws.
        ax : Axes, optional
        """
        values = self._cells("abs.difference", statistic)
        return plots.heat_map(
            values,
            ax=ax,
            title="|released - confidential estimate|",
            label=f"{statistic} over draws",
            log=True,
            watermark=WATERMARK,
        )

    def plot_residuals(
        self, outcome: str | None = None, covariates: str | None = None, *, draw: int = 1
    ) -> list[Axes]:
        """Draw residuals over fitted values: the confidential data, then a release per method.

        Parameters
        ----------
        outcome, covariates : str, optional
            The first ones, if not given.
        draw : int
            Which release of each method.
        """
        return self._diagnosed("residuals", outcome, covariates, draw)

    def plot_quantiles(
        self, outcome: str | None = None, covariates: str | None = None, *, draw: int = 1
    ) -> list[Axes]:
        """Draw normal quantiles of residuals; arguments as in :meth:`plot_residuals`."""
        return self._diagnosed("quantiles", outcome, covariates, draw)

    def plot_distributions(
        self, columns: Sequence[str] | None = None, method: str | None = None
    ) -> list[Axes]:
        """Draw columns of the original against all releases of a method.

        Parameters
        ----------
        columns : sequence of str, optional
            Those of the regressions, if not given.
        method : str, optional
            The first one, if not given.

        Notes
        -----
        Text, and numbers of which there are at most a dozen, are drawn as shares of levels, each
        missing code being one; other numbers as densities of those that are there.
        """
        method = self._methods()[0] if method is None else method
        several = [source for source in self.released if source.method == method]
        if not several:
            raise ParameterError(
                f"method={method!r}; the releases have {', '.join(map(repr, self._methods()))}"
            )
        names = list(self.regressions.columns if columns is None else columns)
        axes = plots.panels(len(names), columns=3, size=(3.8, 3.0))
        for name, ax in zip(names, axes, strict=True):
            tables = [cells_of(source.data, name) for source in (self.confidential, *several)]
            _draw_column(name, tables, ax)
        return axes

    def _methods(self) -> list[str]:
        return list(dict.fromkeys(source.method for source in self.released))

    def _cells(self, measure: str, statistic: str) -> pd.DataFrame:
        if statistic not in ("mean", "median"):
            raise ParameterError(f"statistic={statistic!r}; allowed: mean, median")
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
        return wide.rename(index=self._label, columns=self._label)

    def _diagnosed(
        self, kind: str, outcome: str | None, covariates: str | None, draw: int
    ) -> list[Axes]:
        first = self.effects.iloc[0]
        outcome = str(first["outcome"]) if outcome is None else outcome
        covariates = str(first["covariates"]) if covariates is None else covariates
        drawn = [source for source in self.released if source.draw == draw]
        if not drawn:
            most = max(source.draw for source in self.released)
            raise ParameterError(f"draw={draw!r}; releases are numbered 1 to {most}")
        fits = [
            (source, self.regressions.residuals(source, outcome, covariates))
            for source in (self.confidential, *drawn)
        ]
        axes = plots.panels(len(fits), columns=3, size=(4.0, 3.2))
        for (source, fit), ax in zip(fits, axes, strict=True):
            title = f"{self._label(outcome)}: {source}"
            if kind == "residuals":
                plots.residuals_fitted(*fit, ax=ax, title=title, watermark=WATERMARK)
            else:
                plots.normal_quantiles(fit.resid, ax=ax, title=title, watermark=WATERMARK)
        return axes

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
