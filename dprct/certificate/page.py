"""The certificate as a page for people, what its guarantee means as odds, and the pages' HTML."""

from __future__ import annotations

import base64
import hashlib
import math
from decimal import ROUND_CEILING, Decimal
from html import escape
from typing import TYPE_CHECKING

from dprct.certificate.certificate import CAVEATS, Reading, shown_ratio, worth_by_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from dprct.certificate.certificate import Certificate
    from dprct.privacy.budget import Guarantee

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #55595f; --rule: #c9ccd1;
  --paper: #ffffff; --desk: #eef0f2; --tint: #f4f6f8; --mark: #1f4e79; --alarm: #8c1d18; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7e9; --soft: #a9aeb5; --rule: #43484f;
  --paper: #1b1d20; --desk: #121315; --tint: #24272b; --mark: #8fbce6; --alarm: #f2a19b; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--desk); color: var(--ink);
  font: 1rem/1.5 "Source Serif 4", Charter, "Bitstream Charter", Cambria, Georgia, serif; }
main { max-width: 50rem; margin: 1.5rem auto; padding: 2.5rem 3rem; background: var(--paper);
  border: 1px solid var(--rule); overflow-wrap: break-word; }
header { border-bottom: 3px double var(--mark); padding-bottom: .8rem; margin-bottom: 1.2rem; }
.kind { margin: 0; color: var(--soft); font-size: .85rem; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: .15rem 0 .3rem; font-size: 1.65rem; line-height: 1.2; font-weight: 600; }
h2 { margin: 1.5rem 0 .4rem; font-size: 1.05rem; color: var(--mark); font-weight: 600;
  break-after: avoid; }
p, ul, table, dl { margin: .4rem 0; }
ul { padding-left: 1.2rem; } li { margin: .12rem 0; }
.claim { border-left: 4px solid var(--mark); background: var(--tint); padding: .7rem 1rem;
  margin: .8rem 0; }
.claim p:first-child { font-weight: 600; margin-top: 0; } .claim p:last-child { margin-bottom: 0; }
.none { border-color: var(--alarm); } .none p:first-child { color: var(--alarm); }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .25rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .8rem .28rem 0;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; } thead th { border-bottom: 1.5px solid var(--soft); }
tbody th { width: 11rem; }
code { overflow-wrap: anywhere;
  font: .86em/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
footer { margin-top: 1.5rem; border-top: 1px solid var(--rule); padding-top: .5rem;
  color: var(--soft); font-size: .85rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; column-gap: 2rem; }
.sign td { height: 3.2rem; vertical-align: bottom; color: var(--soft); }
@media screen and (max-width: 40rem) {
  main { margin: 0; padding: 1.2rem 1rem; border: 0; }
  .pair { display: block; }
  table, thead, tbody, tr, th, td { display: block; width: auto; }
  thead { position: absolute; left: -9999px; }
  tr { border-bottom: 1px solid var(--rule); padding: .3rem 0; }
  th, td { border: 0; padding: 0; } tbody th { width: auto; } }
@page { size: A4; margin: 11mm 15mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --rule: #bbb; --paper: #fff;
    --desk: #fff; --tint: #f3f5f7; --mark: #1f4e79; --alarm: #8c1d18; }
  html { font-size: 7.9pt; }
  body { line-height: 1.25; }
  main { max-width: none; margin: 0; padding: 0; border: 0; }
  header { padding-bottom: .5rem; margin-bottom: .7rem; }
  h2 { margin: .95rem 0 .2rem; font-size: 1.15rem; }
  p, ul, table { margin: .3rem 0; } li { margin: 0; }
  .claim { padding: .5rem .9rem; margin: .5rem 0; print-color-adjust: exact; }
  th, td { padding: .18rem .8rem .18rem 0; }
  tr, li, section:last-of-type { break-inside: avoid; }
  footer { margin-top: .8rem; padding-top: .3rem; } }
"""


def style_source() -> str:
    """The pages' style as a policy names it that allows this style alone.

    Examples
    --------
    >>> style_source()[:7]
    'sha256-'
    """
    digest = hashlib.sha256(_STYLE.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def document(kind: str, title: str, subtitle: str, body: Iterable[str], foot: str) -> str:
    """A whole page: plain texts around sections of :func:`section`.

    Notes
    -----
    Nothing is loaded and nothing runs: the page itself forbids both, and besides every text is
    escaped, as names and labels come from a file.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{text(kind)}: {text(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">{text(kind)}</p>
<h1>{text(title)}</h1>
<p>{text(subtitle)}</p>
</header>
{"".join(body)}<footer>{text(foot)}</footer>
</main>
</body>
</html>
"""


def text(words: object) -> str:
    """Return a text as HTML, without characters that steer.

    Examples
    --------
    >>> text("age <b> & more")
    'age &lt;b&gt; &amp; more'
    """
    return escape("".join(c if c.isprintable() else " " for c in str(words)))


def section(heading: str, *parts: str) -> str:
    """Return a heading (plain text) with what is below it (HTML); nothing if that is empty."""
    inner = "".join(parts)
    return f"<section>\n<h2>{text(heading)}</h2>\n{inner}</section>\n" if inner else ""


def pair(left: str, right: str) -> str:
    """Return two sections side by side where there is room; one alone if the other is empty."""
    if not (left and right):
        return left + right
    return f'<div class="pair">\n<div>\n{left}</div>\n<div>\n{right}</div>\n</div>\n'


def paragraphs(*lines: str) -> str:
    """Return plain texts as paragraphs."""
    return "".join(f"<p>{text(line)}</p>\n" for line in lines)


def items(lines: Iterable[str]) -> str:
    """Return plain texts as a list; nothing if there are none."""
    inner = "".join(f"<li>{text(line)}</li>\n" for line in lines)
    return f"<ul>\n{inner}</ul>\n" if inner else ""


def claim(*lines: str, promised: bool) -> str:
    """Return the statement that a page is about; it says itself where nothing is promised."""
    kind = "claim" if promised else "claim none"
    return f'<div class="{kind}">\n{paragraphs(*lines)}</div>\n'


def facts(rows: Mapping[str, str], *, code: Sequence[str] = ()) -> str:
    """Names and what they are, as a table with a header in each row; ``code`` are for machines."""

    def cell(name: str, value: str) -> str:
        return f"<code>{text(value)}</code>" if name in code else text(value)

    inner = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{cell(name, value)}</td></tr>\n'
        for name, value in rows.items()
    )
    return f"<table>\n<tbody>\n{inner}</tbody>\n</table>\n" if inner else ""


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table with a header in each column and in each row; plain texts."""
    above = f"<caption>{text(caption)}</caption>\n" if caption else ""
    body = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>'
        + "".join(f"<td>{text(value)}</td>" for value in row[1:])
        + "</tr>\n"
        for row in rows
    )
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    return f"<table>\n{above}<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def signatures(roles: Sequence[str]) -> str:
    """Return lines for names, dates and signatures, one for each role."""
    lines = "".join(
        f'<tr><th scope="row">{text(role)}</th><td></td><td></td><td></td></tr>\n' for role in roles
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "Name", "Date", "Signature"))
    top = f'<table class="sign">\n<thead><tr>{heads}</tr></thead>\n'
    return f"{top}<tbody>\n{lines}</tbody>\n</table>\n"


_LARGEST = 700.0

_SUBJECT = {
    "replace-one": "the data of one {unit}",
    "replace-one-design-public": "the outcomes and covariates of one {unit}",
    "add-remove": "whether one {unit} is in the data at all",
}
_KNOWN = {
    "replace-one": "That the {unit} is in the data counts as known.",
    "replace-one-design-public": (
        "That the {unit} took part, in which arm and stratum, and whether a value is missing, "
        "where that is declared, count as known."
    ),
    "add-remove": (
        "Between any two sets of values that the {unit} may have, the factor is at most its square."
    ),
}


def odds_words(guarantee: Guarantee) -> tuple[str, ...]:
    """Meaning of a guarantee, in plain sentences that claim no more than it does.

    Notes
    -----
    Let P_a be the law of the release when the unit's record is a and all others are fixed.  Pure
    epsilon is P_a(S) <= e^eps P_b(S) for all a, b, S (neighbours by the relation).  For somebody
    who knows the others and has any prior on the record, the odds of a statement F about it change
    by the factor P_F(S) / P_notF(S), where both are mixtures of the P_a, so the factor lies in
    [e^-eps, e^eps].  Somebody who does not know the others may learn about the unit *through
    them*, with or without its data; that is why the statement is made for one who knows them.

    With delta > 0 the mixtures satisfy P_F(S) <= e^eps P_notF(S) + delta.  On the set where the
    density ratio exceeds e^(2 eps) this gives P_F(S) (1 - e^-eps) <= delta; on the set where it
    is below e^(-2 eps), P_F(S) (e^(2 eps) - e^eps) <= delta.  So the odds change by more than
    e^(2 eps) with probability at most 2 delta / (1 - e^-eps) ([1]_, Lemma 3.3).

    References
    ----------
    .. [1] Kasiviswanathan, S. P. and Smith, A. (2014). "On the 'semantics' of differential
       privacy: a Bayesian formulation." Journal of Privacy and Confidentiality 6(1).

    Examples
    --------
    >>> from dprct.privacy.budget import Budget
    >>> from dprct.privacy.budget import Guarantee
    >>> print(odds_words(Guarantee.of(Budget(1), "replace-one", unit="person"))[0])
    Suppose that someone already knows the data of everyone else. Whatever this release shows them,
    the odds that they give to any statement about the data of one person change by a factor of at
    most e^1 = 2.72, up or down, because that person's data were used: even odds (50 %) become at
    most 74 %.
    """
    if guarantee.measure == "none":
        return (
            "Nothing is promised. The release may allow anyone to learn any value of any "
            "one person in the data, and no bound on that is known.",
        )
    assert guarantee.budget is not None
    assert guarantee.relation is not None
    unit = guarantee.unit
    subject = _SUBJECT[guarantee.relation].format(unit=unit)
    known = _KNOWN[guarantee.relation].format(unit=unit)
    epsilon, delta = guarantee.budget.epsilon, guarantee.budget.delta
    change = _change(epsilon, 1) if not delta else _change(epsilon, 2)
    first = (
        "Suppose that someone already knows the data of everyone else. Whatever this release shows "
        f"them, the odds that they give to any statement about {subject} change by a factor of at "
        f"most {change[0]}, up or down, because that {unit}'s data were used: even odds (50 %) "
        f"become at most {change[1]}."
    )
    learnt = (
        f"What the others reveal about people in general, and so about the {unit}, is not hidden: "
        "that is what the data are for."
    )
    if not delta:
        return first, f"{known} {learnt}"
    return *_approximate(first, epsilon, delta, subject), f"{known} {learnt}"


def _approximate(first: str, epsilon: Fraction, delta: Fraction, subject: str) -> tuple[str, ...]:
    """Return the statement for delta > 0: with an exception, and as a test, which is exact."""
    exception = 2 * float(delta) / -math.expm1(-float(epsilon))
    right = min(1.0, _exp(epsilon) * 0.05 + float(delta))
    test = (
        f"Put as a test, for every two possibilities for {subject}: a test on this release that "
        "takes the second for the first in 5 % of cases recognises the first in at most "
        f"{_percent(right)} of cases (e^epsilon times 5 % plus delta)."
    )
    if exception >= 1:
        return (test,)
    rare = (
        "There is an exception, whose probability is at most 2 delta / (1 - e^-epsilon) = "
        f"{_up(exception)}: then the odds may change by more."
    )
    return f"{first} {rare}", test


def _change(epsilon: Fraction, times: int) -> tuple[str, str]:
    """Return e^(times eps) in words and what even odds become; both are rounded up."""
    factor = _exp(times * epsilon)
    power = f"e^{float(times * epsilon):g}"
    return f"{power} = {_up(factor)}", _percent(factor / (1 + factor))


def _exp(epsilon: Fraction) -> float:
    return math.exp(min(float(epsilon), _LARGEST))


def _up(number: float) -> str:
    """Return a positive number with three digits, rounded up.

    Examples
    --------
    >>> _up(2.71828), _up(8886110.5), _up(1.27e-6)
    ('2.72', '8,890,000', '1.27e-06')
    """
    exact = Decimal(number)
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    risen = (exact / step).to_integral_value(ROUND_CEILING) * step
    return f"{float(risen):,.0f}" if 1000 <= risen < 10**12 else f"{float(risen):.3g}"


def _percent(share: float) -> str:
    if share > 0.999:
        return "100 % (in the first three digits)"
    return f"{math.ceil(share * 100)} %" if share <= 0.99 else f"{math.ceil(share * 1000) / 10} %"


_FATES = {
    "modelled": "synthetic values, drawn from the release",
    "derived": "recomputed from released columns",
    "filler": "arbitrary admissible values; no information",
    "withheld": "every value is missing",
    "key": "fresh keys",
    "public": "published as it is",
    "drop": "not in the file",
}


def certificate_page(certificate: Certificate) -> str:
    """Return the certificate as a page of HTML."""
    from dprct import __version__

    guarantee = certificate.guarantee
    promised = guarantee.measure != "none"
    kind = (
        "Certificate of a protected data file" if certificate.fates else "Certificate of a release"
    )
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
            # for the values of columns the table of fates has them
            + section(
                "Other differences from the confidential file",
                items(
                    line
                    for line in certificate.difference_lines()
                    if not line.startswith("values of ")
                ),
            ),
        ),
        section("What became of the columns", _columns(certificate)),
        pair(
            section("What this file is not good for", items(certificate.limits)),
            section("What this certificate cannot know", items(CAVEATS)),
        ),
        _reading(certificate.reading or Reading()),
        section(
            "Verdicts on the regressions of the do-files",
            items(worth_by_table(certificate.regressions)),
        ),
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


def _reading(reading: Reading) -> str:
    rows = [
        (
            ratio.command,
            shown_ratio(ratio.smallest),
            shown_ratio(ratio.largest),
            "too small: its intervals are not valid" if ratio.too_small else "",
        )
        for ratio in reading.ratios
    ]
    words = (
        "The standard error that a command finds, divided by the released one, which holds "
        "sampling and privacy noise: smallest and largest over outcomes, arms and covariate sets."
    )
    table = grid(("Command", "Smallest", "Largest", "Remark"), rows, words) if rows else ""
    breaks = section("What breaks on this file", items(reading.breaks))
    return section("How commands read this file", table) + breaks


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
