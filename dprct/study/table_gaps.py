"""Cells of the declared tables that no release of a study will have, before anything is charged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dprct.estimate.moments.model import MomentsSpec
from dprct.study.calibrated_section import CalibratedAsked
from dprct.study.headers import read_header
from dprct.study.obstacles import VALID
from dprct.study.tables_of_moments import gaps_of_moments, rows_of_table
from dprct.study.verdicts import planned_file, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.certificate.valid_regressions import Validity
    from dprct.schema.schema import Schema
    from dprct.study.declared_tables import TableSpec
    from dprct.study.study import Study


def gaps_of(study: Study) -> list[str]:
    """Cells of tables that no release of a study without open points will have, in words.

    Of cells that noise may leave empty only the release knows.
    """
    if not study.tables:
        return []
    schema = study.declared(read_header(study))
    found: list[str] = []
    for table in study.tables:
        if isinstance(study.asked.spec, MomentsSpec):
            found += gaps_of_moments(table, study.asked.spec, schema)
        elif study.makes_file:
            found += [f"[[table]] {table.name!r} {why}" for why in _in_file(table, study, schema)]
    return found


def _in_file(table: TableSpec, study: Study, schema: Schema) -> Iterator[str]:
    fates = {column.name: column.fate or "derived" for column in schema.columns}
    asked, valid = study.asked, None
    if isinstance(asked, CalibratedAsked):
        if asked.absent or asked.design is None:  # an open point
            return
        valid = asked.valid()
    if why := only_of_rows(table, fates, valid):
        yield f"will not be made of the protected file: {why}"
        return
    released = None if valid is None else planned_file(study, schema)
    if released is None:
        return
    for row in rows_of_table(table):
        words = tuple(
            f"i.{term[2:-1]}" if term.startswith("C(") and term.endswith(")") else term
            for term in row.terms
        )
        run = replace(row.regression, regressors=words, dataset=study.data.name)
        (one,) = verdicts([run], released)
        if one.kind not in VALID:
            what = "has no released errors" if one.kind == "effects only" else "is not released"
            yield f"will have a number for {row.said} that {what}: {one.reason}"


def only_of_rows(table: TableSpec, fates: Mapping[str, str], valid: Validity | None) -> str:
    """Return why only the confidential file gives a table; empty if a protected one does.

    A calibrated file, which is ``valid`` for some regressions, returns the effects whatever its
    covariates are; its own notes say so.
    """
    if valid is not None:
        fates = {n: "modelled" if fate == "filler" else fate for n, fate in fates.items()}
    if lost := table.without_information(fates):
        return f"it needs the confidential file: nothing is released of {', '.join(lost)}"
    if table.where and valid is not None:
        return (
            f"it needs the confidential file: its rows are those with {table.condition}, and "
            "effects of this file are among all of its rows"
        )
    return ""
