"""Facts of a study's data file: of a .dta file from its header alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dprct.io import read
from dprct.io.stata.names import schema_under, stata_names
from dprct.io.text import as_declared, facts_of_csv
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.io.stata.names import Names
    from dprct.io.text import CsvFacts
    from dprct.study.study import Study


class FactsOfFile(NamedTuple):
    """What a data file says of itself."""

    schema: Schema
    rows: int | None
    # Columns of a .csv whose numbers are all whole, which a draft proposes as a fact; those without
    # a value; and those of numbers that doubles do not keep.
    whole: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    rounded: frozenset[str] = frozenset()
    csv: CsvFacts | None = None  # of a .csv, under its own names

    def of_study(self, study: Study) -> Schema:
        """Schema of a study's rows, with its types of the cells of a .csv and its public files."""
        if study.data.suffix.lower() != ".csv":
            return study.prepared(self.schema)
        kinds = study.kinds_of(self.schema.names)
        return study.prepared(as_declared(self.schema, self.empty, self.rounded, kinds))

    def with_rows(self, study: Study) -> tuple[Schema, int | None]:
        """Schema of a study's rows, and how many there are; None where no header tells."""
        schema = self.of_study(study)
        return schema, rows_of(study, schema.file.rows if study.restacks else self.rows)


def facts_of_file(path: Path, names: Names = "same") -> FactsOfFile:
    """Facts of a data file: of a .dta file from its header alone."""
    kind = path.suffix.lower()
    if kind in ("", ".dta"):
        schema = Schema.from_dta(path)
        return FactsOfFile(schema, schema.file.rows)
    if kind != ".csv" or not path.is_file():
        data, schema = read(path, names)
        return FactsOfFile(schema, len(data))
    found = facts_of_csv(path)
    schema = found.schema
    others = stata_names(schema.names) if names == "stata" else {}
    whole, empty, rounded = (
        frozenset(others.get(name, name) for name in some)
        for some in (found.whole, found.empty, found.rounded)
    )
    return FactsOfFile(schema_under(schema, others), found.rows, whole, empty, rounded, found)


def read_header(study: Study) -> Schema:
    """Return the schema of the study's data: of a .dta file from its header alone."""
    return facts_of_file(study.data, study.names).of_study(study)


def header_and_rows(study: Study) -> tuple[Schema, int | None]:
    """Return schema and number of rows of the study's data: of a .dta file from its header alone.

    How many rows a sample has no header tells.
    """
    return facts_of_file(study.data, study.names).with_rows(study)


def rows_of(study: Study, rows: int | None) -> int | None:
    """Return the number of rows that a study is about, of a file with ``rows``; None: unknown."""
    return rows if study.scope.sample is None else None
