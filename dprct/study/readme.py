"""README-data.md: what a data editor asks for, filled in from the study and its release.

The headings are those of the social-science data editors' template README; the words are ours.
What the program cannot know stays a visible blank.
"""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import PurePath
from typing import TYPE_CHECKING

from dprct import __version__
from dprct.certificate.certificate import worth_by_table
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dprct.certificate.certificate import Certificate, RegressionWorth


_SPECIAL = re.compile(r"([\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w))")
_BLOCK = re.compile(r"^(#|[-+=]|\d+[.)])")
_PARAGRAPH = re.compile(r"\n\s*\n")
_TICKS = re.compile(r"`+")


def plain(text: str) -> str:
    r"""Text as one line that Markdown shows as it is.

    Examples
    --------
    >>> plain("Cash | *and*\n<b>therapy</b>")
    'Cash \\| \\*and\\* \\<b\\>therapy\\</b\\>'
    """
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _BLOCK.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", line)


def prose(text: str) -> str:
    r"""Text of several paragraphs, each shown as it is.

    Examples
    --------
    >>> prose("Apply to the bureau.\n\n# It takes a year.")
    'Apply to the bureau.\n\n\\# It takes a year.'
    """
    return "\n\n".join(plain(part) for part in _PARAGRAPH.split(text.strip()))


def code(text: str, *, cell: bool = False) -> str:
    r"""Return a name in the type of code, inside the cell of a table if so said.

    Examples
    --------
    >>> print(code("a`b"), code("a|b", cell=True))
    ``a`b`` `a\|b`
    """
    line = " ".join(text.split())
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    inside = line.replace("|", "\\|") if cell else line
    return f"{fence}{pad}{inside}{pad}{fence}"


SEVERAL = "3 rows of a person"
"""Under which a certificate says what somebody with several rows pays."""

BLANK = "**[to be filled in by the authors: {}]**"


@dataclass(frozen=True)
class Availability:
    """What a data editor must be told and the program cannot know.

    Parameters
    ----------
    title : str
        Of the article.
    authors : str
        Of the article.
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


@dataclass(frozen=True)
class TableNote:
    """What a reader is told of one declared table."""

    name: str
    title: str
    reproduces: str  # whether the protected file can reproduce it, and why not


@dataclass(frozen=True)
class PackageNote:
    """What a reader is told of the package that a protected file is part of."""

    place: str  # where the protected file lies in it
    copied: tuple[str, ...] = ()  # files of the replication folder that are in it, unchanged
    # Those of them that could not be read and checked, with the reason.
    unread: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0  # how many files of that folder are not; their names might tell something
    # Paths of other machines in do-files: where, the path, and the file of the package that has its
    # base name.
    elsewhere: tuple[tuple[str, str, str], ...] = ()
    # Other data files that regressions use, with what became of each.
    datasets: Mapping[str, str] = field(default_factory=dict)
    # Files that are the package's own, with what each does.
    added: Mapping[str, str] = field(default_factory=dict)
    has_rows: bool = True  # whether the release is a file, and not a document of numbers
    # Verdicts on the regressions of the do-files on all files of the package.
    regressions: tuple[RegressionWorth, ...] = ()
    # Other protected files of the package, each with its own README.
    others: tuple[tuple[str, str], ...] = ()
    # What all charges to the ledger promise together, where there are several.
    together: tuple[str, ...] = ()
    # Why the other files are about other people; None if they may be about the same.
    disjoint: str | None = None
    # (str, str, list of str): protected files that were merged before the release, with the column
    # by which, and where the files lie that have their columns.
    parts: tuple[tuple[str, str, Sequence[str]], ...] = ()
    made: tuple[str, ...] = ()  # lines of do-files that make columns which the release holds itself
    # (sequence of str, sequence of str): versions of Stata and packages of other authors that
    # do-files name.
    software: tuple[Sequence[str], Sequence[str]] = ((), ())
    # The confidential files, with the do-files that save each.
    makers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Numbers of the paper: place, coefficient, what was printed, what was released, the gap.
    published: tuple[tuple[str, str, str, str, str], ...] = ()
    # Valid regressions with coefficients that are not estimated, since noise hides them.
    silent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def readme(
    study_file: str,
    certificate: Certificate,
    availability: Availability,
    tables: Sequence[TableNote],
    expected: str = "expected.csv",
    package: PackageNote | None = None,
) -> str:
    """README-data.md for a protected file; empty fields of availability become visible blanks."""
    command = f"dprct table {_argument(study_file)}"
    parts = [
        *_overview(certificate, availability),
        *_statement(certificate, availability),
        *_data_set(certificate, package),
        *_provenance(package),
        *_per_unit(certificate, package),
        *_tables(command, certificate, tables, expected),
        *_regressions(
            package.regressions
            if package is not None and package.regressions
            else certificate.regressions,
            "file" if has_rows(certificate) else "moments",
            {} if package is None else package.silent,
        ),
        *_published(package),
        *_package(package),
        *_rerun(
            f"{command} --expect {_argument(expected)}", certificate, package, checked=bool(tables)
        ),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def mark(dataset_id: str | None) -> str:
    """Return the first line; a README without it is somebody else's and is never replaced.

    Examples
    --------
    >>> mark("liberia")
    '<!-- Written by dprct protect for liberia; edit [availability] in the study file instead. -->'
    """
    return (
        f"<!-- Written by dprct protect for {dataset_id or 'a study without an id'}; "
        "edit [availability] in the study file instead. -->"
    )


def _overview(certificate: Certificate, about: Availability) -> Iterator[str]:
    yield mark(certificate.dataset_id)
    yield f"# Data of {_line(about.title, 'title of the article')}"
    yield f"Authors: {_line(about.authors, 'authors')}"
    yield "## Overview"
    beside = "Its certificate, next to it as a page (HTML), as text and as JSON, says"
    kind = "a protected file" if _promises(certificate) else "synthetic and NOT a protected file"
    if has_rows(certificate):
        yield (
            f"{code(_name(certificate))} is {kind}: it takes the place of a confidential one, "
            f"with the same columns, types and labels, and other values. {beside} what differs and "
            "what is guaranteed."
        )
    else:
        yield (
            f"{code(_name(certificate))} holds released numbers, and no row of the confidential "
            "data: the regressions of the do-files are computed from it, with errors that contain "
            f"sampling and privacy noise. {beside} what is guaranteed."
        )
    yield f"> {plain(certificate.guarantee.sentence())}"


def _statement(certificate: Certificate, about: Availability) -> Iterator[str]:
    yield "## Data Availability and Provenance Statements"
    yield "### Statement about Rights"
    yield _prose(about.rights, "right to use the data, and to publish the protected file")
    yield "### License for Data"
    yield _prose(about.license, "licence of the protected file")
    yield "### Summary of Availability"
    yield _SUMMARY
    yield "### The confidential data"
    yield "\n".join([
        f"- Data set id: {code(certificate.dataset_id or 'none declared')}",
        f"- Contact: {_line(about.contact, 'name and address')}",
        f"- Citation: {_line(about.citation, 'citation of the data')}",
    ])  # fmt: skip
    yield "Route to the data:"
    yield _prose(about.access, "who may apply, where, how long it takes, what it costs")


_SUMMARY = """\
- [ ] All data **are** publicly available.
- [x] Some data **cannot be made** publicly available.
- [ ] No data can be made publicly available."""


def _data_set(certificate: Certificate, package: PackageNote | None) -> Iterator[str]:
    name = _name(certificate)
    stem = PurePath(name).stem
    files = {name: "made by dprct from the confidential data"}
    for suffix, form in _FORMS.items():
        files[f"{stem}.certificate.{suffix}"] = f"its certificate, as {form}"
    whole = () if package is None else package.makers
    secret = [f"{code(one, cell=True)}, confidential" for one in whole] or ["the confidential file"]
    yield "## Dataset list"
    yield _grid(
        ("Data file", "Source", "Provided"),
        *((code(one, cell=True), source, "yes") for one, source in files.items()),
        *((one, "see above", "no") for one in secret),
    )
    by_fate: dict[str, list[str]] = {}
    for column, fate in certificate.fates.items():
        by_fate.setdefault(fate, []).append(code(column))
    if not has_rows(certificate):
        yield f"Columns of which numbers were released: {code(certificate.facts['columns'])}"
        return
    yield "What became of the columns:"
    meaning = _FATES if _promises(certificate) else {**_FATES, "modelled": _UNPROMISED}
    yield _items(f"{fate} ({meaning[fate]}): {', '.join(of)}" for fate, of in by_fate.items())
    for difference in certificate.differences:
        if difference.facet == "rows":
            yield f"Rows of the confidential file: {plain(difference.reason)}."


def _grid(*rows: Sequence[str]) -> str:
    """Return a table whose first row is its head."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{'---|' * len(rows[0])}", *others])


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _provenance(package: PackageNote | None) -> Iterator[str]:
    if package is None or not package.makers:
        return
    yield "### Where the analysis data come from"
    lacking = (
        "made before the do-files of this package run: none of them saves this file, and the "
        "program that made it is not included"
    )
    yield _items(
        f"{code(name)}: made by {' and '.join(map(code, programs))}, from files that are not "
        "included" if programs else f"{code(name)}: {lacking}"
        for name, programs in package.makers.items()
    )  # fmt: skip


def _per_unit(certificate: Certificate, package: PackageNote | None) -> Iterator[str]:
    """Yield what the release spends on one person, and what others of these data did."""
    guarantee = certificate.guarantee
    if guarantee.budget is None or not _promises(certificate):
        return
    yield f"### Spent per {plain(guarantee.unit)}"
    yield f"{guarantee.budget} for this release, by {plain(certificate.method)}."
    told = () if package is None or package.others else package.together
    every = re.search(r"\. (All \d+ charges together hold .*)$", certificate.ledger)
    yield from map(plain, told or ((f"{every[1]}.",) if every else ()))
    for name, said in certificate.facts.items():
        if name.startswith(SEVERAL):
            yield f"{plain(name)}: {plain(said)}"


def _tables(
    command: str, certificate: Certificate, tables: Sequence[TableNote], expected: str
) -> Iterator[str]:
    what = "the protected file" if has_rows(certificate) else "the released moments"
    yield "## List of tables"
    if tables:
        names = [f"{x.name}: {x.title}" if x.title.strip() else x.name for x in tables]
        yield _grid(
            ("Table", f"Reproduces on {what}", "Rerun"),
            *(
                (plain(name), plain(table.reproduces), code(command, cell=True))
                for name, table in zip(names, tables, strict=True)
            ),
        )
        yield (
            f"{code(expected)} holds the numbers of these tables **on {what}**. They "
            "are not those of the article, which were computed on the confidential data."
        )
    elif has_rows(certificate):
        yield "The study file declares no table."
    else:
        yield "Tables are those of the do-files: below, regression by regression."
    if certificate.limits:
        yield (
            "What the protected file is not good for:"
            if has_rows(certificate)
            else "What is estimated:"
        )
        yield _items(map(plain, certificate.limits))


def _regressions(
    found: Sequence[RegressionWorth], released: str, silent: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """Yield the verdict on each regression of the do-files, in the order in which they run."""
    if not found:
        return
    yield "## Regressions of the do-files"
    yield (
        "A valid regression returns released effects of treatment with their errors, which contain "
        "the noise: differences in means, or adjusted effects where it was declared so, as its "
        "entry says; what was not released is n.r. "
        "For each of the others the reason is given. Numbers of an artefact mean nothing, whatever "
        "Stata prints."
    )
    yield _items(map(plain, worth_by_table(found)))
    on = "On the protected file" if released == "file" else "As released"
    yield _grid(
        ("Do-file and line", "Table", "Command", on),
        *(
            (
                code(f"{one.file}:{one.line}", cell=True),
                plain(one.table),
                code(f"{one.command} {one.outcome}".strip(), cell=True),
                plain(f"{one.verdict}: {one.reason}" if one.reason else one.verdict),
            )
            for one in found
        ),
    )
    if silent:
        yield "Some coefficients of these regressions have no number, because the noise hides them:"
        yield _items(
            f"{code(told)}: {', '.join(map(code, names))} not estimated"
            for told, names in silent.items()
        )


def _published(package: PackageNote | None) -> Iterator[str]:
    if package is None or not package.published:
        return
    yield "## Published numbers and released ones"
    yield (
        "The published numbers are those of the article, computed on the confidential data. They "
        "are not part of the release, and its guarantee does not cover them. The gap is in units "
        "of the released error, which contains sampling and privacy noise."
    )
    yield _grid(
        ("Do-file and line", "Coefficient", "Published (error)", "Released (error)", "Gap"),
        *(
            (code(place, cell=True), code(term, cell=True), *numbers)
            for place, term, *numbers in package.published
        ),
    )


def _which_to_run(package: PackageNote) -> Iterator[str]:
    if not package.made:
        return
    if package.has_rows:
        yield (
            "They do not run on it as they are: the file holds columns that they make, and Stata "
            f"would stop where they make them again. {code('run.do')} has the same regressions in "
            "the same order without these lines:"
        )
    else:
        yield "Columns that the release made itself, as the do-files do:"
    yield _items(map(code, package.made))


def _package(package: PackageNote | None) -> Iterator[str]:
    """Yield what is in the package, what is not, and what a reader has to change."""
    if package is None:
        return
    yield "## Files of the package"
    if package.has_rows:
        yield (
            f"The protected file stands where the confidential one stood: {code(package.place)}. "
            "The do-files are unchanged."
        )
    else:
        yield (
            f"The released numbers stand where the confidential file stood: {code(package.place)}. "
            "The do-files are unchanged. They show what was run, and do not run here, because "
            "there are no rows to run them on: their regressions are read off the numbers."
        )
    yield from _which_to_run(package)
    yield from _other_files(package)
    told = [f"{code(name)} {what}" for name, what in package.added.items()]
    for name in package.copied:
        why = package.unread.get(name)
        said = "" if why is None else f"; not checked by dprct ({why}), the authors vouch for it"
        told.append(f"{code(name)}: as it was{plain(said)}")
    yield _items(told)
    if package.left_out:
        files = "1 file" if package.left_out == 1 else f"{package.left_out} files"
        yield (
            f"{files} of the authors' folder are not in the package: programs are copied, and "
            "what the authors named as public; logs, tables, figures and other data are not."
        )
    if package.datasets:
        yield "Other data that the regressions of the do-files use:"
        yield _items(f"{code(name)}: {plain(what)}" for name, what in package.datasets.items())
    if package.elsewhere:
        yield "Paths of another machine, which have to be changed before these lines run:"
        yield _grid(
            ("Do-file and line", "Path", "In this package"),
            *(
                (*(code(one, cell=True) for one in (where, path)),
                 code(here, cell=True) if here else "nothing of that name")
                for where, path, here in package.elsewhere
            ),
        )  # fmt: skip


def _other_files(package: PackageNote) -> Iterator[str]:
    """Yield which other protected files there are, and what they promise together."""
    for whole, key, parts in package.parts:
        listed = " and ".join(map(code, parts))
        yield (
            f"{listed} were merged into {code(whole)} before the release. They hold its protected "
            f"columns, in the same rows and under the same keys: merged by {code(key)} they give "
            f"{code(whole)} again."
        )
    if package.others:
        who = "the same people" if package.disjoint is None else "other people"
        yield f"Files about {who} were released, too, each by a release of its own:"
        yield _items(f"{code(place)}: see {code(about)}" for place, about in package.others)
        yield (
            "Rows of different releases do not match by person: a merge of them gives "
            "artefacts. What is spent on people adds up."
            if package.disjoint is None
            else f"Nobody is in two of them, as the authors declare: {plain(package.disjoint)}. "
            "What is spent does not add up over them."
        )
        yield _items(map(plain, package.together))


def _stata(package: PackageNote | None) -> Iterator[str]:
    if package is None:
        return
    versions, packages = package.software
    known = f"the do-files say {' and '.join(f'version {one}' for one in versions)}"
    listed = ", ".join(map(code, packages))
    yield (
        f"Stata: {known if versions else BLANK.format('version of Stata that ran the do-files')}"
        + (f"; packages of other authors: {listed}" if packages else "; no other package is named")
        + "."
    )


def _rerun(
    command: str, certificate: Certificate, package: PackageNote | None, *, checked: bool
) -> Iterator[str]:
    yield "## Computational requirements"
    yield (
        f"Python 3.11 to 3.13 and the package dprct (this file was written by version "
        f"{__version__}). Every table takes seconds on a laptop."
    )
    yield from _stata(package)
    yield "## Instructions to Replicators"
    yield _items(_steps(command, certificate, package, checked=checked))
    if "sha256" in certificate.file:
        yield f"SHA-256 of {code(_name(certificate))}: `{certificate.file['sha256']}`"


def _steps(
    command: str, certificate: Certificate, package: PackageNote | None, *, checked: bool
) -> Iterator[str]:
    name = _name(certificate) if package is None else package.place
    yield (
        f"`pip install dprct=={__version__}`; where no index offers it, `pip install` with the "
        "wheel or the source archive of that version"
    )
    if checked:
        yield (
            f"{code(command)} makes every declared table from {code(name)} and "
            "ends with an error if a number differs."
        )
    if package is None:
        yield (
            f"{code(f'dprct verify {_argument(name)}')} says whether the file, or the .tab or "
            ".csv that an archive made of it, has the values of its certificate."
        )
        yield (
            "Do-files that ran on the confidential file run on the protected one: change only "
            f"the name of the file that they `use`, to {code(name)}. They need columns that "
            "are neither withheld nor left out."
        )
    else:
        yield (
            f"{code('dprct verify .')} compares every file of this folder with "
            f"{code('package.json')} and each release with its certificate, computes every valid "
            "regression of the do-files anew, and ends with an error if a number differs from "
            "those expected."
        )
    if not has_rows(certificate):
        one = f'dprct ols {_argument(name)} "FORMULA OR NAME"'
        yield (
            f"{code('python run.py')} prints every valid regression, and {code(one)} one of "
            f"them; in Stata, {code('do estimates.do')} opens their numbers."
        )
    elif package is not None:
        yield (
            "Start Stata in this folder and run the do-files: the protected file has the name of "
            "the confidential one. The table of regressions above says which numbers mean "
            "something."
        )
    yield (
        "Do not run `dprct protect` again: that needs the confidential data, gives another file "
        "with other numbers"
        + (", and charges the ledger of the data set." if _promises(certificate) else ".")
    )


_FATES: Mapping[str, str] = {
    "modelled": "synthetic values from the private release",
    "derived": "recomputed from released columns",
    "filler": "uniform over the public domain, no information",
    "withheld": "missing throughout",
    "key": "fresh keys",
    "public": "public, with the rows in a random order",
    "drop": "not in the file",
}
_FORMS = {"html": "a page for people", "txt": "text", "json": "JSON"}
_UNPROMISED = "synthetic values, drawn without a privacy guarantee"


def has_rows(certificate: Certificate) -> bool:
    """Whether what was released is a file of rows, and not a document of numbers."""
    return bool(certificate.fates)


def _promises(certificate: Certificate) -> bool:
    return certificate.guarantee.measure != "none"


def _name(certificate: Certificate) -> str:
    return certificate.file.get("name", "the protected file")


def _line(text: str, blank: str) -> str:
    return plain(text) or BLANK.format(blank)


def _prose(text: str, blank: str) -> str:
    return prose(text) or BLANK.format(blank)


def _argument(name: str) -> str:
    """Return the name of a file as a shell takes it, quoted if need be."""
    return name if re.fullmatch(r"[\w./-]+", name) else f'"{name}"'
