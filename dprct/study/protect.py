"""From a planned study to a protected file: charge, release, and what is written beside it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from dprct import disk
from dprct.arguments import spelled_out
from dprct.certificate.certificate import Certificate, PermittedDifference
from dprct.certificate.valid_regressions import ARTEFACT, CALIBRATED, Validity
from dprct.disk import atomic_write
from dprct.dofile.varlists import imported_names
from dprct.errors import DprctError, DprctWarning, FileError, StudyError, marked
from dprct.estimate.moments.results import Moments
from dprct.io import read, write
from dprct.io.stata.names import former_names
from dprct.model import Model
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.records import dataclass
from dprct.release.release import ReleaseModel
from dprct.release.verify import verify
from dprct.release.writing import (
    certificate_paths,
    check_target,
    companion,
    is_described,
    refuse_foreign,
    writing_at,
)
from dprct.results.receipt import refuse_second_budget
from dprct.schema.made import label_of
from dprct.study import valid_files
from dprct.study.asked import parts_of
from dprct.study.data_sets import (
    MADE_BY,
    NEVER,
    TEXT_FILE,
    WHOSE,
    facts_of_values,
    others_of,
)
from dprct.study.declared_tables import belongs_to, long_form, written
from dprct.study.do_columns import all_on_derived
from dprct.study.do_files import read_do
from dprct.study.headers import facts_of_file, read_header
from dprct.study.moments_tables import (
    DeclaredMoments,
    check_moments_target,
    moments_files,
    moments_path,
    moments_places,
)
from dprct.study.package_page import OnFile, OnMoments, released
from dprct.study.readme import SEVERAL, PackageNote, TableNote, mark, readme
from dprct.study.ready import (
    bound_model,
    confidential,
    declared_separate,
    ledger,
    of_several,
    planned,
    price,
    rehearse_charge,
    same_data,
    thrice_of,
)
from dprct.study.results_document import (
    check_results_target,
    read_results,
    rehearse_results,
    results_document,
    text_path,
    write_results,
)
from dprct.study.table_gaps import only_of_rows
from dprct.study.tables_of_moments import READ_OFF, UNSERVED, table_of_moments
from dprct.study.verdicts import of_study, of_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from dprct.privacy.budget import Budget
    from dprct.results.itt import ITTTable
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema
    from dprct.study.declared_tables import TableSpec
    from dprct.study.methods import AnyModel
    from dprct.study.results_document import ResultsDocument
    from dprct.study.study import Study


def protected(study: Study, model: ReleaseModel[Any, Any, Any] | AnyModel | None = None) -> Any:
    """Charge the study's ledger (begun if there is none) and return the release, or the estimate.

    What has no guarantee has no price: then no ledger is charged or begun.
    """
    model = bound_model(study) if model is None else model
    plan = planned(study, model)
    plan.check(confirm=study.release.confirm)
    rehearse(study, model, plan)
    cost = price(study, model)
    if cost is not None:
        separate = declared_separate(study, find_ledger(study.data, study.dataset_id))
        refuse_second_budget(same_data(study), study.dataset_id, separate)
    accountant = None if cost is None else ledger(study, cost)
    with _noting_merged(study, accountant):
        return model.fit(
            study.release.epsilon,
            study.release.delta,
            accountant=accountant,
            confirm=study.release.confirm,
            accept_large_delta=study.release.accept_large_delta,
        )


def rehearse(study: Study, model: ReleaseModel[Any, Any, Any] | AnyModel, plan: Plan) -> None:
    """Write what a release would write, without its numbers, and leave nothing."""
    if isinstance(model, ReleaseModel):
        model.rehearse(study.output)
        if found := [why for table in study.tables for why in table.not_arms(model.is_coded)]:
            raise StudyError(found[0])
        return
    _check_results(study)
    method = study.release.method
    also = moments_places(study.output) if method == "moments" else ()
    rehearse_results(study.output, method, model, plan, also)


@contextlib.contextmanager
def _noting_merged(study: Study, accountant: Accountant | None) -> Iterator[None]:
    """Record the hashes of the other files of the data's rows, before the data are charged.

    Another data set of any of these files is then refused a budget of its own, even if the process
    is killed during the draw.  Where the ledger would refuse the charge, nothing is recorded.
    """
    others = study.confidential_files[1:]
    if accountant is None or not others:
        yield
        return
    charges = accountant.charges
    hashes = [disk.sha256(path) for path in others]

    def note() -> None:
        for sha256 in dict.fromkeys(hashes):
            if sha256 not in accountant.contents:
                accountant.note_content(sha256)

    with contextlib.suppress(DprctError):
        rehearse_charge(study, accountant)
        note()
    try:
        yield
    finally:
        if accountant.charges > charges:
            note()


def check_places(study: Study) -> None:
    """Refuse to replace files that are not this study's own."""
    folder = study.path.parent.resolve()
    if study.chosen is None and not study.output.parent.resolve().is_relative_to(folder):
        raise FileError(
            f"{str(study.output)!r} lies outside the folder of the study file, through a link; "
            "give the place on the command line (--output), if it is meant"
        )
    if not study.makes_file:
        _check_results(study)
        return
    check_target(study.output, study.dataset_id)
    companions(study)
    place = place_as_text(study)
    if place is not None:
        refuse_foreign(place, own=_is_the_output_as_text(study, place))
    if study.do_files:
        of_study(study.do_files, study, others_of(study))


@contextlib.contextmanager
def saying_what_is_kept(study: Study, cost: Budget | None, go_on: str) -> Iterator[None]:
    """Say of files that cannot be written that their numbers are kept, and how to go on."""
    try:
        yield
    except DprctError as error:
        if cost is None:
            raise
        if not study.promises:
            raise FileError(
                f"{marked(error)}; the budget of the covariates is charged, and "
                f"{study.release.method} cannot be resumed; correct that, and protect again, which "
                "charges it again"
            ) from None
        raise FileError(
            f"{marked(error)}; the budget is charged, and the released numbers are kept in the "
            f"folder {study.dataset_id}.ledger.released next to the data: correct that, and go on "
            f"with {go_on}"
        ) from None


def written_files(
    study: Study,
    model: ReleaseModel[Any, Any, Any] | AnyModel,
    made: Any,
    do: Sequence[Path] | None = None,
) -> tuple[Path, ...]:
    """Write what was protected or resumed; what it was charged for is not charged again.

    Released moments are written as they are, with their certificate, and what the study declared of
    them is read off.  Certificate and README-data say what the regressions of do-files, by default
    of those that the study names, are worth on the file.
    """
    do = study.do_files if do is None else do
    said = _facts_of(study, do)
    if study.makes_file:
        if do:
            fates = made.certificate().fates
            sets = others_of(study)
            found = of_table(do, study.data.name, made.protected, made.schema, fates, sets)
            worth = [one.worth() for one in found]
            made = replace(made, issued=replace(made.certificate(), regressions=tuple(worth)))
        plain = made.certificate()
        signed = replace(
            plain,
            study=identity_of(study),
            facts={**plain.facts, **said},
            differences=(*plain.differences, *_declared_differences(study, made.schema)),
        )
        made = replace(made, issued=signed)
        with writing_at(study.output):
            as_text = place_as_text(study)
            if as_text is not None:
                as_text.unlink(missing_ok=True)  # of an earlier release, as check_places saw
            certificate = made.write_dta(study.output)
            others = accompany(study, certificate)
            if as_text is None:
                return (study.output, *others)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DprctWarning)  # formats and labels are in the .dta
                write(*read(study.output), as_text)
            return (study.output, as_text, *others)
    assert isinstance(model, Model)
    paid = made.guarantee.budget  # of an entry that is resumed: what was charged then
    plan = model.plan(paid.epsilon, paid.delta, accept_large_delta=True)
    method = study.release.method
    also: dict[Path, str] = {}
    if isinstance(made, Moments):
        _check_results(study)
        place = moments_path(study.output)
        certificate, also = moments_files(made, place, identity_of(study), said)
        made = DeclaredMoments(made, model.spec.declared, certificate)
    document, text = results_document(method, made, model, plan)
    write_results(document, text, study.output, also)
    return (study.output, text_path(study.output), *also)


def _declared_differences(study: Study, released: Schema) -> Iterator[PermittedDifference]:
    """Yield what the study adds to the file of the data, or declares otherwise than its header.

    These are columns, and labels and formats of columns.
    """
    if not (study.derived or study.prepare) and study.data.suffix.lower() != ".dta":
        return
    there = {c.name: c for c in facts_of_file(study.data, study.names).schema.columns}
    for column in released.columns:
        name, old = column.name, there.get(column.name)
        if old is None:
            how = f"is {study.derived[name]}" if name in study.derived else "comes of [[prepare]]"
            yield PermittedDifference("variables", name, f"made by the study: it {how}")
            continue
        for facet in ("label", "format"):
            if getattr(column, facet) != getattr(old, facet):
                yield PermittedDifference(facet, name, "declared by the study")


def _facts_of(study: Study, do: Sequence[Path]) -> dict[str, str]:
    """Return what certificates say of a study: columns that it makes, and several rows of one.

    And of the values of columns in conditions of its do-files.
    """
    said: dict[str, str] = {}
    if several := of_several(study):
        thrice, lost = thrice_of(study.release.epsilon, study.release.delta)
        said[SEVERAL] = f"epsilon={thrice:g}{'' if lost is None else f', {lost}'}; {several}"
    merged = study.merged_facts(read_header(study)) if study.prepare else {}
    made = {f"{MADE_BY}{name}": text for name, text in study.derived.items()}
    schema = study.declared(read_header(study))
    if do:
        of_file = study.of_file(schema)
        rows = all_on_derived(read_do(do, of_file, dataset=study.data.name), study.derived, ())
        words = " ".join(row.sample for row in rows)
        said |= facts_of_values(others_of(study).values, {*re.findall(r"\w+", words)})
    if study.data.suffix.lower() == ".csv":
        said[TEXT_FILE] = f"{study.data.name}: {json.dumps(_in_text_file(schema))}"
    never = [] if study.makes_file else study.never_missing(schema)
    said |= {NEVER: " ".join(never)} if never else {}
    whose = None if study.makes_file else study.unit.repeated_id
    said |= {} if whose is None else {WHOSE: whose}
    return {**merged, **made, **said}


def _in_text_file(schema: Schema) -> dict[str, str]:
    """Names that columns of a .csv file have in it, if it is known what Stata makes of these."""
    former = {new: old for old, new in former_names(schema).items()}
    columns = [column for column in schema.columns if column.derived is None]
    names = [former.get(column.name, column.name) for column in columns]
    return {
        column.name: name
        for column, name, known in zip(columns, names, imported_names(names, "lower"), strict=True)
        if known and column.fate not in ("withheld", "drop")
    }


def identity_of(study: Study) -> str:
    """SHA-256 of what a study asks for, however its file spells it: method, budget, facts."""
    release = study.release
    facts = study.declared(read_header(study)).digest()
    asked = [release.method, release.epsilon, release.delta, facts, study.asked.spec]
    asked += [[*study.derived.items()]] if study.derived else []
    asked += [[(one.part, one.sha256) for one in study.public_files]] if study.public_files else []
    asked += [study.restacks] if study.restacks else []
    return hashlib.sha256(spelled_out(asked).encode("utf-8")).hexdigest()


def released_file(study: Study) -> Path:
    """Place of what is published: the protected file, or the released moments."""
    return study.output if study.makes_file else moments_path(study.output)


def _check_results(study: Study) -> None:
    """Refuse places where the results of an estimate may not be written."""
    check_results_target(study.output, study.dataset_id)
    if study.release.method == "moments":
        check_moments_target(study.output, study.dataset_id)


@dataclass(frozen=True)
class DeclaredTables:
    """The tables that a study declares, as one of its files gives them."""

    made: Mapping[str, ITTTable]  # by name
    withheld: Mapping[str, str]  # those that need the confidential file, with the reason
    failed: Mapping[str, str]  # those that the file cannot give, with the reason


def declared_tables(study: Study, on: Literal["protected", "confidential"]) -> DeclaredTables:
    """Return the tables that a study declares, made from one of its two files."""
    if not study.tables:
        raise StudyError(
            "the study declares no table; write [[table]] with name, outcomes and arms"
        )
    if on == "confidential":
        return _tables(study, OnFile(*confidential(study)), None)
    certificate = protected_certificate(study)
    return _tables(study, released(released_file(study)), certificate)


def _tables(
    study: Study, on: OnFile | OnMoments, certificate: Certificate | None
) -> DeclaredTables:
    """Make every table that can be made; the certificate is that of a protected file."""
    made: dict[str, ITTTable] = {}
    withheld: dict[str, str] = {}
    failed: dict[str, str] = {}
    guarantee = None if certificate is None else certificate.guarantee
    schema = on.schema if isinstance(on, OnFile) else on.moments.schema
    made_here = {name: label_of(text) for name, text in study.derived.items()}
    # a table shows these columns by their names, since their labels are expressions
    bare = [c.name for c in schema.columns if c.label and c.label == made_here.get(c.name)]
    for spec in study.tables:
        if (
            isinstance(on, OnFile)
            and certificate is not None
            and (why := only_of_rows(spec, certificate.fates, Validity.of(on.schema)))
        ):
            withheld[spec.name] = why
            continue
        try:
            made[spec.name] = (
                spec.made(on.data, _without_labels(schema, bare), guarantee)
                if isinstance(on, OnFile)
                else table_of_moments(spec, on.moments, bare)
            )
        except DprctError as error:
            failed[spec.name] = str(error)
    return DeclaredTables(made, withheld, failed)


def _without_labels(schema: Schema, names: Collection[str]) -> Schema:
    """Schema in which some columns have no label."""
    columns = (replace(one, label="") if one.name in names else one for one in schema.columns)
    return replace(schema, columns=tuple(columns))


def place_as_text(study: Study) -> Path | None:
    """Place of the protected file as .csv, which is written where the data came so."""
    if not study.makes_file or study.data.suffix.lower() != ".csv":
        return None
    return study.output.with_suffix(".csv")


def _is_the_output_as_text(study: Study, place: Path) -> bool:
    """Whether a file has the values of the protected file that is there, by its certificate."""
    if not place.is_file() or place.resolve() == study.data.resolve():
        return False
    try:
        return bool(verify(place, certificate_paths(study.output)[1]))
    except DprctError:
        return False


@dataclass(frozen=True)
class Companions:
    """Where the papers next to a protected file go."""

    readme: Path
    expected: Path
    valid: Mapping[str, Path]  # by the names that :func:`valid_texts` gives


def companions(study: Study) -> Companions:
    """Places of README-data.md and expected.csv, under the protected file's name."""
    places = Companions(
        companion(study.output, "README-data.md"),
        companion(study.output, "expected.csv"),
        {name: companion(study.output, name) for name in (valid_files.STATA, valid_files.R)},
    )
    own = mark(study.dataset_id).encode("utf-8")
    refuse_foreign(places.readme, own=disk.begins_with(places.readme, own))
    expected = places.expected
    own_list = expected.exists() and belongs_to(expected, study.dataset_id)
    refuse_foreign(expected, own=own_list)
    for name, place in places.valid.items():
        begins = valid_files.first_line(name, study.dataset_id).encode("utf-8")
        refuse_foreign(place, own=disk.begins_with(place, begins))
    return places


def accompany(study: Study, certificate: Certificate) -> tuple[Path, ...]:
    """Write what goes with a protected file: README-data.md and, with tables, expected.csv.

    With a calibrated file go the regressions that are valid on it, as valid.do and valid.R.  Those
    of an earlier release in its place are removed, because they are not valid on this one.

    Everything is computed from the protected file: free.
    """
    places = companions(study)
    calibrated = "formula" in parts_of(study.release.method)
    on = OnFile(*read(study.output)) if study.tables or calibrated else None
    names = (study.path.name, places.expected.name, places.readme.name)
    texts = texts_beside(study, certificate, on, names)
    if on is not None:
        found = valid_files.valid_texts(on.data, on.schema, study.dataset_id, study.output.name)
        texts |= {places.valid[name].name: text for name, text in found.items()}
    for place in places.valid.values():
        if place.name not in texts:
            place.unlink(missing_ok=True)
    paths = [study.output.with_name(name) for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        with atomic_write(path, mode="wb") as file:
            file.write(text.encode("utf-8"))
    return tuple(paths)


def texts_beside(
    study: Study,
    certificate: Certificate,
    on: OnFile | OnMoments | None,
    names: tuple[str, str, str],
    package: PackageNote | None = None,
    numbers: Sequence[Mapping[str, Any]] = (),
) -> dict[str, str]:
    """Texts beside a release, by name: README-data.md and, where there are any, numbers.

    ``on`` is what was released, needed where the study declares tables.  ``names`` are of the
    study file, of ``expected.csv`` and of ``README-data.md``.  Numbers of the valid regressions
    stand behind those of the tables.
    """
    study_name, expected, readme_name = names
    texts = {}
    notes: tuple[TableNote, ...] = ()
    listed = [*numbers]
    if study.tables:
        assert on is not None
        found = _tables(study, on, certificate)
        notes = tuple(_note(spec, found, expected) for spec in study.tables)
        listed = [*long_form(found.made), *listed]
    if study.tables or listed:
        texts[expected] = written(study.dataset_id, listed)
    texts[readme_name] = readme(
        study_name, certificate, study.availability, notes, expected, package
    )
    return texts


def _note(spec: TableSpec, found: DeclaredTables, expected: str) -> TableNote:
    if spec.name in found.withheld:
        words = f"no, {found.withheld[spec.name]}"
    elif spec.name in found.failed:
        words = f"no: {found.failed[spec.name]}"
    else:
        words = _reproduced(found.made[spec.name].notes, expected)
    return TableNote(spec.name, spec.title, words)


def _reproduced(notes: tuple[str, ...], expected: str) -> str:
    """Whether a table that could be made means anything; a calibrated file's notes know."""
    artefacts = [note for note in notes if ARTEFACT in note]
    if artefacts:
        return f"no, although its numbers are in {expected}: {' '.join(artefacts)}"
    held = "in them"
    if any(CALIBRATED in note or note.startswith(READ_OFF) for note in notes):
        held = "in estimates and errors"
    if lost := [note for note in notes if note.startswith(UNSERVED)]:
        return f"in part, with the noise of the release {held}, in {expected}. {' '.join(lost)}"
    return f"yes: its numbers, with the noise of the release {held}, are in {expected}"


def results_of(study: Study) -> ResultsDocument:
    """Return the results that a study's estimate left."""
    found = read_results(study.output)
    if found.content["dataset_id"] != study.dataset_id:
        raise FileError(
            f"{study.output.name!r} holds results of data set {found.content['dataset_id']!r}, not "
            f"of {study.dataset_id!r}; give another name with [release] output"
        )
    return found


def protected_certificate(study: Study) -> Certificate:
    """Return the certificate of what was released, and refuse a file that is another."""
    file = released_file(study)
    path = certificate_paths(file)[1]
    what = "protected file" if study.makes_file else "release"
    if not file.exists():
        raise FileError(f"there is no {what} {file.name!r} yet; make it with dprct protect")
    try:
        certificate = Certificate.from_dict(json.loads(disk.content(path, disk.MOST_JSON)))
    except (OSError, ValueError, TypeError, DprctError):
        raise FileError(
            f"there is no certificate {path.name!r} next to the {what}; make both with "
            "dprct protect"
        ) from None
    if not is_described(file):
        raise FileError(
            f"{file.name!r} is not the file that its certificate describes: it was changed "
            "or replaced; take the one that dprct protect wrote"
        )
    return certificate
