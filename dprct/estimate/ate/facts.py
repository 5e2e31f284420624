"""What is public of an experiment: its outcomes, and the index g0(X) by which one is adjusted.

Of one outcome it is public who counts for it, and what becomes of its missing values.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given, listed_names
from dprct.encoding import encoding
from dprct.errors import EngineError, FormulaError, ParameterError, withheld
from dprct.estimate.ate.release import CountedOutcome, HiddenOutcome, Outcome
from dprct.estimate.experiment import Experiment, policy_of
from dprct.formula import parse
from dprct.formula.expressions import spelled
from dprct.io import read
from dprct.io.formats import is_file
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.model import Facts
from dprct.privacy.noise import source
from dprct.queries.covariates import covariates, with_residual
from dprct.queries.sums import Clipped, observed_number
from dprct.records import dataclass
from dprct.schema.columns import rebounded
from dprct.schema.tables import eager, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.experiment import Comparison
    from dprct.model import BoundTable
    from dprct.queries.horvitz_thompson import PrivateArms
    from dprct.schema import Column
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Table

    Array = NDArray[np.float64]


_DIGITS = 10


@dataclass(frozen=True)
class Linear:
    """A linear function of columns; prints as a formula."""

    constant: float
    slopes: tuple[tuple[str, float], ...]  # (column, coefficient)

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


def pilot_index(path: Path, outcome: str, columns: tuple[str, ...], schema: Schema) -> Linear:
    """Fit the outcome on covariates in a public file, by least squares on complete rows.

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
            f"{design.shape[1]} coefficients; give a larger pilot or fewer ``index_columns=``"
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


@dataclass(frozen=True, eq=False)
class Index:
    """A public function of the covariates of one row."""

    text: str  # what it is, for the plan, the guarantee and the notes
    names: tuple[str, ...]  # the covariates
    bounds: tuple[float, float]  # (low, high): declared bounds of outcome - index
    rule: Callable[[pd.DataFrame], Any]  # from a data frame of the covariates to (n,) numbers

    def said(self, outcome: str) -> str:
        """Say what the estimate is about, for the plan and the notes."""
        low, high = self.bounds
        return (
            f"{self.text}; {outcome} less it, clipped to [{low:g}, {high:g}], has the "
            f"same effect as {outcome} where nothing is clipped"
        )

    def check(self, schema: Schema) -> None:
        """Refuse a function that fails or looks at other rows, on rows that the schema allows.

        Notes
        -----
        No confidential row is asked: what a function does with the data would tell of them.
        """
        rows = _allowed(self.names, schema)
        whole = self._tried(rows)
        if isinstance(whole, str):
            raise ParameterError(
                f"``index=`` ({self.text}) {whole}; give a function from a data frame of "
                f"{', '.join(self.names)} to one number per row, whatever they are"
            )
        if not self._is_by_row(rows, whole):
            raise ParameterError(
                f"``index=`` ({self.text}) gives a row another value when other rows change; "
                "compute it from that row alone, with constants from public knowledge"
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
            # so may a foreign warning, and whether there is one
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.asarray(self.rule(rows), np.float64)
        except Exception as error:
            return f"ended with {type(error).__name__}"
        if len(rows) == 1 and found.ndim == 0:  # a function of R has no other form of one number
            found = found.reshape(1)
        return found if found.shape == (len(rows),) else "did not return one number per row"

    def _is_by_row(self, rows: pd.DataFrame, whole: Array) -> bool:
        """Whether rows have the same values among others, in another order, beside strange ones.

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
    """Index of each outcome that has one; the covariates of a formula are read from it."""
    if index is None:
        if bounds is not None or columns:
            raise ParameterError(
                "``index_bounds=`` and ``index_columns=`` need ``index=``, which is not given"
            )
        return {}
    if not isinstance(index, Mapping):
        if len(outcomes) > 1:
            raise ParameterError(
                "there are several outcomes; give ``index=`` as a ``mapping`` from "
                "outcome to its index"
            )
        index, bounds = {outcomes[0]: index}, {outcomes[0]: bounds}
    unknown = [name for name in index if name not in outcomes]
    if unknown:
        raise ParameterError(
            f"``index=`` names ``{given(unknown[0])}``, which is not an outcome of this fit"
        )
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
    if isinstance(frame, nw.LazyFrame):
        raise EngineError(
            "``index=`` is computed row by row in Python, and an engine's table is not read that "
            "way; leave it out, or collect the columns that the fit uses into memory"
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
    column = rebounded(outcome.column, index.bounds, levels=None, type="double")
    return replace(outcome, column=Clipped(column).column)


def _pair(bounds: Any, name: str) -> tuple[float, float]:
    refusal = ParameterError(
        f"``index_bounds=`` for {name!r} is ``{given(bounds)}``; declare ``(low, high)``, low "
        "below high, of the outcome less its index, from public knowledge"
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
            "``index=`` is a function or a pilot file and needs ``index_columns=``, the "
            "covariates it uses"
        )
    if callable(rule):
        name = getattr(rule, "__qualname__", type(rule).__name__)
        return Index(f"function {name} of {', '.join(columns)}", columns, bounds, rule)
    if isinstance(rule, (str, os.PathLike)):
        linear = pilot_index(Path(rule), outcome, columns, schema)
        return Index(str(linear), columns, bounds, linear)
    raise ParameterError(
        f"``index={given(rule)}``; allowed: a function of a data frame, a formula such as "
        "'12 + 30*age', or the path of a pilot file"
    )


def _formula(text: str, columns: tuple[str, ...], bounds: tuple[float, float]) -> Index:
    """Read an expression by the grammar of formulas; nothing in it is run."""
    parsed = parse(f"~ I({text})")
    terms = parsed.terms
    if len(terms) != 1 or len(terms[0]) != 1 or "I(" in text:
        raise FormulaError(
            f"``index={text!r}`` is not one expression; write '12 + 30*age + 2*educ'"
        )
    expression = terms[0][0].expression
    if expression is None or (columns and set(columns) != set(expression.names)):
        raise ParameterError(
            f"``index_columns=`` names {', '.join(columns)}, the formula uses "
            f"{', '.join(terms[0][0].names)}; leave ``index_columns=`` out"
        )
    rule = expression

    def computed(rows: pd.DataFrame) -> Array:
        return rule({name: rows[name].to_numpy(np.float64) for name in rule.names})

    return Index(str(expression), expression.names, bounds, computed)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ATEFacts(Facts):
    """What is public of an experiment: no more than the guarantee of a fit lists."""

    # Which groups are compared.  An :class:`~dprct.estimate.experiment.Experiment`, with blocks and
    # clusters, where the design is public.
    comparison: Comparison
    contrasts: tuple[Contrast, ...]  # which effects are reported
    # Who counts for each: public sizes of arms, or declared probabilities of being in them.
    outcomes: tuple[AnyOutcome, ...]
    indexes: Mapping[str, Index]
    # (G, J, J): how many people of each group have a value of two outcomes, where that is public
    # and a release with delta needs it.
    together: NDArray[np.int64] | None = None
    # Columns within whose levels a release with delta shows effects, too.
    subgroups: tuple[str, ...] = ()
    # Those that make private cells: no blocks of a public design.
    private_subgroups: tuple[Column, ...] = ()

    @property
    def inner(self) -> int:
        """Private cells of each group of the experiment."""
        return math.prod(encoding(column).size for column in self.private_subgroups)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, the control group first."""
        return self.comparison.arms

    @property
    def without_blocks(self) -> tuple[str, ...]:
        """That blocks of the design are left out of the estimate, in words, if they are."""
        parts = getattr(self.comparison.design, "factors", (self.comparison.design,))
        blocks = dict.fromkeys(name for p in parts for name in getattr(p, "block_columns", ()))
        used = isinstance(self.comparison, Experiment) and len(self.comparison.units.labels) > 1
        if used or not blocks:
            return ()
        return (
            f"blocks ({', '.join(blocks)}) are left out of the estimate, which compares whole "
            "arms: areg, or i. dummies of blocks, find another number on the original",
        )

    @property
    def experiment(self) -> Experiment:
        """Groups, blocks and clusters, where the design is public."""
        assert isinstance(self.comparison, Experiment)
        return self.comparison

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Treatment, blocks and clusters."""
        design = self.comparison.design
        return tuple(dict.fromkeys([*design.columns, *design.uses]))

    @property
    def counted(self) -> tuple[str, ...]:
        """The outcomes of which it is private who has a value, so that values are counted."""
        return tuple(o.column.name for o in self.outcomes if isinstance(o, CountedOutcome))


def uncountable(column: Column) -> ParameterError:
    """Return the refusal of a design in which values of an outcome cannot be counted."""
    return ParameterError(
        f"``missing_policy='private'`` of {column.name!r} is not offered with clusters or "
        "weighted blocks, because too few people in each may have a value; use "
        "``missing_policy='public'`` or a number, or, without clusters, ``blocks='ignore'`` where "
        "shares are the same everywhere"
    )


def outcome_of(
    table: BoundTable,
    column: Column,
    experiment: Experiment,
    share: Fraction,
) -> Outcome | CountedOutcome:
    """Return one outcome with who counts for it, by the declared policy for missing values."""
    policy = policy_of(column)
    if policy == "private":
        if experiment.clustered or len(experiment.units.labels) > 1:
            raise uncountable(column)
        return CountedOutcome(column, experiment.counted(), share)
    if policy == "public":
        counted = experiment.among_observed(table.held, column, table.counted)
        return Outcome(column, counted, share, among_observed=True)
    fill = policy if isinstance(policy, float) else None
    return Outcome(column, experiment.counted(), share, fill)


def hidden_outcome_of(
    table: BoundTable,
    column: Column,
    arms: PrivateArms,
    share: Fraction,
) -> HiddenOutcome:
    """Return one outcome of an experiment whose treatment is private."""
    policy = policy_of(column)
    if policy == "public":
        counted = table.counted
        if counted is not None and column.name in counted.present:
            n = counted.having(column.name)
        else:
            n = observed_number(table.frame, column)
        arms = replace(arms, n=n, present=column.name)
    if arms.n < 2:
        raise ParameterError(f"fewer than two rows count for {column.name!r}; two are needed")
    fill = policy if isinstance(policy, float) else None
    return HiddenOutcome(column, arms, share, fill, among_observed=policy == "public")
