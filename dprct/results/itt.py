"""Tables of intention-to-treat effects in the layout of experimental papers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.arguments import check_choice, checked
from dprct.certificate.valid_declared import condition_of
from dprct.certificate.valid_groups import level_of
from dprct.certificate.valid_regressions import (
    NOT_RELEASED,
    Specification,
    Validity,
    terms_of,
)
from dprct.errors import ParameterError
from dprct.formula import parse
from dprct.plots import Labels
from dprct.records import dataclass
from dprct.results.base import Provenance, binned_notes, provenance, table_given, void_notes
from dprct.results.itt_estimates import (
    Estimated,
    Inference,
    Regressions,
    estimated,
    refuse_sizes,
    refuse_twice,
)
from dprct.results.multiple_testing import RESAMPLED, Adjust, Grouping, families_of
from dprct.results.ols import ORDINARY_FIT, RELEASED_NOTE, covariance_named
from dprct.results.tables import Cell, Column, Estimate, Part, Row, Table, style_named

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from dprct.privacy.budget import Guarantee
    from dprct.results.covariance import WeightsType
    from dprct.results.itt_estimates import Estimated
    from dprct.results.tables import Style
    from dprct.schema import Schema


def _validity_notes(
    valid: Validity | None, specs: Specifications, known: Provenance, *, adjusted: bool
) -> list[str]:
    """Notes on the errors: a calibrated file knows, others contain no noise."""
    if valid is None:
        return [RELEASED_NOTE] if known.is_released else []
    said: dict[str, list[str]] = {}
    for (panel, outcome), spec in specs.items():
        if not (known.contradicted and valid.reason(spec) is None):
            place = f"{outcome} ({panel})" if panel else outcome
            said.setdefault(valid.note(spec), []).append(place)
    notes = [
        note if len(said) == 1 else f"{', '.join(places)}: {note}" for note, places in said.items()
    ]
    if adjusted:
        notes.append(
            "Adjusted p-values test at levels below their own, which were not declared: take them "
            "for a description."
        )
    return notes


Specifications = dict[tuple[str, str], Specification]
"""Regressions by covariate set and outcome."""


def _specifications(
    valid: Validity, regressions: Regressions, inference: Inference, estimates: pd.DataFrame
) -> Specifications:
    """Return the regressions of a table, as a calibrated file knows them."""
    cov_type = covariance_named(inference.cov_type, regressions.groups)
    cluster = None if regressions.groups is None else regressions.groups_name or "given by row"
    frame, every = regressions.frame, np.ones(len(regressions.frame), bool)
    within = level_of(valid.groups, frame, every)
    among = None if valid.sizes is None else valid.sizes.among(frame, every)
    terms = {
        panel: terms_of(parse(f"~ {side}", functions=True))
        for panel, side in regressions.panels.items()
    }
    return {
        (panel, outcome): Specification(
            outcome=outcome,
            terms=terms[panel],
            cov_type=cov_type,
            cluster=cluster,
            rows=int(nobs),
            weighted=regressions.weights is not None,
            within=within,
            among=among,
            where=condition_of(valid.declared, outcome, frame, every),
        )
        for panel, outcome, nobs in zip(
            estimates["covariates"], estimates["outcome"], estimates["nobs"], strict=True
        )
    }


CUSTODIAN = (
    "Custodian: these p-values come from resampling the rows themselves; keep them with the rows."
)
_ADJUSTED = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "westfall-young": "Westfall-Young (step-down minP)",
    "romano-wolf": "Romano-Wolf (step-down maxT)",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ITTTable(Table):
    """A table of effects by outcome and arm; see :func:`itt_table`.

    Parameters
    ----------
    estimates : DataFrame
        One row per covariate set, outcome and arm: ``covariates``, ``outcome``, ``arm``,
        ``control_mean``, ``estimate``, ``std.error``, ``statistic``, ``df``, ``p.value``,
        ``p.adjusted``, ``family``, ``family_size``, ``nobs``, ``rank``, ``n_groups``.  Of a
        calibrated file also ``control_mean.std.error``: released, NaN where it was not.
    omitted : mapping of (covariate set, outcome) to tuple of str
        Columns that were linear combinations of earlier ones.
    rows_without_group : int
        Rows left out only because they have no cluster.
    guarantee : Guarantee
    custodian : bool
        Whether rows without a guarantee were resampled; the table is then not for release.
    """

    estimates: pd.DataFrame
    guarantee: Guarantee
    omitted: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    rows_without_group: int = 0
    custodian: bool = False

    def tidy(self) -> pd.DataFrame:
        """Return a copy of ``estimates``."""
        return self.estimates.copy()


@checked
def itt_table(
    data: Any,
    schema: Schema | None = None,
    *,
    outcomes: Sequence[str] | Mapping[str, str],
    arms: Sequence[str] | Mapping[str, str],
    covariates: Sequence[str] | Mapping[str, Sequence[str]] = (),
    blocks: Sequence[str] = (),
    control: str | None = None,
    cov_type: str = "HC1",
    cluster: str | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    weights_type: WeightsType = "aweight",
    alternative: Literal["two-sided", "one-sided"] = "two-sided",
    distribution: Literal["t", "normal"] = "t",
    adjust: Adjust | None = None,
    families: Grouping | Mapping[str, Sequence[str]] = "all",
    family_sizes: Mapping[str, int] | None = None,
    sample: Literal["complete-per-outcome", "complete"] = "complete-per-outcome",
    draws: int = 2000,
    rng: object = None,
    guarantee: Guarantee | None = None,
    style: str = "paper",
    title: str = "",
) -> ITTTable:
    """Regress each outcome on the treatment arms, and return a table as in a paper.

    This adds no privacy protection: the table of confidential data is confidential, and that of
    released data may be published.

    Parameters
    ----------
    data : DataFrame, Release, path, (data, Schema) or Moments
        As for :func:`dprct.ols`.  Of released moments the table is that of ``Moments.itt_table``,
        which takes ``outcomes``, ``arms``, ``style`` and ``title`` alone.
    schema : Schema, optional
        Labels of outcomes and arms and the order of factor levels are taken from here.  The schema
        of a calibrated file also knows which standard errors are valid, and a note says so.
    outcomes, arms : list of str, or mapping of str to str
        Columns, or a mapping from columns to the names to print.  Arms are 0/1 columns.
    covariates : list of str, or mapping of name to list of str
        Terms of a formula (``"age"``, ``"C(village)"``, ``"I(age ** 2)"``). A mapping makes one
        panel for each set of covariates.
    blocks : list of str
        Columns that enter as factors, such as blocks of the randomisation.
    control : str, optional
        0/1 column of the control group.  By default, everybody who is in no arm.  Rows that are in
        no arm and not in the control group are left out.
    cov_type : {"HC1", "HC0", "HC2", "HC3", "nonrobust", "cluster"}
    cluster : str or (N,) array, optional
        Clusters, as in :func:`dprct.ols`; rows without a cluster are left out and counted.
    weights : str or (N,) array, optional
        Weights, which also apply to the control means.
    weights_type : {"aweight", "fweight", "pweight"}
    alternative : {"two-sided", "one-sided"}
        ``"one-sided"`` prints the tail beyond ``|t|``: half the two-sided p-value, on the side
        chosen after the estimate was seen.  A test with it at level alpha has size 2 alpha.  Use it
        only to regenerate tables that were made this way.
    distribution : {"t", "normal"}
        ``"t"`` has n - rank degrees of freedom or, with clusters, the number of clusters minus one.
    adjust : {"bonferroni", "holm", "westfall-young", "romano-wolf"}, optional
        Adjustment of p-values for the number of hypotheses in a family.  The latter two are
        step-down procedures with a wild bootstrap.
    families : {"all", "outcome", "arm"} or mapping of name to outcomes
        Which hypotheses form a family, within each set of covariates.
    family_sizes : mapping of family to int, optional
        Total number of hypotheses of a family that extends over other tables, for Bonferroni and
        Holm.
    sample : {"complete-per-outcome", "complete"}
        Whether a regression uses the rows with all its own variables, or those with all variables
        of the table.
    draws : int
        Number of bootstrap draws.
    rng : None, int or numpy Generator
        Seed of the bootstrap.
    guarantee : Guarantee, optional
        The guarantee of the release that ``data`` come from, if they do not state it themselves.
    style : {"paper", "econ", "aer", "esttab"}
    title : str

    Returns
    -------
    ITTTable
        A table with ``to_text``, ``to_latex``, ``to_html``, ``to_frame``, ``to_csv`` and
        ``tidy``; holds no row of the data.

    Raises
    ------
    ColumnError
        If a column does not exist.
    ParameterError
        If arms overlap, the control group or an arm is empty, weights are negative or missing,
        families do not partition the outcomes, or an option is not one of those above.
    FormulaError
        If a covariate is not a term that formulas allow.

    Notes
    -----
    The regressions are those of :func:`dprct.ols` on ``outcome ~ arms + covariates + C(blocks)``.
    With ``adjust="westfall-young"`` or ``"romano-wolf"``, signs of residuals are drawn, the same
    for every outcome and for all rows of a cluster.  On data with a ``guarantee`` this is free;
    otherwise the result is marked ``custodian``, and its note says so.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing; Romano and Wolf (2005),
    Econometrica 73; Blattman, Jamison and Sheridan (2017), American Economic Review 107.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"earn": [3.0, 5, 4, 8, 9, 7], "trained": [0, 0, 0, 1, 1, 1]})
    >>> print(itt_table(rows, outcomes=["earn"], arms={"trained": "Training"}).to_text(notes=False))
    =================================================
                                    Training
    Outcome  Control mean    ITT    Std. Err  p-value
    -------------------------------------------------
    earn            4.000  4.000  [0.816]***    0.008
    -------------------------------------------------
    """
    if getattr(type(data), "holds_moments", False):
        asked = [schema, control, cluster, weights, adjust, family_sizes, guarantee]
        if any(option is not None for option in asked) or covariates or blocks:
            raise ParameterError(
                "released moments take outcomes, arms, style and title alone; Moments.itt_table "
                "adjusts p-values, and Moments.ols takes covariates"
            )
        return _of_moments(data, outcomes, arms, style, title)
    inference = Inference(
        cov_type=cov_type,
        weights_type=weights_type,
        alternative=alternative,
        distribution=distribution,
        adjust=adjust,
        draws=draws,
        rng=rng,
    )
    data, schema, guarantee = table_given(data, schema, guarantee)
    check_choice("sample", sample, ("complete-per-outcome", "complete"))
    shape = style_named(style)
    outcome_labels = _labels("outcomes", outcomes, schema)
    arm_labels = _labels("arms", arms, schema)
    refuse_sizes(adjust, family_sizes)
    regressions = Regressions.of(
        data,
        schema,
        outcomes=tuple(outcome_labels),
        arms=tuple(arm_labels),
        covariates=covariates,
        blocks=tuple(blocks),
        control=control,
        groups=cluster,
        weights=weights,
        one_sample=sample == "complete",
    )
    grouped = families_of(families, list(outcome_labels), list(arm_labels), family_sizes)
    found = estimated(regressions, inference, grouped)
    by_row = any(not isinstance(values, str | None) for values in (cluster, weights))
    known = provenance(data, schema, regressions.frame.columns, guarantee, by_row=by_row)
    custodian = adjust in RESAMPLED and not known.is_released
    valid, specs = Validity.of(schema), Specifications()
    absent: set[tuple[str, str]] = set()
    if valid is not None:
        specs = _specifications(valid, regressions, inference, found.estimates)
        if not known.contradicted:
            found = _with_control_errors(found, valid, specs)
            found, absent = _carried(found, valid, specs)
    columns, rows, parts = laid_out(
        found.estimates, outcome_labels, arm_labels, adjusted=adjust, absent=absent
    )
    return ITTTable(
        columns=columns,
        rows=rows,
        title=title,
        corner="Outcome",
        parts=parts,
        style=shape if valid is None else _starred(shape, valid),
        notes=(
            _method_note(regressions, inference, found.estimates),
            *_count_notes(found.omitted, found.rows_without_group),
            *([CUSTODIAN] if custodian else []),
            *_validity_notes(valid, specs, known, adjusted=adjust is not None),
            *str(known.guarantee or ORDINARY_FIT).splitlines(),
            *binned_notes(schema, outcome_labels, known),
            *void_notes(schema),
        ),
        estimates=found.estimates,
        omitted=found.omitted,
        rows_without_group=found.rows_without_group,
        guarantee=known.guarantee or ORDINARY_FIT,
        custodian=custodian,
    )


def _starred(style: Style, valid: Validity) -> Style:
    """Return the style with stars at the levels of a calibrated file: other tests are not valid."""
    known = [level for level in style.thresholds if level in valid.levels]
    return style.changed({"thresholds": tuple(known)})


_CONTROL_ERROR = "control_mean.std.error"
_COUNT = "nobs"


def _with_control_errors(found: Estimated, valid: Validity, specs: Specifications) -> Estimated:
    """Return estimates with the released errors of control means, where a file tells them."""
    if not valid.control_errors:
        return found
    estimates = found.estimates.copy()
    errors = []
    for key in zip(estimates["covariates"], estimates["outcome"], strict=True):
        error = valid.control_error(specs[key])
        errors.append(math.nan if error is None else error)
    place = list(estimates.columns).index("control_mean")
    estimates.insert(place + 1, _CONTROL_ERROR, errors)
    return found._replace(estimates=estimates)


_OF_ARM = ["estimate", "std.error", "statistic", "p.value", "p.adjusted"]


def _carried(
    found: Estimated, valid: Validity, specs: Specifications
) -> tuple[Estimated, set[tuple[str, str]]]:
    """Return estimates without those that a calibrated file does not carry, and where they were."""
    estimates, absent = found.estimates.copy(), set()
    for (panel, outcome), spec in specs.items():
        if outcome in valid.outcomes and not valid.carries(spec):
            rows = (estimates["covariates"] == panel) & (estimates["outcome"] == outcome)
            names = [name for name in _OF_ARM if name in estimates]
            estimates.loc[rows, names] = math.nan
            absent.add((panel, outcome))
    if valid.declared:  # no mean of a control group was released
        estimates.loc[estimates["outcome"].isin(valid.outcomes), "control_mean"] = math.nan
    return found._replace(estimates=estimates), absent


def _or_not_released(error: float) -> Cell:
    return NOT_RELEASED if math.isnan(error) else error


def _count_or_not_released(nobs: float) -> Cell:
    return NOT_RELEASED if math.isnan(nobs) else int(nobs)


def _of_moments(
    data: Any,
    outcomes: Sequence[str] | Mapping[str, str],
    arms: Sequence[str] | Mapping[str, str],
    style: str,
    title: str,
) -> ITTTable:
    """Return the table of released moments: they know their schema, their noise and guarantee."""
    named = dict(arms) if isinstance(arms, Mapping) else {arm: arm for arm in arms}
    made: ITTTable = data.itt_table(outcomes, arms=named, style=style, title=title)
    wanted = ["control_mean", *named]
    if [column.key for column in made.columns] != wanted:
        raise ParameterError(
            f"arms name {', '.join(named)}; a table of released moments has every arm, in order: "
            f"{', '.join(column.key for column in made.columns[1:])}"
        )
    return made


def _labels(
    option: str, named: Sequence[str] | Mapping[str, str], schema: Schema | None
) -> dict[str, str]:
    """Names of each column: as given, as the schema labels it, or its name."""
    if isinstance(named, str) or not named:
        raise ParameterError(f"``{option}={named!r}``; give a list of at least one column")
    if isinstance(named, Mapping):
        return dict(named)
    refuse_twice(option, named)
    return {name: Labels(schema).of(name) for name in named}


def laid_out(
    estimates: pd.DataFrame,
    outcomes: Mapping[str, str],
    arms: Mapping[str, str],
    adjusted: str | None,
    absent: set[tuple[str, str]],
) -> tuple[tuple[Column, ...], tuple[Row, ...], tuple[tuple[Part, str], ...]]:
    """Return columns, rows and parts of a table of estimates; ``absent`` have no effects."""
    told = _CONTROL_ERROR in estimates
    counted = estimates["nobs"].nunique() > 1
    columns = (
        Column("control_mean", "Control mean"),
        *((Column(_CONTROL_ERROR, "(s.e.)"),) if told else ()),
        *(Column(name, label) for name, label in arms.items()),
        *((Column(_COUNT, "N"),) if counted else ()),
    )
    last: tuple[Part, str] = ("p.adjusted", "Adj. p-value") if adjusted else ("p.value", "p-value")
    rows: list[Row] = []
    records = _records(estimates)
    panels = dict.fromkeys(panel for panel, _, _ in records)
    for panel in panels:
        rows += [Row(panel, panel, kind="section")] if panel else []
        for outcome, label in outcomes.items():
            here = {arm: records[panel, outcome, arm] for arm in arms}
            first = next(iter(here.values()))
            error = (_or_not_released(first[_CONTROL_ERROR]),) if told else ()
            estimates_here: tuple[Cell, ...] = tuple(_estimate(here[arm]) for arm in arms)
            if (panel, outcome) in absent:
                estimates_here = (NOT_RELEASED,) * len(arms)
            number = (_count_or_not_released(first["nobs"]),) if counted else ()
            cells: tuple[Cell, ...] = (first["control_mean"], *error, *estimates_here, *number)
            rows.append(Row(outcome, label, cells))
    return columns, tuple(rows), (("estimate", "ITT"), ("std.error", "Std. Err"), last)


def _records(estimates: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the numbers by covariate set, outcome and arm."""
    rows: list[dict[str, Any]] = estimates.to_dict("records")  # type: ignore[assignment]
    return {(row["covariates"], row["outcome"], row["arm"]): row for row in rows}


def _estimate(record: Mapping[str, Any]) -> Estimate:
    return Estimate(
        record["estimate"], record["std.error"], record["p.value"], record["p.adjusted"]
    )


def _method_note(regressions: Regressions, inference: Inference, estimates: pd.DataFrame) -> str:
    errors = (
        f"{inference.cov_type} standard errors"
        if regressions.groups is None
        else "standard errors clustered by " + (regressions.groups_name or "the values given")
    )
    counts = {int(n) for n in estimates["nobs"]}
    numbers = f"{counts.pop():,d}" if len(counts) == 1 else "see N"
    sides = "" if inference.alternative == "two-sided" else ", side chosen after the estimate"
    law = f"{inference.alternative} {inference.distribution}{sides}"
    adjusted = f", adjusted: {_ADJUSTED[inference.adjust]}" if inference.adjust else ""
    return f"Least squares, {errors}; p-values: {law}{adjusted}. Observations: {numbers}."


def _count_notes(
    omitted: Mapping[tuple[str, str], tuple[str, ...]], rows_without_group: int
) -> list[str]:
    names = list(dict.fromkeys(name for columns in omitted.values() for name in columns))
    notes = []
    if names:
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        notes.append(f"Omitted as linear combinations of columns before them: {shown}.")
    if rows_without_group:
        notes.append(f"Left out for want of a cluster: {rows_without_group:,d} rows.")
    return notes
