"""README-data.md: what a data editor asks for, filled in from the study and its release.

The headings are those of the social-science data editors' template README; the words are ours.
What the program cannot know stays a visible blank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dprct.results.certificate import Certificate

MARK = "<!-- Written by dprct protect; edit [availability] in the study file, not this file. -->"
"""First line; a README without it is somebody's own and is never replaced."""

BLANK = "**[to be filled in by the authors: {}]**"


@dataclass(frozen=True, slots=True)
class Availability:
    """What a data editor must be told and the program cannot know.

    Parameters
    ----------
    title : str
        Of the article.
    authors : str
    contact : str
        Whom to ask for the confidential data.
    access : str
        The route to the confidential data: who may apply, where, how long it takes, what it costs.
    rights : str
        Why the authors may use the data and publish the protected file.
    license : str
        Licence of the protected file.
    citation : str
        Citation of the data.
    """

    title: str = ""
    authors: str = ""
    contact: str = ""
    access: str = ""
    rights: str = ""
    license: str = ""
    citation: str = ""


@dataclass(frozen=True, slots=True)
class TableNote:
    """What a reader is told of one declared table.

    Parameters
    ----------
    name, title : str
    reproduces : str
        Whether the protected file can reproduce it, and why not.
    """

    name: str
    title: str
    reproduces: str


def readme(
    study_file: str,
    certificate: Certificate,
    availability: Availability,
    tables: Sequence[TableNote],
) -> str:
    """Return README-data.md for a protected file.

    Parameters
    ----------
    study_file : str
        Name of the study file.
    certificate : Certificate
        Of the protected file.
    availability : Availability
        Empty fields become visible blanks.
    tables : sequence of TableNote
        The declared tables.

    Returns
    -------
    str
        Markdown.
    """
    parts = [
        *_overview(certificate, availability),
        *_statement(certificate, availability),
        *_data_set(certificate),
        *_tables(study_file, certificate, tables),
        *_rerun(study_file, certificate),
    ]
    return "\n".join(parts) + "\n"


def _overview(certificate: Certificate, about: Availability) -> Iterator[str]:
    yield MARK
    yield ""
    yield f"# Data of {about.title or BLANK.format('title of the article')}"
    yield ""
    yield f"Authors: {about.authors or BLANK.format('authors')}"
    yield ""
    yield "## Overview"
    yield ""
    kind = "a protected file" if _promises(certificate) else "synthetic and NOT a protected file"
    yield (
        f"`{_name(certificate)}` is {kind}: it takes the place of a confidential one, "
        "with the same columns, types and labels, and other values. Its certificate, in text and "
        "in JSON beside it, says what differs and what is guaranteed."
    )
    yield ""
    yield f"> {certificate.guarantee.sentence()}"
    yield ""


def _statement(certificate: Certificate, about: Availability) -> Iterator[str]:
    yield "## Data Availability and Provenance Statements"
    yield ""
    yield "### Statement about Rights"
    yield ""
    yield about.rights or BLANK.format("right to use the data, and to publish the protected file")
    yield ""
    yield "### License for Data"
    yield ""
    yield about.license or BLANK.format("licence of the protected file")
    yield ""
    yield "### Summary of Availability"
    yield ""
    yield "- [ ] All data **are** publicly available."
    yield "- [x] Some data **cannot be made** publicly available."
    yield "- [ ] No data can be made publicly available."
    yield ""
    yield "### The confidential data"
    yield ""
    yield f"Data set id: {certificate.dataset_id or 'none declared'}."
    yield f"Route to the data: {about.access or BLANK.format('who may apply, where, how long')}"
    yield f"Contact: {about.contact or BLANK.format('name and address')}"
    yield f"Citation: {about.citation or BLANK.format('citation of the data')}"
    yield ""


def _data_set(certificate: Certificate) -> Iterator[str]:
    stem = _name(certificate).removesuffix(".dta")
    yield "## Dataset list"
    yield ""
    yield "| Data file | Source | Provided |"
    yield "|---|---|---|"
    yield f"| `{_name(certificate)}` | made by dprct from the confidential data | yes |"
    yield f"| `{stem}.certificate.txt`, `.json` | its certificate | yes |"
    yield "| the confidential file | see above | no |"
    yield ""
    by_fate: dict[str, list[str]] = {}
    for column, fate in certificate.fates.items():
        by_fate.setdefault(fate, []).append(f"`{column}`")
    yield "What became of the columns:"
    yield ""
    meaning = _FATES if _promises(certificate) else {**_FATES, "modelled": _UNPROMISED}
    for fate, columns in by_fate.items():
        yield f"- {fate} ({meaning[fate]}): {', '.join(columns)}"
    yield ""


def _tables(
    study_file: str, certificate: Certificate, tables: Sequence[TableNote]
) -> Iterator[str]:
    yield "## List of tables"
    yield ""
    if not tables:
        yield "The study file declares no table."
        yield ""
        return
    yield "| Table | On the protected file | Rerun |"
    yield "|---|---|---|"
    for table in tables:
        name = f"{table.name}: {table.title}" if table.title else table.name
        yield f"| {_cell(name)} | {_cell(table.reproduces)} | `dprct table {study_file}` |"
    yield ""
    yield (
        "`expected.csv` holds the numbers of these tables **on the protected file**. They are not "
        "those of the article, which were computed on the confidential data."
    )
    yield ""
    yield from (f"- {limit}" for limit in certificate.limits)
    yield ""


def _rerun(study_file: str, certificate: Certificate) -> Iterator[str]:
    yield "## Computational requirements"
    yield ""
    yield "Python 3.11 to 3.13 and the package dprct. Every table takes seconds on a laptop."
    yield ""
    yield "## Instructions to Replicators"
    yield ""
    yield "- `pip install dprct`"
    yield (
        f"- `dprct table {study_file} --expect expected.csv` makes every declared table from "
        f"`{_name(certificate)}` and ends with an error if a number differs."
    )
    yield "- Do-files that ran on the confidential file run on the protected one unchanged."
    yield (
        "- Do not run `dprct protect` again: that needs the confidential data, gives another file "
        "with other numbers"
        + (", and charges the ledger of the data set." if _promises(certificate) else ".")
    )
    yield ""
    if "sha256" in certificate.file:
        yield f"SHA-256 of `{_name(certificate)}`: `{certificate.file['sha256']}`"


_FATES: Mapping[str, str] = {
    "modelled": "synthetic values from the private release",
    "derived": "recomputed from released columns",
    "filler": "uniform over the public domain, no information",
    "withheld": "missing throughout",
    "key": "fresh keys",
    "public": "public, unchanged",
    "drop": "not in the file",
}
_UNPROMISED = "synthetic values, drawn without a privacy guarantee"


def _promises(certificate: Certificate) -> bool:
    return certificate.guarantee.measure != "none"


def _name(certificate: Certificate) -> str:
    return certificate.file.get("name", "the protected file")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
