"""The study on the desk: what the page shows of it, and every change that the page may make.

The study file on the disk is the only truth: each change is read from it and written to it, with
its comments, so that two windows, an editor and the command line can take turns.  Everything that
is checked is checked by :mod:`dprct.study`.  Of a .dta file the header is read and nothing else,
until :meth:`Desk.offer` is asked for a release.
"""

from __future__ import annotations

import copy
import hashlib
import re
import threading
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.app.fields import CHOICES, MEANINGS, fact, form, section_value, shown_fact
from dprct.disk import atomic_write, read_toml
from dprct.errors import DprctError, FileError, StudyError
from dprct.estimate.moments.declared import Regression
from dprct.io.stata.names import stata_names
from dprct.privacy.accountant import find_ledger
from dprct.release.writing import certificate_paths
from dprct.results.typeset import as_in_a_file
from dprct.schema.columns import Unit, shown
from dprct.schema.facts import DECLARABLE
from dprct.schema.schema import declared
from dprct.schema.toml import merged
from dprct.study.asked import REGRESSION, given_elsewhere, parts_of, spec_of
from dprct.study.declared_tables import TableSpec
from dprct.study.draft import draft, implied
from dprct.study.header_plan import combinations, expected_errors, header_plan
from dprct.study.informed_section import InformedSection
from dprct.study.methods import METHODS
from dprct.study.offer import Made, Offer, offered, refuse_unpromised
from dprct.study.protect import check_places, declared_tables, facts_of_file, rows_of
from dprct.study.readme import Availability
from dprct.study.release_section import PackageSpec
from dprct.study.sections import DesignSection, ReleaseSection, Scope, TotalBudget
from dprct.study.study import Declaration, Header, Study, study_from
from dprct.study.verdicts import of_study, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.study.prefill import Prefill

FACTS = ("fate", "levels", "bounds", "bins", "missing", "role")
"""The facts that have a column of the codebook."""

MORE = tuple(name for name in DECLARABLE if name not in FACTS)
"""The rarer facts, which the page shows for one column at a time."""

_MOST_LABELS = 12
_MOST_UNDONE = 200
_KINDS: Mapping[str, type[Any]] = {
    "release": ReleaseSection,
    "unit": Unit,
    "budget": TotalBudget,
    "header": Header,
    "declared": Declaration,
    "design": DesignSection,
    "informed": InformedSection,
    **{method: spec_of(method) for method in METHODS if method in parts_of(method)},
    "availability": Availability,
    "study": Scope,
    "package": PackageSpec,
}

_LISTS: Mapping[str, type[Any]] = {"table": TableSpec, REGRESSION: Regression}
"""Sections of which a study file may have several, [[name]]."""

_WHY: tuple[tuple[str, str, str], ...] = (
    (
        r"has no fate",
        "A file that is published has to say of each column what becomes of it; nothing is "
        "published because somebody forgot it.",
        "where-a-bound-may-come-from",
    ),
    (
        r"from file: confirm",
        "Names, types, formats and labels come from a confidential file and are published as they "
        "stand: somebody must have read them. Confirm them under [header].",
        "not-from-the-data",
    ),
    (
        r"\bmissing\b",
        "Whether a value is missing can tell something about a person, so it has to be public "
        "which missing codes are possible.",
        "missing-answers",
    ),
    (
        r"bounds|levels|bins|values|domain",
        "The noise hides the largest change that one person can make within the values that are "
        "possible. They must come from the questionnaire and not from the data.",
        "where-a-bound-may-come-from",
    ),
    (
        r"epsilon|budget|ledger",
        "What is spent on people adds up for ever, so a release must fit into a total.",
        "what-width-costs",
    ),
)


class StaleError(StudyError):
    """The study file is not the one that the page shows."""


@dataclass
class Desk:
    """A study file and the header of its data, as the page works on them.

    Parameters
    ----------
    path : Path
        The study file.
    do : tuple of Path
        Do-files whose regressions are judged, instead of those of ``[package]``.
    """

    path: Path
    do: tuple[Path, ...] = ()
    _undo: list[tuple[bytes, str]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _header: tuple[tuple[Any, ...], Schema, int | None] | None = None
    _offer: tuple[str, Offer] | None = None

    # -- what there is -------------------------------------------------------------------------

    def revision(self) -> str:
        """Return the hash of the study file's bytes; two windows compare it."""
        return hashlib.sha256(self._bytes()).hexdigest()

    def study(self) -> Study:
        """Return the study as its file says it now."""
        return study_from(read_toml(self.path, StudyError), self.path)

    def state(self) -> dict[str, Any]:
        """Return everything that the page shows, as JSON-ready values."""
        with self._lock:
            revision = self.revision()
            found: dict[str, Any] = {
                "revision": revision,
                "study_file": self.path.name,
                "folder": str(self.path.parent.resolve()),
                "can_undo": bool(self._undo) and self._undo[-1][1] == revision,
                "choices": CHOICES,
                "more": {name: MEANINGS[name] for name in MORE},
                "error": "",
            }
            try:
                document = read_toml(self.path, StudyError)
                study = study_from(document, self.path)
                header, rows = self.header(study)
            except DprctError as error:
                return {**found, "error": str(error), "columns": [], "sections": [], "open": []}
            open_points = study.problems(header, rows, confirm=study.release.confirm)
            return {
                **found,
                "data": study.data.name,
                "rows": rows,
                "label": shown(header.file.label),
                "from_header": study.data.suffix.lower() == ".dta",
                "sha256": study.sha256,
                "method": study.release.method,
                "epsilon": study.release.epsilon,
                "promises": study.promises,
                "columns": [self._column(study, header, column) for column in header.columns],
                "sections": self._sections(document, study),
                "open": [_explained(point, header.names) for point in open_points],
                "ledger": self._ledger(study),
                "output": study.output.name,
                "output_there": study.output.exists(),
            }

    def header(self, study: Study) -> tuple[Schema, int | None]:
        """Return schema and rows of the data, read again when the file has changed."""
        key = _version(study.data)
        if self._header is None or self._header[0] != key:
            self._header = (key, *facts_of_file(study.data, study.names))
        _, schema, rows = self._header
        return schema, rows_of(study, rows)

    def _column(self, study: Study, header: Schema, column: Column) -> dict[str, Any]:
        facts = study.columns.get(column.name, {})
        labels = header.labels_of(column.name)
        codes, missing = implied(header, column)
        try:
            declared(column, facts)
            refused = ""
        except DprctError as error:
            refused = str(error)
        listed = [f"{code} {shown(text)}" for code, text in labels.items()]
        return {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "label": shown(column.label),
            "labels": listed[:_MOST_LABELS],
            "more_labels": max(len(listed) - _MOST_LABELS, 0),
            "facts": {name: shown_fact(facts.get(name)) for name in DECLARABLE},
            "offered": {"levels": shown_fact(codes), "missing": " ".join(missing)} if codes else {},
            "text": column.is_text,
            "refused": refused,
        }

    def _sections(self, document: Mapping[str, Any], study: Study) -> list[dict[str, Any]]:
        """Return the sections that the method reads, each with its fields."""
        parts = parts_of(study.release.method)
        reads = [part for part in parts if part != "formula" and part not in _LISTS]
        names = ["study", "release", *reads, "unit", "budget", "header", "declared"]
        names += ["availability", "package"]
        found = []
        for name in dict.fromkeys(names):
            besides: tuple[str, ...] = ()
            if name in METHODS:
                besides = given_elsewhere(name)
                besides += spec_of(name).formula_gives if study.release.formula else ()
            fields = form(_KINDS[name], document.get(name), besides)
            for one in fields:
                if name == "release" and one["key"] == "method":
                    one["choices"] = [*dict.fromkeys(("calibrated", "moments", *METHODS))]
            found.append({"name": name, "at": [name], "fields": fields, "there": name in document})
        lists = [name for name in _LISTS if name in parts or (name == "table" and study.makes_file)]
        for name in lists:
            tables = document.get(name, [])
            for place, table in enumerate([*tables, {}]):
                found.append(
                    {
                        "name": name,
                        "at": [name, place],
                        "fields": form(_LISTS[name], table),
                        "there": place < len(tables),
                    }
                )
        return found

    def _ledger(self, study: Study) -> dict[str, Any] | None:
        """Spending so far, without the hash of the data; None if there is no ledger."""
        try:
            found = find_ledger(study.data, study.dataset_id)
        except DprctError as error:
            return {"error": str(error)}
        if found is None:
            return None
        return {
            "dataset_id": found.dataset_id,
            "total": float(found.total.epsilon),
            "spent": float(found.spent.epsilon),
            "words": f"{found.spent} of {found.total} is spent, {found.remaining} is left",
            "entries": [
                {
                    "id": entry.id,
                    "when": entry.when,
                    "method": entry.method.split(" (")[0],
                    "epsilon": float(entry.budget.epsilon) if entry.priced else 0.0,
                    "saved": entry.priced and found.is_saved(entry.id),
                }
                for entry in found.ledger
            ],
        }

    # -- changes -------------------------------------------------------------------------------

    def edit(self, revision: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Write changes into the study file, all or none.

        Parameters
        ----------
        revision : str
            Of the file that the page shows.
        changes : sequence of mapping
            Each with ``at``, a path such as ``["columns", "age", "bounds"]``, and ``typed``, what
            was typed there; empty takes the declaration away.
        """
        with self._lock:
            self._check_revision(revision)
            before = read_toml(self.path, StudyError)
            document = copy.deepcopy(before)
            for change in changes:
                _change(document, change)
            study = study_from(document, self.path)
            self._check_columns(study, before, changes)
            self._write(merged(self.path, document, StudyError))

    def undo(self, revision: str) -> None:
        """Take the last change back, if nothing else has changed the file since."""
        with self._lock:
            self._check_revision(revision)
            if not self._undo or self._undo[-1][1] != revision:
                raise StudyError("there is nothing to undo: the page has not made the last change")
            text, _ = self._undo.pop()
            with atomic_write(self.path) as file:
                file.write(text)

    def _write(self, text: bytes) -> None:
        before = self._bytes()
        with atomic_write(self.path) as file:
            file.write(text)
        self._undo.append((before, hashlib.sha256(text).hexdigest()))
        del self._undo[:-_MOST_UNDONE]

    def _check_revision(self, revision: str) -> None:
        if revision != self.revision():
            raise StaleError(
                "the study file was changed elsewhere, in another window or by an editor; it is "
                "shown here as it is now: look at it, and make your change again"
            )

    def _check_columns(
        self, study: Study, before: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
    ) -> None:
        """Refuse a declaration that its column refuses; one that was wrong before may be mended."""
        header, _ = self.header(study)
        named = [change["at"][1] for change in changes if change["at"][0] == "columns"]
        for name in dict.fromkeys(named):
            column = header.column(name)
            try:
                declared(column, study.columns.get(name, {}))
            except DprctError:
                try:
                    declared(column, before.get("columns", {}).get(name, {}))
                except DprctError:
                    continue
                raise

    def _bytes(self) -> bytes:
        try:
            return disk.content(self.path, disk.MOST_TOML)
        except OSError as error:
            raise disk.file_error(error, self.path, "read") from None

    # -- plan and release ----------------------------------------------------------------------

    def plan(self) -> str:
        """Return the plan as the header alone gives it; a sentence where the rows are needed."""
        with self._lock:
            study = self.study()
            found = header_plan(study, *self.header(study))
        if found is None:
            return "The plan of this method needs the rows: it is shown before you are asked."
        return str(found)

    def sizes(self) -> dict[str, Any] | None:
        """Return K, t and the survivors of a histogram, also while other points are open."""
        with self._lock:
            study = self.study()
            try:
                found = combinations(study, *self.header(study))
            except DprctError:  # a modelled column has blanks, which are among the open points
                return None
        return None if found is None else asdict(found)

    def verdicts(self) -> dict[str, Any]:
        """Verdicts on the regressions of the do-files, as ``dprct check`` prints them."""
        with self._lock:
            study = self.study()
            files = self.do or study.do_files
            if not files:
                return {"files": [], "summary": [], "rows": []}
            found = of_study(files, study)
        return {
            "files": [path.name for path in files],
            "summary": summary(found),
            "rows": [asdict(one.worth()) | {"remedy": one.remedy} for one in found],
        }

    def errors_at(self, epsilon: float) -> list[dict[str, Any]]:
        """Return the expected errors at an epsilon."""
        with self._lock:
            study = self.study()
            header, rows = self.header(study)
        return [asdict(one) for one in expected_errors(study, header, rows, epsilon)]

    def offer(self, revision: str, *, accept_no_guarantee: bool) -> dict[str, Any]:
        """Seal the facts, read the data for the first time, and return what would be released."""
        with self._lock:
            self._check_revision(revision)
            study = self.study()
            refuse_unpromised(study, accepted=accept_no_guarantee)
            check_places(study)
            found = offered(study)
            found.check()
            approved = found.sha256
            self._offer = (approved, found)
            return {
                "sha256": approved,
                "plan": str(found.plan),
                "words": found.words,
                "note": found.also_charged,
                "output": study.output.name,
                "again": study.output.exists(),
            }

    def take(self, sha256: str) -> dict[str, Any]:
        """Release what was offered: charge, draw, write. An offer can be taken once."""
        with self._lock:
            if self._offer is None or self._offer[0] != sha256:
                raise StudyError("there is no such offer, or it was taken; open the data again")
            found = self._offer[1]
            self._offer = None
            if self.study().sha256 != found.study.sha256:
                raise StaleError(
                    "the study file was changed after the data were opened; open them again"
                )
            return self._told(found, found.taken())

    def _told(self, offer: Offer, made: Made) -> dict[str, Any]:
        first = made.paths[0]
        text = ""
        if offer.study.makes_file:
            text = disk.content(certificate_paths(first)[0], disk.MOST_JSON).decode("utf-8")
        with as_in_a_file():
            summary = str(made.result.summary())
        return {
            "summary": summary,
            "certificate": text,
            "tables": _tables(offer.study),
            "files": [str(path) for path in made.paths],
            "charged": offer.cost is not None,
        }


def opened(
    data: Path,
    study_file: Path | None,
    filled: Prefill | None = None,
    do: tuple[Path, ...] = (),
) -> Desk:
    """Return the desk of a data file; a study file with blanks is written if there is none."""
    path = data.with_suffix(".toml") if study_file is None else study_file
    desk = Desk(path, do)
    if path.exists():
        study = desk.study()
        if not _is_same(study.data, data):
            raise FileError(
                f"{path.name!r} is the study file of {study.data.name!r}, not of {data.name!r}; "
                "name another with --study"
            )
        return desk
    key, facts = _version(data), facts_of_file(data)
    if stata_names(facts[0].names):
        facts = facts_of_file(data, "stata")
    text = draft(facts[0], data, path, filled).encode("utf-8", "replace")
    with atomic_write(path) as file:
        file.write(text)
    found = desk.study().data
    if _version(found)[1:] == key[1:]:  # a large .csv takes long to read: not twice
        desk._header = (_version(found), *facts)
    return desk


def _tables(study: Study) -> list[str]:
    """Return the declared tables as the protected file gives them, and why one cannot be made."""
    if not study.tables:
        return []
    found = declared_tables(study, "protected")
    others = {**found.withheld, **found.failed}
    return [table.to_text() for table in found.made.values()] + [
        f"{name}: {reason}" for name, reason in others.items()
    ]


def _version(path: Path) -> tuple[Path, int, int]:
    """State of the file, which changes if the file does."""
    try:
        facts = path.stat()
    except OSError as error:
        raise disk.file_error(error, path, "read") from None
    return path, facts.st_mtime_ns, facts.st_size


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _change(document: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Make one change to a parsed study file."""
    at, typed = change.get("at"), change.get("typed")
    if not isinstance(at, list) or not isinstance(typed, str):
        raise StudyError("a change has to say where (at) and what (typed); reload the page")
    match at:
        case ["columns", str(name), str(key)]:
            _put(_within(document, "columns", name), key, fact(key, typed))
        case [str(name), int(place), str(key)] if name in _LISTS:
            _change_listed(document, name, place, key, typed)
        case [str(name), int(place)] if name in _LISTS and not typed:
            if not 0 <= place < len(document.get(name, [])):
                raise StudyError(f"there is no such {name}; reload the page")
            del document[name][place]
            if not document[name]:
                del document[name]
        case [str(name)] if name in _KINDS and not typed:
            document.pop(name, None)
        case [str(name), str(key)] if name in _KINDS:
            value = section_value(_KINDS[name], key, typed)
            if value is not None or name in document:
                _put(_within(document, name), key, value)
                if not document[name]:
                    del document[name]
        case _:
            raise StudyError("a change names no place of a study file; reload the page")


def _change_listed(document: dict[str, Any], name: str, place: int, key: str, typed: str) -> None:
    tables = document.setdefault(name, [])
    if not 0 <= place <= len(tables):
        raise StudyError(f"there is no such {name}; reload the page")
    value = section_value(_LISTS[name], key, typed)
    if place == len(tables):
        if value is None:
            return
        tables.append({})
    _put(tables[place], key, value)
    if not tables[place]:
        del tables[place]
    if not tables:
        del document[name]


def _within(document: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        document = document.setdefault(name, {})
    return document


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _explained(point: str, names: Sequence[str]) -> dict[str, str]:
    """Return an open point with its column, why it is asked, and where to read more."""
    column = re.search(r"column '([^']+)'", point)
    why, anchor = next(((w, a) for form, w, a in _WHY if re.search(form, point)), ("", ""))
    named = column[1] if column and column[1] in names else ""
    return {"point": point, "column": named, "why": why, "anchor": anchor}
