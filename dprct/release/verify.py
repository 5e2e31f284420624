"""Whether a file is what its certificate describes, however it was saved since."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import asdict, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct import disk
from dprct.arguments import checked
from dprct.certificate.certificate import (
    Certificate,
    labels_digest,
    number_digest,
    text_digest,
    to_15_digits,
)
from dprct.disk import file_error, path_of
from dprct.errors import DprctWarning, FileError, LedgerError, ParameterError
from dprct.estimate.moments.document import DIGEST, content_of, digest_of, read_document, text_of
from dprct.io.formats import read
from dprct.io.text import ABSENT, DELIMITERS, readings
from dprct.missing import tagged
from dprct.privacy.accountant import Accountant
from dprct.privacy.certified import Needed, lacking
from dprct.privacy.ledger import ledger_path
from dprct.records import dataclass
from dprct.release.writing import RESULTS, certificate_paths, results_digest, results_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from dprct.certificate.certificate import ColumnDigest, ValuesDigest
    from dprct.io.text import Cells


Agreement = Literal["match", "match to 15 digits", "differ", "not checked"]

INTEGRITY = (
    "This checks integrity, not authorship: it says whether the values are those for which the "
    "certificate was written, not who wrote it. Anyone can write a certificate; take it from a "
    "place that you trust."
)

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_EPOCH = date(1960, 1, 1)
_AGREES = ("match", "match to 15 digits")


@dataclass(frozen=True)
class Verification:
    """What was found when a file was checked against a certificate; true where it holds its values.

    Parameters
    ----------
    file, certificate : str
        Names.
    identical : bool
        Byte for byte the file that the certificate describes.
    missing_codes : {"match", "differ", "not checked"}
        Which missing code stands where (``.``, ``.a`` to ``.z``).
    labels : {"match", "differ", "not checked"}
        Variable labels and value labels.
    differing : tuple of str
        Columns whose values differ.
    lacking, added : tuple of str
        Columns that only the certificate, or only the file has.
    relabelled : tuple of str
        Columns whose labels differ.
    reordered : bool
        Whether the columns stand in another order.
    rows : tuple of int
        Of the file and of the certificate; -1 where not known.
    ledger : str
        Whether the ledger has what the certificate says that paid for the file.
    in_ledger : bool or None
        The same; None where there is no ledger to look in.
    """

    file: str
    certificate: str
    identical: bool
    values: Agreement
    missing_codes: Agreement = "match"
    labels: Agreement = "match"
    differing: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    reordered: bool = False
    rows: tuple[int, int] = (-1, -1)
    ledger: str = ""
    in_ledger: bool | None = None

    def __bool__(self) -> bool:
        same = self.values in _AGREES and not self.lacking and not self.added
        return (self.identical or same) and self.in_ledger is not False

    def to_dict(self) -> dict[str, Any]:
        """Findings as JSON-ready values."""
        return {"verified": bool(self), **asdict(self), "says": INTEGRITY}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        details = [*self._details(), *([self.ledger] if self.ledger else [])]
        lines = [self._verdict(), *(f"- {line}" for line in details), INTEGRITY]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.identical:
            return f"{self.file} is byte for byte the file that {self.certificate} describes"
        if self.values == "not checked":
            return (
                f"{self.file} is not the file that {self.certificate} describes, and that "
                "certificate has no digest of the values, so nothing else can be checked"
            )
        if self.values not in _AGREES or self.lacking or self.added:
            return f"{self.file} DOES NOT MATCH {self.certificate}"
        digits = " to 15 significant digits, as it prints no more" * (self.values != "match")
        return f"{self.file} is not the same file, but its values match {self.certificate}{digits}"

    def _details(self) -> list[str]:
        if self.identical or self.values == "not checked":
            return []
        found, known = self.rows
        named = (
            ("values differ in", self.differing),
            ("columns that are not there:", self.lacking),
            ("columns that the certificate does not know:", self.added),
        )
        lines = [f"{words} {', '.join(names)}" for words, names in named if names]
        if found != known:
            lines.insert(0, f"{found:,} rows where the certificate has {known:,}")
        if self.reordered:
            lines.append("columns stand in another order")
        lines.append(_CODES[self.missing_codes])
        labels = ", ".join(self.relabelled)
        return [*lines, _LABELS[self.labels] + (f" in {labels}" if labels else "")]


_CODES: dict[Agreement, str] = {
    "match": "missing codes match",
    "differ": "missing codes differ: what was missing is missing, but not with the same code",
    "not checked": "missing codes not checked: this file does not say which code was meant",
}
_LABELS: dict[Agreement, str] = {
    "match": "labels match",
    "differ": "labels differ",
    "not checked": "labels not checked: they are compared in .dta files only",
}


class ResultsVerification(Verification):
    """What was found when a document of results was checked against the hash in it."""

    __slots__ = ()

    def _details(self) -> list[str]:
        return [] if self.identical or self.values != "differ" else [_EDITED]


_EDITED = "it was changed after it was written: take the one that dprct protect wrote"


def _results_of(path: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the document of results that a file is, or whose text it is; None if it is neither."""
    if path.suffix.lower() not in (".json", ".txt"):
        return None
    place = path.with_suffix(".json")
    try:
        content = json.loads(disk.content(place, disk.MOST_JSON)) if place.is_file() else None
    except (OSError, ValueError, RecursionError, FileError):
        return None
    if isinstance(content, dict) and content.get("results") == RESULTS:
        return place, content
    return None


def _held_results(path: Path, place: Path, content: Mapping[str, Any]) -> ResultsVerification:
    """Whether a document, or its text, is as it was written."""
    whole = content.get("sha256") == results_digest(content)
    if path == place:
        identical = whole and disk.content(path, disk.MOST_JSON) == results_text(content).encode(
            "utf-8", "surrogatepass"
        )
        where = "the hash in it"
    else:
        whole = identical = whole and disk.sha256(path) == content.get("text_sha256")
        where = place.name
    return ResultsVerification(path.name, where, identical, "match" if whole else "differ")


class MomentsVerification(Verification):
    """What was found when released moments were checked against their digest, and a certificate."""

    __slots__ = ()

    def _details(self) -> list[str]:
        if self.identical or self.values != "differ":
            return []
        if self.certificate != _DIGEST_IN_IT:
            return ["they were changed, or the certificate is of other moments"]
        return ["they were changed after they were written: get them again from who published them"]


_DIGEST_IN_IT = "the digest in it"


def _held_moments(
    path: Path, content: Mapping[str, Any], described: tuple[Path, Certificate] | None
) -> MomentsVerification:
    """Whether released moments are as they were written, and their own statements.

    With a certificate they must be those that it is of: in that file, or with the same content.
    """
    whole = content.get("digest") == digest_of(content)
    if whole:
        read_document(path)
    identical = whole and disk.content(path, disk.MOST_JSON) == text_of(content).encode(
        "utf-8", "surrogatepass"
    )
    if described is None:
        return MomentsVerification(
            path.name, _DIGEST_IN_IT, identical, "match" if whole else "differ"
        )
    place, certificate = described
    same = whole and certificate.facts.get(DIGEST) == content["digest"]
    identical = same and disk.sha256(path) == certificate.file.get("sha256")
    return MomentsVerification(path.name, place.name, identical, "match" if same else "differ")


@checked
def verify(
    path: str | Path,
    certificate: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
) -> Verification:
    """Check a protected file against its certificate, or a document of results against its hash.

    Parameters
    ----------
    path : str or Path
        The file as released, a copy that another program or an archive saved (.dta, .tab, .tsv,
        .txt, .csv), or any other file that :func:`dprct.read` reads.  Also a document of results
        (.json) that ``dprct protect`` wrote for an estimate, or its text (.txt), or released
        moments (``study.moments.json``); these need no certificate, because the document contains
        a hash of its content.  If released moments have one, it must be of their content.
    certificate : str or Path, optional
        The certificate in JSON. By default, the one next to the file.
    ledger : str or Path, optional
        The ledger that was charged for the file.  By default, the one next to the file, if there is
        one.

    Returns
    -------
    Verification
        True if the file holds the values that the certificate states, and no ledger contradicts it.

    Raises
    ------
    FileError
        If the file or its certificate cannot be read.
    ParameterError
        If the certificate is not one of this package.

    Notes
    -----
    Values are compared by digests that do not depend on the kind of file.  In a text file a number
    of a column that Stata kept in four bytes (``float``) is rounded to four bytes before it is
    compared, and numbers printed with 15 significant digits match "to 15 digits"; fewer digits do
    not match.  Days printed as ``2010-01-31`` count as Stata's days.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from dprct import Column, MVHistogram, Schema
    >>> schema = Schema((Column("got", "byte"),)).declare(got=dict(levels=[0, 1], missing="never"))
    >>> model = MVHistogram(pd.DataFrame({"got": [0.0, 1.0] * 200}), schema, columns=["got"])
    >>> path = Path(tempfile.mkdtemp()) / "trial_protected.dta"
    >>> _ = model.fit(epsilon=1).write_dta(path)
    >>> found = verify(path)
    >>> bool(found), found.identical
    (True, True)
    """
    path = path_of(path)
    results = _results_of(path) if certificate is None else None
    moments = content_of(path) if results is None and path.suffix == ".json" else None
    held: Verification | ResultsVerification | MomentsVerification
    if results is not None:
        held, paid = _held_results(path, *results), results[1].get("ledger")
    elif moments is not None:
        beside = certificate is not None or certificate_paths(path)[1].is_file()
        given = _certificate(path, certificate) if beside else None
        held, paid = _held_moments(path, moments, given), moments.get("ledger")
    else:
        place, described = _certificate(path, certificate)
        held, paid = _held(path, place, described), described.ledger
    words, in_ledger = _in_ledger(path, str(paid), ledger)
    return replace(held, ledger=words, in_ledger=in_ledger)


def _held(path: Path, place: Path, described: Certificate) -> Verification:
    """Findings in the file itself."""
    if disk.sha256(path) == described.file.get("sha256"):
        return Verification(path.name, place.name, identical=True, values="match")
    if described.values is None:
        return Verification(
            path.name, place.name, False, "not checked", "not checked", "not checked"
        )
    if path.suffix.lower() in DELIMITERS:
        found = [_printed(cells, described.values) for cells in readings(path)]
        best = min(found, key=lambda one: len(one.differing))
    else:
        best = _stored(path, described.values)
    return best.against(path.name, place.name, described.values)


def _in_ledger(path: Path, words: str, given: str | Path | None) -> tuple[str, bool | None]:
    """Words and verdict on whether a ledger has what a certificate needs."""
    needed = Needed.of(words)
    if needed is None:
        return f"no ledger file shows who paid for it: {words.split(';')[0]}", None
    place = path_of(given) if given is not None else ledger_path(path, needed.dataset_id)
    if given is None and not place.exists():
        return (
            f"the ledger stays with the confidential data and was not checked: there is no "
            f"{place.name} beside the file, which needs {needed}; ask those who keep the data, or "
            "give the ledger too",
            None,
        )
    try:
        found = Accountant.load(place, dataset_id=needed.dataset_id)
        lost = lacking(found, needed)
    except LedgerError as error:
        why = str(error).partition(";")[0]
        return f"THE LEDGER CANNOT BE USED ({why}): the file needs {needed}", False
    if lost:
        return f"THE LEDGER {place.name} LACKS {', '.join(lost)}: the file needs {needed}", False
    return f"the ledger {place.name} has what paid for the file: {needed}", True


@dataclass(frozen=True)
class _Found:
    """What a file has of each column of a certificate."""

    names: tuple[str, ...]
    rows: int
    plain: dict[str, str]
    exact: dict[str, str]
    rounded: dict[str, str]
    labels: dict[str, str] | None
    known: ValuesDigest

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        rows: int,
        columns: Mapping[str, Any],
        labels: dict[str, str] | None,
        known: ValuesDigest,
        *,
        printed: bool,
    ) -> _Found:
        """Return the digests of columns of numbers or texts, printed ones also to 15 digits."""
        plain, exact, rounded = {}, {}, {}
        for name, values in columns.items():
            if not isinstance(values, np.ndarray):
                plain[name] = exact[name] = text_digest(values)
                continue
            plain[name] = number_digest(values, exact=False)
            exact[name] = number_digest(values, exact=True)
            if printed:
                rounded[name] = number_digest(to_15_digits(values), exact=False)
        return cls(names, rows, plain, exact, rounded, labels, known)

    @property
    def differing(self) -> tuple[str, ...]:
        """Columns that are there and whose values are others."""
        both = [c for c in self.known.columns if c.name in self.plain]
        return tuple(c.name for c in both if not self._same(c) and not self._rounded(c))

    def _same(self, column: ColumnDigest) -> bool:
        return self.plain[column.name] == column.plain

    def _rounded(self, column: ColumnDigest) -> bool:
        return self.rounded.get(column.name) == column.rounded

    def against(self, file: str, certificate: str, known: ValuesDigest) -> Verification:
        """Findings in the words of :class:`Verification`."""
        columns = [c for c in known.columns if c.name in self.plain]
        names = [c.name for c in known.columns]
        values: Agreement = "match" if all(map(self._same, columns)) else "match to 15 digits"
        codes: Agreement = "match"
        if any(self.exact[c.name] != c.exact for c in columns if self._same(c)):
            codes = "differ" if self.labels is not None else "not checked"
        relabelled = [c.name for c in columns if self.labels and self.labels[c.name] != c.labels]
        labels: Agreement = "differ" if relabelled else "match"
        return Verification(
            file=file,
            certificate=certificate,
            identical=False,
            values="differ" if self.differing or self.rows != known.rows else values,
            missing_codes=codes,
            labels="not checked" if self.labels is None else labels,
            differing=self.differing,
            lacking=tuple(name for name in names if name not in self.names),
            added=tuple(name for name in self.names if name not in names),
            relabelled=tuple(relabelled),
            reordered=[n for n in self.names if n in names]
            != [n for n in names if n in self.names],
            rows=(self.rows, known.rows),
        )


def _stored(path: Path, known: ValuesDigest) -> _Found:
    """Return the digests of a file that knows numbers from texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)  # what a route loses shows as a difference
        table, schema = read(path)
    there = {c.name: table[c.name] for c in known.columns if c.name in schema.names}
    columns = {
        name: list(values) if values.dtype == object else values.to_numpy(np.float64)
        for name, values in there.items()
    }
    labels = None
    if path.suffix.lower() == ".dta":
        labels = {c.name: labels_digest(c.label, schema.labels_of(c.name)) for c in schema.columns}
    return _Found.of(tuple(schema.names), len(table), columns, labels, known, printed=False)


def _printed(cells: Cells, known: ValuesDigest) -> _Found:
    """Return the digests of a text file, whose columns are what the certificate says they are."""
    by_name = dict(zip(cells.names, cells.columns, strict=True))
    columns: dict[str, Any] = {}
    for column in (c for c in known.columns if c.name in by_name):
        printed = by_name[column.name]
        numbers = None if column.kind == "text" else _numbers(printed)
        if numbers is not None and column.kind == "float":
            numbers = _in_four_bytes(numbers)
        columns[column.name] = printed if numbers is None else numbers
    rows = len(cells.columns[0]) if cells.columns else 0
    return _Found.of(cells.names, rows, columns, None, known, printed=True)


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the numbers of printed cells, missing codes in NaN payloads, or None."""
    codes = np.array([ABSENT.get(cell, -1) for cell in cells], np.int8)
    present = [cell for cell in cells if cell not in ABSENT]
    if any("_" in cell for cell in present):  # Python reads 1_000 as a number, nobody else does
        return None
    try:
        numbers = np.array([_number(cell) for cell in present], np.float64)
    except ValueError:
        return None
    out = tagged(np.maximum(codes, 0).astype(np.int64))
    out[codes < 0] = numbers
    return out


def _number(cell: str) -> float:
    if _DAY.fullmatch(cell):
        return float((date.fromisoformat(cell) - _EPOCH).days)
    return float(cell)


def _in_four_bytes(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers (n,) rounded to the nearest that four bytes hold; missing ones stay."""
    with np.errstate(over="ignore", under="ignore"):
        return np.where(np.isnan(numbers), numbers, numbers.astype(np.float32).astype(np.float64))


def _certificate(path: Path, given: str | Path | None) -> tuple[Path, Certificate]:
    place = certificate_paths(path)[1] if given is None else path_of(given)
    try:
        content = json.loads(disk.content(place, disk.MOST_JSON))
    except FileNotFoundError:
        if given is None and not path.exists():
            raise FileError(f"{path.name!r} does not exist; check the path") from None
        if given is None and path.is_dir():
            raise FileError(
                f"{path.name!r} is a folder; give the released file, or run dprct verify in a "
                "shell, which checks whole packages"
            ) from None
        others = sorted(found.name for found in path.parent.glob("*.certificate.json"))
        hint = f"; there is {', '.join(others)}: give it as the certificate" if others else ""
        raise FileError(f"there is no certificate {place.name!r}{hint}") from None
    except OSError as error:
        raise file_error(error, place, "read") from None
    except (ValueError, RecursionError):
        raise ParameterError(
            f"{place.name!r} is not JSON; give the .certificate.json of a release"
        ) from None
    return place, Certificate.from_dict(content)
