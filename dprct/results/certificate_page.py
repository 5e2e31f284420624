"""The certificate as one page that a data editor can read, print and file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.results.certificate import CAVEATS
from dprct.results.odds import odds_words
from dprct.results.page import claim, document, facts, grid, items, pair, paragraphs, section
from dprct.results.reading import shown

if TYPE_CHECKING:
    from dprct.results.certificate import Certificate
    from dprct.results.reading import Reading

_FATES = {
    "modelled": "synthetic values, drawn from the release",
    "derived": "recomputed from released columns",
    "filler": "arbitrary legal values; no information",
    "withheld": "every value is missing",
    "key": "fresh keys",
    "public": "published as it is",
    "drop": "not in the file",
}


def certificate_page(certificate: Certificate) -> str:
    """Return the certificate as a page of HTML.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    str
        A whole document that needs nothing else and runs nothing.
    """
    from dprct import __version__

    guarantee = certificate.guarantee
    promised = guarantee.measure != "none"
    kind = "Certificate of a protected data file"
    if not promised:
        kind = "Certificate of a data file WITHOUT a privacy guarantee"
    name = certificate.file.get("name", "file not yet written")
    body = [
        section(
            "Who is protected, and how strongly",
            claim(guarantee.sentence(), *odds_words(guarantee), promised=promised),
        ),
        pair(
            section("Taken as known to everybody", items(guarantee.public_facts)),
            section("Not protected", items(_uncovered(certificate)))
            + section("Other differences from the confidential file", items(_others(certificate))),
        ),
        section("What became of the columns", _columns(certificate)),
        pair(
            section("What this file is not good for", items(certificate.limits)),
            section("What this certificate cannot know", items(CAVEATS)),
        ),
        *_reading(certificate.reading),
        section("How it was made", facts(_making(certificate))),
        section("How to check it", _checking(certificate)),
    ]
    data_set = certificate.dataset_id or "no id declared"
    subtitle = f"Data set: {data_set}. Issued {certificate.issued}."
    return document(kind, name, subtitle, body, f"Made by dprct {__version__}.")


def _uncovered(certificate: Certificate) -> list[str]:
    guarantee = certificate.guarantee
    if guarantee.measure == "none":
        return [*guarantee.not_covered, "anything, because nothing is promised"]
    return [
        *guarantee.not_covered,
        "what is listed above as known to everybody",
        "what the data show about people in general",
    ]


def _columns(certificate: Certificate) -> str:
    """Return a row for each fate, and each way in which a fate changed the values."""
    reasons = {d.column: d.reason for d in certificate.differences if d.facet == "values"}
    rows: dict[tuple[str, str], list[str]] = {}
    for name, fate in certificate.fates.items():
        words = reasons.get(name, _FATES.get(fate, ""))
        loud = f"NOT PROTECTED: {words}" if fate == "public" else words
        rows.setdefault((fate, loud), []).append(name)
    cells = [(fate, ", ".join(names), words) for (fate, words), names in rows.items()]
    return grid(("Fate", "Columns", "What the file holds"), cells) if cells else ""


def _others(certificate: Certificate) -> list[str]:
    """Return the differences in words; of columns' values the table of fates says it."""
    return [line for line in certificate.difference_lines() if not line.startswith("values of ")]


def _reading(reading: Reading | None) -> list[str]:
    """Return what commands find on a calibrated file, and what breaks on it."""
    if reading is None:
        return []
    rows = [
        (
            ratio.command,
            shown(ratio.smallest),
            shown(ratio.largest),
            "too small: its intervals are not valid" if ratio.too_small else "",
        )
        for ratio in reading.ratios
    ]
    words = (
        "The standard error that a command finds, divided by the released one, which holds "
        "sampling and privacy noise: smallest and largest over outcomes, arms and covariate sets."
    )
    table = grid(("Command", "Smallest", "Largest", "Remark"), rows, words) if rows else ""
    return [
        section("How commands read this file", table),
        section("What breaks on this file", items(reading.breaks)),
    ]


def _making(certificate: Certificate) -> dict[str, str]:
    return {
        "Method": certificate.method,
        **certificate.facts,
        "Public facts": f"{certificate.seal}; {certificate.header}",
        "Ledger": certificate.ledger_words(),
    }


def _checking(certificate: Certificate) -> str:
    name = certificate.file.get("name")
    if name is None:
        return ""
    rows = {"SHA-256 of the file": certificate.file.get("sha256", "")}
    if certificate.values is not None:
        rows["Digest of the values"] = certificate.values.sha256
        rows["Without codes"] = certificate.values.plain_sha256
    rows["Command"] = f"dprct verify {name}"
    words = (
        "The first holds for this very file; the digests hold however the values are saved (the "
        "last one also in a .csv or .tab, which does not know missing codes)."
    )
    return facts(rows, code=tuple(rows)) + paragraphs(words)
