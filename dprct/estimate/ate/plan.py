"""What private effects promise, will cost and can show, from public facts alone."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from dprct.errors import EngineError, FormulaError, ParameterError, withheld
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.noise_law import quantile
from dprct.formula import parse
from dprct.formula.expressions import spelled
from dprct.io import read
from dprct.privacy.budget import Guarantee, exact
from dprct.privacy.noise import source
from dprct.queries import EXTREMES, covariates
from dprct.queries.covariates import with_residual
from dprct.queries.horvitz_thompson import PrivateArms
from dprct.queries.sums import Arms, Clipped
from dprct.results.plan import Plan, PlannedNumber
from dprct.schema.arguments import listed_names
from dprct.schema.columns import given
from dprct.schema.tables import eager, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.ate.model import ATEFacts, ATESpec
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.ate.results import Contrast
    from dprct.estimate.effects import NoisyEffect
    from dprct.privacy.budget import Budget
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Table

    Array = NDArray[np.float64]


_FILES = (
    *(".dta", ".csv", ".parquet", ".tab", ".tsv"),
    *(".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".rds", ".rda", ".rdata"),
)
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear function of columns; prints as a formula.

    Parameters
    ----------
    constant : float
    slopes : tuple of (column, coefficient)
    """

    constant: float
    slopes: tuple[tuple[str, float], ...]

    def __call__(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """Return the function of each row; (n,)."""
        total = np.full(len(rows), self.constant)
        for name, slope in self.slopes:  # no matrix product, whose rounding knows other rows
            total = total + slope * rows[name].to_numpy(np.float64)
        return total

    def __str__(self) -> str:
        parts = [f"{self.constant:.{_DIGITS}g}"]
        parts += [f"{slope:.{_DIGITS}g}*{spelled(name)}" for name, slope in self.slopes]
        return " + ".join(parts).replace("+ -", "- ")


def is_file(rule: str | os.PathLike[str]) -> bool:
    """Whether an index is the path of a data file rather than a formula.

    Examples
    --------
    >>> is_file("pilot.csv"), is_file("2 + 1.5*age")
    (True, False)
    """
    return isinstance(rule, os.PathLike) or Path(rule).suffix.lower() in _FILES


def pilot_index(path: Path, outcome: str, columns: tuple[str, ...], schema: Schema) -> Linear:
    """Fit the outcome on covariates in a public file, by least squares on complete rows.

    Parameters
    ----------
    path : Path
        Of any kind that :func:`dprct.read` knows.
    outcome : str
    columns : tuple of str
        Covariates, by the same names in both files.
    schema : Schema
        Of the confidential data.

    Returns
    -------
    Linear
        Coefficients of ten digits, as they are shown.

    Raises
    ------
    ParameterError
        If the pilot is the confidential file, or has too few complete rows.

    Notes
    -----
    The pilot is public by declaration: nothing of the fit is private.  Of coefficients that the
    pilot does not determine, the shortest solution is taken.
    """
    if schema.source is not None and path.exists() and path.samefile(schema.source):
        raise ParameterError(
            f"the pilot file {path.name!r} is the confidential file itself; an index comes from "
            "other, public data"
        )
    frame = eager(read(path)[0])
    y, *x = (numbers_of(frame, name)[0] for name in (outcome, *columns))
    design = np.column_stack([np.ones_like(y), *x])
    complete = np.isfinite(y) & np.isfinite(design).all(axis=1)
    if complete.sum() < design.shape[1] + 1:
        raise ParameterError(
            f"the pilot file {path.name!r} has {int(complete.sum())} complete rows for "
            f"{design.shape[1]} coefficients; give a larger pilot or fewer index_columns="
        )
    beta = np.linalg.lstsq(design[complete], y[complete], rcond=None)[0]
    shown = [float(f"{b:.{_DIGITS}g}") for b in beta]
    return Linear(shown[0], tuple(zip(columns, shown[1:], strict=True)))


Bounds = tuple[float, float]
IndexRule = Callable[[Any], Any] | str | os.PathLike[str]

_TOLERANCE = 1e-9
"""Of the width of the bounds: vectorised arithmetic may round by the place of a row."""


_STRANGE = (1e12, -1e12, np.nan)

_MADE_UP = 64
"""Rows on which an index is tried before the data are."""

_MADE_UP_GAPS = 0.1
"""Share of missing values in them."""


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A public function of the covariates of one row.

    Parameters
    ----------
    text : str
        What it is, for the plan, the guarantee and the notes.
    names : tuple of str
        The covariates.
    bounds : (low, high)
        Declared bounds of outcome - index.
    rule : callable
        From a data frame of the covariates to (n,) numbers.
    """

    text: str
    names: tuple[str, ...]
    bounds: tuple[float, float]
    rule: Callable[[pd.DataFrame], Any]

    def said(self, outcome: str) -> str:
        """Say what the estimate is about, for the plan and the notes."""
        low, high = self.bounds
        return (
            f"{self.text}; {outcome} less it, clipped to [{low:g}, {high:g}], has the "
            f"same effect as {outcome} where nothing is clipped"
        )

    def check(self, schema: Schema) -> None:
        """Refuse a function that fails or looks at other rows, on rows that the schema allows.

        Raises
        ------
        ParameterError
            If it does not return one number per row, or the value of a row depends on which other
            rows are there, on their order, or on what is in them.

        Notes
        -----
        No confidential row is asked: what a function does with the data would tell of them.
        """
        rows = _allowed(self.names, schema)
        whole = self._tried(rows)
        if isinstance(whole, str):
            raise ParameterError(
                f"index= ({self.text}) {whole}; give a function from a data frame of "
                f"{', '.join(self.names)} to one number per row, whatever they are"
            )
        if not self._is_by_row(rows, whole):
            raise ParameterError(
                f"index= ({self.text}) gives a row another value when other rows change; compute "
                "it from that row alone, with constants from public knowledge"
            )

    def values(self, rows: pd.DataFrame) -> Array:
        """Return g0 of each row, from that row alone; (n,), NaN where it does not exist.

        Notes
        -----
        Where the function fails on all rows together, or looks at other rows after all, each row is
        given to it alone: nothing is refused, and no row changes the value of another.
        """
        whole = self._tried(rows)
        if not isinstance(whole, str) and self._is_by_row(rows, whole):
            return whole
        alone = (self._tried(rows.iloc[[i]].reset_index(drop=True)) for i in range(len(rows)))
        return np.array([np.nan if isinstance(one, str) else one[0] for one in alone])

    def _tried(self, rows: pd.DataFrame) -> Array | str:
        """Return g0 of rows, or in words why there is none: a foreign message may show data."""
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(self.rule(rows), np.float64)
        except Exception as error:
            return f"ended with {type(error).__name__}"
        return found if found.shape == (len(rows),) else "did not return one number per row"

    def _is_by_row(self, rows: pd.DataFrame, whole: Array) -> bool:
        """Whether rows have the same values in another order and among other rows.

        The function is called on two random halves, on one row, on the rows in reverse, and with
        one row set to what it may not be in the data: larger or lower than all, or missing.  A
        mean or a maximum over rows would make one record move all residuals.
        """
        order = source(None).post_processing_rng().permutation(len(rows))
        half = len(rows) // 2
        for part in (order[:half], order[half:], order[:1], np.arange(len(rows))[::-1]):
            some = rows.iloc[part].reset_index(drop=True)
            if len(part) and not self._same(self._tried(some), whole[part]):
                return False
        numbers = [name for name in rows.columns if rows[name].dtype == np.float64]
        for value in _STRANGE:
            changed = rows.copy()
            changed.loc[0, numbers] = value
            found = self._tried(changed)
            if isinstance(found, str) or not self._same(found[1:], whole[1:]):
                return False
        return True

    def _same(self, found: Array | str, expected: Array) -> bool:
        within = _TOLERANCE * (self.bounds[1] - self.bounds[0])
        return not isinstance(found, str) and np.allclose(
            found, expected, rtol=_TOLERANCE, atol=within, equal_nan=True
        )


def _allowed(names: Sequence[str], schema: Schema) -> pd.DataFrame:
    """Return made-up rows of covariates, of values that the schema allows."""
    rng = source(None).post_processing_rng()
    found: dict[str, Any] = {}
    for name in names:
        column = schema.column(name)
        if column.levels is not None or column.is_text:
            found[name] = rng.choice(np.array(column.levels or ("", "a", "b")), _MADE_UP)
        else:
            found[name] = rng.uniform(*(column.bounds or (-1e3, 1e3)), _MADE_UP)
            found[name] = np.round(found[name]) if column.is_integer else found[name]
        if column.is_text:
            found[name] = found[name].astype(object)
        elif column.missing != ():
            found[name] = np.where(rng.random(_MADE_UP) < _MADE_UP_GAPS, np.nan, found[name])
    return pd.DataFrame(found)


def indexes_of(
    index: IndexRule | Mapping[str, IndexRule] | None,
    bounds: Any,
    columns: Sequence[str],
    outcomes: Sequence[str],
    design: Design,
    schema: Schema,
) -> dict[str, Index]:
    """Return the index of each outcome that has one.

    Parameters
    ----------
    index : callable, str, path, or mapping from outcome to these
    bounds : (low, high), or mapping from outcome to such
    columns : sequence of str
        The covariates; those of a formula are read from it.
    outcomes : sequence of str
    design : Design
    schema : Schema

    Raises
    ------
    ParameterError
        If bounds or columns are missing, the rule is none of the three, or it uses what the
        treatment is or may have changed.
    """
    if index is None:
        if bounds is not None or columns:
            raise ParameterError("index_bounds= and index_columns= need index=, which is not given")
        return {}
    if not isinstance(index, Mapping):
        if len(outcomes) > 1:
            raise ParameterError(
                "there are several outcomes; give index= as a mapping from outcome to its index"
            )
        index, bounds = {outcomes[0]: index}, {outcomes[0]: bounds}
    unknown = [name for name in index if name not in outcomes]
    if unknown:
        raise ParameterError(f"index= names {given(unknown[0])}, not an outcome of this fit")
    each = bounds if isinstance(bounds, Mapping) else dict.fromkeys(index, bounds)
    found = {
        name: _index(
            rule, name, _pair(each.get(name), name), listed_names(columns, "index_columns"), schema
        )
        for name, rule in index.items()
    }
    for name, one in found.items():
        used = [covariate for covariate in one.names if covariate in (*design.columns, *outcomes)]
        if used:
            raise ParameterError(
                f"the index of {name!r} uses {used[0]!r}, a treatment or an outcome, and would "
                "change the effect; use what was fixed before treatment"
            )
    return found


def covariate_names(
    index: IndexRule | Mapping[str, IndexRule] | None, columns: Sequence[str]
) -> tuple[str, ...]:
    """Return the covariates that indexes use: those that are listed, and those of formulas.

    Examples
    --------
    >>> covariate_names("12 + 30*age", ())
    ('age',)
    """
    rules = index.values() if isinstance(index, Mapping) else [index]
    formulas = [rule for rule in rules if isinstance(rule, str) and not is_file(rule)]
    written = [name for text in formulas for name in parse(f"~ I({text})").regressor_names]
    return tuple(dict.fromkeys([*columns, *written]))


def adjusted(
    frame: Table, outcomes: Sequence[Any], indexes: Mapping[str, Index], schema: Schema
) -> tuple[Table, tuple[Any, ...]]:
    """Return the frame with residuals for outcomes, and outcomes with the residuals' bounds."""
    if not indexes:
        return frame, tuple(outcomes)
    if isinstance(frame, nw.LazyFrame):
        raise EngineError(
            "index= is computed row by row in Python, which an engine's table is not read for; "
            "leave it out, or collect the columns that the fit uses into memory"
        )
    found = []
    for outcome in outcomes:
        index = indexes.get(outcome.column.name)
        if index is None:
            found.append(outcome)
            continue
        values = index.values(covariates(frame, index.names, schema))
        frame = with_residual(frame, outcome.column.name, values, outcome.fill)
        found.append(narrowed(outcome, index))
    return frame, tuple(found)


def narrowed(outcome: Any, index: Index | None) -> Any:
    """Return an outcome with the bounds of what is left of it, where it has an index."""
    if index is None:
        return outcome
    column = replace(outcome.column, bounds=index.bounds, levels=None, type="double")
    return replace(outcome, column=Clipped(column).column)


def _pair(bounds: Any, name: str) -> tuple[float, float]:
    refusal = ParameterError(
        f"index_bounds= for {name!r} is {given(bounds)}; declare (low, high), low below high, "
        "of the outcome less its index, from public knowledge"
    )
    with withheld(lambda _: refusal):
        low, high = (float(end) for end in bounds)
    if not -np.inf < low < high < np.inf:
        raise refusal
    return low, high


def _index(
    rule: IndexRule,
    outcome: str,
    bounds: tuple[float, float],
    columns: tuple[str, ...],
    schema: Schema,
) -> Index:
    if isinstance(rule, (str, os.PathLike)) and not is_file(rule):
        return _formula(str(rule), columns, bounds)
    if not columns:
        raise ParameterError(
            "index= is a function or a pilot file and needs index_columns=, the covariates it uses"
        )
    if callable(rule):
        name = getattr(rule, "__qualname__", type(rule).__name__)
        return Index(f"function {name} of {', '.join(columns)}", columns, bounds, rule)
    if isinstance(rule, (str, os.PathLike)):
        linear = pilot_index(Path(rule), outcome, columns, schema)
        return Index(str(linear), columns, bounds, linear)
    raise ParameterError(
        f"index={given(rule)}; allowed: a function of a data frame, a formula such as "
        "'12 + 30*age', or the path of a pilot file"
    )


def _formula(text: str, columns: tuple[str, ...], bounds: tuple[float, float]) -> Index:
    """Read an expression by the grammar of formulas; nothing in it is run."""
    parsed = parse(f"~ I({text})")
    terms = parsed.terms
    if len(terms) != 1 or len(terms[0]) != 1 or "I(" in text:
        raise FormulaError(f"index={text!r} is not one expression; write '12 + 30*age + 2*educ'")
    expression = terms[0][0].expression
    if expression is None or (columns and set(columns) != set(expression.names)):
        raise ParameterError(
            f"index_columns= names {', '.join(columns)}, the formula uses "
            f"{', '.join(terms[0][0].names)}; leave index_columns= out"
        )
    rule = expression

    def computed(rows: pd.DataFrame) -> Array:
        return rule({name: rows[name].to_numpy(np.float64) for name in rule.names})

    return Index(str(expression), expression.names, bounds, computed)


_POWER = 0.8


def expected(
    outcome: AnyOutcome, epsilon: Fraction, sd: float | None, contrasts: Sequence[Contrast]
) -> tuple[NoisyEffect, ...]:
    """Return effects of size 0 as they are expected to be released, one per contrast of arms.

    Parameters
    ----------
    outcome : Outcome
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Of the outcome within an arm; half the width of the bounds, the worst case, if None.  Where
        treatment is private, about the middle of the bounds.
    contrasts : sequence of Contrast
    """
    return outcome.expected(epsilon, _sd(outcome, sd) ** 2, contrasts)


def detectable(effect: NoisyEffect, alpha: float) -> float:
    """Return the effect that a test of size alpha finds with a power of 80%."""
    missed = 2 * (1 - _POWER)
    spread = math.fsum(part.value for part in effect.variances)
    return effect.half_width(alpha) + float(quantile(missed, spread, effect.scales))


def facts_of(
    outcome: AnyOutcome,
    names: Sequence[str],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> dict[str, str]:
    """Return the lines of a plan for one outcome."""
    name, bounds = outcome.column.name, outcome.column.bounds
    assert bounds is not None
    spread = "the most that the bounds allow" if sd is None else "declared"
    found = {
        name: f"bounds {bounds[0]:g} to {bounds[1]:g}, " + _arms(outcome, names),
        f"{name}: budget": f"epsilon={float(epsilon * outcome.share):g} of {float(epsilon):g}, "
        f"rho={outcome.rho(epsilon):.3g}; sd {_sd(outcome, sd):.4g} ({spread})",
    }
    for contrast, now, half, double in zip(
        contrasts,
        *(expected(outcome, share, sd, contrasts) for share in (epsilon, epsilon / 2, epsilon * 2)),
        strict=True,
    ):
        sampling = math.sqrt(math.fsum(part.value for part in now.variances))
        equal = float(epsilon) * now.noise_sd / sampling if sampling else math.inf
        found[f"{name}: {contrast.name}"] = (
            f"std err {now.standard_error(alphas):.4g} (half epsilon "
            f"{half.standard_error(alphas):.4g}, double {double.standard_error(alphas):.4g}); "
            f"noise sd {now.noise_sd:.4g} against sampling {sampling:.4g}, equal at "
            f"epsilon={equal:.3g}; effect found with 80% power {detectable(now, alphas[0]):.4g}"
        )
    if isinstance(outcome, CountedOutcome):
        found[f"{name}: missing values"] = (
            f"the above is if all have a value; an arm with fewer than "
            f"{float(outcome.fewest(epsilon)):.4g} values (as released) is not estimated"
        )
    price = price_of(outcome, contrasts, epsilon, sd, alphas)
    return found | ({f"{name}: price of hiding treatment": price} if price else {})


def contrast_numbers(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> Iterator[PlannedNumber]:
    """Yield the expected errors of the effects on one outcome, for the table of a plan."""
    for contrast, effect in zip(contrasts, expected(outcome, epsilon, sd, contrasts), strict=True):
        yield PlannedNumber(
            kind="coefficient",
            part=f"{outcome.column.name}: {contrast.name}",
            noise_sd=effect.noise_sd,
            std_error=effect.standard_error(alphas),
        )


def warnings_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> Iterator[str]:
    """Yield which effects cannot be found at this n and epsilon."""
    for contrast, effect in zip(contrasts, expected(outcome, epsilon, sd, contrasts), strict=True):
        if detectable(effect, alphas[0]) > _sd(outcome, sd):
            yield (
                f"not usable at this n: only an effect of {contrast.name} on "
                f"{outcome.column.name} above one standard deviation would be found; "
                "spend more, on fewer outcomes, or declare "
                "narrower bounds"
            )


def _sd(outcome: AnyOutcome, sd: float | None) -> float:
    return float(outcome.width) / 2 if sd is None else sd


def _arms(outcome: AnyOutcome, names: Sequence[str]) -> str:
    """Return what is public of the arms: their sizes, or the probabilities of being in them."""
    if isinstance(outcome, HiddenOutcome):
        shares = zip(names, outcome.arms.shares, strict=True)
        return ", ".join(f"{arm} with probability {float(share):.4g}" for arm, share in shares)
    sizes = [sum(row[a] for row in outcome.arms.sizes) for a in range(len(names))]
    return ", ".join(f"{arm} {size:,}" for arm, size in zip(names, sizes, strict=True))


COLUMNS = (
    "std_err", "noise", "sampling", "detectable", "std_err_half", "std_err_double",
    "detectable_half", "detectable_double", "equal_epsilon", "sd", "usable",
)  # fmt: skip
"""Columns of :func:`power_table`."""


def power_table(
    outcomes: Sequence[AnyOutcome],
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sds: Mapping[str, float],
    alphas: Sequence[float],
) -> pd.DataFrame:
    """Return what every effect can be expected to show; a function of public facts.

    Parameters
    ----------
    outcomes : sequence of Outcome
    contrasts : sequence of Contrast
    epsilon : Fraction
        Of all outcomes together.
    sds : mapping from outcome to number
        Declared standard deviations; half the width of the bounds where there is none.
    alphas : sequence of float
        Sizes of tests at which errors are to be valid; power is for the first.

    Returns
    -------
    DataFrame
        One row per outcome and effect.  ``noise`` and ``sampling`` are standard deviations,
        ``detectable`` the effect that is found with 80 % power, ``_half`` and ``_double`` the same
        at half and double epsilon, ``equal_epsilon`` where noise equals sampling; ``usable`` says
        whether ``detectable`` is at most one standard deviation of the outcome.
    """
    records, index = [], []
    for outcome in outcomes:
        name = outcome.column.name
        sd = sds.get(name)
        at = [expected(outcome, e, sd, contrasts) for e in (epsilon, epsilon / 2, epsilon * 2)]
        spread = float(outcome.width) / 2 if sd is None else sd
        for contrast, now, half, double in zip(contrasts, *at, strict=True):
            records.append(_record(float(epsilon), spread, alphas, now, half, double))
            index.append((name, contrast.name))
    names = pd.MultiIndex.from_tuples(index, names=["outcome", "effect"])
    return pd.DataFrame(records, index=names, columns=list(COLUMNS))


def _record(
    epsilon: float,
    sd: float,
    alphas: Sequence[float],
    now: NoisyEffect,
    half: NoisyEffect,
    double: NoisyEffect,
) -> tuple[float | bool, ...]:
    sampling = math.sqrt(math.fsum(part.value for part in now.variances))
    found = detectable(now, alphas[0])
    return (
        now.standard_error(alphas),
        now.noise_sd,
        sampling,
        found,
        half.standard_error(alphas),
        double.standard_error(alphas),
        detectable(half, alphas[0]),
        detectable(double, alphas[0]),
        epsilon * now.noise_sd / sampling if sampling else np.inf,
        sd,
        found <= sd,
    )


def price_of(
    outcome: AnyOutcome,
    contrasts: Sequence[Contrast],
    epsilon: Fraction,
    sd: float | None,
    alphas: Sequence[float],
) -> str:
    """Compare the standard errors with treatment public and private, from public facts alone.

    Parameters
    ----------
    outcome : Outcome, HiddenOutcome or CountedOutcome
    contrasts : sequence of Contrast
    epsilon : Fraction
        Of all outcomes together.
    sd : float or None
        Declared standard deviation within an arm; half the width of the bounds if None.
    alphas : sequence of float

    Returns
    -------
    str
        Empty where one of the two is not offered: clusters, weighted blocks, private missingness.

    Notes
    -----
    Horvitz-Thompson is as precise as the second moment about the middle of the bounds is small: sd
    squared where the means are there, w^2 / 4 where all outcomes are at the bounds.
    """
    pair = _both(outcome)
    if pair is None:
        return ""
    public, private = pair
    half = float(outcome.width) / 2
    inner = half if sd is None else sd
    here = public.expected(epsilon, inner**2, contrasts)
    best = private.expected(epsilon, inner**2, contrasts)
    worst = private.expected(epsilon, half**2, contrasts)
    return "; ".join(
        f"{contrast.name}: std err {_error(a, alphas)} with treatment public, "
        f"{_range(_error(b, alphas), _error(c, alphas))} with treatment private"
        for contrast, a, b, c in zip(contrasts, here, best, worst, strict=True)
    )


def _both(outcome: AnyOutcome) -> tuple[Outcome, HiddenOutcome] | None:
    """Return the outcome under both relations, where both are offered."""
    column, share = outcome.column, outcome.share
    if isinstance(outcome, HiddenOutcome):
        sizes = tuple(max(1, round(outcome.arms.n * part)) for part in outcome.arms.shares)
        return Outcome(column, Arms(np.empty(0, np.int64), (sizes,)), share), outcome
    arms = outcome.arms
    if not isinstance(outcome, Outcome) or arms.clusters is not None or len(arms.sizes) > 1:
        return None
    n = sum(arms.sizes[0])
    parts = tuple(Fraction(size, n) for size in arms.sizes[0])
    return outcome, HiddenOutcome(column, PrivateArms((), (), parts, n), share)


def _error(effect: NoisyEffect, alphas: Sequence[float]) -> str:
    return f"{effect.standard_error(alphas):.4g}"


def _range(low: str, high: str) -> str:
    if low == high:
        return low
    return f"{low} (means at the middle of the bounds) to {high} (all at the bounds)"


def promise_of(budget: Budget, facts: ATEFacts) -> Guarantee:
    """Return the guarantee of a fit: replace-one where treatment is private.

    Notes
    -----
    Everything that is checked, refused or computed from the table before a fit is in this list, but
    for rules that each row keeps or breaks alone, which the schema states.  Under replace-one the
    text is a function of n, the declared probabilities and the schema: no arm size is in it.
    Released numbers of values (``missing="private"``) are no public fact.
    """
    outcomes, experiment, unit = facts.outcomes, facts.comparison, facts.schema.unit
    hidden = next((o for o in outcomes if isinstance(o, HiddenOutcome)), None)
    known = [outcome.column.name for outcome in outcomes if outcome.presence_public]
    shown, record = [f"the number of rows, n = {facts.n}"], unit.name
    if experiment.cluster_unit is not None:
        record = experiment.cluster_unit.name
    if experiment.cluster_unit is None or unit.id is not None:  # rows of each id are counted
        shown.append(unit.said)
    if hidden is None:
        shown.append(
            f"columns {', '.join(facts.design_columns)} of every row (treatment, blocks, "
            "clusters): arm sizes, and those of blocks and clusters"
        )
    else:
        shares = [
            f"{name} {share}"
            for name, share in zip(experiment.arms, hidden.arms.shares, strict=True)
        ]
        shown.append(f"the declared probabilities of the arms: {', '.join(shares)}")
    shown.append("the declared bounds of " + ", ".join(o.column.name for o in outcomes))
    shown += [f"the index of {name}: {index.text}" for name, index in facts.indexes.items()]
    shown += ["who has a value of " + ", ".join(known)] if known else []
    uncovered = ["participation of anybody"]
    if hidden is None:
        uncovered = ["participation, treatment, blocks and clusters of anybody"]
    uncovered += [f"whether anybody's {', '.join(known)} is missing"] if known else []
    return Guarantee.of(
        budget,
        "replace-one-design-public" if hidden is None else "replace-one",
        unit=record,
        public_facts=tuple(shown),
        not_covered=tuple(uncovered),
    )


def plan_of(spec: ATESpec, facts: ATEFacts, budget: Budget) -> Plan:
    """Return prices, noise and expected standard errors of effects at a budget."""
    names, epsilon, alphas = facts.arms, budget.epsilon, spec.alphas
    sds = sds_of(spec.sd, spec.outcome)
    shown = {"n": f"{facts.n:,} rows", "arms": ", ".join(names)}
    warnings: list[str] = []
    numbers: list[PlannedNumber] = []
    for outcome in facts.outcomes:
        sd = sds.get(outcome.column.name)
        shown |= facts_of(outcome, names, facts.contrasts, epsilon, sd, alphas)
        warnings += warnings_of(outcome, facts.contrasts, epsilon, sd, alphas)
        numbers += contrast_numbers(outcome, facts.contrasts, epsilon, sd, alphas)
    shown |= {f"{name}: index": index.said(name) for name, index in facts.indexes.items()}
    hidden = any(isinstance(outcome, HiddenOutcome) for outcome in facts.outcomes)
    kind = "a centred Horvitz-Thompson mean" if hidden else "a difference in means"
    consequences = (
        f"the estimate is {kind}, not adjusted for covariates"
        + (" except by the public index" if facts.indexes else ""),
        "the estimand is the effect on the outcome clipped to its bounds",
    )
    return Plan(spec.method, budget, shown, consequences, tuple(warnings), numbers=tuple(numbers))


def sds_of(sd: object, names: Sequence[str]) -> dict[str, float]:
    """Return the declared standard deviations of outcomes.

    Raises
    ------
    ParameterError
        If it is no mapping, names no outcome, or is no number above 0.
    """
    if sd is None:
        return {}
    if not isinstance(sd, Mapping):
        raise ParameterError(
            f"sd={given(sd)}; give a mapping from outcome, such as sd={{{names[0]!r}: 1.0}}"
        )
    check_outcomes("sd", sd, names)
    found = {name: float(exact(value, f"sd of {name!r}")) for name, value in sd.items()}
    for name, value in found.items():
        if not 0 < value <= EXTREMES[1]:
            raise ParameterError(
                f"sd of {name!r} is {value:g}; declare a number above 0 and up to {EXTREMES[1]:g}"
            )
    return found


def check_outcomes(what: str, mapping: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse an option whose keys are no outcomes."""
    for name in mapping:
        if name not in names:
            raise ParameterError(
                f"{what}= names {given(name)}, which is not an outcome of this fit; it has "
                f"{', '.join(names)}"
            )
