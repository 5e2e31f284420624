"""The study on the desk: what the page shows of it, and every change that the page may make.

The study file on the disk is the only truth: each change is read from it and written to it, with
its comments, so that two windows, an editor and the command line can take turns.  Everything that
is checked is checked by :mod:`dprct.study`.  Of a .dta file the header is read and nothing else,
until :meth:`Desk.offer` is asked for a release.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import threading
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.app.ahead import all_points
from dprct.app.categories import chosen, factors, recast
from dprct.app.fields import CHOICES, fact, section_value, shown_fact
from dprct.app.forms import KINDS, LISTED, keys, kind_listed, sections
from dprct.app.leading import (
    FAMILIES,
    family_of,
    follow,
    from_do_files,
    guessed,
    implied,
    method_of,
    proposals,
    roles_of,
    turned,
)
from dprct.app.narrowing import JOINT, crowded, narrowed
from dprct.app.outlook import outlook
from dprct.app.packing import new_folder, packaged, verified, verified_package
from dprct.app.points import refusal
from dprct.app.releasing import ledger_state, named_files, shown_result
from dprct.app.words import FACTS as MEANINGS
from dprct.app.words import IN_A_SURVEY, METHOD_NAMES, in_fields, label, plain
from dprct.disk import atomic_write, read_toml
from dprct.errors import DprctError, FileError, StudyError
from dprct.io.stata.names import stata_names
from dprct.records import dataclass
from dprct.schema.columns import date_kind, shown
from dprct.schema.facts import DECLARABLE, INTEGER_LIMITS
from dprct.schema.schema import declared
from dprct.schema.toml import merged
from dprct.study.draft import draft
from dprct.study.draft import implied as suggested
from dprct.study.header_plan import combinations, header_plan
from dprct.study.headers import FactsOfFile, facts_of_file
from dprct.study.methods import ESTIMATES, METHODS, UNPROMISED
from dprct.study.offer import Offer, offered, refuse_unpromised, written_again
from dprct.study.package import check_package_of
from dprct.study.protect import check_places
from dprct.study.release_section import release_from
from dprct.study.study import Study, study_from
from dprct.study.verdicts import of_study, summary
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dprct.app.narrowing import Crowded
    from dprct.app.points import Point
    from dprct.io.stata.names import Names
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.study.prefill import Prefill

FACTS = ("role", "fate", "levels", "bounds", "bins", "missing", "sd")
"""The facts that stand on the page with their column."""

MORE = tuple(name for name in DECLARABLE if name not in FACTS)
"""The rarer facts, which the page shows for one column at a time."""

AFTER = {"verify": verified, "package": packaged, "verify_package": verified_package}
"""What a button does after a release, by its name."""

_MOST_LABELS = 12
_MOST_UNDONE = 200


class StaleError(StudyError):
    """The study file is not the one that the page shows."""


@dataclass(frozen=True)
class _Now:
    """What the study file says at this moment."""

    document: dict[str, Any]
    study: Study | None  # None while the file says no whole study; ``refused`` says why
    refused: str
    header: Schema
    rows: int | None


@dataclass
class Desk:
    """A study file and the header of its data, as the page works on them."""

    path: Path  # the study file
    # Do-files whose regressions are judged, instead of those of ``[package]``.
    do: tuple[Path, ...] = ()
    _undo: list[tuple[bytes, str]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _header: tuple[tuple[Any, ...], FactsOfFile] | None = None
    _points: tuple[tuple[str, ...], list[Point]] = ((), [])
    _full: tuple[str, Crowded | None] = ("", None)
    _offer: tuple[str, Offer] | None = None
    _working: threading.Lock = field(default_factory=threading.Lock)
    _work: str = ""
    _is_read: bool = False
    _charges: int = 0
    _put_aside: dict[str, dict[str, Any]] = field(default_factory=dict)

    # -- what there is -------------------------------------------------------------------------

    def revision(self) -> str:
        """Return the hash of the study file's bytes; two windows compare it."""
        return hashlib.sha256(self._bytes()).hexdigest()

    def study(self) -> Study:
        """Return the study as its file says it now."""
        return study_from(read_toml(self.path, StudyError), self.path)

    def text(self) -> str:
        """The study file as it is written."""
        return self._bytes().decode("utf-8", "replace")

    def _now(self, document: dict[str, Any]) -> _Now:
        """Read what a parsed study file says, whole or not."""
        try:
            study, refused = study_from(document, self.path), ""
        except DprctError as error:
            study, refused = None, str(error)
        if study is None:
            data, names = document.get("data"), document.get("names", "same")
            if not isinstance(data, str) or not data or names not in ("same", "stata"):
                raise StudyError(refused)
            facts = self._facts(self.path.parent / data, names)
            header, rows = facts.schema, facts.rows
        else:
            header, rows = self.header(study)
        return _Now(document, study, refused, header, rows)

    def state(self) -> dict[str, Any]:
        """Return everything that the page shows, as JSON-ready values."""
        with self._lock:
            revision = self.revision()
            found: dict[str, Any] = {
                "revision": revision,
                "study_file": self.path.name,
                "folder": str(self.path.parent.resolve()),
                "can_undo": bool(self._undo) and self._undo[-1][1] == revision,
                "text": self.text(),
                "choices": CHOICES,
                "labels": {name: label(name) for name in DECLARABLE},
                "meanings": {name: plain(MEANINGS[name]) for name in DECLARABLE},
                "more": [*MORE],
                "work": self._work,
                "error": "",
            }
            try:
                now = self._now(read_toml(self.path, StudyError))
            except DprctError as error:
                return {**found, "error": str(error), "columns": [], "sections": [], "open": []}
            return {**found, **self._shown(now), **self._released(now.study)}

    def _shown(self, now: _Now) -> dict[str, Any]:
        """What is declared, and what is open."""
        document, names = now.document, now.header.names
        method, study, full = method_of(document), now.study, self._crowded(now)
        release = document.get("release", {})
        return {
            "data": str(document["data"]),
            "rows": now.rows,
            "label": shown(now.header.file.label),
            "from_header": str(document["data"]).lower().endswith(".dta"),
            "sha256": "" if study is None else study.sha256,
            "method": method,
            "methods": _methods(family_of(document)),
            "family": family_of(document),
            "proposals": {
                family: asdict(one) for family, one in proposals(document, names, full).items()
            },
            "epsilon": release.get("epsilon", 1.0) if isinstance(release, dict) else 1.0,
            "delta": release.get("delta", 0.0) if isinstance(release, dict) else 0.0,
            "unit": "person" if study is None else study.protected.name,
            "promises": method not in UNPROMISED,
            "makes_file": method not in ESTIMATES,
            "roles": dict(roles_of(document, names).found),
            "columns": [self._column(document, now.header, one) for one in now.header.columns],
            "sections": sections(document, method, survey=family_of(document) == "survey"),
            "guessed": guessed(document, now.header, family_of(document)),
            "open": self._open(now, full if method == JOINT else None),
            "do_files": [path.name for path in self._do_files(now)],
            "no_do_files": [path.name for path in self._do_files(now) if not path.exists()],
            "output": "" if study is None else study.output.name,
            "output_there": study is not None and study.output.exists(),
        }

    def _crowded(self, now: _Now) -> Crowded | None:
        """Why a file of all combinations would be refused, for a survey; else None."""
        if family_of(now.document) != "survey" or now.study is None or now.rows is None:
            return None
        key = now.study.sha256
        if self._full[0] != key:
            self._full = key, crowded(now.document, self.path, now.header, now.rows)
        return self._full[1]

    def _open(self, now: _Now, full: Crowded | None) -> list[dict[str, Any]]:
        """Everything that keeps the study from being released."""
        if now.study is None:
            said = [now.refused, *self._refused_columns(now)]
        else:
            confirm = now.study.release.confirm
            said = now.study.problems(now.header, now.rows, confirm=confirm)
            # a column that is refused for want of possible values has no facts yet: that is said
            tables = now.document.get("columns", {})
            stated = {
                f"column {name!r} has no fate"
                for name, facts in tables.items()
                if isinstance(facts, dict) and facts.get("fate")
            }
            said = [point for point in said if point not in stated]
        key = (self.revision(), *said)
        if self._points[0] != key:
            found = all_points(said, now.document, self.path, now.header, now.rows)
            self._points = key, found
        return [narrowed(one, full).as_json() for one in self._points[1]]

    def _refused_columns(self, now: _Now) -> list[str]:
        tables = now.document.get("columns", {})
        return [
            refused
            for column in now.header.columns
            if (refused := _refused(column, tables.get(column.name, {})))
        ]

    def _released(self, study: Study | None) -> dict[str, Any]:
        """What was charged and released, as ledger and files say it, and what is offered now."""
        if study is None:
            return {"ledger": None, "offer": None, "stage": 0}
        offer = None
        if self._offer is not None and self._offer[1].study.sha256 == study.sha256:
            offer = self._told_offer(*self._offer)
        ledger = ledger_state(study)
        return {"ledger": ledger, "offer": offer, "stage": self._stage(ledger)}

    def _stage(self, ledger: Mapping[str, Any] | None) -> int:
        """How many stages of the work are done: of a release it is what its ledger says."""
        if self._work == "reading":
            return int(self._is_read)
        new = [] if ledger is None else ledger.get("entries", [])[self._charges :]
        return 0 if self._work != "protecting" or not new else 1 + new[-1]["saved"]

    def header(self, study: Study) -> tuple[Schema, int | None]:
        """Return schema and rows of the data, read again when the file has changed."""
        return self._facts(study.data, study.names).with_rows(study)

    def _facts(self, data: Path, names: Names) -> FactsOfFile:
        key = (*_version(data), names)
        if self._header is None or self._header[0] != key:
            self._header = key, facts_of_file(data, names)
        return self._header[1]

    def _column(
        self, document: Mapping[str, Any], header: Schema, column: Column
    ) -> dict[str, Any]:
        tables = document.get("columns", {})
        facts = tables.get(column.name, {}) if isinstance(tables, dict) else {}
        facts = facts if isinstance(facts, dict) else {}
        labels = header.labels_of(column.name)
        codes, missing = suggested(header, column)
        listed = [f"{code} {shown(text)}" for code, text in labels.items()]
        return {
            "name": column.name,
            "kind": _kind(column),
            "label": shown(column.label),
            "labels": listed[:_MOST_LABELS],
            "more_labels": max(len(listed) - _MOST_LABELS, 0),
            "facts": {name: shown_fact(facts.get(name)) for name in DECLARABLE},
            "offered": {"levels": shown_fact(codes), "missing": " ".join(missing)} if codes else {},
            "text": column.is_text,
            "refused": _refused(column, facts),
            "later": _later(column, facts),
            "recast": recast(document, header, column.name),
        }

    # -- changes -------------------------------------------------------------------------------

    def edit(self, revision: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """Write changes into the study file, all or none, and what follows from them.

        A value that is wrong by itself is refused.  What the study still lacks, or what does not
        go together yet, is an open point: a form is filled in one field at a time.

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
            now = self._now(before)
            own = chosen(before, now.header)
            followed = _implied(before, now, own)
            document = copy.deepcopy(before)
            # the method is changed before its own sections are
            for change in sorted(changes, key=lambda one: one.get("at") != ["release", "method"]):
                _change(document, change, self._put_aside, followed)
            _check_by_itself(before, document)
            self._check_columns(now.header, document, before, changes)
            follow(
                document,
                followed,
                _implied(document, now, own),
                [tuple(change["at"]) for change in changes if change["typed"].strip()],
            )
            self._write(merged(self.path, document, StudyError))

    def take_do_files(self, revision: str) -> None:
        """Give roles to columns, and declare regressions, as the do-files have them."""
        from dprct.study.do_files import read_do
        from dprct.study.prefill import prefilled

        with self._lock:
            self._check_revision(revision)
            now = self._now(read_toml(self.path, StudyError))
            names = now.header.names
            arms, files = roles_of(now.document, names).of("treatment"), self._do_files(now)
            if not arms or not files:
                raise StudyError(
                    "name your do-files in step 1, and say here which column is treatment"
                )
            dataset = Path(now.document["data"]).name
            reading = read_do([*files], now.header, treatments=[*arms], dataset=dataset)
            self.edit(revision, from_do_files(now.document, prefilled(reading, names, arms)))

    def _do_files(self, now: _Now) -> tuple[Path, ...]:
        """Do-files of the study, which need not be whole to have some."""
        if self.do or now.study is not None:
            return self.do or (now.study.do_files if now.study is not None else ())
        package = now.document.get("package", {})
        named = package.get("do", []) if isinstance(package, dict) else []
        listed = named if isinstance(named, list) else []
        return tuple(self.path.parent / name for name in listed if isinstance(name, str))

    def write(self, revision: str, text: str) -> None:
        """Write the study file as a person typed it, if it is TOML."""
        with self._lock:
            self._check_revision(revision)
            disk.toml_document(text, self.path, StudyError)
            self._write(text.encode("utf-8"))

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
        self,
        header: Schema,
        document: Mapping[str, Any],
        before: Mapping[str, Any],
        changes: Sequence[Mapping[str, Any]],
    ) -> None:
        """Refuse a declaration that its column refuses; one that was wrong before may be mended."""
        named = [change["at"][1] for change in changes if change["at"][0] == "columns"]
        for name in dict.fromkeys(named):
            column = header.column(name)
            if not _refused(column, before.get("columns", {}).get(name, {})):
                declared(column, document.get("columns", {}).get(name, {}))

    def _bytes(self) -> bytes:
        try:
            return disk.content(self.path, disk.MOST_TOML)
        except OSError as error:
            raise disk.file_error(error, self.path, "read") from None

    # -- plan and release ----------------------------------------------------------------------

    def plan(self, clusters: int | None = None) -> str:
        """Return the plan as the header alone gives it; a sentence where the rows are needed."""
        with self._lock:
            study = self.study()
            found = header_plan(study, *self.header(study), clusters=clusters)
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
        known = {key for of in keys().values() for key in of}
        return {
            "files": [path.name for path in files],
            "summary": summary(found),
            "rows": [
                asdict(one.worth())
                | {
                    "reason": in_fields(one.worth().reason, known),
                    "remedy": in_fields(one.remedy, known),
                    "also": [in_fields(said, known) for said in one.also],
                }
                for one in found
            ],
        }

    def outlook(self, epsilon: float, clusters: int | None = None) -> dict[str, Any]:
        """What will come out at an epsilon, from public facts alone."""
        with self._lock:
            study = self.study()
            header, rows = self.header(study)
        return outlook(study, header, rows, epsilon, clusters)

    def offer(self, revision: str, *, accept_no_guarantee: bool) -> dict[str, Any]:
        """Seal the facts, read the data for the first time, and return what would be released."""
        with self._lock:
            self._check_revision(revision)
            study = self.study()
        with self._at_work("reading"):
            self._offer, self._is_read = None, False
            refuse_unpromised(study, accepted=accept_no_guarantee)
            check_places(study)
            found = offered(study, after_reading=self._note_read)
            check_package_of(study)
            found.check()
            self._offer = (found.sha256, found)
            return self._told_offer(*self._offer)

    def _note_read(self) -> None:
        self._is_read = True

    def _told_offer(self, approved: str, found: Offer) -> dict[str, Any]:
        return {
            "sha256": approved,
            "plan": str(found.plan),
            "words": found.words,
            "note": found.also_charged,
            "output": found.study.output.name,
            "again": found.study.output.exists(),
        }

    def refusal(self, error: DprctError) -> dict[str, Any]:
        """What is refused, in the words of the page, and what a button can do about it."""
        said = in_toml(error)
        with contextlib.suppress(DprctError):
            return refusal(said, method_of(read_toml(self.path, StudyError)), keys())
        return {"error": in_fields(said, METHODS)}

    def withdraw(self) -> None:
        """Take an offer back; nothing was charged."""
        self._offer = None

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
        with self._at_work("protecting"):
            ledger = ledger_state(found.study)
            self._charges = 0 if ledger is None else len(ledger.get("entries", ()))
            made = found.taken()
            return shown_result(found.study, made.result) | {
                "files": [str(path) for path in made.paths],
                "charged": found.cost is not None,
            }

    def resume(self, entry: str) -> dict[str, Any]:
        """Write again what a ledger entry paid for and saved; nothing is charged."""
        study = self.study()
        with self._at_work("resuming"):
            return shown_result(study, written_again(study, entry).result)

    def result(self) -> dict[str, Any] | None:
        """What was released, from the files that hold it; None where there are none."""
        study = self.study()
        return shown_result(study) if study.output.exists() else None

    def after(self, deed: str) -> dict[str, Any]:
        """Verify what was released, make its package, or verify that; nothing is charged."""
        if deed not in AFTER:
            raise StudyError("there is no such button; reload the page")
        study = self.study()
        with self._at_work("packing" if deed == "package" else "verifying"):
            return AFTER[deed](study)

    def make_folder(self, revision: str) -> None:
        """Make a replication folder with the do-files, and name it in the study file."""
        with self._lock:
            self._check_revision(revision)
            self.edit(revision, new_folder(self.study()))

    def released_file(self, name: str) -> bytes:
        """Content of a file that was released; any other name is refused."""
        study = self.study()
        found = {path.name: path for path in named_files(study)}
        if name not in found:
            raise FileError("no released file has this name; reload the page")
        return found[name].read_bytes()

    @contextlib.contextmanager
    def _at_work(self, what: str) -> Iterator[None]:
        """Hold other windows back from working on the data at the same time."""
        if not self._working.acquire(blocking=False):
            raise StudyError("another window is at work on these data; wait until it has ended")
        self._work = what
        try:
            yield
        finally:
            self._work = ""
            self._working.release()


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
        named = read_toml(path, StudyError).get("data")
        if isinstance(named, str) and _is_same(path, data):
            raise FileError(
                f"{data.name!r} is a study file; give the data that it names, {named!r}"
            )
        if isinstance(named, str) and not _is_same(path.parent / named, data):
            raise FileError(
                f"{path.name!r} is the study file of {named!r}, not of {data.name!r}; "
                "name another with --study"
            )
        with contextlib.suppress(DprctError):  # the page says why
            desk.header(desk.study())
        return desk
    key, facts, names = _version(data), facts_of_file(data), "same"
    if stata_names(facts.schema.names):
        facts, names = facts_of_file(data, "stata"), "stata"
    drafted = draft(facts.schema, data, path, filled, whole=facts.whole, asks_of_text=True)
    text = drafted.encode("utf-8", "replace")
    with atomic_write(path) as file:
        file.write(text)
    found = desk.study().data
    if _version(found)[1:] == key[1:]:  # a large .csv takes long to read: not twice
        desk._header = (*_version(found), names), facts
    return desk


def _version(path: Path) -> tuple[Path, int, int]:
    """State of the file, which changes if the file does."""
    try:
        facts = path.stat()
    except OSError as error:
        raise disk.file_error(error, path, "read") from None
    return path, facts.st_mtime_ns, facts.st_size


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _refused(column: Column, facts: object) -> str:
    """Why a column refuses what is declared of it; empty if it does not."""
    try:
        declared(column, facts)
    except DprctError as error:
        return str(error)
    return ""


def _implied(
    document: Mapping[str, Any], now: _Now, own: Mapping[str, bool]
) -> dict[tuple[str, ...], Any]:
    """What a study file implies, where ``own`` says which covariates are groups."""
    of = factors(document, now.header, own)
    return implied(document, now.header.names, now.rows, of)


def _later(column: Column, facts: Mapping[str, Any]) -> list[str]:
    """Fates of a text that need its possible values, which nobody has listed yet."""
    if not column.is_text or facts.get("levels"):
        return []
    is_free = replace(column, role=facts.get("role")).is_free_text
    return ["modelled", "filler", *["public"] * is_free]


def _kind(column: Column) -> str:
    """What a column holds, and how Stata stores it where it comes from there."""
    stored = f" ({column.type} {column.format})" if column.format and not column.is_text else ""
    if column.is_text:
        return "text"
    if date_kind(column.format):
        return "date"
    return ("whole numbers" if column.type in INTEGER_LIMITS else "numbers") + stored


def _methods(family: str) -> list[dict[str, Any]]:
    """Every method that a study may have, with its first sentence."""
    names = {**METHOD_NAMES, **(IN_A_SURVEY if family == "survey" else {})}
    return [
        {
            "key": key,
            "name": names[key][0],
            "about": names[key][1],
            "families": [family for family, of in FAMILIES.items() if key in of],
            "promises": key not in UNPROMISED,
            "makes_file": key not in ESTIMATES,
        }
        for key in dict.fromkeys([*(key for of in FAMILIES.values() for key in of), *METHODS])
    ]


def _check_by_itself(before: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Refuse what is wrong in ``[release]`` by itself, unless it was wrong before."""
    try:
        release_from(document)
    except DprctError:
        try:
            release_from(before)
        except DprctError:
            return
        raise


def _change(
    document: dict[str, Any],
    change: Mapping[str, Any],
    put_aside: dict[str, dict[str, Any]],
    followed: Mapping[tuple[str, ...], Any],
) -> None:
    """Make one change to a parsed study file."""
    at, typed = change.get("at"), change.get("typed")
    if not isinstance(at, list) or not isinstance(typed, str):
        raise StudyError("a change has to say where (at) and what (typed); reload the page")
    match at:
        case ["columns", str(name), str(key)]:
            _put(_within(document, "columns", name), key, fact(key, typed))
        case ["release", "method"] if typed.strip():
            method = typed.strip()
            if method not in METHODS:
                raise StudyError(f"method = {method!r}; allowed: {', '.join(METHODS)}")
            if method != method_of(document):
                turned(document, method, put_aside, followed)
        case [str(name), int(place), str(key)] if name in LISTED:
            _change_listed(document, name, place, key, typed)
        case [str(name), int(place)] if name in LISTED and not typed:
            if not 0 <= place < len(document.get(name, [])):
                raise StudyError(f"there is no such {name}; reload the page")
            del document[name][place]
            if not document[name]:
                del document[name]
        case [str(name)] if name in KINDS and not typed:
            document.pop(name, None)
        case [str(name), str(key)] if name in KINDS:
            value = section_value(KINDS[name], key, typed)
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
    table = tables[place] if place < len(tables) else {}
    value = section_value(kind_listed(name, table), key, typed)
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
