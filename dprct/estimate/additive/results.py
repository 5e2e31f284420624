"""What a private additive model returns: shapes, their errors, and no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct.errors import ParameterError
from dprct.estimate.additive import figures
from dprct.estimate.additive.fitted import half_width
from dprct.estimate.additive.projection import linear_projection
from dprct.estimate.noise_law import check_alpha
from dprct.results import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.additive.fitted import AdditiveFit
    from dprct.privacy.guarantee import Guarantee

    Array = NDArray[np.float64]

ALL = "privacy noise and sampling"
NOISE = "privacy noise alone"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AdditiveResults:
    """A private additive function: average, shapes, group means and their intervals.

    Parameters
    ----------
    fit : AdditiveFit
        The function, with the numbers that were released.
    guarantee : Guarantee
    outcome : str
    what : str
        What the function is of, for titles and axes.
    ledger : str
        Where the budget was charged.
    notes : tuple of str
    no_sampling : str
        Why intervals that contain sampling are refused; empty where they are proved.

    Notes
    -----
    **What intervals cover.**  ``part="all"``: the mean of the *clipped* target among people like
    these (at a level of a feature, or in a group), with privacy noise and sampling; the variance
    within a level is taken to be that of everybody, two standard deviations of noise above what was
    released.  ``part="noise"``: what these rows would give without noise.  Neither covers what
    smoothing and shrinking do to ``estimate``, nor clipping; of
    :meth:`predict` no interval is proved.
    """

    fit: AdditiveFit
    guarantee: Guarantee
    outcome: str
    what: str = "mean"
    ledger: str = ""
    notes: tuple[str, ...] = ()
    no_sampling: str = ""

    @property
    def title(self) -> str:
        """First line of the table."""
        return "Private additive model"

    @property
    def nobs(self) -> int:
        """Rows behind the function."""
        return self.fit.sums.n

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.fit.terms.names[: self.fit.terms.features]

    @property
    def groups(self) -> tuple[str, ...]:
        """Columns whose levels are released groups; features are, too."""
        return self.fit.terms.names

    @property
    def average(self) -> float:
        """Mean of the clipped target."""
        return self.fit.average

    @property
    def models(self) -> dict[str, AdditiveFit]:
        """Every fitted function by name; here the one."""
        return {"fit": self.fit}

    def average_interval(self, alpha: float = 0.05, part: str = "all") -> tuple[float, float]:
        """Return ends that contain the average, ``1 - alpha`` of times.

        Parameters
        ----------
        alpha : float
            From 1e-6 to 1.
        part : {"all", "noise"}
            Errors to be covered; see the notes of the class.

        Raises
        ------
        ParameterError
            If no such interval is proved.
        """
        check_alpha(alpha)
        half = half_width(self.fit.average_noise(self._proved(part)), alpha)
        return self.average - half, self.average + half

    def predict(self, new_data: Any) -> Array:
        """Return the function (m,) at public rows; numbers outside bounds count as the nearest.

        Raises
        ------
        ColumnError, SchemaError
            If a feature is not there, or a row has a level that was not declared.
        """
        return self.fit.at(self.fit.terms.codes(new_data))

    def shape(
        self, feature: str, alpha: float = 0.05, *, part: str = "all", joint: bool = False
    ) -> pd.DataFrame:
        """Return one row per level: the smoothed function, that of the level alone, and its band.

        Parameters
        ----------
        feature : str
        alpha : float
        part : {"all", "noise"}
        joint : bool
            Whether all levels are within the band at once (Bonferroni), rather than each of them.

        Returns
        -------
        DataFrame
            ``level, middle, count, estimate, raw, std.error, std.error.noise, low, high``; the band
            is of the level alone, about ``raw``, and is cut at the clip.
        """
        self.fit.terms.place(feature)
        return self.fit.levels(feature, alpha, self._proved(part), joint=joint)

    def group_means(self, column: str, alpha: float = 0.05, *, part: str = "all") -> pd.DataFrame:
        """Return the mean of the target in every group, as :meth:`shape` does, unsmoothed.

        Notes
        -----
        Under replace-one a person may change group, which moves two groups by at most R each (and
        two counts) instead of one by 2 R: all groups of a column together cost what one feature
        does.
        """
        table = self.fit.levels(column, alpha, self._proved(part))
        return table.assign(estimate=table["raw"])

    def projection(
        self, features: Sequence[str], alpha: float = 0.05, *, part: str = "all"
    ) -> pd.DataFrame:
        """Return the best linear projection on features; intervals are normal, to first order.

        Parameters
        ----------
        features : sequence of str
            Numbers; of several, the pair or ``projection=`` must have been asked for.
        alpha : float
        part : {"all", "noise"}

        Returns
        -------
        DataFrame
            ``term, estimate, std.error, std.error.noise, low, high``.
        """
        from scipy.special import ndtri

        check_alpha(alpha)
        table = linear_projection(self.fit, features, self._proved(part))
        half = -ndtri(alpha / 2) * table["std.error"]
        return table.assign(low=table["estimate"] - half, high=table["estimate"] + half)

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the average and every level of every feature and group, one row each."""
        part = "noise" if self.no_sampling else "all"
        law = self.fit.average_noise(part)
        low, high = self.average_interval(alpha, part)
        rows = [
            pd.DataFrame(
                {
                    "term": ["average"],
                    "level": [""],
                    "estimate": [self.average],
                    "raw": [self.average],
                    "std.error": [law.sd],
                    "std.error.noise": [self.fit.average_noise("noise").sd],
                    "low": [low],
                    "high": [high],
                }
            )
        ]
        for name in self.groups:
            table = self.fit.levels(name, alpha, part)
            rows.append(table.drop(columns=["count", "middle"]).assign(term=name))
        return pd.concat(rows, ignore_index=True)

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole."""
        return pd.DataFrame(
            {
                "average": [self.average],
                "std.error.noise": [self.fit.average_noise("noise").sd],
                "nobs": [self.nobs],
                "clip": [self.fit.sums.clip],
                "features": [len(self.features)],
            }
        )

    def sheet(self, alpha: float = 0.05) -> render.Sheet:
        """Return average and shapes, ready to be written in any format."""
        table = self.tidy(alpha)
        keys = ["estimate", "raw", "std.error", "std.error.noise", "low", "high"]
        heads = ["smoothed", "level alone", "std err", "of which noise", f"[{alpha / 2:.4g}"]
        heads.append(f"{1 - alpha / 2:.4g}]")
        columns = [
            render.Column(k, h, lambda v: render.number(v, 3))
            for k, h in zip(keys, heads, strict=True)
        ]
        numbers = {
            f"{row['term']} {row['level']}".strip(): {k: float(row[k]) for k in keys}
            for _, row in table.iterrows()
        }
        covered = NOISE if self.no_sampling else ALL
        return render.Sheet(
            title=f"{self.title}: {self.what}",
            facts=self._facts(),
            headings=tuple(heads),
            rows=render.rows_of(numbers, columns, list(numbers)),
            notes=(
                f"Intervals are of the level alone and cover {covered}, not smoothing and not "
                "clipping.",
                *([f"No interval contains sampling: {self.no_sampling}."] * bool(self.no_sampling)),
                *self.notes,
                *str(self.guarantee).splitlines(),
            ),
        )

    def summary(self, alpha: float = 0.05) -> str:
        """Return average and shapes as text."""
        return render.text(self.sheet(alpha))

    def to_latex(self, alpha: float = 0.05) -> str:
        """Return average and shapes as LaTeX, for the package ``booktabs``."""
        return render.latex(self.sheet(alpha))

    def to_html(self, alpha: float = 0.05) -> str:
        """Return average and shapes as HTML."""
        return render.html(self.sheet(alpha))

    def plot(
        self, feature: str | None = None, *, alpha: float = 0.05, ax: Axes | None = None
    ) -> Axes:
        """Draw the shape of a feature, the first by default, with the band of its levels."""
        name = self.features[0] if feature is None else feature
        table = self.shape(name, alpha, part="noise" if self.no_sampling else "all")
        return figures.shape(table, name, self.average, self.what, ax=ax)

    def plot_groups(self, column: str, *, alpha: float = 0.05, ax: Axes | None = None) -> Axes:
        """Draw the mean of every group of a column with its interval."""
        table = self.group_means(column, alpha, part="noise" if self.no_sampling else "all")
        rows = [
            (str(r["level"]), float(r["raw"]), float(r["low"]), float(r["high"]))
            for _, r in table.iterrows()
        ]
        return figures.forest(rows, self.what, ax=ax)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.outcome} on {', '.join(self.features)}, "
            f"n={self.nobs:,}, average={self.average:.4g}>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def _proved(self, part: str) -> str:
        if part == "all" and self.no_sampling:
            raise ParameterError(
                f"no interval that contains sampling is proved here: {self.no_sampling}; "
                "part='noise' gives one of the privacy noise alone"
            )
        return part

    def _facts(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Outcome", self.outcome),
            ("Rows", f"{self.nobs:,}"),
            ("Clip", f"{self.fit.sums.clip:g}"),
            ("Features", f"{len(self.features)}"),
        )
