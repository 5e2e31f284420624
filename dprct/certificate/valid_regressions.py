"""Which regressions on a calibrated file return valid inference, as the file itself says it.

The statement travels in the file, as the Stata characteristic ``_dta[dprct_valid]``; without it a
file is read as any other.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from dprct.annotations import kinds_of_fields
from dprct.certificate.certificate import TOLERANCE
from dprct.certificate.valid_arms import ValidArms
from dprct.certificate.valid_declared import ValidRegression, on_rows
from dprct.certificate.valid_groups import Level, ValidGroups
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.formula import parse
from dprct.records import dataclass
from dprct.schema.columns import DATASET
from dprct.schema.keys import of_row, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dprct.formula import Formula
    from dprct.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Specification:
    """A regression that somebody runs on a released file."""

    outcome: str
    terms: tuple[str, ...]  # right side, without the intercept; absorbed effects are ``C(name)``
    cov_type: str = "HC1"  # as :func:`dprct.ols` spells it
    cluster: str | None = None  # column of the clusters
    rows: int | None = None  # rows used, where known
    weighted: bool = False
    intercept: bool = True
    fe_df: str = "areg"  # rule that counts absorbed effects; that of ``areg`` is that of dummies
    # The one level of the file's groups that all rows have, where they are of one.
    within: Level | None = None
    # The arms that rows have, where they are those of some arms; 0 is the control group.
    among: tuple[int, ...] | None = None
    # The condition of declared regressions that holds for its rows; None for all rows.
    where: str | None = None

    @property
    def keys(self) -> set[str]:
        """Its terms, as the formula's grammar spells them."""
        return _keys(self.terms)

    @property
    def kind(self) -> str:
        """Its errors, by the name that a released file has for them."""
        return "CR1" if self.cov_type == "cluster" else self.cov_type

    @property
    def errors(self) -> str:
        """Its errors, in words."""
        return self.cov_type if self.cluster is None else f"clusters {self.cluster}"


def terms_of(formula: Formula, absorbed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the right side of a formula term by term; absorbed effects are factors.

    Examples
    --------
    >>> terms_of(parse("y ~ treat*age"), ["town"])
    ('treat', 'age', 'treat:age', 'C(town)')
    """
    written = [":".join(factor.label for factor in term) for term in formula.terms]
    return (*written, *(f"C({name})" for name in absorbed))


def _keys(terms: Iterable[str]) -> set[str]:
    return {term_key(term) for term in terms}


def column_named(values: object) -> str | None:
    """Return the name of a column that was given by name or by its values.

    Examples
    --------
    >>> column_named("town"), column_named([1, 2]), column_named(None)
    ('town', 'given by row', None)
    """
    if values is None:
        return None
    return values if isinstance(values, str) else "given by row"


@lru_cache(maxsize=4096)
def term_key(term: str) -> str:
    """Return a term as the formula's grammar spells it, an interaction in one order.

    Examples
    --------
    >>> term_key("I(age**2)"), term_key("`treat`:age")
    ('I(age ** 2)', 'age:treat')
    """
    try:
        spelt = terms_of(parse(f"~ {term}", functions=True))
    except FormulaError:
        spelt = (term,)
    return ":".join(sorted((spelt[0] if len(spelt) == 1 else term).split(":")))


CHARACTERISTIC = "dprct_valid"
"""Name of the characteristic of the data set."""

LONGEST = 67_784
"""Bytes that Stata allows a characteristic."""

ARTEFACT = "Not calibrated: artefact."
"""How the note of a regression that the file does not support begins."""

CALIBRATED = "Calibrated:"
"""How the note of one that it does support begins."""

_ROUNDED = (
    "{} were rounded to admissible values, which broke the calibration: regressions on this file "
    "miss the released effects, and their intervals are not valid. Take the released estimates."
)
_VERSION = 1

NOT_RELEASED = "n.r."
"""What is printed for an error that no release has told."""

LONGEST_ERROR = 1.234567891e-100
"""A number that takes as many characters as any error of a control mean may."""


@dataclass(frozen=True, kw_only=True)
class Validity:
    """The regressions for which a released file was calibrated.

    Examples
    --------
    >>> valid = Validity(outcomes=("earn",), arms=("treat",), covariates=(("age", "C(town)"),))
    >>> valid.describes("earn", ["treat", "age", "C(town)"], "HC1", None) is None
    True
    >>> valid.describes("age", ["treat"], "HC1", None)
    "the effects on 'age' were not released; released: earn"
    >>> Validity.from_text(valid.to_text()) == valid
    True
    """

    outcomes: tuple[str, ...]  # columns whose effects were released
    arms: tuple[str, ...]  # terms of the treatment; all of them belong into every regression
    # Sets of terms besides the arms, each of them calibrated; an empty set is the regression on the
    # arms alone.
    covariates: tuple[tuple[str, ...], ...] = ((),)
    cov_type: Literal["HC1", "CR1"] = "HC1"  # the errors that equal the released ones
    cluster: str | None = None  # column of the clusters, for CR1
    # Sizes of two-sided tests at which ``estimate -+ z error`` is valid.
    levels: tuple[float, ...] = (0.05,)
    # Whether a part of a covariate set also returns the released effects (not the errors).
    subsets_valid: bool = False
    # Rows with each outcome; fewer are a subgroup.  Not checked if empty.
    rows: tuple[int, ...] = ()
    # Whether the classical errors of every covariate set equal the released ones too.
    classical: bool = False
    # Whether outcomes were rounded to admissible values, which broke the calibration: then no
    # regression is valid, and the file says so.
    rounded: bool = False
    # Of each outcome, the error of the mean of the control group, sampling and privacy noise
    # together; None where it was not released.  Empty where the file does not say.
    control_errors: tuple[float | None, ...] = ()
    # Whether the regression on the arms alone finds these errors, with the calibrated ones.
    control_found: bool = False
    # Groups of rows within which regressions return released effects, too.
    groups: ValidGroups | None = None
    # Rows of every arm, where regressions on the rows of some arms return released effects.
    sizes: ValidArms | None = None
    # Places of outcomes: two-stage least squares of the first on the second, instrumented by the
    # one treatment, has the error of the ratio of released effects.
    ratios: tuple[tuple[int, int], ...] = ()
    # Where the regressions themselves were released, by ``formulas=``: each outcome has its own,
    # and ``covariates``, ``cov_type`` and ``cluster`` are those of the first.
    declared: tuple[ValidRegression, ...] = ()

    def __post_init__(self) -> None:
        for part in ("outcomes", "arms", "covariates", "levels"):
            if not getattr(self, part):
                raise ParameterError(f"{part} of what is valid is empty; name at least one")
        if self.cov_type not in ("HC1", "CR1"):
            raise ParameterError(f"``cov_type={self.cov_type!r}``; allowed: HC1, CR1")
        if (self.cluster is None) == (self.cov_type == "CR1"):
            raise ParameterError(
                f"``cov_type={self.cov_type!r}, cluster={self.cluster!r}``; CR1 needs a cluster, "
                "HC1 takes none"
            )
        if self.rows and len(self.rows) != len(self.outcomes):
            raise ParameterError(
                f"rows has {len(self.rows)} counts for {len(self.outcomes)} outcomes; give one each"
            )
        if self.control_errors and len(self.control_errors) != len(self.outcomes):
            raise ParameterError(
                f"control_errors has {len(self.control_errors)} numbers for {len(self.outcomes)} "
                "outcomes; give one each"
            )
        places = range(len(self.outcomes))
        if any(y == d or y not in places or d not in places for y, d in self.ratios):
            raise ParameterError("ratios must name two outcomes each, by their places")
        # a file and a release say the same to the last digit
        rounded = (None if e is None else float(f"{e:.10g}") for e in self.control_errors)
        object.__setattr__(self, "control_errors", tuple(rounded))
        if not all(0 < level < 1 for level in self.levels):
            raise ParameterError(f"``levels={self.levels}``; give sizes of tests such as 0.05")

    @classmethod
    def of(cls, schema: Schema | None) -> Validity | None:
        """Validity that the file of a schema states; None where it states none."""
        if schema is None:
            return None
        for owner, name, text in schema.file.characteristics:
            if (owner, name) == (DATASET, CHARACTERISTIC):
                return cls.from_text(text)
        return None

    def to_text(self) -> str:
        """Return the text of the characteristic: one line of ASCII, with its version."""
        terms = list(dict.fromkeys(term for part in self.covariates for term in part))
        places = [[terms.index(term) for term in part] for part in self.covariates]
        values: dict[str, Any] = dict(zip(kinds_of_fields(type(self)), row_of(self), strict=True))
        content = [_VERSION, terms, *(values | {"covariates": places}).values()]
        text = json.dumps(content, default=row_of, separators=(",", ":"), ensure_ascii=True)
        if len(text) > LONGEST:
            raise SchemaError(
                f"what is valid takes {len(text):,} bytes, a characteristic holds {LONGEST:,}; "
                "declare fewer covariate sets or outcomes"
            )
        return text

    @classmethod
    def from_text(cls, text: str) -> Validity:
        """Object of what :meth:`to_text` wrote."""
        try:
            version, terms, *row = json.loads(text)
            said = dict(zip(kinds_of_fields(cls), row, strict=True))
            if version != _VERSION:
                raise ValueError
            said["covariates"] = [[terms[at] for at in part] for part in said["covariates"]]
            said["declared"] = [of_row(ValidRegression, one) for one in said["declared"]]
            inner: dict[str, Any] = {
                part: None if said[part] is None else of_row(kind, said[part])
                for part, kind in (("groups", ValidGroups), ("sizes", ValidArms))
            }
            return replace(of_row(cls, (said | dict.fromkeys(inner)).values()), **inner)
        except (ValueError, LookupError, TypeError, RecursionError):
            raise SchemaError(
                f"the characteristic {DATASET}[{CHARACTERISTIC}] is not what this release of dprct "
                f"writes (version {_VERSION}); update dprct, or drop the characteristic and take "
                "no standard error of the file for valid"
            ) from None

    def stamped(self, schema: Schema, continuous: Iterable[str] = ()) -> Schema:
        """Return a schema whose file says what is valid: as a characteristic and in its notes.

        What the file said before is replaced.  ``continuous`` are outcomes that had codes or
        integers and now are real numbers.

        Examples
        --------
        >>> from dprct.schema import Column, Schema
        >>> valid = Validity(outcomes=("earn",), arms=("treat",))
        >>> stamped = valid.stamped(Schema((Column("earn"), Column("treat", "byte"))))
        >>> Validity.of(stamped) == valid
        True
        >>> [name for _, name, _ in stamped.file.characteristics]
        ['dprct_valid', 'note0', 'note1', 'note2', 'note3']
        """
        before = schema.file.characteristics
        others = [e for e in before if e[:2] != (DATASET, CHARACTERISTIC) and not _is_note(e)]
        notes = [e[2] for e in before if _is_note(e) and e[1] != "note0"]  # which is their number
        mine = self.notes(continuous)
        notes = [*(text for text in notes if text not in mine), *mine]
        written = [(DATASET, f"note{k}", text) for k, text in enumerate(notes, 1)]
        characteristics = (
            *others,
            (DATASET, CHARACTERISTIC, self.to_text()),
            (DATASET, "note0", str(len(notes))),
            *written,
        )
        return replace(schema, file=replace(schema.file, characteristics=characteristics))

    def describes(
        self, outcome: str, terms: Iterable[str], cov_type: str, cluster: str | None
    ) -> str | None:
        """Reason why a regression on all rows is not calibrated; None where it is.

        ``terms`` are without the intercept; ``cluster`` is another name for ``CR1``.
        """
        return self.reason(
            Specification(outcome=outcome, terms=tuple(terms), cov_type=cov_type, cluster=cluster)
        )

    def reason(self, spec: Specification) -> str | None:
        """Reason why a regression is not calibrated; None where its effects and errors are."""
        return self._unreleased(spec) or self._other_errors(spec)

    def ratio_reason(
        self, spec: Specification, taken: str, instruments: Iterable[str], *, together: bool = False
    ) -> str | None:
        """Reason why two-stage least squares is no ratio of two released effects, else None.

        ``spec`` is the outcome on the instruments and the exogenous terms, ``taken`` what is
        instrumented, such as take-up; ``together`` says that both are known to have values in the
        same rows.

        Notes
        -----
        With one instrument z and one instrumented column d, the normal equations of two-stage least
        squares are solved by b_y / b_d: the coefficients of z in the regressions of the outcome and
        of d on z and the exogenous terms, on the same rows.  If these two are released effects, so
        is their ratio, which is post-processing.  Its error also needs the covariance of the two,
        which an outcome constructed by itself does not have.

        Examples
        --------
        >>> valid = Validity(outcomes=("earn", "taken"), arms=("offer",))
        >>> valid.ratio_reason(Specification(outcome="earn", terms=("offer",)), "taken", ["offer"],
        ...                    together=True) is None
        True
        """
        if self.declared:
            return (
                "instrumental variables were not declared: the file carries declared regressions, "
                "not how outcomes vary together"
            )
        single = self.arms[0] if len(self.arms) == 1 else ""
        if (
            not single
            or single.startswith("C(")
            or [*map(term_key, instruments)] != [term_key(single)]
        ):
            arms = ", ".join(self.arms)
            return f"instrumental variables other than the one treatment ({arms}) were not released"
        for outcome in (taken, spec.outcome):
            reason = self._unreleased(replace(spec, outcome=outcome))
            if reason is not None:
                return f"instrumental variables need both effects, and {reason}"
        if together or (self.rows and spec.rows is not None):  # then each has all of its rows
            return None
        return (
            f"instrumental variables need the same rows twice, and it is not known that "
            f"{spec.outcome} and {taken} have values in the same ones"
        )

    def ratio_words(self, spec: Specification, taken: str) -> str | None:
        """Reason why the error of a ratio of released effects is not right; None where it is.

        It is where the file keeps how outcome and take-up vary together, the effect on take-up is
        far from 0, and covariates and errors are as of any other valid regression.
        """
        mine = f"the coefficient of {taken} is the ratio of two released effects, but its error is "
        pair = self.outcomes.index(spec.outcome), self.outcomes.index(taken)
        if pair not in self.ratios:
            return (
                f"{mine}not right: the file does not keep how {spec.outcome} and {taken} vary "
                "together (one that was released with a delta may, and says so), or the effect on "
                f"{taken} is too near to 0 for its error"
            )
        if spec.kind != self.cov_type:
            return f"{mine}not right: those of {self.errors} are calibrated, not {spec.errors}"
        other = self._other_errors(spec)
        return None if other is None else f"{mine}not right: {other.partition(': ')[2]}"

    def ratio_remedy(self, outcome: str, taken: str) -> str:
        """Return an interval of the ratio that the file does support.

        The intervals of both effects hold them together at 1 - 2 a if each does at 1 - a
        (Bonferroni), and then the ratios of all pairs within them hold that of the effects.
        """
        each, both = 1 - self.levels[0], 1 - 2 * self.levels[0]
        return (
            f"regress {outcome} and {taken} on {self.arms[0]} with {self.errors}: the ratios of "
            f"all pairs within their {100 * each:.6g} % intervals are an interval at "
            f"{100 * both:.6g} %"
        )

    def ratio_note(self, spec: Specification, taken: str, instruments: Iterable[str]) -> str:
        """Note printed below two-stage least squares on the file."""
        reason = self.ratio_reason(spec, taken, instruments)
        if reason is None:
            found = self.ratio_words(spec, taken)
            if found is None:
                return (
                    f"{CALIBRATED} the error of {taken} contains sampling and privacy noise (delta "
                    f"method); it is valid at {shown_levels(self.levels)}, at no other level. "
                    "The other coefficients and R-squared are artefacts."
                )
            return f"Effects only: {found}; {self.ratio_remedy(spec.outcome, taken)}."
        return f"{ARTEFACT} {reason[0].upper()}{reason[1:]}."

    def note(self, spec: Specification) -> str:
        """Note printed below a regression on the file."""
        reason = self.reason(spec)
        if reason is not None:
            return f"{ARTEFACT} {reason[0].upper()}{reason[1:]}."
        others = "The other coefficients and R-squared are artefacts."
        covariates = self.covariates_in(spec.terms)
        if covariates:
            others = f"It is valid {estimand_words(covariates, self.estimand)}. {others}"
        if self.tells_control(spec) and spec.intercept:
            others = f"{self._of_constant(spec)} {others}"
        return (
            f"{CALIBRATED} the errors of {self._named(spec)} contain sampling and privacy "
            f"noise; intervals and tests are valid at {shown_levels(self.levels)}, at no other "
            f"level. {others}"
        )

    @property
    def estimand(self) -> str:
        """What the effects of a regression with covariates are of."""
        return ADJUSTED if self.declared else DIFFERENCE

    def alone(self) -> tuple[tuple[ValidRegression, Validity], ...]:
        """Return each declared regression that the file carries, as if there were no other."""
        return tuple(
            (
                one,
                replace(
                    self, outcomes=(one.outcome,), arms=one.arms, covariates=(one.covariates,),
                    cov_type=one.cov_type, cluster=one.cluster, declared=(), control_errors=(),
                    rows=() if one.rows is None else (one.rows,), subsets_valid=False,
                ),
            )
            for one in self.declared
            if one.carries != "nothing"
        )  # fmt: skip

    def carries(self, spec: Specification) -> bool:
        """Whether coefficients of a regression's arms are released effects, whatever its errors."""
        return self._unreleased(spec) is None

    def not_carried(self, spec: Specification, names: Iterable[str]) -> tuple[str, ...]:
        """Names of coefficients of which the file knows nothing: least squares finds chance there.

        Notes
        -----
        Outcomes are constructed from effects and control means alone, so that a regression of one
        finds coefficients near 0, with small errors, for whatever else it has.  Of what is no
        outcome, and was drawn from a release of its own, nothing is said here.

        Examples
        --------
        >>> valid = Validity(outcomes=("earn",), arms=("treat",), covariates=(("age",),))
        >>> spec = Specification(outcome="earn", terms=("treat", "age"))
        >>> valid.not_carried(spec, ["Intercept", "treat", "age"])
        ('Intercept', 'age')
        """
        if spec.outcome not in self.outcomes:
            return ()
        names = tuple(names)
        if not self.carries(spec):
            return names
        crossed = self.groups is not None and self.groups.crossing(spec.keys, self._arm_keys)
        kept = {"Intercept"} if crossed or spec.keys <= self._arm_keys else set()
        kept = set() if self.declared else kept  # no mean of the control group was released
        return tuple(
            name
            for name in names
            if name not in kept and not self._is_effect(name, products=bool(crossed))
        )

    def _is_effect(self, name: str, *, products: bool) -> bool:
        """Whether a coefficient is of an arm, or of a product of one with the levels of groups."""
        factors = [term_key(factor.partition("[")[0]) for factor in name.split(":")]
        own = ":".join(sorted(factors)) in self._arm_keys
        return own or (products and not {*factors}.isdisjoint(self._arm_keys))

    def covariates_in(self, terms: Iterable[str]) -> tuple[str, ...]:
        """Covariates of a regression: its terms besides arms, and what tells groups apart."""
        own = set() if self.groups is None else self.groups.own
        return tuple(
            term
            for term in terms
            if term_key(term) not in own
            and not {*map(term_key, term.split(":"))} & self._arm_keys
            and not self._is_arm(term)
        )

    def _named(self, spec: Specification) -> str:
        some, terms = self._some(spec), spec.keys
        places = (place - 1 for place in some if place)
        arms = [self.arms[k] for k in places] if some else self.arms
        return ", ".join(arm for arm in arms if term_key(arm) in terms)

    def _of_constant(self, spec: Specification) -> str:
        """Meaning of the constant of a valid regression."""
        if not all(map(self._is_arm, spec.terms)):
            words = self.groups and self.groups.coefficient_words(spec.keys, self._arm_keys)
            if words:
                return f"{words} ({NOT_RELEASED})."
            return (
                "The constant is not the mean of the control group, which the regression on "
                f"{', '.join(self.arms)} alone has, and no error of it was released "
                f"({NOT_RELEASED})."
            )
        if self.control_error(spec) is None:
            return f"The error of the constant was not released ({NOT_RELEASED})."
        return (
            "The constant is the mean of the control group, and its error contains sampling and "
            "privacy noise."
        )

    def constant_error(self, spec: Specification) -> float | None:
        """Return the error of a regression's constant where that is the control mean, else None."""
        return self.control_error(spec) if all(map(self._is_arm, spec.terms)) else None

    def control_error(self, spec: Specification) -> float | None:
        """Error of the control mean of the experiment in the rows of a regression on all arms."""
        if not self.tells_control(spec) or spec.weighted or self.rounded:
            return None
        place, whole = self.outcomes.index(spec.outcome), self._whole(spec)
        if whole is not None and spec.rows not in (None, whole):
            return None
        if self.groups is not None and spec.within is not None:
            return self.groups.error_of(spec.within, place)
        return self.control_errors[place] if self.control_errors else None

    def tells_control(self, spec: Specification) -> bool:
        """Whether the file says of a regression's control group what is known of its mean."""
        compares = self._some(spec)[:1] == (0,) or self._arm_keys <= spec.keys
        told = bool(self.control_errors) or self.groups is not None
        return told and spec.outcome in self.outcomes and compares

    def _whole(self, spec: Specification) -> int | None:
        """How many rows a regression has where nothing is left out; None if not known."""
        place, some = self.outcomes.index(spec.outcome), self._some(spec)
        if self.sizes is not None and some:
            return self.sizes.rows_of(some, place)
        if self.groups is not None and spec.within is not None:
            return self.groups.rows_of(spec.within, place)
        return self.rows[place] if self.rows else None

    def _unreleased(self, spec: Specification) -> str | None:
        """Reason why the coefficients of the arms are not the released effects."""
        if self.rounded:
            return "the outcomes were rounded to admissible values, which broke the calibration"
        if spec.outcome not in self.outcomes:
            released = ", ".join(self.outcomes)
            return f"the effects on {spec.outcome!r} were not released; released: {released}"
        if self.declared:
            return self._undeclared(spec)
        terms, some = spec.keys, self._some(spec)
        if self.sizes is not None and some:
            apart = self.sizes.reason(some, terms, tuple(map(term_key, self.sizes.columns)))
            if apart is not None:
                return apart
        absent = [arm for arm in self.arms if term_key(arm) not in terms]
        if absent and not some:
            return f"the regression lacks the treatment {', '.join(absent)}"
        if not spec.intercept:
            return "the regression has no intercept"
        if spec.weighted:
            return "the regression is weighted"
        whole = self._whole(spec)
        if whole is not None and spec.rows not in (None, whole):
            said = self.groups.others(spec.within) if self.groups else "subgroups were not released"
            said = "those of an arm belong together" if some else said
            return f"it uses {spec.rows:,d} of {whole:,d} rows; {said}"
        reason = self.groups and self.groups.reason(terms, self._arm_keys, spec.within)
        return reason or self._unknown_terms(spec)

    def _undeclared(self, spec: Specification) -> str | None:
        """Return why the file does not carry the effects of a regression; None where it does."""
        if not spec.intercept:
            return "the regression has no intercept"
        if spec.weighted:
            return "the regression is weighted"
        there = on_rows(self.declared, spec.outcome, spec.where)
        if not there:
            said = "all rows" if spec.where is None else f"the rows where {spec.where}"
            return f"it uses {said}, and no regression of {spec.outcome} was declared on these"
        terms = spec.keys
        same = [one for one in there if _terms_of(one) == terms]
        if same and all(one.carries == "nothing" for one in same):
            of = self._carried(spec.outcome)
            return (
                f"the file carries {of} and not {same[0].title}, which was released: "
                f"{same[0].told or 'its numbers stand beside the file'}"
            )
        carried = [one for one in there if one.carries != "nothing"]
        part = [one for one in carried if _keys(one.arms) <= terms <= _terms_of(one)]
        if not part:
            known = "; ".join(one.title for one in carried) or self._carried(spec.outcome)
            return f"it is not among the declared regressions that the file carries ({known})"
        known_rows = part[0].rows
        if known_rows is not None and spec.rows not in (None, known_rows):
            return f"it uses {spec.rows:,d} of {known_rows:,d} rows; others were not declared"
        return None

    def _carried(self, outcome: str) -> str:
        """Return the declared regressions of an outcome that the file carries, in words."""
        mine = [one for one in self.declared if one.outcome == outcome]
        return "; ".join(one.title for one in mine if one.carries != "nothing")

    def _other_declared(self, spec: Specification) -> str | None:
        """Return why the errors of a declared regression are not those that the file has."""
        mine = "the effects are the released ones, but their errors are not"
        there = [
            one for one in on_rows(self.declared, spec.outcome, spec.where)
            if one.carries != "nothing"
        ]  # fmt: skip
        same = next((one for one in there if _terms_of(one) == spec.keys), None)
        if same is None:
            of = next(one for one in there if spec.keys <= _terms_of(one))
            return (
                f"{mine}: they are those of the declared regression ({of.title}), "
                f"{NOT_RELEASED} without {', '.join(of.covariates)}"
            )
        if same.carries == "effects":
            told = f" (released: {same.told})" if same.released else ""
            return f"{mine}: rows of these clusters cannot carry them{told}"
        if spec.kind != same.cov_type or spec.cluster != same.cluster:
            return f"{mine}: those of {same.errors} are calibrated, not {spec.errors}"
        if spec.fe_df != "areg":
            return f"{mine}: {spec.fe_df} counts absorbed effects otherwise than dummies and areg"
        return None

    def errors_for(self, spec: Specification) -> str:
        """Return the calibrated errors of a regression, as Stata's option."""
        there = on_rows(self.declared, spec.outcome, spec.where)
        return next((one.errors for one in there if one.carries == "all"), self.errors)

    def _sets(self, spec: Specification) -> tuple[set[str], list[set[str]]]:
        """Return the covariates of a regression, and the declared sets in the same words."""
        found = {term_key(term) for term in spec.terms if not self._is_arm(term)}
        sets = [*map(_keys, self.covariates)]
        if self.groups is None:
            return found, sets
        return self.groups.compared(found, sets, self._arm_keys, within=spec.within is not None)

    def _unknown_terms(self, spec: Specification) -> str | None:
        found, known = self._sets(spec)
        if self._some(spec) and found:
            return (
                "on the rows of some arms the regression on these arms alone is calibrated, and "
                f"not one with {', '.join(sorted(found))}"
            )
        part_of = set.__lt__ if self.groups is None else self.groups.is_part
        if found in known or (self.subsets_valid and any(part_of(found, part) for part in known)):
            return None
        every = set().union(*known)
        new = [term for term in spec.terms if term_key(term) in found - every]
        declared = {term_key(term) for part in self.covariates for term in part}
        if self.groups is not None and new and _keys(new) <= declared:
            return self.groups.adjusted_words(new)
        crossed = [
            term for term in new if any(term_key(arm) in term.split(":") for arm in self.arms)
        ]
        if crossed:
            return f"the interaction {', '.join(crossed)} was not released"
        if new:
            return f"it is not among the declared regressions: {', '.join(new)} was not declared"
        return "its covariates are not a declared set"

    def _other_errors(self, spec: Specification) -> str | None:
        """Reason why the errors are not the released ones, where the effects are."""
        mine = "the effects are the released ones, but their errors are not"
        if self.declared:
            return self._other_declared(spec)
        kind, some = spec.kind, self._some(spec)
        if kind != self.cov_type and (some or not self.classical or kind != "nonrobust"):
            return f"{mine}: those of {self.errors} are calibrated, not {spec.errors}"
        if self.cluster is not None and spec.cluster != self.cluster:
            return f"{mine}: they are calibrated for clusters {self.cluster}"
        if spec.fe_df != "areg":
            return f"{mine}: {spec.fe_df} counts absorbed effects otherwise than dummies and areg"
        found, known = self._sets(spec)
        if found not in known:
            return f"{mine}: they are calibrated for all declared covariates, not for some of them"
        return self._few_rows(some, self.outcomes.index(spec.outcome), mine)

    def _few_rows(self, some: tuple[int, ...], place: int, mine: str) -> str | None:
        """Reason why errors on the rows of some arms are smaller than the released ones."""
        if self.sizes is None or not some:
            return None
        if some[0]:
            return f"{mine}: errors of effects were released, not those of other differences"
        factor = self.sizes.factor(some, place)
        if factor >= 1 - TOLERANCE:
            return None
        if not self.sizes.rows:
            return f"{mine}: by how much they differ, arms' numbers of rows in the file will say"
        return (
            f"{mine}: {self.errors} finds {factor:.5f} times those on all rows, because it divides "
            "by rows less columns"
        )

    def _some(self, spec: Specification) -> tuple[int, ...]:
        """Return the arms whose rows a regression has, in order; none where it has all rows."""
        return spec.among if self.sizes is not None and spec.among is not None else ()

    @property
    def _arm_keys(self) -> set[str]:
        return _keys(self.arms)

    def _is_arm(self, term: str) -> bool:
        return term_key(term) in self._arm_keys

    @property
    def errors(self) -> str:
        """The calibrated errors, as Stata's option."""
        return "vce(robust)" if self.cluster is None else f"vce(cluster {self.cluster})"

    def notes(self, continuous: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the notes of the data set: what is valid, at which levels, and what is not.

        ``continuous`` are outcomes that had codes or integers and now are real numbers.
        """
        if self.rounded:
            return (_ROUNDED.format(", ".join(self.outcomes)),)
        lines = self._notes_of_declared() if self.declared else self._notes_of_effects()
        real = ", ".join(continuous)
        return (
            *lines,
            *[
                f"{real}: real numbers here, not the codes or counts of the original; "
                "assert inlist(), tabulate and value labels do not apply."
            ] * bool(real),
        )  # fmt: skip

    def _notes_of_effects(self) -> list[str]:
        arms, outcomes = ", ".join(self.arms), ", ".join(self.outcomes)
        sets = "; or ".join(" ".join(part) or "nothing else" for part in self.covariates)
        rest = "; some of them return the same effects, with other errors"
        apart = self.groups is not None and not self.groups.holds(self.covariates[0])
        other = "other " * (self.groups is not None)
        lines = [
            f"{'Within each level, c' if apart else 'C'}alibrated for least squares of {outcomes} "
            f"on {arms} and {sets}"
            f"{rest * self.subsets_valid}. The coefficients of {arms} are the released "
            f"effects; their errors with {self.errors} contain sampling and privacy noise.",
            f"Intervals (estimate -+ z error) are valid at {shown_levels(self.levels)}, at no "
            "other level: the tails of the noise are heavier than normal.",
            f"Only the coefficients of {arms} carry information. Other coefficients, R-squared, "
            f"{other}subgroups, {other}interactions, weights, logit and probit are artefacts.",
        ]
        lines += [self.groups.words(arms, self.errors)] if self.groups is not None else []
        lines += [self.sizes.words(self.errors)] if self.sizes is not None else []
        return lines + ([self.control_words()] if self.control_errors else [])

    def _notes_of_declared(self) -> list[str]:
        return [
            "Calibrated for declared regressions: the coefficients of treatment in them are the "
            "released ones, adjusted as the regression is, and their errors contain sampling and "
            "privacy noise.",
            *(one.words() for one in self.declared),
            f"Intervals (estimate -+ z error) are valid at {shown_levels(self.levels)}, at no "
            "other level.",
            "Other coefficients, the constant, R-squared, other regressions, subgroups, "
            "interactions, weights, logit and probit are artefacts.",
        ]

    def control_words(self) -> str:
        """Paragraph on what is known of the means of the control group."""
        arms = " ".join(self.arms)
        rows = ", on all rows or those of control and some arms," if self.sizes is not None else ""
        told = [
            f"{outcome} {f'{error:.3g}' if error is not None else NOT_RELEASED}"
            for outcome, error in zip(self.outcomes, self.control_errors, strict=True)
        ]
        found = (
            f"{self.errors} finds them"
            if self.control_found
            else f"{self.errors} does not find them, and what it prints for _cons is too small or "
            "too large: take these"
        )
        return (
            f"The constant of least squares on {arms} alone{rows} is the mean of the control "
            "group, which is noisy; of no other regression is it. Its standard errors (sampling "
            f"and privacy noise together): {', '.join(told)}; {found}."
        )


DIFFERENCE, ADJUSTED = "difference in means", "adjusted difference"
"""Estimands of the effects of a calibrated file."""


def estimand_words(covariates: Iterable[str], estimand: str = DIFFERENCE) -> str:
    """Estimand of a valid regression, and the one of which nothing was released.

    ``covariates`` are those besides what tells released groups apart.

    Examples
    --------
    >>> estimand_words([]), estimand_words(["age"])
    ('for the difference in means', 'for the difference in means, n.r. for the adjusted one (age)')
    >>> estimand_words(["age"], ADJUSTED)
    'for the adjusted difference (age)'
    """
    listed = ", ".join(covariates)
    if not listed or estimand == ADJUSTED:
        return f"for the {estimand}" + f" ({listed})" * bool(listed)
    return f"for the {estimand}, {NOT_RELEASED} for the adjusted one ({listed})"


def _terms_of(one: ValidRegression) -> set[str]:
    return _keys((*one.arms, *one.covariates))


def shown_levels(levels: Iterable[float]) -> str:
    """Return sizes of tests as levels of intervals.

    Examples
    --------
    >>> shown_levels((0.05, 0.01))
    '95 % and 99 %'
    """
    return " and ".join(f"{100 * (1 - level):.6g} %" for level in levels)


def _is_note(entry: tuple[str, str, str]) -> bool:
    return entry[0] == DATASET and entry[1].startswith("note") and entry[1][4:].isdecimal()
