"""The confidential data sets of one package: several under one ledger, or several merged into one.

Files about the same people share one budget: each is released from a study file of its own, and all
charge the ledger of one data set, which holds their hashes.  Where do-files merge such files, rows
of separate releases do not match; then the merged file is released, and its protected columns are
given back to the files that they came from, under one key.

Everything that is refused here before the data are read follows from study files and headers.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import disk
from dprct.certificate.certificate import certificate_path
from dprct.certificate.valid_regressions import CHARACTERISTIC
from dprct.errors import DprctError, FileError, StudyError, marked
from dprct.io import read
from dprct.missing import missing_numbers
from dprct.privacy.ledger import ledger_path
from dprct.schema.columns import DATASET
from dprct.schema.conditions import Values
from dprct.schema.expressions import MADE, parse
from dprct.schema.schema import Schema
from dprct.study.do_files import MergedFile, Others, known_values, stem
from dprct.study.headers import read_header
from dprct.study.prepare import merges_in
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict

_MADE = frozenset({"_merge"})
"""Columns that a merge makes, and no file that is merged has."""

_MOST_STUDIES = 100

MANIFEST = "package.json"
"""The file of a package that lists its files, and says which were merged before the release."""

MADE_BY = "column made by the study: "
"""Under which, with its name, a certificate has the expression of a column."""

NEVER = "columns with a value in every row"
"""Under which a certificate has columns that were declared so: of numbers all of them."""

WITHIN = "declared values of columns in conditions"
"""Under which a certificate has bounds and levels of columns in conditions of the do-files."""

WHOSE = "column that says whose a row is"
"""Under which a certificate of numbers has the id of units that have several rows."""

TEXT_FILE = "text file that do-files read"
"""Under which a certificate has the name of a confidential .csv file, and those of its columns."""

_DEEPEST = 8

_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, DprctError,
)  # fmt: skip
"""What a document of a stranger may end in, which is then as if it were not there."""


def studies_of(study: Study) -> tuple[Study, ...]:
    """Return the study, and those of the other data sets of its package, in order."""
    names = () if study.package is None else study.package.studies
    if len(names) > _MOST_STUDIES:
        raise StudyError(f"[package] studies names more than {_MOST_STUDIES} files; name fewer")
    found = [study]
    home = study.path.parent.resolve()
    for name in names:
        path = study.path.parent / name
        where = f"[package] studies: {name!r}"
        if path.is_symlink() or not path.resolve().is_relative_to(home):
            raise FileError(
                f"{where} is a link, or lies outside the folder of the study file through one; put "
                "the file itself there"
            )
        if any(path.resolve() == one.path.resolve() for one in found):
            raise StudyError(f"{where} is named twice, or is this study file; name it once")
        try:
            other = load_study(path)
        except DprctError as error:
            raise type(error)(f"{where}: {marked(error)}") from None
        if study.disjoint is None:
            _check_shared(study, other, where)
        if other.package is not None:
            raise StudyError(
                f"{where} has a [package] of its own; leave it out: the package is that of "
                f"{study.path.name!r}"
            )
        found.append(other)
    _check_distinct(found)
    if study.disjoint is not None:
        _check_apart(found)
    return tuple(found)


def _check_apart(studies: Sequence[Study]) -> None:
    """Refuse data sets of different people that share a ledger, or are the same data."""
    ids: dict[str, Study] = {}
    contents: dict[str, Study] = {}
    for study in studies:
        first = ids.setdefault(study.dataset_id.casefold(), study)
        if first is not study:
            raise StudyError(
                f"[package] disjoint: {first.path.name!r} and {study.path.name!r} have dataset_id ="
                f" {study.dataset_id!r}, as data about the same people have; give each its own, or "
                "leave disjoint out"
            )
        for path in study.confidential_files:
            if not path.is_file():
                continue
            first = contents.setdefault(disk.sha256(path), study)
            if first is not study:
                raise StudyError(
                    f"[package] disjoint: {study.path.name!r} has data of {first.path.name!r}, so "
                    "that these are the same people; leave disjoint out"
                )


def _check_shared(study: Study, other: Study, where: str) -> None:
    """Refuse another study that does not charge this one's ledger for the same people."""
    if other.dataset_id != study.dataset_id:
        raise StudyError(
            f"{where} has dataset_id = {other.dataset_id!r}, this study {study.dataset_id!r}; give "
            "both the same: what is spent on the same people adds up in one ledger; if nobody is "
            'in two of them, say why: disjoint = "..." in [package]'
        )
    ledgers = [ledger_path(one.data, one.dataset_id).resolve() for one in (study, other)]
    if ledgers[0] != ledgers[1]:
        raise StudyError(
            f"{where} has data = {other.data.name!r} in another folder than {study.data.name!r}, "
            "and the ledger lies next to the data; put both into one folder"
        )
    if study.unit.id is None or (study.unit.name, study.unit.id) != (
        other.unit.name,
        other.unit.id,
    ):
        raise StudyError(
            f"{where} and this study do not protect the same unit by the same column; write [unit] "
            "with the same name and id in both, the id of a person"
        )
    if study.budget is None or study.budget != other.budget:
        raise StudyError(
            f"{where} and this study do not give the same [budget]; write the same total in both: "
            "all releases of the package are charged to it"
        )


def _check_distinct(studies: Sequence[Study]) -> None:
    """Refuse two data sets that would take one place."""
    seen: dict[tuple[str, object], Study] = {}
    for study in studies:
        places: list[tuple[str, object]] = [
            ("the data", study.data.name.casefold().removesuffix(".dta")),
            ("the data", study.data.resolve()),
            ("the output", (study.output.parent.resolve(), study.output.stem.casefold())),
            *(("the table", table.name) for table in study.tables),
        ]
        places += [("the data", name.casefold().removesuffix(".dta")) for name in merged(study)]
        for what, place in dict.fromkeys(places):
            first = seen.setdefault((what, place), study)
            if first is not study:
                raise StudyError(
                    f"{first.path.name!r} and {study.path.name!r} have one name for {what}; give "
                    "each data set of a package its own"
                )


def merged(study: Study) -> tuple[str, ...]:
    """Return the names of the files that were merged into the study's data."""
    return () if study.package is None else study.package.merge


def merge_problems(study: Study, header: Schema) -> list[str]:
    """Ways in which a study's data are not a merge of its files, as far as headers tell."""
    if not merged(study):
        return []
    where, key = "[package] merge", study.unit.id
    if study.scope.sample is not None:
        return [
            f"{where} does not go with [study] sample: the files have rows that are not in it; "
            "merge the rows of the sample, and leave sample out"
        ]
    if key is None or study.unit.max_rows != 1:
        return [f"{where} is by the person: write [unit] id, with one row for each (max_rows = 1)"]
    if key not in header.names:
        return []  # the study's own problems say so
    fate = study.declared(header).column(key).fate
    found = []
    if fate not in ("key", "public"):
        found.append(
            f"{where}: column {key!r} has fate {fate!r}; make it a key, so that the protected "
            "files can be merged by it"
        )
    there: set[str] = set()
    for path in study.merged_files:
        try:
            columns = _columns(path)
        except DprctError as error:
            found.append(f"{where}: {marked(error)}")
            continue
        there |= {*columns}
        lacking = [name for name in columns if name not in header.names]
        if key not in columns:
            found.append(f"{where}: {path.name!r} has no column {key!r}")
        if lacking:
            found.append(
                f"{where}: {study.data.name!r} lacks the column {lacking[0]!r} of {path.name!r}; "
                "merge whole files, and give what is not to be released the fate withheld"
            )
    extra = [name for name in header.names if name not in there | _MADE]
    if extra and not found:
        found.append(
            f"{where}: column {extra[0]!r} of {study.data.name!r} is in none of the files; make "
            "it in one of them before the merge"
        )
    return found


def _columns(path: Path) -> list[str]:
    if path.is_symlink():
        raise FileError(f"{path.name!r} is a link; put the file itself there")
    return Schema.from_dta(path).names


def check_merged(study: Study, data: pd.DataFrame) -> None:
    """Refuse data that are not the rows of the files that the study says were merged."""
    key = study.unit.id
    for path in study.merged_files:
        assert key is not None
        part = read(path)[0]
        wrong = (
            f"[package] merge: {study.data.name!r} is not {path.name!r} merged one to one by "
            f"{key!r}"
        )
        advice = "merge the files again, and keep the people who are in all of them"
        if not (data[key].is_unique and part[key].is_unique):
            raise FileError(f"{wrong}: the key repeats; {advice}")
        place = part[key].reset_index(drop=True)
        at = place.reset_index().set_index(key)["index"].reindex(data[key])
        if at.isna().any() or data[key].isna().any():
            raise FileError(f"{wrong}: the file lacks people; {advice}")
        rows = part.iloc[at.to_numpy(np.int64)]
        for name in part.columns:
            if not _same(data[name], rows[name]):
                raise FileError(f"{wrong}: column {name!r} differs; {advice}")


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    if one.dtype.kind == other.dtype.kind == "f":
        left, right = (np.ascontiguousarray(x.to_numpy(np.float64)) for x in (one, other))
        missing = missing_numbers(left)
        there = missing < 0
        # what is a number is compared as one, a missing value by its code
        return bool(
            np.array_equal(missing, missing_numbers(right))
            and np.array_equal(left[there], right[there])
        )
    return one.tolist() == other.tolist()


def others_of(study: Study, studies: Iterable[Study] = ()) -> Others:
    """Role of the other files of a study's folder in the verdicts on its do-files."""
    headers: dict[str, list[str]] = {}
    for one in studies:
        headers |= {path.name: _columns(path) for path in one.merged_files}
        if one.data.resolve() != study.data.resolve():
            headers[one.data.name] = [*one.of_file(read_header(one)).names]
    parts = {}
    if merged(study):
        rows = Schema.from_dta(study.data).file.rows
        for path in study.merged_files:
            header = Schema.from_dta(path)
            parts[path.name] = MergedFile(frozenset(header.names), header.file.rows == rows)
            headers[path.name] = header.names
    key = study.unit.id if parts else None
    schema = study.declared(read_header(study))
    values = known_values(schema, numbers=not study.makes_file)
    found = Others(headers, parts, key, study.derived, values=values)
    if study.makes_file and not study.prepare:
        return found
    unit = study.unit.repeated_id or ""
    return replace(found, merges=study.merges(schema), unit=unit)


def of_all(
    studies: Sequence[Study], verdicts_on: Callable[[Study, Others], list[Verdict]]
) -> tuple[list[Verdict], list[Study]]:
    """The verdicts of a package: each regression on the data set that it uses."""
    lists = [verdicts_on(study, others_of(study, studies)) for study in studies]
    if len({len(found) for found in lists}) > 1:
        # a header decides on how often a loop runs where no file was opened before it
        lists = [[one for one in found if _owner(one, studies) == at] for at, found in
                 enumerate(lists)]  # fmt: skip
        pairs = [(one, studies[at]) for at, found in enumerate(lists) for one in found]
    else:
        pairs = []
        for row in zip(*lists, strict=True):
            at = _owner(row[0], studies)
            pairs.append((row[at], studies[at]))
    return [one for one, _ in pairs], [whose for _, whose in pairs]


def packed_others(file: Path) -> Others:
    """Role of the other files of a package in the verdicts on one of its files.

    Where the file is in no package, or in one of an earlier version, nothing is known.
    """
    whole = file.resolve()
    for root in [*whole.parents][:_DEEPEST]:
        if (root / MANIFEST).is_file():
            break
    else:
        return Others()
    try:
        stated: Any = json.loads(disk.content(root / MANIFEST, disk.MOST_JSON))
        listed = [
            (str(one["place"]), one["key"], {str(k): bool(v) for k, v in one["parts"].items()})
            for one in stated["data_sets"]
        ]
        made = {str(one["place"]): _checked(one.get("derived", {})) for one in stated["data_sets"]}
    except _UNREADABLE:
        return Others()
    headers: dict[str, list[str]] = {}
    parts: dict[str, MergedFile] = {}
    key, derived = None, dict[str, str]()
    for place, by, merged_places in listed:
        if (root / place).resolve() != whole:
            headers |= headers_in(root, [place])
            continue
        key, derived = by if isinstance(by, str) else None, made[place]
        found = headers_in(root, [*merged_places])
        for name, whole_part in merged_places.items():
            base = name.rpartition("/")[2]
            if base in found:
                parts[base] = MergedFile(frozenset(found[base]), whole_part)
        headers |= found
    return Others(headers, parts, key if parts else None, derived)


def others_beside(file: Path, certificate: Path | None = None) -> Others:
    """Role of other files in the verdicts on a released one, by its package or certificate."""
    found = packed_others(file)
    try:
        beside = certificate or certificate_path(file)
        told: Any = json.loads(disk.content(beside, disk.MOST_JSON))
        facts = {str(name): str(said) for name, said in told["facts"].items()}
        made = {n.removeprefix(MADE_BY): x for n, x in facts.items() if n.startswith(MADE_BY)}
        derived, values = found.derived or _checked(made), _values_in(facts)
        unit = facts.get(WHOSE, "")
        text, _, names = facts.get(TEXT_FILE, "").partition(": ")
        former = {str(new): str(old) for new, old in json.loads(names or "{}").items()}
        return replace(
            found, derived=derived, merges=merges_in(facts), values=values, unit=unit,
            text_file=text, former=former,
        )  # fmt: skip
    except _UNREADABLE:
        return found


def facts_of_values(values: Mapping[str, Values], asked: Collection[str]) -> dict[str, str]:
    """What a certificate says of the values of columns in conditions.

    Examples
    --------
    >>> from dprct.schema.conditions import Values
    >>> facts_of_values({"age": Values(low=0, high=99), "late": Values()}, {"age"})[WITHIN]
    'age 0 to 99'
    """
    known = {name: one for name, one in values.items() if name in asked}
    texts = []
    for name, one in known.items():
        levels = one.levels or ()
        if levels and not any(isinstance(level, str) for level in levels):
            texts.append(f"{name} {', '.join(f'{level:.17g}' for level in levels)}")
        elif (one.low, one.high) != (-math.inf, math.inf):
            texts.append(f"{name} {one.low:.17g} to {one.high:.17g}")
    never = [name for name, one in known.items() if not one.may_miss]
    said = {NEVER: " ".join(never), WITHIN: "; ".join(texts)}
    return {key: text for key, text in said.items() if text}


def _values_in(facts: Mapping[str, str]) -> dict[str, Values]:
    """What a certificate says of the values of columns."""
    never = {*facts.get(NEVER, "").split()}
    found = {name: Values() for name in never}
    for text in filter(None, facts.get(WITHIN, "").split("; ")):
        name, _, said = text.partition(" ")
        low, to, high = said.partition(" to ")
        levels = None if to else tuple(map(float, said.split(", ")))
        ends = (float(low), float(high)) if to else (-math.inf, math.inf)
        found[name] = Values(levels, *ends, may_miss=name not in never)
    return found


def _checked(derived: Mapping[str, str]) -> dict[str, str]:
    """Return what a package says of derived columns, if that is in their language."""
    for text in derived.values():
        parse(text, language=MADE)
    return {str(name): text for name, text in derived.items()}


def headers_in(root: Path, places: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of files of a folder; what leads out of it is not opened."""
    found = {}
    for place in places:
        path = root / place
        if path.is_symlink() or not path.resolve().is_relative_to(root):
            continue
        with contextlib.suppress(DprctError, OSError):
            found[path.name] = Schema.from_dta(path).names
    return found


def _owner(one: Verdict, studies: Sequence[Study]) -> int:
    """Return the number of the study whose data a regression uses: those of ``use`` come first."""
    row = one.regression
    for name in (row.dataset, *row.sources):
        for at, study in enumerate(studies):
            if name and stem(name) in {stem(study.data.name), *map(stem, merged(study))}:
                return at
    return 0


def planned_verdicts(study: Study, do: Sequence[Path]) -> list[Verdict]:
    """Verdicts on the regressions of do-files with the data sets of a package."""
    from dprct.study.verdicts import of_study

    if study.data.suffix.lower() not in ("", ".dta", ".csv"):
        raise StudyError(
            f"regressions of do-files are judged on a Stata or .csv file, and data = "
            f"{study.data.name!r} is neither; save it as a .dta file first"
        )
    return of_all(studies_of(study), lambda one, others: of_study(do, one, others))[0]


def judged(study: Study, files: Sequence[Path], *, any_open: bool) -> list[Verdict] | None:
    """Verdicts on do-files; None where open points of the study keep these from being judged."""
    from dprct.study.do_files import read_do

    try:
        return planned_verdicts(study, files)
    except DprctError:
        if not any_open:
            raise
        read_do(files)  # a do-file that is not there is no open point
        return None


def part_of(
    columns: Sequence[str], data: pd.DataFrame, schema: Schema
) -> tuple[pd.DataFrame, Schema]:
    """Return the columns of a protected table that one of the merged files had, with their schema.

    It is a function of the protected table.  What that says of its regressions is left out, since
    it is about all of the columns.
    """
    names = [name for name in schema.names if name in {*columns}]
    kept = {DATASET, *names}
    file = replace(
        schema.file,
        sorted_by=(),
        characteristics=tuple(
            entry
            for entry in schema.file.characteristics
            if entry[0] in kept and entry[:2] != (DATASET, CHARACTERISTIC)
        ),
    )
    return data[names], replace(schema.select(names), file=file)


def fates_of(columns: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the fates of some columns."""
    return {name: columns[name] for name in names if name in columns}
