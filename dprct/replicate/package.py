"""From a study file to a protected file: header, seal, data, plan, charge, release."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from dprct import published
from dprct.errors import DprctError, FileError, StudyError
from dprct.io import read
from dprct.io.atomic import atomic_write
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.privacy.ledger import ledger_path
from dprct.release.histogram import MVHistogram
from dprct.release.marginals import Marginals
from dprct.release.writing import certificate_paths
from dprct.replicate.declared_tables import long_form
from dprct.replicate.expected import written
from dprct.replicate.readme import MARK, TableNote, readme
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.release.base import Release
    from dprct.release.model import ReleaseModel
    from dprct.release.plan import Plan
    from dprct.replicate.study import Study
    from dprct.results.certificate import Certificate
    from dprct.results.itt import ITTTable


def read_header(study: Study) -> Schema:
    """Return the schema of the study's data: of a .dta file from its header alone."""
    if study.data.suffix.lower() == ".dta":
        return Schema.from_dta(study.data)
    return read(study.data)[1]


def bound_model(study: Study) -> ReleaseModel:
    """Return the study's method, bound to its data, after everything was declared and sealed.

    Raises
    ------
    StudyError
        If something is still open; the message lists it.
    """
    header = read_header(study)
    problems = study.problems(header)
    if problems:
        raise StudyError(
            f"the study is not complete: {'; '.join(problems)}. Fill it in, then: dprct check"
        )
    sealed = study.declared(header).seal()
    if study.data.suffix.lower() == ".dta":
        data, schema = _read_dta(study, sealed)
    else:
        data, schema = read(study.data)[0], sealed
    options: dict[str, Any] = {"keep": study.release.keep}
    if study.release.method == "marginals":
        return Marginals(data, schema, **options)
    if study.release.zeta is not None:
        options["zeta"] = study.release.zeta
    if study.release.method == "published_mv_histogram":
        return published.MVHistogram(data, schema, **options)
    return MVHistogram(data, schema, **options)


def planned(study: Study, model: ReleaseModel | None = None) -> Plan:
    """Return the plan of a study; nothing is spent."""
    model = bound_model(study) if model is None else model
    return model.plan(study.release.epsilon, study.release.delta)


def protected(study: Study, model: ReleaseModel | None = None) -> Release:
    """Charge the study's ledger (begun if there is none) and return the release.

    A method without a guarantee has no price: no ledger is charged or begun.

    Raises
    ------
    BudgetError
        If what is left of the data set's budget does not cover it.
    ConfirmationError
        If the plan refuses and the study does not confirm.
    FileError
        If the protected file could not be written; then nothing is charged.
    """
    model = bound_model(study) if model is None else model
    planned(study, model).check(confirm=study.release.confirm)
    model.rehearse(study.output)
    return model.fit(
        study.release.epsilon,
        study.release.delta,
        accountant=ledger(study) if study.promises else None,
        confirm=study.release.confirm,
    )


def ledger(study: Study) -> Accountant:
    """Return the ledger beside the data, begun with the study's total budget if there is none.

    Raises
    ------
    LedgerError
        If there is one on other terms.
    """
    found = find_ledger(study.data, study.dataset_id)
    total = study.budget
    if found is not None and total is None:
        return found
    spec = study.release if total is None else total
    budget = Budget(spec.epsilon, spec.delta)
    return Accountant.open(
        ledger_path(study.data, study.dataset_id),
        dataset_id=study.dataset_id,
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=study.unit.name,
    )


def declared_tables(study: Study, on: Literal["protected", "confidential"]) -> dict[str, ITTTable]:
    """Return the tables that a study declares, made from one of its two files.

    Raises
    ------
    StudyError
        If the study declares no table.
    FileError
        If the file is not there.
    """
    if not study.tables:
        raise StudyError(
            "the study declares no table; write [[table]] with name, outcomes and arms"
        )
    if on == "confidential":
        data, schema = read(study.data)
        return {spec.name: spec.made(data, schema) for spec in study.tables}
    data, schema = read(study.output)
    guarantee = _guarantee_beside(study)
    lost = {spec.name: spec.without_information(_fates(study, schema)) for spec in study.tables}
    return {
        spec.name: spec.made(data, schema, guarantee)
        for spec in study.tables
        if not lost[spec.name]
    }


def accompany(study: Study, certificate: Certificate) -> tuple[Path, ...]:
    """Write what goes with a protected file: README-data.md and, with tables, expected.csv.

    Everything is computed from the protected file: free.

    Returns
    -------
    tuple of Path
        What was written.
    """
    folder = study.output.parent
    notes = []
    entries: list[dict[str, Any]] = []
    data, schema = read(study.output)
    fates = _fates(study, schema)
    for spec in study.tables:
        words = _lost_words(spec.without_information(fates))
        if not words:
            try:
                table = spec.made(data, schema, certificate.guarantee)
                entries += long_form({spec.name: table})
                words = "yes: the numbers of expected.csv, with the privacy noise in them"
            except DprctError as error:
                words = f"no: {error}"
        notes.append(TableNote(spec.name, spec.title, words))
    text = readme(study.path.name, certificate, study.availability, notes)
    texts = {_readme_name(folder): text}
    if study.tables:
        texts["expected.csv"] = written(study.dataset_id, entries)
    for name, text in texts.items():
        with atomic_write(folder / name, mode="wb") as file:
            file.write(text.encode("utf-8"))
    return tuple(folder / name for name in texts)


def _readme_name(folder: Path) -> str:
    """Return README-data.md, or another name where that is a file of somebody's own."""
    existing = folder / "README-data.md"
    if not existing.exists() or existing.read_bytes().startswith(MARK.encode()):
        return existing.name
    return "README-data.dprct.md"


def _fates(study: Study, schema: Schema) -> Schema:
    """Return the schema of the protected file with the fates that the study declares."""
    columns = []
    for column in schema.columns:
        facts = study.columns.get(column.name, {})
        columns.append(replace(column, fate=facts.get("fate"), derived=facts.get("derived")))
    return schema.with_columns(columns)


def _lost_words(lost: list[str]) -> str:
    if not lost:
        return ""
    return f"no, it needs the confidential file: nothing is released of {', '.join(lost)}"


def _guarantee_beside(study: Study) -> Guarantee:
    path = certificate_paths(study.output)[1]
    try:
        return Guarantee.from_dict(json.loads(path.read_text("utf-8"))["guarantee"])
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(
            f"there is no certificate {path.name!r} beside the protected file; make both with "
            "dprct protect"
        ) from None


def _read_dta(study: Study, sealed: Schema) -> tuple[Any, Schema]:
    from dprct.io.stata import read_dta

    return read_dta(study.data, schema=sealed)
