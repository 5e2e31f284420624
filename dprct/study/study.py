"""The study file: what a data owner writes down once, in TOML, before the data are opened.

Unknown keys are refused, so that a misspelt declaration is never silently ignored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from dprct.defaults import bins_by_zeta
from dprct.disk import read_toml
from dprct.encoding import encoding
from dprct.errors import (
    ColumnError,
    ConfirmationError,
    DprctError,
    FormulaError,
    ParameterError,
    SchemaError,
    StudyError,
    marked,
)
from dprct.io.stata.names import Names
from dprct.model import Facts
from dprct.privacy.budget import Budget, check_delta
from dprct.records import dataclass
from dprct.release.columns import check_fates, released_schema
from dprct.release.release import kept_characteristics, modelled
from dprct.release.writing import unpromised_name
from dprct.schema.columns import DATASET, Column, Unit, shown
from dprct.schema.expressions import MADE, parse
from dprct.schema.facts import CellKind, cell_kind
from dprct.schema.made import made_columns, with_made
from dprct.schema.schema import Schema, declared
from dprct.study.asked import REGRESSION, Asked, asked_of, parts_of, titled
from dprct.study.declared_tables import TableSpec, tables_from
from dprct.study.methods import ESTIMATES, METHODS, UNPROMISED
from dprct.study.places import check_identity
from dprct.study.prepare import (
    Preparation,
    PublicFile,
    Step,
    fate_problems,
    merged_facts,
    merges_of,
    prepare_from,
    public_files,
    with_added,
)
from dprct.study.readme import Availability
from dprct.study.release_section import (
    PackageSpec,
    budget_from,
    package_from,
    release_from,
)
from dprct.study.restack import Append, Collapse, Reshape, appended_path, restacked
from dprct.study.results_document import SUFFIX
from dprct.study.sections import (
    ReleaseSection,
    Scope,
    TotalBudget,
    check_sections,
    named,
    scope_from,
    section,
    unmatched,
)
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from dprct.dofile.memory import Merged, Merges, Restacked
    from dprct.estimate.moments.model import MomentsSpec
    from dprct.privacy.budget import Relation


_INFORMED = "informed"

OWN_SECTIONS = ("design", REGRESSION, _INFORMED, "calibrated", "marginals", *ESTIMATES)
"""Parts that belong to some methods only."""


def check_parts(document: Mapping[str, Any], release: ReleaseSection) -> None:
    """Refuse parts of a parsed study file that belong to another method."""
    given = {
        "formula": release.formula is not None,
        **{part: part in document for part in OWN_SECTIONS},
    }
    read = parts_of(release.method)
    for part, there in given.items():
        if there and part not in read:
            methods = " or ".join(repr(name) for name in METHODS if part in parts_of(name))
            where = "[release] formula" if part == "formula" else titled(part)
            raise StudyError(
                f"{where} is for method = {methods}; remove it, as method = {release.method!r}"
            )
    if release.method in ESTIMATES and release.method != "moments" and "table" in document:
        raise StudyError(
            "[[table]] is made of a protected file or of moments, and method = "
            f"{release.method!r} makes neither; remove it: dprct table prints the results"
        )


def asked_from(document: Mapping[str, Any], release: ReleaseSection) -> Asked:
    """Specification that a parsed study file makes of its method.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSection
    >>> release = ReleaseSection(1.0, "calibrated", formula="y ~ treat + age")
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> asked_from(document, release).spec.assignment.uses
    ('site',)
    """
    check_parts(document, release)
    if release.method == "calibrated":
        from dprct.study.calibrated_section import calibrated_from

        return calibrated_from(document, release)
    if _INFORMED in parts_of(release.method):
        from dprct.study.informed_section import informed_from

        return informed_from(document, release)
    return asked_of(document, release)


FROM_FILE = "from file: confirm it by its name in [header] columns"
"""How an open point ends that is about facts of a header."""

_FEW = 8
"""Open points of this kind that are listed one by one."""

REFUSED = "[release] the plan refuses"
_CONFIRM = "confirm = true in [release] goes on all the same"

_NAME = re.compile(r"[A-Za-z_]\w{0,31}", re.ASCII)
MOST_COLUMNS = 120_000
"""Of a Stata file; a study file with more would be answered by as many sentences."""
_SECTIONS = (
    "version",
    "data",
    "names",
    "dataset_id",
    "unit",
    "study",
    "prepare",
    "derived",
    "release",
    *OWN_SECTIONS,
    "budget",
    "declared",
    "header",
    "columns",
    "table",
    "availability",
    "package",
)


@dataclass(frozen=True)
class Header:
    """Whether the facts of the confidential file's header are confirmed as public.

    Parameters
    ----------
    confirm : bool
        Confirm types, formats, labels and label sets of every column.
    columns : tuple of str
        Confirm only those of these columns; patterns such as ``"hh_*"`` are allowed.  ``"_dta"``
        confirms the facts of the file itself: its label, its sort order, label sets that no column
        uses, and the characteristics that are kept.
    """

    confirm: bool = False
    columns: tuple[str, ...] = ()

    def confirmed(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are confirmed by name or pattern."""
        return named((text for text in self.columns if text != DATASET), names)


@dataclass(frozen=True)
class Declaration:
    """Who stands for the public facts.

    Parameters
    ----------
    by : str
        Who declares them; the certificate names them.
    """

    by: str = ""


@dataclass(frozen=True)
class Study:
    """A study file."""

    data: Path  # the confidential file
    release: ReleaseSection
    dataset_id: str  # name under which privacy charges of this data set are kept
    asked: Asked  # what it asks of the method: its specification
    # Declared facts by name or pattern, as :func:`dprct.schema.schema.declared` takes them.
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)  # which columns it is about
    header: Header = field(default_factory=Header)
    unit: Unit = field(default_factory=Unit)
    budget: TotalBudget | None = None  # total of the ledger; by default this release's own budget
    tables: tuple[TableSpec, ...] = ()  # the ``[[table]]`` sections
    availability: Availability = field(default_factory=Availability)  # what a data editor is told
    path: Path = Path("study.toml")  # the study file itself
    declaration: Declaration = field(default_factory=Declaration)
    sha256: str = ""  # of what the file says, whatever its comments, layout and order
    chosen: Path | None = None  # where the output goes, if that was said on the command line
    package: PackageSpec | None = None  # the replication folder and its do-files
    names: Names = "same"  # under which the columns of ``data`` are read (:func:`dprct.read`)
    # Columns that are made of those of the file, row by row, by their expressions.
    derived: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[Step, ...] = ()  # the ``[[prepare]]`` sections: what is done to the rows

    @property
    def public_files(self) -> tuple[PublicFile, ...]:
        """The files of public facts that are merged into the data."""
        parts = [step for step in self.prepare if isinstance(step, Preparation)]
        return public_files(self.path.parent, parts, self.data, self.unit) if parts else ()

    @property
    def restacks(self) -> tuple[Append | Reshape | Collapse, ...]:
        """What is done to the rows other than to merge facts into them."""
        return tuple(step for step in self.prepare if not isinstance(step, Preparation))

    @property
    def appended_files(self) -> list[Path]:
        """The confidential files whose rows go below those of the data."""
        home = self.path.parent
        return [appended_path(one, home, self.data) for one in self.prepare
                if isinstance(one, Append)]  # fmt: skip

    @property
    def confidential_files(self) -> list[Path]:
        """The data, the files that were merged into them, and those whose rows are appended."""
        return [self.data, *self.merged_files, *self.appended_files]

    @property
    def do_files(self) -> tuple[Path, ...]:
        """The do-files that the study names, or folders of them."""
        return () if self.package is None else self.package.files(self.path.parent)

    @property
    def disjoint(self) -> str | None:
        """Why the data sets of its package have different people; None if they may not."""
        return None if self.package is None else self.package.disjoint

    @property
    def merged_files(self) -> list[Path]:
        """The files that were merged into the data: they lie next to these, where the ledger is."""
        names = () if self.package is None else self.package.merge
        return [self.data.parent / name for name in names]

    @property
    def promises(self) -> bool:
        """Whether the method has a privacy guarantee."""
        return self.release.method not in UNPROMISED

    @property
    def relation(self) -> Relation | None:
        """The relation under which every charge of the ledger must hold; None demands none."""
        return None if self.budget is None else cast("Relation | None", self.budget.relation)

    @property
    def neighbors(self) -> Relation:
        """Which data sets are neighbours under the promise of the method."""
        return self.asked.neighbors

    @property
    def makes_file(self) -> bool:
        """Whether the method makes a protected file, and not a document of numbers."""
        return self.asked.makes_file

    @property
    def is_packed(self) -> bool:
        """Whether a package can hold what the method makes: a protected file, or moments."""
        return self.promises and (self.makes_file or self.release.method == "moments")

    @property
    def unpackable(self) -> str | None:
        """Why a package can hold nothing that the study makes, whatever its folder; None if not."""
        if self.is_packed:
            return None if self.data.suffix.lower() == ".dta" else (
                f"data = {self.data.name!r} is not a Stata file, and a package is for do-files; "
                "save it as a .dta file first"
            )  # fmt: skip
        lacks = "has no privacy guarantee" if not self.promises else (
            "makes neither a protected file nor released moments"
        )  # fmt: skip
        return (
            f"[release] method = {self.release.method!r} {lacks}, and a package has one of these "
            'in the place of the confidential file; take method = "calibrated" for a file that '
            'returns effects, or method = "moments" for the regressions themselves'
        )

    @property
    def protected(self) -> Unit:
        """Who is protected by the promise of the method."""
        return self.asked.protects(Schema((), unit=self.unit))

    @property
    def output(self) -> Path:
        """Where the protected file goes, or the document of results."""
        if self.chosen is not None:
            return self.chosen
        stem = self.data.stem
        default = f"{stem}_protected.dta" if self.promises else unpromised_name(stem)
        if not self.makes_file:
            # the moments themselves go to a file beside it that is named after them
            made = "results" if self.release.method == "moments" else self.release.method
            default = f"{stem}_{made}{SUFFIX}"
        return self.path.parent / (self.release.output or default)

    def declared(self, header: Schema) -> Schema:
        """Return the file's schema with what the study declares."""
        facts_of = self._facts_of_file(header)
        schema = header.with_columns(
            [_declared(header.column(name), facts) for name, facts in facts_of.items()]
        )
        schema = self._with_derived(schema).declare(
            dataset_id=self.dataset_id, unit=self.unit, confirm_header=self.header.confirm
        )
        names = self.header.confirmed(header.names)
        schema = schema.with_columns([replace(schema.column(n), confirmed=True) for n in names])
        return replace(schema, sample=self.scope.condition)

    def never_missing(self, schema: Schema) -> list[str]:
        """The columns that are declared, one by one, to have a value in every row."""
        mine = {*self.columns, *self.derived}
        return [one.name for one in schema.columns if one.missing == () and one.name in mine]

    def kinds_of(self, names: Sequence[str]) -> dict[str, CellKind]:
        """What columns among these are declared to hold, where levels or bounds say it."""
        facts = self.scope.facts(self.columns, names)
        kinds = {name: cell_kind(one) for name, one in facts.items()}
        return {n: kind for n in names if (kind := kinds.get(n)) is not None}

    def _facts_of_file(self, header: Schema) -> dict[str, dict[str, Any]]:
        facts_of = self.scope.facts(self.columns, header.names)
        return {name: facts for name, facts in facts_of.items() if name not in self.derived}

    def _with_derived(self, schema: Schema) -> Schema:
        if not self.derived:
            return schema

        def declare(column: Column) -> Column:
            return _declared(column, self.columns.get(column.name, {}))

        made = made_columns(self.derived, schema.columns, declare)
        return replace(schema, columns=(*schema.columns, *made))

    def prepared(self, header: Schema) -> Schema:
        """Return the header of the file with what the study merges into it and does to its rows."""
        for _, after in self._steps(header):
            header = after
        return header

    def _steps(self, header: Schema) -> Iterator[tuple[Step, Schema]]:
        """Yield what the study does to its rows, each with the header after it."""
        files = {file.part: file for file in self.public_files}
        if self.restacks and self.data.suffix.lower() not in ("", ".dta"):
            raise StudyError(
                f"data = {self.data.name!r} is not a Stata file, and {self.restacks[0].where} "
                "needs one; save it as a .dta file first"
            )
        _ = self.appended_files  # refused where they are not beside the data
        for step in self.prepare:
            if isinstance(step, Preparation):
                facts = self._facts_of_file(header)
                known = {x.name: _declared(x, facts.get(x.name, {})) for x in header.columns}
                header = with_added(header, [files[step]], known)
            else:
                step.check(self.unit)
                if isinstance(step, Reshape):
                    step.check_numbers(header, self.prepare)
                header = step.header(header, self.path.parent)
            yield step, header

    def with_prepared(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return rows of the file with what the study merges into them and does to them."""
        files = {file.part: file for file in self.public_files}
        for step in self.prepare:
            if isinstance(step, Preparation):
                data = files[step].added_to(data)
            else:
                data = step.rows(data, self.path.parent)
        return data

    def merges(self, schema: Schema) -> Merges:
        """What the study merges and does to its rows, as do-files are read with it.

        Regressions after a change of rows are those of the release where it is of numbers; a
        protected file has the changed rows, and no do-file that changes them runs on it.
        """
        merged = merges_of(self.public_files, schema)
        if not self.restacks:
            return merged
        found: dict[str, Merged | Restacked] = {}
        for k, (step, header) in enumerate(self._steps(Schema.from_dta(self.data)), 1):
            if isinstance(step, Preparation):
                name = Path(step.merge).name
                found[name] = merged[name]
            else:
                one = restacked(step, header.names)
                found[f"step {k}"] = one._replace(runs=not self.makes_file)
        return found

    def merged_facts(self, header: Schema) -> dict[str, str]:
        """What a certificate says of the files that are merged, and of what is done to rows."""
        return merged_facts(self.public_files, self.prepare, self.declared(header))

    def of_file(self, schema: Schema, path: Path | None = None) -> Schema:
        """Return a declared schema as that of the data, or of another confidential file."""
        if self.restacks:
            return self._before(schema, Schema.from_dta(path or self.data))
        added = {one.name for file in self.public_files for one in file.columns}
        gone = added | {*self.derived}
        return replace(schema, columns=tuple(c for c in schema.columns if c.name not in gone))

    def _before(self, schema: Schema, header: Schema) -> Schema:
        """Return the header of a file with what is declared of its columns, or of their waves."""
        known = {column.name: column for column in schema.columns if column.derived is None}
        for step in reversed(self.restacks):
            if not isinstance(step, Reshape):
                continue
            for wave, name in step.varying.items():
                old, new = (name, wave) if step.reshape == "long" else (wave, name)
                if old in known:
                    known.setdefault(new, known[old])
        facts = ("name", "type", "format", "label", "value_label")
        columns = [
            replace(known[one.name], **{fact: getattr(one, fact) for fact in facts})
            if one.name in known
            else one
            for one in header.columns
        ]
        return replace(schema, columns=tuple(columns), file=header.file)

    def with_derived(self, data: pd.DataFrame, schema: Schema) -> pd.DataFrame:
        """Return rows of the file, which has this schema, with the columns that the study makes."""
        columns = {column.name: column for column in schema.columns}
        return with_made(data, self.derived, columns) if self.derived else data

    def problems(
        self, header: Schema, rows: int | None = None, *, confirm: bool = True
    ) -> list[str]:
        """Return everything that keeps this study from being released, in words of its file.

        Nothing of the data section is needed: a study is checked before the data are opened.
        ``rows`` are those of the file, where its header does not say, or of its sample; by
        ``confirm`` a plan that refuses is no problem, as ``dprct plan`` prints it.
        """
        return [in_toml(problem) for problem in self._problems(header, rows, confirm=confirm)]

    def _problems(self, header: Schema, rows: int | None, *, confirm: bool) -> list[str]:
        if rows is None and self.scope.sample is None:
            rows = header.file.rows
        found: list[str] = []
        columns: list[Column] = []
        for name, facts in self._facts_of_file(header).items():
            try:
                columns.append(_declared(header.column(name), facts))
            except DprctError as error:
                found.append(marked(error))
        try:
            schema = self._with_derived(header.with_columns(columns))
        except DprctError as error:  # a name that is none, or roles that contradict each other
            return [*found, marked(error)]
        found += self.scope.problems(self.columns, header.names)
        found += fate_problems(self.public_files, schema)
        found += self._rows_problems(header, schema)
        for name in self.header.columns:
            if name != DATASET:
                found += unmatched("[header] columns", name, header.names)
        if self.unit.id is not None and self.unit.id not in header.names:
            unknown = ColumnError.unknown(self.unit.id, header.names, "the file")
            found.append(f"[unit] id: {unknown}")
        found += self.scope.open_sample(schema)
        if self.package is not None and self.package.folder is not None and self.unpackable:
            found.append(f"[package] folder: {self.unpackable}")
        if not self.makes_file:
            found += [*self._beyond_total(), *self._large_delta(rows)]
            return [*found, *self._of_estimate(schema, rows, confirm)]
        known = {entry[1] for entry in header.file.characteristics}
        found += [
            f"[release] keep names {name!r}, which the file does not have"
            for name in self.release.keep
            if name not in known
        ]
        names, text = schema.names, {c.name for c in schema.columns if c.is_text}
        coded = {c.name for c in schema.columns if not c.is_text and {*(c.levels or ())} - {0, 1}}
        for table in self.tables:
            found += [*table.problems(names, text), *table.not_arms(coded.__contains__)]
        found += self.asked.open_points(replace(schema, unit=self.unit), rows)
        found += [*self._beyond_total(), *self._large_delta(rows)]
        found += [f"column {c.name!r} has no fate" for c in schema.columns if _open_fate(c)]
        found += self._without_domain(schema, rows)
        found += [] if found or rows is None else self._refused(schema, rows, confirm)
        return found + self._unconfirmed(schema)

    def _rows_problems(self, header: Schema, schema: Schema) -> list[str]:
        """Declared facts that contradict what the study does to its rows."""
        if not self.restacks:
            return []
        known = {column.name: column for column in schema.columns}
        found = [
            f"column {one.name!r} is missing in the rows of a file or wave that lacks it, and "
            'missing = "never" is declared; write missing = ["."] in its [columns.NAME]'
            for one in header.columns
            if one.missing and "." in one.missing and known[one.name].missing == ()
        ]
        keys = [key for step in self.restacks if isinstance(step, Collapse) for key in step.keys]
        return found + [
            f"[[prepare]] collapse: column {key!r} makes the groups, which are the rows of what is "
            f'released; who is in which is public: give it fate = "public", or "key"'
            for key in keys
            if key in known and known[key].fate not in ("public", "key")
        ]

    def _refused(self, schema: Schema, rows: int, confirm: bool) -> list[str]:
        """Reason why a release of these columns would be refused at the budget asked for."""
        known = Facts(replace(schema, unit=self.unit), rows)
        budget = Budget(self.release.epsilon, self.release.delta)
        try:
            return _refusal(self.asked.unaffordable(known, budget, confirm=confirm))
        except DprctError as error:
            return _refusal(error)

    def _of_estimate(self, schema: Schema, rows: int | None, confirm: bool) -> list[str]:
        """Open points of the estimate: of the columns that it reads, and of no other."""
        budget = Budget(self.release.epsilon, self.release.delta)
        known = replace(schema, unit=self.unit)
        found = self.asked.problems(known, rows, budget, confirm=confirm)
        if self.tables and not found:
            from dprct.study.tables_of_moments import problems_of_moments

            spec = cast("MomentsSpec", self.asked.spec)
            found = [why for one in self.tables for why in problems_of_moments(one, spec, known)]
        if self.header.confirm:
            return found
        read, confirmed = self.asked.reads(known), self.header.confirmed(known.names)
        return found + [
            _unconfirmed(schema, column)
            for column in schema.columns
            if column.name in read and not column.confirmed and column.name not in confirmed
        ]

    def _beyond_total(self) -> list[str]:
        """Return that the release costs more than the study's own total, if it does."""
        if self.budget is None or not self.promises:
            return []
        asked = Budget(self.release.epsilon, self.release.delta)
        total = Budget(self.budget.epsilon, self.budget.delta)
        if asked.fits(total):
            return []
        return [
            f"[release] asks for ``{asked}``, and [budget] allows ``{total}`` in all; ask for "
            "less, or declare a larger total before anything is charged"
        ]

    def _large_delta(self, rows: int | None) -> list[str]:
        """Return that delta is above 1/n, where the header tells n, unless that is accepted."""
        if rows is None or not self.promises:
            return []
        asked = Budget(self.release.epsilon, self.release.delta)
        try:
            check_delta(asked, rows, accepted=self.release.accept_large_delta)
        except ConfirmationError as error:
            return [f"[release] {marked(error)}"]
        return []

    def _without_domain(self, schema: Schema, rows: int | None) -> list[str]:
        """Open points of modelled columns before they have a public domain."""
        found = []
        bins = None
        if self.release.zeta is not None and rows:
            bins = bins_by_zeta(rows, self.release.zeta)
        points = getattr(self.asked.spec, "point_bins", None)
        for name in self.asked.encoded(schema):
            try:
                encoding(schema.column(name), bins, points)
            except SchemaError as error:
                found.append(marked(error))
        if not any(_open_fate(c) for c in schema.columns):
            if not modelled(schema):
                found.append('no column is modelled; give fate = "modelled" to those that matter')
            try:
                check_fates(schema, rows or 1)
            except DprctError as error:
                found.append(marked(error))
        return found

    def _unconfirmed(self, schema: Schema) -> list[str]:
        if self.header.confirm:
            return []
        confirmed = self.header.confirmed(schema.names)
        found = [
            _unconfirmed(schema, c)
            for c in schema.columns
            if c.fate != "drop" and not c.confirmed and c.name not in confirmed
        ]
        facts = _file_facts(schema, self.release.keep)
        if facts and DATASET not in self.header.columns:
            found.append(f"the file ({DATASET!r}): {', '.join(facts)} {FROM_FILE}")
        return found


def _declared(column: Column, facts: Mapping[str, Any]) -> Column:
    """Return a column with declared facts, which replace what follows of its values."""
    if {"bounds", "levels"} & {*facts}:
        column = replace(column, bounds=None, levels=None)
    return declared(column, facts)


def _refusal(error: DprctError | None) -> list[str]:
    """Reason why a budget buys no release, in the words of a study file, if it buys none."""
    if error is None:
        return []
    words = in_toml(error)
    if isinstance(error, ConfirmationError):
        return [f"{REFUSED}: {words}; {_CONFIRM}"]
    return [f"[release] {words}"]


def load_study(path: str | Path, output: Path | None = None) -> Study:
    """The study that a TOML file describes; output goes where the file says, by default."""
    path = Path(path)
    return replace(study_from(read_toml(path, StudyError), path), chosen=output)


def study_from(document: Mapping[str, Any], path: Path) -> Study:
    """Return the study of a parsed TOML document; ``path`` is where it lies."""
    check_sections(document, _SECTIONS)
    check_identity(document)
    columns = document.get("columns", {})
    if not isinstance(columns, Mapping) or not all(
        isinstance(c, Mapping) for c in columns.values()
    ):
        raise StudyError("[columns.NAME] must be tables; write one for every column")
    if len(columns) > MOST_COLUMNS:
        raise StudyError(
            f"[columns] has {len(columns):,} tables; a file of Stata holds {MOST_COLUMNS:,} "
            "columns at most; keep those of its columns"
        )
    try:
        unit = section(Unit, document.get("unit", {}), "[unit]")
    except (SchemaError, ParameterError) as error:
        raise StudyError(f"[unit] {marked(error)}") from None
    release = release_from(document)
    asked = asked_from(document, release)
    scope = scope_from(document)
    if scope.sample is not None and release.method in ESTIMATES:
        raise StudyError(
            f"[study] sample is for a protected file, whose public columns say who is in it; "
            f"method = {release.method!r} shows no column. Make a file of these rows and name it "
            'in data, if everybody may know who they are; else take method = "moments" with '
            "subgroups"
        )
    return Study(
        data=path.parent / document["data"],
        release=release,
        dataset_id=document["dataset_id"],
        asked=asked,
        columns=columns,
        scope=scope,
        header=section(Header, document.get("header", {}), "[header]"),
        unit=unit,
        budget=budget_from(document),
        tables=tables_from(document["table"]) if "table" in document else (),
        availability=section(Availability, document.get("availability", {}), "[availability]"),
        path=path,
        declaration=section(Declaration, document.get("declared", {}), "[declared]"),
        sha256=_sha256(document),
        package=package_from(document),
        names=_names_from(document),
        derived=_derived_from(document),
        prepare=prepare_from(document),
    )


def _derived_from(document: Mapping[str, Any]) -> dict[str, str]:
    found = document.get("derived", {})
    if not isinstance(found, Mapping):
        raise StudyError('[derived] is not a table; write in it: log_wage = "log(wage)"')
    for name, text in found.items():
        if not _NAME.fullmatch(name):
            raise StudyError(
                f"[derived] {name!r} is not a valid column name; use letters, digits and _, 32 "
                "at most"
            )
        if not isinstance(text, str):
            raise StudyError(f'[derived] {name} is not text; write {name} = "log(wage)"')
        try:
            parse(text, f"[derived] {name}", MADE)
        except FormulaError as error:
            raise StudyError(marked(error).replace(f"{name}=", f"{name} = ", 1)) from None
    return dict(found)


def _names_from(document: Mapping[str, Any]) -> Names:
    """Under which names the columns are read; a .dta file has those of Stata."""
    names = document.get("names", "same")
    if names not in get_args(Names):
        raise StudyError(f"names = {names!r}; allowed: {', '.join(get_args(Names))}")
    if names == "stata" and Path(document["data"]).suffix.lower() == ".dta":
        raise StudyError('names = "stata" is for files of other programs than Stata; remove it')
    return cast("Names", names)


def _sha256(document: Mapping[str, Any]) -> str:
    """Return the hash of a parsed file; dates of TOML count as their text."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _open_fate(column: Column) -> bool:
    return column.fate is None and column.derived is None


def _file_facts(schema: Schema, keep: tuple[str, ...]) -> list[str]:
    """Facts of a protected file that came from the original, in words."""
    file = released_schema(schema).file
    attached = {column.value_label for column in schema.columns}
    free = [name for name in file.value_labels if name not in attached]
    kept = kept_characteristics(schema, keep)
    named = {
        "data set label": [repr(shown(file.label))] if file.label else [],
        "sort order": file.sorted_by,
        "label sets of no column": free,
        "characteristics": list(dict.fromkeys(f"{owner}[{name}]" for owner, name, _ in kept)),
    }
    return [f"{what} {' '.join(names)}" for what, names in named.items() if names]


def _unconfirmed(schema: Schema, column: Column) -> str:
    return f"column {column.name!r}: {_header_facts(schema, column)} {FROM_FILE}"


def in_brief(points: Sequence[str]) -> list[str]:
    """Return open points with one for all that is to be confirmed of the header, if it is much.

    Examples
    --------
    >>> few = ["column 'age' has no fate", f"column 'age': type byte {FROM_FILE}"]
    >>> in_brief(few) == few
    True
    >>> many = [f"column 'x{k}': type byte {FROM_FILE}" for k in range(60)]
    >>> [point.split(" come")[0] for point in in_brief([few[0], *many])][1]
    'the header: types, formats, labels and label sets of 60 columns'
    """
    header = [p for p in points if p.startswith("column ") and p.endswith(FROM_FILE)]
    if len(header) <= _FEW:
        return list(points)
    return [
        *(point for point in points if point not in header),
        f"the header: types, formats, labels and label sets of {len(header)} columns come from the "
        "confidential file and will be public; read them with dprct describe, and write "
        "confirm = true under [header]",
    ]


def _header_facts(schema: Schema, column: Column) -> str:
    facts = [f"type {column.type}"]
    if column.format:
        facts.append(f"format {column.format}")
    if column.label:
        facts.append("variable label")
    labels = schema.labels_of(column.name)
    if labels:
        codes = [code for code in labels if isinstance(code, str)]
        facts.append(f"label set {column.value_label!r} of {len(labels)} codes")
        if codes:
            facts.append(f"labelled missing codes {', '.join(codes)}")
    return ", ".join(facts)
