"""What a study file asks of its method: ``[release]``, ``[design]`` and the method's own section.

A section of a study file is a specification: its keys are the fields of the method's
:class:`~dprct.model.Spec`, and what it takes is read from their annotations.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

from dprct.annotations import kinds_of_fields
from dprct.errors import ColumnError, DprctError, FormulaError, ParameterError, StudyError, marked
from dprct.model import Facts, Spec
from dprct.records import dataclass
from dprct.release.release import modelled
from dprct.schema.keys import is_required, keys_of
from dprct.study.methods import METHODS, UNPROMISED, AnyModel, makes_file, spec_class
from dprct.study.sections import check_index, design_from, section
from dprct.study.wording import in_toml, spelled

if TYPE_CHECKING:
    from dprct.assignment import Design
    from dprct.estimate.moments.declared import Regression
    from dprct.privacy.budget import Budget, Relation
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.study.sections import ReleaseSection

DESIGN = "assignment"
"""The option that ``[design]`` gives, where a method has it."""

REGRESSION = "regression"
"""The tables ``[[regression]]``, one for each declared regression."""

OF_FILES = ("zeta", "outcome_share", "keep")
"""Keys of ``[release]`` that are options of methods which make a file."""


def spec_of(method: str) -> type[Spec[Any]]:
    """Return the specification of a method.

    Examples
    --------
    >>> spec_of("ipw").__name__
    'IPWSpec'
    """
    return spec_class(METHODS[method])


def taken(method: str) -> tuple[str, ...]:
    """Options of a method that are keys of ``[release]``: bins and characteristics of a file.

    Examples
    --------
    >>> taken("mv_histogram"), taken("ipw")
    (('zeta', 'outcome_share', 'keep'), ())
    """
    named = inspect.signature(METHODS[method]).parameters
    return tuple(name for name in OF_FILES if name in named)


def given_elsewhere(method: str) -> tuple[str, ...]:
    """Options of a method that other parts of a study file give: they are no keys of its section.

    ``[design]`` gives the assignment; of a file, fates give the columns, and the formula all that
    it names.
    """
    spec: Any = spec_of(method)
    known = {f.name for f in fields(spec)}
    given = [DESIGN]
    if makes_file(METHODS[method]):
        named = spec.formula_gives
        given += [*OF_FILES, "columns", *named, *["treatment"] * bool(named)]
    return tuple(name for name in given if name in known)


def parts_of(method: str) -> tuple[str, ...]:
    """Parts of a study file that a method reads besides ``[release]`` and the columns.

    Examples
    --------
    >>> parts_of("ipw"), parts_of("cate"), parts_of("mv_histogram")
    (('ipw', 'formula'), ('cate', 'formula', 'design'), ())
    """
    spec: Any = spec_of(method)
    designed = DESIGN in {f.name for f in fields(spec)}
    if method in UNPROMISED:
        return ("formula", "design", "informed") if designed else ()
    keys = {f.name for f, _ in keys_of(spec).values()} - {*given_elsewhere(method)}
    return (
        *[method] * bool(keys),
        *["formula"] * bool(spec.formula_gives),
        *["design"] * designed,
        *[REGRESSION] * (declaring(method) is not None),
    )


def titled(part: str) -> str:
    """Return a part of a study file as its heading is written.

    Examples
    --------
    >>> titled("design"), titled("regression")
    ('[design]', '[[regression]]')
    """
    return f"[[{part}]]" if part == REGRESSION else f"[{part}]"


def declaring(method: str) -> str | None:
    """Return the option of a method that takes declared regressions; None if none does.

    Examples
    --------
    >>> declaring("moments"), declaring("ipw")
    ('formulas', None)
    """
    return next(
        (
            name
            for name, kinds in kinds_of_fields(spec_of(method)).items()
            if any("Regression" in kind.names() for kind in kinds)
        ),
        None,
    )


def _regressions(tables: object) -> tuple[Regression, ...]:
    """Regressions that the tables ``[[regression]]`` of a study file declare."""
    from dprct.estimate.moments.declared import Regression

    if not isinstance(tables, list):
        raise StudyError(f"regressions are written as {titled(REGRESSION)}, one table for each")
    found = []
    for k, table in enumerate(tables, 1):
        where = f"{titled(REGRESSION)} number {k}"
        try:
            found.append(section(Regression, table, where))
        except (FormulaError, ParameterError) as error:
            raise StudyError(f"{where}: {in_toml(error)}") from None
    return tuple(found)


def needs_formula(method: str) -> bool:
    """Whether only a formula can say what a method needs, because no key can.

    Examples
    --------
    >>> needs_formula("ipw"), needs_formula("private_ate")
    (True, False)
    """
    spec: Any = spec_of(method)
    spelled = keys_of(spec)
    required = {f.name for f in fields(spec) if is_required(f)}
    return any(name in required and name not in spelled for name in spec.formula_gives)


@dataclass(frozen=True)
class Asked:
    """What a study file asks of a method."""

    method: str  # a key of :data:`~dprct.study.methods.METHODS`
    spec: Any  # its options, as far as the study file says them

    @property
    def makes_file(self) -> bool:
        """Whether the method makes a protected file, and not numbers."""
        return makes_file(METHODS[self.method])

    @property
    def neighbors(self) -> Relation:
        """Which data sets are neighbours under the promise of the method."""
        found: Relation = getattr(self.spec, "neighbors", "replace-one")
        return found

    def noted(self, schema: Schema) -> Self:
        """Return the same with options that were left out as the file's header states them."""
        try:
            return replace(self, spec=self.spec.noted(schema))
        except DprctError as error:
            raise StudyError(self.said(error)) from None

    def protects(self, schema: Schema) -> Unit:
        """Protected unit of the method."""
        try:
            found: Unit = self.spec.protects(schema)
        except DprctError:  # the design is wrong, which problems() says
            return schema.unit
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that the method reads; none while nothing says which."""
        try:
            found: tuple[str, ...] = self.noted(schema).spec.columns
        except DprctError:
            return ()
        return found

    def encoded(self, schema: Schema) -> list[str]:
        """Return the columns of a file that need a public domain."""
        return [] if self.method in UNPROMISED else modelled(schema)

    def open_points(self, schema: Schema, rows: int | None) -> list[str]:
        """Points that a file leaves open besides fates and domains, in words."""
        return []

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why no file of this header can be released at a budget; None if one may be."""
        spec: Spec[Any] = self.noted(facts.schema).spec
        wrong = spec.problems(facts)
        return wrong[0] if wrong else spec.unaffordable(facts, budget, confirm=confirm)

    def problems(
        self, schema: Schema, rows: int | None, budget: Budget, *, confirm: bool
    ) -> list[str]:
        """Return open points, and options that do not fit the columns of the file, in words.

        The schema is that of the header, with what the study declares; the budget is checked as far
        as the header tells what it buys.  ``confirm`` says that the study confirms a plan that
        refuses.
        """
        try:
            estimate = self.noted(schema)
            named = estimate.spec.columns
        except DprctError as error:
            return [marked(error) if isinstance(error, StudyError) else self.said(error)]
        unknown = [
            str(ColumnError.unknown(name, schema.names, "the file"))
            for name in named
            if name not in schema.names
        ]
        if unknown or rows is None:  # without a number of rows, the method asks its table
            return unknown
        facts = Facts(schema, rows)
        refused = estimate.spec.problems(facts)
        if refused:
            return [self.said(error) for error in refused]
        problem = estimate.spec.unaffordable(facts, budget, confirm=confirm)
        return [] if problem is None else [self.said(problem, "[release]")]

    def model(self, data: Any, schema: Schema) -> AnyModel:
        """Return the method, bound to the data."""
        bind: Any = METHODS[self.method]
        options = self.spec.options()
        if self.makes_file:
            options.pop("columns", None)  # which the fates say
        try:
            model: AnyModel = bind(data, schema, **options)
        except (ParameterError, FormulaError) as error:
            raise StudyError(self.said(error)) from None
        except DprctError as error:
            raise type(error)(in_toml(error)) from None
        return model

    def said_options(self) -> list[tuple[str, str]]:
        """Return the options that are not left at their defaults, in words."""
        known = keys_of(type(self.spec))
        found = [
            (name, spelled(getattr(self.spec, f.name)))
            for name, (f, _) in known.items()
            if is_required(f) or getattr(self.spec, f.name) != f.default
        ]
        design: Design | None = getattr(self.spec, DESIGN, None)
        return found if design is None else [*found, ("design", design.describe())]

    def said(self, error: DprctError, where: str = "") -> str:
        """Return a refusal in the words of a study file, with the section that it is about."""
        text = in_toml(error)
        if not isinstance(error, ParameterError) or text.startswith("["):
            return text
        return f"{where or f'[{self.method}]'} {text}"


def asked_of(document: Mapping[str, Any], release: ReleaseSection) -> Asked:
    """Specification that a parsed study file makes of the method of ``[release]``.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSection
    >>> release = ReleaseSection(1.0, "ipw", delta=1e-6, formula="treat ~ age")
    >>> asked_of({"ipw": {"outcome": "y", "trim": 0.1}}, release).spec.columns
    ('y', 'treat', 'age')
    """
    method, where = release.method, f"[{release.method}]"
    kind = spec_of(method)
    given: dict[str, Any] = {}
    if kind.formula_gives and (release.formula is not None or needs_formula(method)):
        given |= _formula_of(kind, release.formula)
    if "design" in parts_of(method):
        given[DESIGN] = design_from(document)
    given |= {
        name: getattr(release, name) for name in taken(method) if getattr(release, name) is not None
    }
    if "columns" in given_elsewhere(method):
        given["columns"] = ()
    table = document.get(method, {})
    for name in given:
        if isinstance(table, Mapping) and name in table:
            source = "[design]" if name == DESIGN else "[release] formula"
            raise StudyError(f"{where} {name} follows from {source}; remove it")
    if kind.formula_gives and release.formula is None:
        _check_named(kind, table, where)
    spec = section(kind, table, where, given=given)
    check_index(getattr(spec, "index", None), where)
    return Asked(method, with_regressions(spec, document, method))


def with_regressions(spec: Any, document: Mapping[str, Any], method: str) -> Any:
    """Return a specification with what the tables ``[[regression]]`` of a study file declare."""
    if REGRESSION not in document:
        return spec
    from dprct.estimate.moments.declared import listed_regressions

    option = declaring(method)
    assert option is not None  # check_parts refuses the tables for any other method
    listed = (*getattr(spec, option), *_regressions(document[REGRESSION]))
    try:
        return replace(spec, **{option: listed_regressions(listed)})
    except ParameterError as error:
        raise StudyError(f"{titled(REGRESSION)}: {in_toml(error)}") from None


def _check_named(kind: type[Spec[Any]], table: object, where: str) -> None:
    """Refuse a study that has neither a formula nor the keys that stand for it."""
    known = keys_of(kind)
    lacking = [n for n in kind.formula_gives if n in known and is_required(known[n][0])]
    for name in lacking:
        if isinstance(table, Mapping) and name not in table:
            raise StudyError(
                f'[release] formula is missing; write formula = "{kind.formula_like}", or '
                f"{name} = ... below {where}"
            )


def _formula_of(kind: type[Spec[Any]], formula: str | None) -> dict[str, Any]:
    if formula is None:
        raise StudyError(f'[release] formula is missing; write formula = "{kind.formula_like}"')
    try:
        return kind.of_formula(formula)
    except FormulaError as error:
        raise StudyError(f"[release] formula: {in_toml(error)}") from None
