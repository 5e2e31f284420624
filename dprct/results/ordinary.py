"""Results of ordinary fits: combinations and tests of coefficients, predictions, and margins."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dprct.arguments import check_choice, listed_names
from dprct.certificate.valid_regressions import NOT_RELEASED
from dprct.errors import ColumnError, ParameterError
from dprct.formula import Formula, design, parse
from dprct.formula.design_matrix import columns_of, is_factor, numbers_of
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import LinearResults, checked_alpha, labelled
from dprct.results.joint import WaldTest, restrictions, wald_test
from dprct.results.typeset import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.formula.design_matrix import Level
    from dprct.results.covariance import Absorbed
    from dprct.results.typeset import Grid

    Array = NDArray[np.float64]

INTERVALS = ("confidence", "prediction")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OrdinaryResults(LinearResults):
    """Coefficients of an ordinary fit, whose law is the normal or t of ``df_inference``.

    Parameters
    ----------
    levels : mapping from column to levels
        Of the factors of the formula, in the fit, the base first.
    not_carried : tuple of str
        Coefficients of which a calibrated file knows nothing: NaN, printed as n.r.
    not_released : tuple of str
        Coefficients on a calibrated file whose error was not released: NaN, printed as n.r.
    n_groups : int or None
        Number of clusters; of two ways the smaller one, whose less one are the degrees of freedom.
    n_groups_each : tuple of int
        Number of clusters of each way.
    rows_dropped : int
        Rows that were given and not used: with a missing value, or of zero weight.
    absorbed : Absorbed or None
        Fixed effects that were absorbed, and as how many parameters they count.
    """

    levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    not_carried: tuple[str, ...] = ()
    not_released: tuple[str, ...] = ()
    n_groups: int | None = None
    n_groups_each: tuple[int, ...] = ()
    rows_dropped: int = 0
    absorbed: Absorbed | None = None

    def without(self, names: Sequence[str]) -> Self:
        """Return the fit without the numbers of coefficients that its file does not carry."""
        names = listed_names(names, "names")
        for name in names:
            if name not in self.params.index:
                raise ColumnError.unknown(name, self.params.index, "the coefficients")
        if not names:
            return self
        params, cov = self.params.copy(), self.cov.copy()
        params[list(names)] = math.nan
        cov.loc[list(names), :] = cov.loc[:, list(names)] = math.nan
        return replace(self, params=params, cov=cov, not_carried=tuple(names))

    def grid(self, alpha: float = 0.05) -> Grid:
        """Return the coefficient table; what was not released is said to be so."""
        made = LinearResults.grid(self, alpha)
        place = made.headings.index("std err")
        lines = []
        for line in made.lines:
            cells = list(line.cells)
            if line.name in self.not_released:
                cells[place] = NOT_RELEASED
            if line.name in self.not_carried:
                cells = [NOT_RELEASED, NOT_RELEASED, *("" for _ in cells[2:])]
            lines.append(replace(line, cells=tuple(cells)))
        return replace(made, lines=tuple(lines))

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole, with the column names of R's broom."""
        facts = {
            **self._fit_as_a_whole(),
            "df.residual": self.df_resid,
            "df.inference": self.df_inference,
            "nobs": self.nobs,
            "cov_type": self.cov_type,
            "n_groups": self.n_groups,
            "rows_dropped": self.rows_dropped,
        }
        return pd.DataFrame({name: [fact] for name, fact in facts.items()})

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        groups = self.n_groups_each or ((self.n_groups,) if self.n_groups else ())
        return (
            *LinearResults.facts(self),
            *self._own_facts(),
            *((("Clusters", " and ".join(map(count, groups))),) if groups else ()),
            *(() if self.absorbed is None else self.absorbed.facts()),
            ("Rows dropped", count(self.rows_dropped)),
            ("Formula", self.formula),
        )

    def _fit_as_a_whole(self) -> dict[str, float]:
        """Numbers of the fit as a whole, as broom names them."""
        return {}

    def _own_facts(self) -> tuple[tuple[str, str], ...]:
        """Facts above the table that only fits of this kind have."""
        return ()

    def lincom(self, wanted: str | Mapping[str, float] | Sequence[str]) -> LinearResults:
        """Return linear combinations of coefficients, with inference; Stata's ``lincom``.

        Parameters
        ----------
        wanted : str, mapping or sequence of str
            ``"t1 - t2"``, ``"2*t1 + t2 = 1"`` (of which 1 is subtracted), or weights by name.

        Returns
        -------
        LinearResults
            One coefficient for each combination.

        Raises
        ------
        ParameterError
            If something is neither a number nor a coefficient.

        Examples
        --------
        >>> import dprct
        >>> rows = pd.DataFrame({"y": [1.0, 2, 4, 3, 6, 5], "a": [0, 0, 1, 1, 0, 0],
        ...                      "b": [0, 0, 0, 0, 1, 1]})
        >>> fit = dprct.ols("y ~ a + b", rows).lincom("b - a")
        >>> fit.params.round(6).to_dict(), fit.bse.round(4).to_dict()
        ({'b - a': 2.0}, {'b - a': 0.7071})
        """
        asked = restrictions(wanted, list(self.params.index))
        single = len(asked.weights) == 1
        names = asked.texts if single else [f"{i + 1}" for i in range(len(asked.weights))]
        values = asked.weights @ self.params.to_numpy() - asked.values
        cov = asked.weights @ self.cov.to_numpy() @ asked.weights.T
        title = f"{self.title}: {'; '.join(asked.texts)}"
        return self._following(labelled(names, values, cov), title, self.notes)

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions; Stata's ``test``.

        Parameters
        ----------
        wanted : str, mapping or sequence of str
            ``"t1 = t2 = 0"``, or several such.

        Returns
        -------
        WaldTest
            F with ``df_inference`` degrees of freedom below, chi-square where they are infinite.

        Examples
        --------
        >>> import dprct
        >>> rows = pd.DataFrame({"y": [1.0, 2, 4, 3, 6, 5], "a": [0, 0, 1, 1, 0, 0],
        ...                      "b": [0, 0, 0, 0, 1, 1]})
        >>> print(dprct.ols("y ~ a + b", rows).wald_test("a = b = 0"))
        Test of a = b = 0: F(2, 3) = 16.000, p = 0.0251
        """
        asked = restrictions(wanted, list(self.params.index))
        estimate = asked.weights @ self.params.to_numpy() - asked.values
        cov = asked.weights @ self.cov.to_numpy() @ asked.weights.T
        return wald_test(estimate, cov, "; ".join(asked.texts), self.df_inference)

    def predict(
        self, new_data: Any, *, interval: str | None = None, alpha: float = 0.05
    ) -> pd.Series[float] | pd.DataFrame:
        """Return fitted values of new rows, which are probabilities or means where there is a link.

        Parameters
        ----------
        new_data : DataFrame
            m rows with every regressor.
        interval : {"confidence", "prediction"}, optional
            Of the mean, or of one new outcome, which takes in the residual.  With a link, the ends
            are those of the index, mapped, and one new outcome has none.
        alpha : float
            Intervals have level ``1 - alpha``.

        Returns
        -------
        (m,) Series, or DataFrame with an interval
            ``estimate, std.error, conf.low, conf.high``; NaN where a regressor is missing.

        Raises
        ------
        ParameterError
            If a factor has a level that it had not in the fit, or effects were absorbed.

        Examples
        --------
        >>> import dprct
        >>> rows = pd.DataFrame({"y": [1.0, 2, 4, 3], "town": ["a", "a", "b", "b"]})
        >>> fit = dprct.ols("y ~ town", rows)
        >>> fit.predict(pd.DataFrame({"town": ["b", "a"]})).round(9).tolist()
        [3.5, 1.5]
        """
        if interval is not None:
            check_choice("interval", interval, INTERVALS)
        checked_alpha(alpha)
        X = self.regressors(new_data)
        index = X @ self.params.to_numpy()
        if interval is None:
            return pd.Series(self._mean(index))
        variance = np.sum((X @ self.cov.to_numpy()) * X, axis=1)
        if interval == "prediction":
            variance = variance + self.residual_variance()
        error = np.sqrt(variance)
        half = special.stdtrit(self.df_inference, 1 - alpha / 2) * error
        return pd.DataFrame(
            {"estimate": self._mean(index), "std.error": error * self._density(index),
             "conf.low": self._mean(index - half), "conf.high": self._mean(index + half)}
        )  # fmt: skip

    def margins(self, variable: str, data: Any) -> LinearResults:
        """Return the average effect of a variable over rows; Stata's ``margins, dydx()``.

        Parameters
        ----------
        variable : str
            A column of the formula.  Of a number it is the mean derivative of the fitted value (a
            probability or mean, where there is a link), of a factor the mean difference between
            each level and the base.
        data : DataFrame
            The rows to average over, usually those of the fit.

        Returns
        -------
        LinearResults
            One coefficient, or one for each level but the base; errors by the delta method, which
            for a linear model is exact, given the rows.

        Raises
        ------
        ParameterError
            If the variable is not in the formula, or has an interaction with absorbed effects.

        Examples
        --------
        >>> import dprct
        >>> rows = pd.DataFrame({"y": [0.0, 1, 4, 9, 16, 26], "x": [0.0, 1, 2, 3, 4, 5]})
        >>> fit = dprct.ols("y ~ x + I(x ** 2)", rows)
        >>> bool(abs(fit.margins("x", rows).params["x"] - (fit.params @ [0, 1, 5])) < 1e-6)
        True
        """
        frame, moves = self._moved(variable, data)
        beta = self.params.to_numpy()
        values, gradients = [], []
        for first, second in moves.values():
            index, other = first @ beta, second @ beta
            if variable in self.levels:
                effect = self._mean(other) - self._mean(index)
                each = (
                    self._density(other)[:, None] * second - self._density(index)[:, None] * first
                )
            else:
                effect = self._density(index) * other
                bent = (self._slope_of_density(index) * other)[:, None] * first
                each = bent + self._density(index)[:, None] * second
            values.append(effect.mean())
            gradients.append(each.mean(axis=0))
        G = np.array(gradients)
        cov = G @ self.cov.to_numpy() @ G.T
        title = f"Average effect of {variable}, over {len(frame):,} rows"
        return self._following(labelled(list(moves), np.array(values), cov), title)

    def _mean(self, index: Array) -> Array:
        """Mean of the outcome at an index; with its derivatives, of a linear model."""
        return index

    def _density(self, index: Array) -> Array:
        return np.ones_like(index)

    def _slope_of_density(self, index: Array) -> Array:
        return np.zeros_like(index)

    def _moved(
        self, variable: str, data: Any
    ) -> tuple[pd.DataFrame, dict[str, tuple[Array, Array]]]:
        """Return the rows, and for each effect the regressors at the base and at the level.

        Of a number they are the regressors and their derivative.
        """
        parsed = self._right()
        if variable not in parsed.regressor_names:
            raise ParameterError(
                f"{variable!r} is not a regressor of {self.formula!r}; name one of "
                f"{', '.join(parsed.regressor_names)}"
            )
        given = columns_of(data, parsed.regressor_names)
        there = np.flatnonzero(np.isfinite(self.regressors(given)).all(axis=1))
        frame = given.take(there).reset_index(drop=True)
        if frame.empty:
            raise ParameterError("no row has every regressor; give rows that do")
        if variable not in self.levels:
            return frame, {variable: (self.regressors(frame), self._derivative(frame, variable))}
        base, *others = self.levels[variable]
        start = self.regressors(frame.assign(**{variable: base}))
        return frame, {
            f"{variable}[{level}]": (start, self.regressors(frame.assign(**{variable: level})))
            for level in others
        }

    def residual_variance(self) -> float:
        """Return the variance of an outcome about its mean, as the fit has it."""
        raise ParameterError(f"``{type(self).__name__}`` has no interval for one new outcome")

    def regressors(self, new_data: Any) -> Array:
        """Return the regressors (m, k) of new rows in the order of ``params``; NaN where missing.

        Raises
        ------
        ParameterError
            As :meth:`predict`.
        """
        parsed = self._right()
        frame = columns_of(new_data, parsed.regressor_names)
        coded = {name: _coded(name, frame[name], known) for name, known in self.levels.items()}
        found = design(parsed, frame.assign(**coded), known=self.levels)
        X = np.full((len(frame), len(self.params)), np.nan)
        places = [found.columns.index(str(name)) for name in self.params.index]
        X[found.used] = found.X[:, places]
        return X

    def _right(self) -> Formula:
        parsed = parse(self.formula, functions=True, structural=True)
        if self.absorbed is not None:
            raise ParameterError(
                f"{', '.join(self.absorbed.names)} was absorbed, and its effects are not known for "
                "new rows; write it as C(x) in the formula"
            )
        terms = (*([parsed.endogenous] if parsed.endogenous else []), *parsed.terms)
        return replace(parsed, outcomes=(), terms=tuple(terms), endogenous=(), instruments=())

    def _derivative(self, frame: pd.DataFrame, variable: str) -> Array:
        """Return d(regressors)/d(variable), (m, k); exact for polynomials of degree four."""
        at = numbers_of(frame[variable])
        step = 1e-3 * max(1.0, float(np.abs(at).max()))

        def central(h: float) -> Array:
            up, down = (self.regressors(frame.assign(**{variable: at + s})) for s in (h, -h))
            return (up - down) / (2 * h)

        return (4 * central(step) - central(2 * step)) / 3


def _coded(name: str, column: pd.Series[Any], known: Sequence[Level]) -> pd.Series[Any]:
    """Return a factor of new rows, refusing a level that was not in the fit."""
    present = column.astype(object) if is_factor(column) else column
    strange = present.dropna()[lambda values: ~values.isin([*known, ""])]
    if len(strange):
        raise ParameterError(
            f"column {name!r} has a level that was not in the fit; give levels of the fit"
        )
    return present
