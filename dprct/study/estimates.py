"""Methods of a study file whose results are numbers, not rows: ``[release]`` and ``[method]``.

A section of a study file is a specification: its keys are the fields of the method's
:class:`~dprct.model.Spec`, and what it takes is read from their annotations.  A method is added by
one line in :data:`ESTIMATES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_args, get_origin

from dprct.errors import ColumnError, DprctError, FormulaError, ParameterError, StudyError
from dprct.estimate.ipw import IPW
from dprct.model import Facts, Model, Spec
from dprct.study.design_section import design_from
from dprct.study.sections import is_required, keys_of, section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.budget import Budget
    from dprct.privacy.guarantee import Relation
    from dprct.schema.schema import Schema
    from dprct.study.release_section import ReleaseSpec

AnyModel = Model[Any, Any, Any, Any]

ESTIMATES: Mapping[str, type[AnyModel]] = {
    "ipw": IPW,
}
"""By ``[release] method``: the class that a user of Python fits."""

DESIGN = "assignment"
"""The option that ``[design]`` gives, where a method has it."""


def spec_of(method: str) -> type[Spec[Any]]:
    """Return the specification of a method.

    Examples
    --------
    >>> spec_of("ipw").__name__
    'IPWSpec'
    """
    found: type[Spec[Any]] = _argument(ESTIMATES[method], Model, 0)
    return found


def parts_of(method: str) -> tuple[str, ...]:
    """Return what a method reads of a study file besides ``[release]`` and the columns.

    Examples
    --------
    >>> parts_of("ipw")
    ('ipw', 'formula')
    """
    spec: Any = spec_of(method)
    designed = DESIGN in {f.name for f in fields(spec)}
    return (method, *["formula"] * bool(spec.formula_gives), *["design"] * designed)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a study file asks of a method whose results are numbers.

    Parameters
    ----------
    method : str
        A key of :data:`ESTIMATES`.
    spec : Spec
        Its options.
    """

    method: str
    spec: Spec[Any]

    @property
    def neighbors(self) -> Relation:
        """Which data sets are neighbours in what the method promises."""
        found: Relation = getattr(self.spec, "neighbors", "replace-one")
        return found

    def problems(self, schema: Schema, budget: Budget) -> list[str]:
        """Return what is open or does not fit the columns of the file, in words.

        Parameters
        ----------
        schema : Schema
            From the header of the file, with what the study declares.
        budget : Budget
            Held against the method where its public facts are those of the header.
        """
        rows = schema.file.rows
        found = [
            str(ColumnError.unknown(name, schema.names, "the file"))
            for name in self.spec.columns
            if name not in schema.names
        ]
        if found or rows is None:  # without a number of rows, the method asks its table
            return found
        facts = Facts(schema, rows)
        refused = self.spec.problems(facts)
        if not refused and _argument(type(self.spec), Spec, 0) is Facts:
            try:
                self.spec.plan(facts, self.spec.allocation(facts, budget))
            except DprctError as error:
                return [self.said(error, "[release]")]
        return [self.said(error) for error in refused]

    def model(self, data: Any, schema: Schema) -> AnyModel:
        """Return the method, bound to the data.

        Raises
        ------
        StudyError
            If data, declarations and options contradict each other.
        """
        bind: Any = ESTIMATES[self.method]
        try:
            model: AnyModel = bind(data, schema, **self.spec.options())
        except (ParameterError, FormulaError) as error:
            raise StudyError(self.said(error)) from None
        return model

    def said_options(self) -> list[tuple[str, str]]:
        """Return the options that are not left at their defaults, in words."""
        known = keys_of(type(self.spec))
        return [
            (name, str(getattr(self.spec, name)))
            for name, (f, _) in known.items()
            if is_required(f) or getattr(self.spec, name) != f.default
        ]

    def said(self, error: DprctError, where: str = "") -> str:
        """Return a refusal in the words of a study file, with the section that it is about."""
        if isinstance(error, ParameterError):
            return f"{where or f'[{self.method}]'} {in_toml(str(error))}"
        return in_toml(str(error))


def estimate_from(document: Mapping[str, Any], release: ReleaseSpec) -> Estimate:
    """Return what a parsed study file asks of the method of ``[release]``, one of ``ESTIMATES``.

    Raises
    ------
    StudyError
        If a key is missing, unknown, of a wrong type or not allowed.

    Examples
    --------
    >>> from dprct.study.release_section import ReleaseSpec
    >>> release = ReleaseSpec(1.0, "ipw", delta=1e-6, formula="treat ~ age")
    >>> estimate_from({"ipw": {"outcome": "y", "trim": 0.1}}, release).spec.columns
    ('y', 'treat', 'age')
    """
    kind, where = spec_of(release.method), f"[{release.method}]"
    given: dict[str, Any] = {}
    if kind.formula_gives:
        given |= _formula_of(kind, release.formula)
    if "design" in parts_of(release.method):
        given[DESIGN] = design_from(document)
    table = document.get(release.method, {})
    for name in given:
        if isinstance(table, dict) and name in table:
            source = "[design]" if name == DESIGN else "[release] formula"
            raise StudyError(f"{where} {name} follows from {source}; remove it")
    return Estimate(release.method, section(kind, table, where, given=given))


def _formula_of(kind: type[Spec[Any]], formula: str | None) -> dict[str, Any]:
    if formula is None:
        raise StudyError(f'[release] formula is missing; write formula = "{kind.formula_like}"')
    try:
        return kind.of_formula(formula)
    except FormulaError as error:
        raise StudyError(f"[release] formula: {in_toml(str(error))}") from None


def _argument(kind: type[Any], generic: type[Any], place: int) -> Any:
    """Return the type that a class gives for a parameter of a generic base, its own first."""
    for base in kind.__mro__:
        for parent in base.__dict__.get("__orig_bases__", ()):
            if get_origin(parent) is generic and isinstance(get_args(parent)[place], type):
                return get_args(parent)[place]
    raise TypeError(f"{kind.__name__} does not say what it is a {generic.__name__} of")


_VALUES: tuple[tuple[str, str], ...] = (
    (r"\b([a-zA-Z_]\w*)=\{([^{}]*)\}", r"\1 = {\2}"),
    (r"\{'([A-Za-z_]\w*)': ", r"{\1 = "),
    (r"\b([a-zA-Z_]\w*)=\(([^()]*)\)", r"\1 = [\2]"),
    (r"\b([a-zA-Z_]\w*)='([^'\n]*)'", r'\1 = "\2"'),
    (r"\b([a-zA-Z_]\w*)=(?=[\w.\[+-])", r"\1 = "),
    (r"\b([a-zA-Z_]\w*)=(?=[ ,;:.)]|$)", r"\1"),
    (r"(?<= = )True\b", "true"),
    (r"(?<= = )False\b", "false"),
)
"""How Python writes a named value, and how TOML does."""


def in_toml(text: str) -> str:
    """Return a message with its named values as TOML writes them.

    Examples
    --------
    >>> in_toml("give missing={'y': ...}, or declare missing='never'")
    'give missing = {y = ...}, or declare missing = "never"'
    >>> in_toml("alphas= is text; trim=0.7, bounds=(low, high), hajek=True")
    'alphas is text; trim = 0.7, bounds = [low, high], hajek = true'
    """
    for form, words in _VALUES:
        text = re.sub(form, words, text)
    return text
