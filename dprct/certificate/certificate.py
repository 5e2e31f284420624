"""The certificate of a protected file: what was done, what is promised, what differs and why.

Text for people, JSON with a versioned schema (``certificate.schema.json``) for programs.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict, get_args

import numpy as np

from dprct.annotations import DOCUMENT, LATER, WRONG, Count, Sha256, kinds_of
from dprct.errors import ParameterError, SimulationError
from dprct.missing import MISSING_CODES, missing_numbers
from dprct.privacy.budget import Guarantee, GuaranteeContent
from dprct.privacy.certified import Needed
from dprct.records import dataclass
from dprct.schema.facts import Fate  # noqa: TC001 -- read by DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.schema.columns import Code
    from dprct.schema.schema import Schema


Kind = Literal["number", "float", "text"]

_VALUES_HEAD = b"dprct-values-1\n"
_MISSING = np.uint64(0x7FF8_0000_0000_0000)
_PIECE = 1 << 16
"""Rows of a column that are put into bytes at a time."""


@dataclass(frozen=True)
class ColumnDigest:
    """The digests of one column, each 64 hexadecimal digits."""

    name: str
    # ``"float"`` is a number that the file keeps in four bytes: printed, such a number may have
    # fewer digits, and it is rounded to four bytes again before it is compared.
    kind: Kind
    exact: Sha256  # with the missing codes
    plain: Sha256  # without them; that of a text is the exact one
    # Plain, of the numbers at 15 significant digits; that of a text is the exact one.
    rounded: Sha256
    labels: Sha256  # of the variable label and the value labels


class ValuesContent(TypedDict):
    """The digests of a table in a document."""

    definition: Literal["dprct-values-1"]
    rows: Count
    sha256: Sha256
    plain_sha256: Sha256
    columns: tuple[ColumnDigest, ...]


@dataclass(frozen=True)
class ValuesDigest:
    """The digests of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"),))
    >>> found = digest_of(pd.DataFrame({"got": [1.0, -0.0]}), schema)
    >>> found.sha256[:16], found.sha256 == found.plain_sha256
    ('f8c53d063cb3bec4', True)
    """

    rows: int
    columns: tuple[ColumnDigest, ...]  # in the order of the file

    @property
    def sha256(self) -> str:
        """The exact digest of the table."""
        return _of_table([(c.name, c.exact) for c in self.columns])

    @property
    def plain_sha256(self) -> str:
        """The plain digest of the table, which a .csv has too."""
        return _of_table([(c.name, c.plain) for c in self.columns])

    def to_dict(self) -> dict[str, Any]:
        """Return the digests as JSON-ready values; see ``certificate.schema.json``."""
        return {
            "definition": "dprct-values-1",
            "rows": self.rows,
            "sha256": self.sha256,
            "plain_sha256": self.plain_sha256,
            "columns": [asdict(column) for column in self.columns],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ValuesDigest:
        """Return the digests that :meth:`to_dict` wrote."""
        read = DOCUMENT.read(content, kinds_of(ValuesContent))
        found = None if read is WRONG else cls(read["rows"], read["columns"])
        if found is None or (found.sha256, found.plain_sha256) != (
            read["sha256"],
            read["plain_sha256"],
        ):
            raise ParameterError(
                "the digests of the columns in the certificate do not add up to that of the table, "
                "so the certificate was changed; take the one that came with the file"
            )
        return found


def digest_of(table: pd.DataFrame, schema: Schema) -> ValuesDigest:
    """Digests of a released table: missing codes in NaN payloads, text as ``str`` or ``bytes``."""
    columns = []
    for column in schema.columns:
        labels = labels_digest(column.label, schema.labels_of(column.name))
        if column.type.startswith("str"):
            digest = text_digest(list(table[column.name]))
            columns.append(ColumnDigest(column.name, "text", digest, digest, digest, labels))
            continue
        values = table[column.name].to_numpy(np.float64)
        kind: Kind = "float" if column.type == "float" else "number"
        exact, plain = (number_digest(values, exact=keep) for keep in (True, False))
        rounded = number_digest(to_15_digits(values), exact=False)
        columns.append(ColumnDigest(column.name, kind, exact, plain, rounded, labels))
    return ValuesDigest(len(table), tuple(columns))


def number_digest(values: NDArray[np.float64], *, exact: bool) -> str:
    """Return the digest of a column of numbers (n,), with or without its missing codes."""
    digest = hashlib.sha256(b"N" + _length(len(values)))
    for start in range(0, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        codes = missing_numbers(piece)
        bits = np.where(piece == 0, 0.0, piece).view(np.uint64)
        tags = np.maximum(codes, 0).astype(np.uint64) if exact else np.uint64(0)
        bits = np.where(codes >= 0, _MISSING | tags, bits)
        digest.update(bits.astype(">u8").tobytes())
    return digest.hexdigest()


def text_digest(values: Sequence[object]) -> str:
    """Return the digest of a column of texts (n,); anything but ``str`` or ``bytes`` is missing."""
    digest = hashlib.sha256(b"T" + _length(len(values)))
    for value in values:
        digest.update(_counted(value if isinstance(value, (str, bytes)) else ""))
    return digest.hexdigest()


def labels_digest(label: str, labels: Mapping[Code, str]) -> str:
    """Return the digest of a variable label and of value labels."""
    digest = hashlib.sha256(_counted(label))
    for code in sorted(labels, key=_rank):
        digest.update(_counted(code if isinstance(code, str) else f"{code:d}"))
        digest.update(_counted(labels[code]))
    return digest.hexdigest()


def to_15_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers (n,) as they come back from 15 printed digits; missing ones as they are.

    Examples
    --------
    >>> to_15_digits(np.array([1 / 3, 0.1 + 0.2])).tolist()
    [0.333333333333333, 0.3]
    """
    out = values.copy()
    for start in range(0, len(values), _PIECE):  # as Python's numbers, of which few at a time
        piece = out[start : start + _PIECE]
        whole = np.isnan(piece) | (piece == np.rint(piece)) & (np.abs(piece) < 1e15)
        piece[~whole] = _to_15_digits(piece[~whole])
    return out


_SPLIT = 2.0**27 + 1
_POWERS = np.array([10.0**k for k in range(23)])
"""Those that a double holds exactly."""


def _to_15_digits(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return finite numbers from 15 digits, in a tenth of the time that printing them takes.

    Notes
    -----
    With p = 10^k exact, ``high + low = |x| p`` exactly (Dekker's product), so that the nearest
    whole number N is known, and N / p, a quotient of two doubles that are exact, is the double
    nearest to the number of 15 digits.  Halves, and numbers that no k from 0 to 22 scales, are
    printed.
    """
    with np.errstate(divide="ignore"):
        k = 14 - np.floor(np.log10(np.abs(x)))
    scaled = (k >= 0) & (k <= 22)
    size = np.where(scaled, np.abs(x), 1.0)
    p = _POWERS[np.where(scaled, k, 0).astype(np.intp)]
    high = size * p
    (a, b), (c, d) = _halves(size), _halves(p)
    low = ((a * c - high) + a * d + b * c) + b * d
    number = np.rint(high)
    rest = (high - number) + low
    number += (rest > 0.5).astype(np.float64) - (rest < -0.5)
    done = scaled & (number >= 1e14) & (number < 1e15) & (np.abs(rest) != 0.5)
    out: NDArray[np.float64] = np.copysign(number / p, x)
    out[~done] = [float(f"{value:.15g}") for value in x[~done].tolist()]
    return out


def _halves(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the upper and the lower half of the digits."""
    turned = _SPLIT * x
    upper = turned - (turned - x)
    return upper, x - upper


def _of_table(columns: Sequence[tuple[str, str]]) -> str:
    digest = hashlib.sha256(_VALUES_HEAD)
    for name, column in columns:
        digest.update(_counted(name) + bytes.fromhex(column))
    return digest.hexdigest()


def _counted(text: str | bytes) -> bytes:
    raw = text if isinstance(text, bytes) else _bytes(text)
    return _length(len(raw)) + raw


def _bytes(text: str) -> bytes:
    """Return a text in UTF-8; a surrogate escape is the byte of the file that it stands for."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _length(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _rank(code: Code) -> tuple[int, float]:
    return (1, MISSING_CODES.index(code)) if isinstance(code, str) else (0, code)


VERSION = 1
_WIDTH = 88

CAVEATS = (
    "What those who declared the public facts had seen of the data before cannot be known.",
    "The ledger is kept by the author.",
    "This is not a legal determination of anonymity.",
    "The hash and the digest show that a file was not changed (dprct verify FILE); they do not "
    "show who made it.",
)
"""What a certificate cannot know, said on each."""


NO_GUARANTEE_LABEL = "NO DP GUARANTEE:"
"""How the label of a data set begins where nothing is promised."""


VOID_ERRORS = "Standard errors, p-values and effects computed on this file mean nothing"
"""How the note begins of a file whose noise makes unrelated columns look related."""


def certificate_path(path: Path) -> Path:
    """Place of the certificate of a protected file, as programs read it.

    Examples
    --------
    >>> from pathlib import Path
    >>> certificate_path(Path("liberia.dta")).name
    'liberia.certificate.json'
    """
    return path.with_suffix(".certificate.json")


@dataclass(frozen=True)
class PermittedDifference:
    """One way in which the protected file may differ from the confidential one."""

    facet: str  # a key of :data:`dprct.io.compare.FACETS`
    column: str | None  # the column, or None for the whole file
    reason: str


MARGINAL = "valid: average marginal effect"
"""Verdict on a logit or Poisson regression whose average marginal effects were released."""

Verdict = Literal[
    "valid", "valid: average marginal effect", "effects only", "artefact", "cannot run"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Verdicts on a regression of a do-file on a protected file."""


@dataclass(frozen=True)
class RegressionWorth:
    """Verdict on one regression of the study's do-files."""

    file: str
    line: Count
    table: str
    command: str
    outcome: str
    verdict: Verdict  # valid, valid: average marginal effect, effects only, artefact or cannot run
    # Why it is not valid; of a valid one empty, or how its number differs from the original's.
    reason: str = ""
    # What else stands in its way.
    also: tuple[str, ...] = field(default=(), metadata={LATER: True})

    def __str__(self) -> str:
        told = f"{self.file}:{self.line} {self.command} {self.outcome}".rstrip()
        reasons = [self.reason, *(f"also, {one}" for one in self.also)] if self.reason else []
        return f"{told}: {self.verdict}" + (f": {'; '.join(reasons)}" if reasons else "")

    def to_dict(self) -> dict[str, Any]:
        """Its fields; without ``also`` where that is empty."""
        found = {name: value for name, value in asdict(self).items() if name != "also"}
        return {**found, "also": [*self.also]} if self.also else found


def worth_by_table(regressions: Sequence[RegressionWorth]) -> list[str]:
    """Count of verdicts of each kind, a line for each table.

    Examples
    --------
    >>> worth_by_table([RegressionWorth("a.do", 3, "Table 1", "regress", "y", "valid")])
    ['Table 1: 1 valid']
    """
    counts: dict[str, dict[str, int]] = {}
    for one in regressions:
        mine = counts.setdefault(one.table or "no table named", dict.fromkeys(VERDICTS, 0))
        mine[one.verdict] += 1
    return [
        f"{table}: {', '.join(f'{number} {verdict}' for verdict, number in mine.items() if number)}"
        for table, mine in counts.items()
    ]


# What the commands of readers find on a calibrated file.

TOLERANCE = 5e-5
"""A ratio this far below one is called too small: less would not show in the table."""

_HEADING = ("command", "smallest", "largest")


@dataclass(frozen=True)
class ErrorRatio:
    """What one command finds on the file, as a share of the released error.

    Examples
    --------
    >>> ErrorRatio("regress y t x", 0.9, 1.1, "earn on treat").too_small
    True
    """

    command: str  # as in Stata, with ``y``, ``t`` and ``x`` for outcome, arms and covariates
    # smallest, largest: over all outcomes, arms and covariate sets; NaN where the errors do not
    # exist.
    smallest: float
    largest: float
    where: str = ""  # outcome and arm of the smallest

    @property
    def too_small(self) -> bool:
        """Whether some interval of this command is narrower than the valid one."""
        return self.smallest < 1 - TOLERANCE


class RatioContent(TypedDict):
    """One ratio in a document; an error that does not exist is null."""

    command: str
    smallest: float | None
    largest: float | None
    where: str


class ReadingContent(TypedDict):
    """What a reader finds, in a document."""

    ratios: tuple[RatioContent, ...]
    breaks: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """What a reader of a calibrated file finds.

    Examples
    --------
    >>> reading = Reading((ErrorRatio("regress y t x, vce(robust)", 1.0, 1.0),))
    >>> print(reading.lines()[1])
    regress y t x, vce(robust)    1.0000   1.0000
    >>> Reading.from_dict(reading.to_dict()) == reading
    True
    """

    ratios: tuple[ErrorRatio, ...] = ()
    breaks: tuple[str, ...] = ()  # idioms that stop, or give artefacts

    def lines(self) -> list[str]:
        """Return the table of errors as lines in columns; ``!`` marks those that are too small."""
        width = max(len(ratio.command) for ratio in self.ratios) if self.ratios else 0
        rows = [
            (one.command, shown_ratio(one.smallest), shown_ratio(one.largest),
             "! too small" if one.too_small else "")
            for one in self.ratios
        ]  # fmt: skip
        return [
            f"{command:<{width}}  {low:>8} {high:>8}  {remark}".rstrip()
            for command, low, high, remark in [(*_HEADING, ""), *rows]
        ]

    def blocks(self) -> list[str]:
        """Parts that a certificate prints: the table, and what breaks."""
        return [
            "How commands read this file: the error that they find over the released one, which",
            "contains sampling and privacy noise (over outcomes, arms and covariate sets):",
            *self.lines(),
            "",
            "What breaks on this file:",
            *(f"- {line}" for line in self.breaks),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; an error that does not exist is null."""
        ratios = [asdict(one) for one in self.ratios]
        for one in ratios:
            for key in ("smallest", "largest"):
                one[key] = one[key] if math.isfinite(one[key]) else None
        return {"ratios": ratios, "breaks": list(self.breaks)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Reading:
        """Object of what :meth:`to_dict` wrote."""
        read = DOCUMENT.content(content, ReadingContent)
        ratios = tuple(
            ErrorRatio(
                one["command"], _of_json(one["smallest"]), _of_json(one["largest"]), one["where"]
            )
            for one in read["ratios"]
        )
        return cls(ratios, read["breaks"])


def _of_json(value: float | None) -> float:
    return math.nan if value is None else value


def shown_ratio(ratio: float) -> str:
    """Return a ratio with four decimals; one that does not exist is ``none``."""
    return f"{ratio:.4f}" if math.isfinite(ratio) else "none"


class FileContent(TypedDict):
    """Name and hash of a protected file, in its certificate."""

    name: NotRequired[str]
    sha256: NotRequired[Sha256]


class SealContent(TypedDict):
    """The sealed schema, in a certificate."""

    sha256: Sha256
    sealed: str
    header: str


class StudyContent(TypedDict):
    """What a study file asked for, in a certificate."""

    sha256: Sha256


class CertificateContent(TypedDict):
    """A certificate as a document, from which ``certificate.schema.json`` is made."""

    certificate: Literal[1]
    dprct: str
    issued: Annotated[str, {"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}]
    file: FileContent
    dataset_id: str | None
    method: str
    guarantee: GuaranteeContent
    facts: Mapping[str, str]
    schema: SealContent
    study: NotRequired[StudyContent]
    ledger: str
    fates: Mapping[str, Fate | Literal["derived"]]
    differences: tuple[PermittedDifference, ...]
    limits: tuple[str, ...]
    reading: NotRequired[ReadingContent]
    regressions: NotRequired[tuple[RegressionWorth, ...]]
    values: NotRequired[ValuesContent]


@dataclass(frozen=True)
class Certificate:
    """The certificate of a protected file.

    Parameters
    ----------
    method : str
        Name and source of the method.
    facts : mapping of str to str
        Public numbers of the method (K, t, n, ...), as a plan prints them.
    seal : str
        Date and hash of the schema, and whether it was sealed before the data were opened.
    header : str
        Whether the facts of the file's header were confirmed as public.
    ledger : str
        The ledger entry to which the budget was charged, or "charged to no ledger".
    fates : mapping of str to str
        Column to fate.
    limits : tuple of str
        What the protected file should not be used for.
    file : mapping
        Name and SHA-256 of the protected file, once it is written.
    issued : str
        Date, UTC.
    values : ValuesDigest or None
        Digests of the values that do not depend on the file format, once it is written.
    reading : Reading or None
        What Stata and R commands find on a calibrated file.
    regressions : tuple of RegressionWorth
        Verdicts on the regressions of the study's do-files, where it names some.
    study : str
        SHA-256 of what a study file asked for: method, options, budget and every public fact; empty
        where the release was made without one.
    """

    guarantee: Guarantee
    method: str
    facts: Mapping[str, str]
    dataset_id: str | None
    seal: str
    seal_sha256: str
    header: str
    ledger: str
    fates: Mapping[str, str]
    differences: tuple[PermittedDifference, ...]
    limits: tuple[str, ...] = ()
    file: Mapping[str, str] = field(default_factory=dict)
    issued: str = ""
    values: ValuesDigest | None = None
    reading: Reading | None = None
    regressions: tuple[RegressionWorth, ...] = ()
    study: str = ""

    def __post_init__(self) -> None:
        if self.guarantee.simulation:
            raise SimulationError(
                "a seed was given, so this is a simulation and no certificate is issued; "
                "fit without rng to release"
            )
        if not self.issued:
            object.__setattr__(self, "issued", dt.datetime.now(dt.UTC).date().isoformat())

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON-ready values; see ``certificate.schema.json``."""
        from dprct import __version__

        content: dict[str, Any] = {
            "certificate": VERSION,
            "dprct": __version__,
            "issued": self.issued,
            "file": dict(self.file),
            "dataset_id": self.dataset_id,
            "method": self.method,
            "guarantee": self.guarantee.to_dict(),
            "facts": dict(self.facts),
            "schema": {"sha256": self.seal_sha256, "sealed": self.seal, "header": self.header},
            "ledger": self.ledger,
            "fates": dict(self.fates),
            "differences": [asdict(difference) for difference in self.differences],
            "limits": list(self.limits),
        }
        if self.values is not None:
            content["values"] = self.values.to_dict()
        if self.reading is not None:
            content["reading"] = self.reading.to_dict()
        if self.regressions:
            content["regressions"] = [one.to_dict() for one in self.regressions]
        if self.study:
            content["study"] = {"sha256": self.study}
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Return the certificate that :meth:`to_dict` wrote."""
        version = content.get("certificate") if isinstance(content, Mapping) else None
        if version != VERSION:
            raise ParameterError(
                f"certificate version {version!r}; this release of dprct reads {VERSION}; give "
                "the content of a .certificate.json"
            )
        try:
            read = DOCUMENT.content(content, CertificateContent)
            same = ("method", "facts", "dataset_id", "ledger", "fates", "differences", "limits",
                    "file", "issued")  # fmt: skip
            return cls(
                **{name: read[name] for name in same},
                guarantee=Guarantee.from_dict(read["guarantee"]),
                seal=read["schema"]["sealed"],
                seal_sha256=read["schema"]["sha256"],
                header=read["schema"]["header"],
                values=ValuesDigest.from_dict(content["values"]) if "values" in read else None,
                reading=Reading.from_dict(content["reading"]) if "reading" in read else None,
                regressions=read.get("regressions", ()),
                study=read["study"]["sha256"] if "study" in read else "",
            )
        except (TypeError, ValueError, ArithmeticError):
            raise ParameterError(
                "the certificate lacks a part or has a part too many; give the content of a "
                ".certificate.json"
            ) from None

    def to_text(self) -> str:
        """Return the certificate as a page of text."""
        name = self.file.get("name", "the protected file")
        blocks = [self.guarantee.caution, ""] if self.guarantee.caution else []
        blocks += [
            f"Certificate of {name}",
            "=" * min(_WIDTH, len(f"Certificate of {name}")),
            str(replace(self.guarantee, caution="")),
            f"Method: {self.method}",
            *(f"{key}: {value}" for key, value in self.facts.items()),
            f"Data set: {self.dataset_id or 'no dataset id declared'}",
            f"Public facts: {self.seal}; {self.header}",
            f"Ledger: {self.ledger_words()}",
        ]
        if self.differences:
            blocks += ["", "What differs from the confidential file, and why (nothing else does):"]
            blocks += [f"- {line}" for line in self.difference_lines()]
        if self.limits:
            blocks += ["", "What this file is not good for:", *(f"- {x}" for x in self.limits)]
        blocks += [] if self.reading is None else ["", *self.reading.blocks()]
        if self.regressions:
            said = "Verdicts on the regressions of the do-files (each in the JSON):"
            blocks += ["", said, *(f"- {line}" for line in worth_by_table(self.regressions))]
        if "sha256" in self.file:
            blocks += ["", f"SHA-256 of the file: {self.file['sha256']}"]
        if self.values is not None:
            blocks.append(f"Digest of the values: {self.values.sha256}")
        blocks += ["", "What this certificate cannot know:", *(f"- {x}" for x in CAVEATS)]
        return "\n".join(_wrapped(block) for block in blocks) + f"\n\nIssued {self.issued}.\n"

    def ledger_words(self) -> str:
        """Charge, and what a ledger must have to be the one that was charged, in words."""
        needed = Needed.of(self.ledger)
        if needed is None:
            return self.ledger
        return f"{self.ledger}. The file is paid for only by {needed} (dprct verify looks)"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.to_text()

    def difference_lines(self) -> list[str]:
        """Return the permitted differences, those of one reason together."""
        by_reason: dict[tuple[str, str], list[str]] = {}
        for difference in self.differences:
            key = (difference.facet, difference.reason)
            by_reason.setdefault(key, []).append(difference.column or "the file")
        return [
            f"{facet} of {', '.join(columns)}: {reason}"
            for (facet, reason), columns in by_reason.items()
        ]


def sealed_words(schema: Schema) -> tuple[str, str]:
    """Return the seal of a schema in words and its hash."""
    sealed = schema.seal()
    assert sealed.seal_of is not None
    return str(sealed.seal_of), sealed.seal_of.sha256


def header_words(schema: Schema) -> str:
    """Whether the header facts of the kept columns are confirmed, in words."""
    open_ones = [c.name for c in schema.columns if not c.confirmed and c.fate != "drop"]
    if not open_ones:
        return "header facts (types, formats, labels) confirmed as public"
    return f"header facts taken from the file and not confirmed as public: {', '.join(open_ones)}"


def _wrapped(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return "\n".join(
        textwrap.fill(part, _WIDTH, subsequent_indent=indent, break_long_words=False)
        for part in line.split("\n")
    )
