"""From a study file to a protected file: header, seal, data, plan, charge, release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct import published
from dprct.errors import StudyError
from dprct.io import read
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.ledger import ledger_path
from dprct.release.histogram import MVHistogram
from dprct.release.marginals import Marginals
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from dprct.release.base import Release
    from dprct.release.model import ReleaseModel
    from dprct.release.plan import Plan
    from dprct.replicate.study import Study


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


def _read_dta(study: Study, sealed: Schema) -> tuple[Any, Schema]:
    from dprct.io.stata import read_dta

    return read_dta(study.data, schema=sealed)
