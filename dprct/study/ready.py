"""From a study file to its plan and price: header, open points, seal, data; nothing is drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import DprctError, StudyError, marked
from dprct.io import read
from dprct.io.stata import table_of_dta
from dprct.io.stata.names import schema_under, stata_names
from dprct.io.text import table_of_csv
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.composition import Charge
from dprct.privacy.ledger import ledger_path
from dprct.results.plan import PlannedNumber
from dprct.results.receipt import charged_elsewhere, refuse_second_budget
from dprct.schema.tables import NumPyTable
from dprct.study.data_sets import check_merged, merge_problems, studies_of
from dprct.study.headers import facts_of_file, header_and_rows, read_header
from dprct.study.readme import SEVERAL
from dprct.study.study import in_brief, load_study
from dprct.study.wording import in_toml, plan_in_toml

_MOST_SHOWN = 5

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from dprct.release.release import ReleaseModel
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema
    from dprct.study.headers import FactsOfFile
    from dprct.study.methods import AnyModel
    from dprct.study.study import Study


def study_of(study_file: Path, output: Path | None = None) -> Study:
    """Return a study; drafts that killed processes left next to its files are removed."""
    study = load_study(study_file, output)
    beside = study.data.parent
    for folder in {study.output.parent, beside, *beside.glob("*.ledger.released")}:
        disk.sweep(folder)
    return study


def rows_of_study(study: Study) -> tuple[pd.DataFrame, Schema]:
    """Return the rows of the data file of a study, and its facts."""
    if study.data.suffix.lower() != ".csv" or not study.data.is_file():
        return read(study.data, study.names)
    table, schema = _csv_of_study(study, facts_of_file(study.data, study.names))
    return table.native, schema


def _csv_of_study(study: Study, facts: FactsOfFile) -> tuple[NumPyTable, Schema]:
    """Return the rows of a .csv whose facts are known."""
    assert facts.csv is not None
    names = facts.csv.schema.names
    others = stata_names(names) if study.names == "stata" else {}
    kinds = study.kinds_of(facts.schema.names)
    declared = {n: kinds[x] for n in names if (x := others.get(n, n)) in kinds}
    table, schema = table_of_csv(study.data, facts.csv, declared)
    return (table.under(others), schema_under(schema, others)) if others else (table, schema)


def open_points(study: Study) -> list[str]:
    """Obstacles to a release of a study, as far as the header of its file tells.

    Of a file without a header, such as .csv, it is as far as its columns and their number of rows
    tell.
    """
    header, rows = header_and_rows(study)
    found = study.problems(header, rows, confirm=study.release.confirm)
    return found + _merge_problems(study, header)


def _merge_problems(study: Study, header: Schema) -> list[str]:
    return merge_problems(study, header) if study.merged_files else []


def all_open_points(study: Study) -> list[str]:
    """Open points: of the study, of its ledger, and of its other data sets."""
    found = in_brief(open_points(study)) + [in_toml(one) for one in unaffordable(study)]
    for other in studies_of(study)[1:]:
        found += [f"{other.path.name}: {point}" for point in in_brief(open_points(other))]
    return found


def confidential(study: Study) -> tuple[pd.DataFrame, Schema]:
    """Return the rows that the study is about, with the schema that their file gives."""
    data, schema = rows_of_study(study)
    data, schema = study.with_prepared(data), study.prepared(schema)
    return study.scope.sampled(study.with_derived(data, schema)), schema


def bound_model(study: Study) -> ReleaseModel[Any, Any, Any] | AnyModel:
    """Return the study's method, bound to its data, after everything was declared and sealed."""
    facts = facts_of_file(study.data, study.names)
    header, rows = facts.with_rows(study)
    _check_complete(study.problems(header, rows) + _merge_problems(study, header))
    sealed = study.declared(header).seal(study.declaration.by)
    table, schema = _bound_table(study, facts, sealed)
    remade = study.merged_files or study.prepare or study.derived or rows is None
    if study.promises and not remade:
        return study.asked.model(table, schema)
    data = table.native if isinstance(table, NumPyTable) else table
    if study.merged_files:
        check_merged(study, data)
    data = study.with_derived(study.with_prepared(data), header)
    if rows is None:
        data = study.scope.sampled(data)
        _check_complete(study.problems(header, len(data)))
    return study.asked.model(data, schema)


def _bound_table(
    study: Study, facts: FactsOfFile, sealed: Schema
) -> tuple[NumPyTable | pd.DataFrame, Schema]:
    """Return the rows of the data file, which a plan only validates, and their schema."""
    if study.data.suffix.lower() == ".dta":
        table, _ = table_of_dta(study.data, schema=_in_file(study.of_file(sealed), facts.schema))
        return table, replace(sealed, source=study.data).as_opened()
    if facts.csv is not None:
        return _csv_of_study(study, facts)[0], sealed
    return read(study.data, study.names)[0], sealed


def _in_file(schema: Schema, header: Schema) -> Schema:
    """Return a schema with the labels and formats of a file, where a study declares others."""
    known = {column.name: column for column in header.columns}
    return schema.with_columns(
        [
            replace(one, label=known[one.name].label, format=known[one.name].format)
            for one in schema.columns
            if one.name in known
        ]
    )


def _check_complete(problems: Sequence[str]) -> None:
    """Refuse a study with open points; the message begins to list them."""
    if not problems:
        return
    rest = len(problems) - _MOST_SHOWN
    more = f"; and {rest} more" if rest > 0 else ""
    raise StudyError(
        f"the study is not complete: {'; '.join(problems[:_MOST_SHOWN])}{more}; fill it in "
        "(dprct check lists everything)"
    )


def planned(study: Study, model: ReleaseModel[Any, Any, Any] | AnyModel | None = None) -> Plan:
    """Return the plan of a study; nothing is spent."""
    model = bound_model(study) if model is None else model
    release = study.release
    asked = {"accept_large_delta": release.accept_large_delta}
    plan = plan_in_toml(model.plan(release.epsilon, release.delta, **asked))
    if several := of_several(study):
        thrice, lost = thrice_of(release.epsilon, release.delta)
        said = several if lost is None else f"{lost}; {several}"
        plan = plan.also([PlannedNumber(SEVERAL, thrice, "epsilon", said)])
    steps = study.merged_facts(read_header(study)) if study.prepare else {}
    plan = plan.also([PlannedNumber(name, why=said) for name, said in steps.items()])
    if study.scope.sample is None:
        return plan
    rows = PlannedNumber("sample", model.n, "rows", f"those with {study.scope.condition}")
    return plan.also([rows], warnings=study.scope.warnings(model.schema))


def of_several(study: Study) -> str:
    """What a person with several rows pays, where rows are protected singly; empty if none."""
    unit = study.protected
    if not study.promises or unit.name == "person" or unit.id is not None:
        return ""
    return (
        f"each {unit.name} is protected by itself; for a whole person give [unit] id and max_rows"
    )


def thrice_of(epsilon: float, delta: float) -> tuple[float, str | None]:
    """Return the epsilon that three rows of a person pay, and what is said of their delta.

    Each row replaced costs epsilon again, and delta times the odds of those before it: together
    d (1 + e^epsilon + e^(2 epsilon)).

    Examples
    --------
    >>> thrice_of(1.0, 0.0), thrice_of(2.0, 1e-3)
    ((3.0, None), (6.0, 'delta=0.063'))
    """
    if not delta:
        return 3 * epsilon, None
    odds = math.exp(min(epsilon, 300.0))
    lost = delta * (1 + odds + odds * odds)
    if lost >= 1:
        return 3 * epsilon, "its delta is above 1, so that this promises nothing"
    return 3 * epsilon, f"delta={lost:.3g}"


def price(study: Study, model: ReleaseModel[Any, Any, Any] | AnyModel) -> Budget | None:
    """Charge of a release to the ledger; None where nothing of it has a guarantee."""
    budget = Budget.asked(study.release.epsilon, study.release.delta)
    if study.promises:
        return budget
    from dprct.published.informed import ModelInformed

    return model.price(budget) if isinstance(model, ModelInformed) else None


def ledger(study: Study, cost: Budget | None = None) -> Accountant:
    """The ledger next to the data, begun with the study's total budget if there is none.

    Where the study gives no total, it is the cost, by default the budget of ``[release]``.
    """
    found = find_ledger(study.data, study.dataset_id)
    total = study.budget
    if found is not None and total is None:
        return found
    spec = study.release if total is None else total
    budget = Budget(spec.epsilon, spec.delta) if cost is None or total is not None else cost
    if found is None:  # so that no ledger is begun for a charge that it would refuse
        trial = Accountant(budget.epsilon, budget.delta, relation=study.relation)
        rehearse_charge(study, trial, cost)
    made = Accountant.open(
        ledger_path(study.data, study.dataset_id),
        dataset_id=study.dataset_id,
        epsilon=budget.epsilon,
        delta=budget.delta,
        relation=study.relation,
    )
    if total is not None and total.separate is not None and made.separate != total.separate:
        made.declare_separate(total.separate)
    return made


def same_data(study: Study) -> str:
    """Other ledgers next to the data that were charged for the same content; else nothing.

    The data file is hashed for it, if there are ledgers next to it.
    """
    files = study.confidential_files
    found = (charged_elsewhere(path, study.dataset_id) for path in files)
    return " and ".join(dict.fromkeys(one for one in found if one))


def declared_separate(study: Study, found: Accountant | None) -> str | None:
    """Reason that the study, or else its ledger, gives for a second budget."""
    if study.budget is not None and study.budget.separate is not None:
        return study.budget.separate
    return None if found is None else found.separate


def _continued(study: Study, found: Accountant) -> Accountant:
    """Return a ledger that is there, if it is on the study's terms; nothing is written."""
    if study.budget is None:
        return found
    return Accountant.open(
        ledger_path(study.data, study.dataset_id),
        dataset_id=study.dataset_id,
        epsilon=study.budget.epsilon,
        delta=study.budget.delta,
        relation=study.relation,
    )


def unaffordable(study: Study) -> list[str]:
    """Reason why the ledger next to the data would refuse the release; none is begun.

    What a method without a guarantee pays for a part of it depends on the data's columns, and is
    not known here.
    """
    if not study.promises:
        return []
    found = find_ledger(study.data, study.dataset_id)
    try:
        separate = declared_separate(study, found)
        refuse_second_budget(same_data(study), study.dataset_id, separate)
    except DprctError as error:
        return [marked(error)]
    if found is None:
        return []
    try:
        rehearse_charge(study, _continued(study, found))
    except DprctError as error:
        return [f"ledger of {study.dataset_id!r}: {marked(error)}"]
    return []


def rehearse_charge(study: Study, accountant: Accountant, cost: Budget | None = None) -> None:
    """Refuse a release that the ledger would refuse, by default at its full budget; free."""
    asked = Budget(study.release.epsilon, study.release.delta) if cost is None else cost
    unit = study.protected
    # the ledger of a study adds up claims, so that the claim is all that it asks of a charge
    accountant.rehearse(
        Charge.of(asked),
        relation=study.neighbors,
        unit=unit.name,
        unit_id=unit.id,
        max_rows=unit.max_rows,
    )


def also_charged(study: Study) -> str:
    """Say which other ledger was charged for the same data; empty if none was."""
    others = same_data(study) if study.promises else ""
    if not others:
        return ""
    return (
        f"the same data were charged to data set {others}; what is spent on people adds up "
        "whatever the data are called"
    )
