"""What a private additive model returns: shapes, their errors, and no row."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import listed_names
from dprct.encoding import Encoding
from dprct.errors import ParameterError
from dprct.estimate.additive.fitted import half_width, usable_counts
from dprct.estimate.noise_law import check_alpha
from dprct.lazy import pandas as pd
from dprct.plots import (
    BOTH_NOISES,
    PRIVACY_NOISE,
    RELEASED,
    Labels,
    panels,
    stamp,
    watermark_of,
    within,
)
from dprct.records import dataclass
from dprct.results.base import Shown
from dprct.results.typeset import Grid, NumberColumn, lines_of, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.additive.fitted import AdditiveFit
    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]

ALL = "privacy noise and sampling"
NOISE = "privacy noise alone"

_LEAST_EIGENVALUE = 1e-3
"""Of the moments of a projection, as a share of all records; below it they are noise."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AdditiveResults(Shown):
    """A private additive function: average, shapes, subgroup means and their intervals.

    Parameters
    ----------
    fit : AdditiveFit
        The function, with the numbers that were released.
    guarantee : Guarantee
    outcome : str
    what : str
        What the function describes, for titles and axes.
    ledger : str
        Where the budget was charged.
    no_sampling : str
        Why intervals that contain sampling error are refused; empty if they are proved.

    Notes
    -----
    **What intervals cover.** With ``part="all"``, the mean of the *clipped* target among people
    like these (at a level of a feature, or in a subgroup), allowing for privacy noise and sampling.
    The variance within a level is taken to be that of everybody, two standard deviations of noise
    above the released one.  With ``part="noise"``, what these rows would give without noise.
    Neither covers the effect of smoothing and shrinking on ``estimate``, nor that of clipping.  No
    interval is proved for :meth:`predict`.
    """

    fit: AdditiveFit
    guarantee: Guarantee
    outcome: str
    what: str = "mean"
    ledger: str = ""
    no_sampling: str = ""

    @property
    def title(self) -> str:
        """First line of the table."""
        return "Private additive model"

    @property
    def notes(self) -> tuple[str, ...]:
        """What intervals cover, and what they do not."""
        covered = NOISE if self.no_sampling else ALL
        return (
            f"Intervals are of the level alone and cover {covered}, not smoothing and not "
            "clipping.",
            *([f"No interval contains sampling: {self.no_sampling}."] * bool(self.no_sampling)),
        )

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """What was released besides :meth:`tidy`, by name: the function itself, and a projection.

        The function at a row is its average and the shapes of the row's levels, added up.
        """
        found = {f"function: {name}": fit.table() for name, fit in self.models.items()}
        terms = self.fit.terms
        together = sorted({j for pair in terms.crossed for j in pair})
        if together:
            part = "noise" if self.no_sampling else "all"
            names = [terms.names[j] for j in together]
            found["projection"] = self.projection(names, part=part)
        return found

    @property
    def nobs(self) -> int:
        """Rows behind the function."""
        return self.fit.sums.n

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.fit.terms.names[: self.fit.terms.features]

    @property
    def subgroups(self) -> tuple[str, ...]:
        """Columns whose levels are released as subgroups; features are among them."""
        return self.fit.terms.names

    @property
    def average(self) -> float:
        """Mean of the clipped target."""
        return self.fit.average

    @property
    def models(self) -> Mapping[str, Any]:
        """Every fitted function by name; here there is one."""
        return {"fit": self.fit}

    def average_interval(self, alpha: float = 0.05, part: str = "all") -> tuple[float, float]:
        """Return an interval that contains the average with probability ``1 - alpha``.

        Parameters
        ----------
        alpha : float
            From 1e-6 to 1.
        part : {"all", "noise"}
            The errors that the interval covers; see the notes of the class.

        Raises
        ------
        ParameterError
            If no such interval is proved.
        """
        check_alpha(alpha)
        half = half_width(self.fit.average_noise(self._proved(part)), alpha)
        return self.average - half, self.average + half

    def predict(self, new_data: Any) -> Array:
        """Return the function at public rows (m,); numbers outside bounds count as the nearest.

        Raises
        ------
        ColumnError, SchemaError
            If a feature is not there, or a row has a level that was not declared.
        """
        return self.fit.at(self.fit.terms.codes(new_data))

    def shape(
        self, feature: str, alpha: float = 0.05, *, part: str = "all", joint: bool = False
    ) -> pd.DataFrame:
        """Return one row per level: the smoothed function, the level's own mean, and its band.

        Parameters
        ----------
        feature : str
        alpha : float
        part : {"all", "noise"}
        joint : bool
            Whether the band covers all levels at once (Bonferroni), rather than each one.

        Returns
        -------
        DataFrame
            ``level, middle, count, estimate, raw, std.error, std.error.noise, low, high``; the band
            is around ``raw``, the level's own mean, and is cut at the clip.
        """
        self.fit.terms.place(feature)
        return self.fit.levels(feature, alpha, self._proved(part), joint=joint)

    def subgroup_means(
        self, column: str, alpha: float = 0.05, *, part: str = "all"
    ) -> pd.DataFrame:
        """Return the mean of the target in every subgroup, unsmoothed; columns as in :meth:`shape`.

        Notes
        -----
        Under replace-one a person may change subgroup, which moves two subgroups by at most R each
        (and two counts) instead of one by 2 R: all subgroups of a column together cost what one
        feature does.
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
            Numeric features.  For several, ``pairs=`` or ``projection=`` must have included them.
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

    @property
    def params(self) -> pd.Series[float]:
        """The average, and every level as it was released, by ``column level``."""
        return self._column("raw")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of :attr:`params`; of the noise alone if no sampling error is proved."""
        return self._column("std.error")

    @property
    def bse_noise(self) -> pd.Series[float]:
        """The part of each standard error that is privacy noise."""
        return self._column("std.error.noise")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the intervals of :attr:`params`; see the notes of the class for what they cover.

        Parameters
        ----------
        alpha : float
            From 1e-6 to 1.

        Returns
        -------
        (k, 2) DataFrame
            Columns 0 and 1 are the lower and the upper end.
        """
        table = self.tidy(alpha)
        ends = table[["low", "high"]].set_axis([0, 1], axis=1)
        return ends.set_axis(_row_names(table), axis=0)

    def _column(self, name: str) -> pd.Series[float]:
        table = self.tidy()
        return table[name].astype(float).set_axis(_row_names(table), axis=0).rename(None)

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the average and every level of every feature and subgroup, one row each."""
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
        for name in self.subgroups:
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

    def grid(self, alpha: float = 0.05) -> Grid:
        """Return average and shapes, ready to be written in any format."""
        table = self.tidy(alpha)
        keys = ["estimate", "raw", "std.error", "std.error.noise", "low", "high"]
        heads = ["smoothed", "level alone", "std err", "of which noise", f"[{alpha / 2:.4g}"]
        heads.append(f"{1 - alpha / 2:.4g}]")
        columns = [
            NumberColumn(k, h, partial(numbers, decimals=3))
            for k, h in zip(keys, heads, strict=True)
        ]
        found = {
            name: {k: float(row[k]) for k in keys}
            for name, (_, row) in zip(_row_names(table), table.iterrows(), strict=True)
        }
        return Grid(
            title=f"{self.title}: {self.what}",
            facts=self._facts(),
            headings=tuple(heads),
            lines=lines_of(found, columns, list(found)),
            notes=(
                *self.notes,
                *str(self.guarantee).splitlines(),
            ),
        )

    def plot(
        self,
        feature: str | None = None,
        *,
        alpha: float = 0.05,
        ax: Axes | None = None,
        schema: Schema | None = None,
    ) -> Axes:
        """Draw the shape of a feature, the first by default, with the interval of each level.

        A number has a line over its public bounds; categories, and two levels such as 0 and 1, are
        points.  Labels, and bounds of the outcome, are taken from a schema.
        """
        name = self.features[0] if feature is None else feature
        table = self.shape(name, alpha, part="noise" if self.no_sampling else "all")
        j = self.fit.terms.place(name)
        if self.fit.terms.smooth[j] and len(table) > 2 and table["middle"].notna().all():
            code = self.fit.terms.encodings[j]
            assert isinstance(code, Encoding)  # of a number
            ends = (float(code.cells[0][0]), float(code.cells[-1][-1]))
            drawn = _line_drawn(table, ends, self._band(alpha), panels(1)[0] if ax is None else ax)
        else:
            levels = [Labels(schema).level(name, str(level)) for level in table["level"]]
            drawn = _points_drawn(
                table, levels, self._band(alpha), panels(1)[0] if ax is None else ax
            )
        drawn.axhline(self.average, color="0.6", linewidth=0.8, label="average")
        drawn.set_title(Labels(schema).of(name))
        drawn.legend(fontsize=8)
        drawn.set_ylabel(self._said(schema))
        drawn.set_ylim(*within(drawn.get_ylim(), self._reach(schema)))
        return self._stamped(drawn)

    def plot_subgroups(
        self,
        column: str,
        *,
        alpha: float = 0.05,
        ax: Axes | None = None,
        schema: Schema | None = None,
    ) -> Axes:
        """Draw the mean of every subgroup of a column with its interval.

        Labels, and bounds of the outcome, are taken from a schema.
        """
        labels, band = Labels(schema), self._band(alpha)
        table = self.subgroup_means(column, alpha, part="noise" if self.no_sampling else "all")
        drawn = panels(1)[0] if ax is None else ax
        at = np.arange(len(table))[::-1]
        for k, (y, low, high) in enumerate(zip(at, table["low"], table["high"], strict=True)):
            drawn.plot([low, high], [y, y], color=RELEASED, label=None if k else band)
        drawn.plot(table["raw"], at, "o", color=RELEASED)
        named = [labels.level(column, str(level)) for level in table["level"]]
        drawn.set_yticks(at, named, fontsize=8)
        drawn.axvline(0, color="0.6", linewidth=0.8)
        drawn.set_xlabel(self._said(schema))
        drawn.legend(fontsize=8)
        drawn.set_title(labels.of(column))
        drawn.set_xlim(*within(drawn.get_xlim(), self._reach(schema)))
        return self._stamped(drawn)

    def _band(self, alpha: float) -> str:
        """Legend of an interval."""
        noise = PRIVACY_NOISE if self.no_sampling else BOTH_NOISES
        return f"{100 * (1 - alpha):g}% interval: {noise}"

    def _said(self, schema: Schema | None) -> str:
        """Title of what is drawn, with the label of the outcome."""
        return self.what.removesuffix(self.outcome) + Labels(schema).of(self.outcome)

    def _reach(self, schema: Schema | None) -> tuple[float, float] | None:
        """Return between which public numbers what is drawn must lie."""
        labels = Labels(schema)
        is_mean = self.what.startswith("mean")
        return labels.bounds(self.outcome) if is_mean else labels.reach(self.outcome)

    def _stamped(self, ax: Axes) -> Axes:
        if mark := watermark_of(self.guarantee):
            stamp(ax, mark)
        return ax

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.outcome} on {', '.join(self.features)}, "
            f"n={self.nobs:,}, average={self.average:.4g}>"
        )

    def _proved(self, part: str) -> str:
        if part == "all" and self.no_sampling:
            raise ParameterError(
                f"no interval that contains sampling is proved here: {self.no_sampling}; "
                "``part='noise'`` gives one of the privacy noise alone"
            )
        return part

    def _facts(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Outcome", self.outcome),
            ("Rows", f"{self.nobs:,}"),
            ("Clip", f"{self.fit.sums.clip:g}"),
            ("Features", f"{len(self.features)}"),
        )


def linear_projection(fit: AdditiveFit, features: Sequence[str], part: str = "all") -> pd.DataFrame:
    """Coefficients of the best linear projection on features, at the middles of bins.

    Features are numbers; of several, the joint counts must have been released.  Errors of the part
    "noise" are without sampling.

    Notes
    -----
    beta = A^-1 b with A = E z z' and b = E z psi over the released cells, z = (1, features from -1
    to 1 at the middle of their bins).  To first order the error is A^-1 (e_b - e_A beta); its
    noise part follows from the known noise of the cells, its sampling part takes the variance of
    the target to be the same everywhere.  What a feature does within a bin is not seen.

    References
    ----------
    Semenova and Chernozhukov (2021), "Debiased machine learning of conditional average treatment
    effects", for the projection as an estimand.
    """
    features = listed_names(features, "features")
    places = [_number(fit, name) for name in features]
    if not places:
        raise ParameterError("``features=`` names no column; name at least one")
    counts = {j: _counts(fit, (j,)) for j in places}
    matrix, spread = _moments(fit, places, counts)
    score = np.array([fit.sums.mean * fit.sums.mass, *(_score(fit, j) for j in places)])
    values, vectors = np.linalg.eigh(matrix)
    inverse = (vectors / np.maximum(values, _LEAST_EIGENVALUE * fit.sums.mass)) @ vectors.T
    beta = inverse @ score
    noise = inverse @ _noise(fit, places, beta, spread) @ inverse
    sampling = fit.sums.largest_variance * inverse @ matrix @ inverse
    whole = noise + sampling if part == "all" else noise
    unit = np.array([1.0, *(1 / fit.terms.reach(j) for j in places)])
    return pd.DataFrame(
        {
            "term": ["mean at the middle of the bounds", *features],
            "estimate": beta * unit + np.array([fit.centre] + [0.0] * len(places)),
            "std.error": np.sqrt(np.maximum(np.diag(whole), 0)) * unit,
            "std.error.noise": np.sqrt(np.maximum(np.diag(noise), 0)) * unit,
        }
    )


def _number(fit: AdditiveFit, name: str) -> int:
    j = fit.terms.place(name)
    if not fit.terms.smooth[j]:
        raise ParameterError(f"{name!r} is not a number in this model; a projection needs numbers")
    return j


def _counts(fit: AdditiveFit, features: tuple[int, ...]) -> Array:
    cells = fit.sums.cells_of(features)
    if cells is None or cells.counts is None:
        names = " and ".join(repr(fit.terms.names[j]) for j in features)
        raise ParameterError(
            f"joint counts of {names} were not released; name these features in ``projection=`` "
            "(or ``pairs=``) before the fit, or project on one feature at a time"
        )
    counts = usable_counts(cells.counts, fit.sums.mass)
    return np.asarray(counts * (fit.sums.mass / counts.sum()), np.float64)


def _score(fit: AdditiveFit, j: int) -> float:
    cells = fit.sums.cells_of((j,))
    assert cells is not None
    assert cells.sums is not None
    return float(fit.terms.points(j) @ cells.sums)


def _moments(
    fit: AdditiveFit, places: Sequence[int], counts: dict[int, Array]
) -> tuple[Array, Array]:
    """Return the sums of z z' and, for unit noise on counts, the variance of its entries."""
    z = {j: fit.terms.points(j) for j in places}
    size = 1 + len(places)
    matrix, spread = np.zeros((size, size)), np.zeros((size, size))
    matrix[0, 0] = fit.sums.mass
    for a, j in enumerate(places, 1):
        matrix[0, a] = matrix[a, 0] = counts[j] @ z[j]
        matrix[a, a] = counts[j] @ z[j] ** 2
        spread[0, a] = spread[a, 0] = (z[j] ** 2).sum()
        spread[a, a] = (z[j] ** 4).sum()
    for (a, j), (b, k) in itertools.combinations(enumerate(places, 1), 2):
        first, second = sorted((j, k))
        joint = _counts(fit, (first, second))
        matrix[a, b] = matrix[b, a] = joint @ np.outer(z[first], z[second]).ravel()
        spread[a, b] = spread[b, a] = (np.outer(z[j], z[k]) ** 2).sum()
    return matrix, spread


def _noise(fit: AdditiveFit, places: Sequence[int], beta: Array, spread: Array) -> Array:
    """Return the covariance of e_b - e_A beta; entries of A are taken to be independent."""
    own = [fit.sums.mean_noise.sd * fit.sums.mass]
    own += [fit.sums.sd_sum * float(np.linalg.norm(fit.terms.points(j))) for j in places]
    unit = fit.sums.sd_count**2
    found = unit * spread * np.outer(beta, beta)  # the same entry of A is in two rows
    diagonal = np.array(own) ** 2 + unit * spread @ beta**2
    np.fill_diagonal(found, diagonal)
    return np.asarray(found)


def _line_drawn(table: pd.DataFrame, ends: tuple[float, float], band: str, ax: Axes) -> Axes:
    """Draw the smoothed shape of a number over its bounds, with the interval of each bin."""
    at = table["middle"]
    ax.fill_between(
        at, table["low"], table["high"], color=RELEASED, alpha=0.2, linewidth=0, label=band
    )
    ax.plot(at, table["raw"], ".", color=RELEASED, label="each bin by itself")
    ax.plot(at, table["estimate"], color=RELEASED, label="smoothed")
    ax.set_xlim(*ends)
    return ax


def _points_drawn(table: pd.DataFrame, levels: Sequence[str], band: str, ax: Axes) -> Axes:
    """Draw each level of a feature as a point with its interval."""
    at = np.arange(len(table))
    for place, low, high in zip(at, table["low"], table["high"], strict=True):
        ax.plot([place, place], [low, high], color=RELEASED, label=None if place else band)
    ax.plot(at, table["raw"], "o", color=RELEASED, label="each level by itself")
    ax.set_xticks(at, list(levels), rotation=45 if len(at) > 4 else 0, fontsize=8)
    ax.set_xlim(-0.5, len(at) - 0.5)
    return ax


def _row_names(table: pd.DataFrame) -> list[str]:
    """Return a name for every row of a tidy table."""
    pairs = zip(table["term"], table["level"], strict=True)
    return [f"{term} {level}".strip() for term, level in pairs]
