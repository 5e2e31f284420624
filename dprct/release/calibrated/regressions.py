"""The regressions for which a release is calibrated, read from formulas and never run as code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dprct.assignment.groups import CONTROL
from dprct.certificate.valid_regressions import terms_of
from dprct.errors import FormulaError, ParameterError
from dprct.formula import parse
from dprct.schema.arguments import is_data, listed_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.assignment.base import Design
    from dprct.formula import Formula


TermSet = tuple[str, ...]

RELATION = "replace-one-design-public"
"""The relation of a calibrated release."""


@dataclass(frozen=True, slots=True)
class Regressions:
    """What a reader may run: every outcome on the arms and each set of covariates.

    Parameters
    ----------
    outcomes : tuple of str
    arms : tuple of str
        Terms of the treatment, in the order of the effects.
    covariates : tuple of tuple of str
        Sets of terms besides the arms.
    """

    outcomes: tuple[str, ...]
    arms: tuple[str, ...]
    covariates: tuple[TermSet, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the covariate terms use, each once."""
        found = [name for terms in self.covariates for name in right_side(terms).regressor_names]
        return tuple(dict.fromkeys(found))

    def formulas(self) -> tuple[str, ...]:
        """Return the regressions as text."""
        return tuple(
            f"{outcome} ~ {' + '.join((*self.arms, *terms))}"
            for outcome in self.outcomes
            for terms in self.covariates
        )


def right_side(terms: Iterable[str]) -> Formula:
    """Return the parsed right side of covariate terms, an intercept included.

    Examples
    --------
    >>> right_side(["age", "C(town)"]).regressor_names
    ('age', 'town')
    """
    return parse("~ " + (" + ".join(terms) or "1"))


def treatment_of(
    formula: str, treatment: str | Sequence[str] | None, assignment: Design | None
) -> tuple[str, ...]:
    """Return the treatment columns of a formula: as named, else those of the design.

    Raises
    ------
    FormulaError
        If neither is given.
    """
    if treatment is not None:
        return (treatment,) if isinstance(treatment, str) else tuple(treatment)
    if assignment is None:
        raise FormulaError(
            f"neither treatment= nor assignment= says which terms of {formula!r} are the "
            "treatment; name its columns"
        )
    return tuple(assignment.columns)


def split(formula: str, treatment: Sequence[str]) -> tuple[list[str], TermSet, TermSet]:
    """Return outcomes, treatment terms and covariate terms of a formula.

    Parameters
    ----------
    formula : str
    treatment : sequence of str
        The treatment columns.

    Raises
    ------
    FormulaError
        If an outcome is no plain column, there is no intercept, or treatment interacts.

    Examples
    --------
    >>> split("y ~ t + age + C(town)", ["t"])
    (['y'], ('t',), ('age', 'C(town)'))
    """
    parsed = parse(formula)
    if not parsed.outcomes or any(factor.kind != "name" for factor in parsed.outcomes):
        raise FormulaError(
            f"{formula!r} has no plain outcome on its left; declare a derived column with its "
            "own bounds and name it"
        )
    if not parsed.intercept:
        raise FormulaError(
            f"{formula!r} has no intercept, so that its coefficients are means and not effects; "
            "leave out '- 1' or '+ 0'"
        )
    outcomes = [factor.names[0] for factor in parsed.outcomes]
    labels = terms_of(parsed)
    arms = []
    for label, term in zip(labels, parsed.terms, strict=True):
        used = {name for factor in term for name in factor.names}
        if not used & set(treatment):
            continue
        if len(term) > 1 or term[0].kind == "expression":
            raise FormulaError(
                f"{label!r} interacts or transforms the treatment, whose effect is released for "
                "everybody together: its coefficient would be an artefact; leave it out, or "
                "declare the subgroup's outcome as one of its own"
            )
        arms.append(label)
    absent = [name for name in treatment if name not in parsed.regressor_names]
    if absent:
        raise FormulaError(
            f"{formula!r} lacks the treatment {', '.join(absent)}; all columns of the treatment "
            "belong into the regression"
        )
    return outcomes, tuple(arms), tuple(label for label in labels if label not in arms)


def regressions_of(
    outcomes: Sequence[str],
    arms: TermSet,
    terms: Sequence[str],
    more: Iterable[str | Sequence[str]],
    public: Iterable[str],
) -> Regressions:
    """Return the declared regressions, checked.

    Parameters
    ----------
    outcomes : sequence of str
    arms : tuple of str
        From :func:`arm_terms`.
    terms : sequence of str
        Covariate terms of the first regression.
    more : iterable of str or of sequences of str
        Further sets, as terms or as the right side of a formula; ``""`` is none.
    public : iterable of str
        The treatment columns, which no covariate term may use.

    Raises
    ------
    ParameterError
        If an outcome is a covariate too, or a set uses the treatment.
    """
    one = isinstance(more, str) or is_data(more) or not isinstance(more, Iterable)
    others: Iterable[Any] = [more] if one else more
    sets = [_listed(terms, "covariates"), *(_listed(one, "specifications") for one in others)]
    found = Regressions(tuple(outcomes), arms, tuple(dict.fromkeys(sets)))
    both = [name for name in found.columns if name in found.outcomes]
    if both:
        raise ParameterError(
            f"{both[0]!r} is an outcome and a covariate; an outcome is what the treatment may "
            "have changed, and its released values know nothing of each other"
        )
    treated = [name for name in found.columns if name in set(public)]
    if treated:
        raise ParameterError(
            f"a covariate set uses the treatment column {treated[0]!r}; effects of interactions "
            "are not released, and the arms are in every regression already"
        )
    return found


def arm_terms(design: Design, arms: Sequence[str]) -> TermSet:
    """Return how a regression names the arms, in the order of the effects.

    Parameters
    ----------
    design : Design
    arms : sequence of str
        Names of the groups, control first.

    Raises
    ------
    ParameterError
        If no regression on the file's columns has one coefficient per arm against control.

    Examples
    --------
    >>> from dprct.assignment import Complete
    >>> arm_terms(Complete(["cash", "therapy"]), ["control", "cash", "therapy"])
    ('cash', 'therapy')
    """
    groups = design.groups
    if set(arms[1:]) <= set(groups.columns):
        return tuple(arms[1:])
    if len(groups.columns) == 1:
        (column,) = groups.columns
        levels = sorted(value for (value,) in groups.values)
        first = levels[0] if isinstance(levels[0], str) else f"{levels[0]:g}"
        if first != arms[0]:
            raise ParameterError(
                f"a regression on C({column}) compares with its first level {first}, not with "
                f"{arms[0]}; say control={levels[0]!r}"
            )
        return (column,) if levels == [0.0, 1.0] else (f"C({column})",)
    raise ParameterError(
        f"columns {', '.join(groups.columns)} together say who is in which arm, so that no "
        f"regression has one coefficient per arm against {CONTROL}; record every combination in a "
        "0/1 column of its own (arms= of the design)"
    )


def check_arms(written: TermSet, expected: TermSet) -> None:
    """Refuse a formula whose treatment terms are not those of the arms.

    Raises
    ------
    FormulaError
    """
    if set(written) != set(expected):
        raise FormulaError(
            f"the formula has the treatment terms {', '.join(written)}, the effects are those of "
            f"{', '.join(expected)}; write the latter"
        )


_KNOWN = (
    "attrition",
    "blocks",
    "control",
    "effects",
    "index",
    "index_bounds",
    "index_columns",
    "largest_cluster",
    "missing",
    "neighbors",
    "privacy_unit",
    "sd",
)
_OWN = (
    "alphas",
    "assignment",
    "budget_shares",
    "covariate_release",
    "covariates",
    "gamma",
    "keep",
    "legal",
    "specifications",
)

_RENAMED = {
    "terms": "covariates= lists the covariate terms",
    "levels": "the sizes of tests are alphas=",
    "share": 'the share of covariates is a part of budget_shares=, as in {"covariates": 0.3, '
    '"y": 0.7}',
}
"""Options that have another name now, and what it is."""


def check_options(options: Mapping[str, object]) -> None:
    """Refuse unknown options, and effects that no regression with a coefficient per arm returns.

    Raises
    ------
    ParameterError
    """
    for name in options:
        if name in _RENAMED:
            raise ParameterError(f"Calibrated has no option {name}= now; {_RENAMED[name]}")
        if name not in _KNOWN:
            close = difflib.get_close_matches(name, (*_KNOWN, *_OWN), n=1)
            known = ", ".join(sorted((*_KNOWN, *_OWN)))
            hint = f"did you mean {close[0]}=?" if close else f"allowed: {known}"
            raise ParameterError(f"Calibrated has no option {name}=; {hint}")
    if options.get("neighbors", RELATION) != RELATION:
        raise ParameterError(
            f"neighbors={options['neighbors']!r}; a calibrated file shows who is in which arm, so "
            f"it is offered under {RELATION!r} only"
        )
    if options.get("effects", "arms") != "arms":
        raise ParameterError(
            f"effects={options['effects']!r}; a calibrated regression returns each arm against "
            "control; take other contrasts from the estimates, where they are free"
        )


def check_covariates(covariates: object) -> None:
    """Refuse, as covariates of the regression, the word that said how these are drawn."""
    if isinstance(covariates, str) and covariates in ("auto", "histogram", "marginals", "filler"):
        raise ParameterError(
            f"covariates={covariates!r} says how covariates are drawn, which is "
            f"covariate_release={covariates!r}; covariates= lists the covariate terms of the "
            "regression"
        )


def check_slopes(regressions: Regressions) -> None:
    """Refuse coefficients of covariates where no regression, or several, would show them.

    Raises
    ------
    ParameterError
    """
    if len(regressions.covariates) > 1:
        raise ParameterError(
            "gamma='moments' calibrates one covariate set: with fewer covariates the regression "
            "would return other effects; leave specifications= out, or say gamma='zero'"
        )
    if not regressions.covariates[0]:
        raise ParameterError("gamma='moments' needs covariates in the regression; name some")


def cluster_column(design: Design) -> str | None:
    """Return the column by which a reader clusters errors."""
    columns = tuple(getattr(design, "cluster_columns", ()))
    if len(columns) > 1:
        raise ParameterError(
            f"clusters are combinations of {', '.join(columns)}, and a regression clusters by one "
            "column; give the clusters a column of their own"
        )
    return columns[0] if columns else None


def _listed(terms: str | Sequence[str], parameter: str) -> TermSet:
    text = " + ".join(listed_names(terms, parameter))
    if not text.strip():
        return ()
    parsed = parse(f"~ {text}")
    if not parsed.intercept:
        raise FormulaError(f"covariates {text!r} take out the intercept; leave it in")
    return terms_of(parsed)
