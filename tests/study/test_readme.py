from __future__ import annotations

import html
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.certificate.certificate import Certificate, RegressionWorth
from dprct.privacy.budget import Budget, Guarantee
from dprct.schema import Column, Schema
from dprct.study.declared_tables import TableSpec
from dprct.study.draft import draft
from dprct.study.readme import (
    Availability,
    PackageNote,
    TableNote,
    code,
    mark,
    plain,
    prose,
    readme,
)
from dprct.study.sections import section

ODD = "A | *new* `way`\n# to <b>see</b> [it](javascript:x) <!-- gone"
CERTIFICATE = Certificate(
    guarantee=Guarantee.of(Budget(1), "replace-one", unit="person"),
    method="MVHistogram",
    facts={},
    dataset_id="survey-1",
    seal="sealed",
    seal_sha256="0",
    header="confirmed",
    ledger="charged",
    fates={"got": "modelled", "sum": "derived", "id": "key", "lat": "drop", "v": "public",
           "w": "withheld", "f": "filler"},
    differences=(),
    limits=("rare combinations are gone",),
    file={"name": "survey_protected.dta", "sha256": "ab12"},
)  # fmt: skip
FULL = Availability(
    title="Cash and therapy",
    authors="A. Author, B. Author",
    contact="data@example.org",
    access="Apply to the bureau.\n\nIt takes a year.",
    rights="The participants agreed.",
    license="CC BY 4.0",
    citation="Bureau (2020), Survey.",
)
TABLES = (
    TableNote("table2", "Main effects", "yes: its numbers are in expected.csv"),
    TableNote("table3", "", "no, it needs the confidential file: nothing is released of w"),
)


def test_everything_that_is_known_is_said() -> None:
    text = readme("study.toml", CERTIFICATE, FULL, TABLES)
    for part in (
        "# Data of Cash and therapy",
        "Authors: A. Author, B. Author",
        "## Data Availability and Provenance Statements",
        "### Statement about Rights\n\nThe participants agreed.\n",
        "### License for Data\n\nCC BY 4.0\n",
        "- [x] Some data **cannot be made** publicly available.",
        "| `survey_protected.certificate.html` | its certificate, as a page for people | yes |",
        "- `dprct verify survey_protected.dta` says whether the file",
        "Route to the data:\n\nApply to the bureau.\n\nIt takes a year.\n",
        "- Contact: data@example.org",
        "- Citation: Bureau (2020), Survey.",
        "- Data set id: `survey-1`",
        "`survey_protected.dta` is a protected file",
        "epsilon=1",
        "| table2: Main effects | yes: its numbers are in expected.csv | `dprct table study.toml`",
        "| table3 | no, it needs the confidential file: nothing is released of w |",
        "- `dprct table study.toml --expect expected.csv` makes every declared table",
        "Do not run `dprct protect` again",
        "charges the ledger",
        "- rare combinations are gone",
        "SHA-256 of `survey_protected.dta`: `ab12`",
    ):
        assert part in text
    assert "to be filled in" not in text
    assert text.endswith("\n")


@pytest.mark.parametrize("field", [field.name for field in fields(Availability)])
@pytest.mark.parametrize("empty", ["", " \n "])
def test_what_is_not_known_is_a_visible_blank(field: str, empty: str) -> None:
    text = readme("study.toml", CERTIFICATE, replace(FULL, **{field: empty}), ())
    assert text.count("**[to be filled in by the authors: ") == 1


def test_an_empty_study_has_a_blank_for_every_field() -> None:
    text = readme("study.toml", CERTIFICATE, Availability(), ())
    assert text.count("**[to be filled in by the authors: ") == len(fields(Availability))


@pytest.mark.parametrize("fate", sorted(set(CERTIFICATE.fates.values())))
def test_every_fate_is_explained(fate: str) -> None:
    columns = [name for name, found in CERTIFICATE.fates.items() if found == fate]
    text = readme("study.toml", CERTIFICATE, FULL, ())
    (line,) = [line for line in text.splitlines() if line.startswith(f"- {fate} (")]
    assert line.endswith(f": `{columns[0]}`")


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_odd_titles_stay_words() -> None:
    odd = Availability(**{field.name: ODD for field in fields(Availability)})
    tables = [TableNote(ODD, ODD, ODD)]
    text = readme("study.toml", replace(CERTIFICATE, limits=(ODD,)), odd, tables)
    plain_ones = readme("study.toml", CERTIFICATE, FULL, TABLES)
    assert headings(text)[1:] == headings(plain_ones)[1:]
    assert "<b>" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert text.count("<!--") - text.count(r"\<!--") == 1
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 4


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("my study.toml", '`dprct table "my study.toml"`'),
        ("étude.toml", "`dprct table étude.toml`"),
        ("a|b.toml", '`dprct table "a\\|b.toml"`'),
        ("a`b.toml", '``dprct table "a`b.toml"``'),
    ],
)
def test_names_of_files_are_quoted_for_a_shell_and_for_markdown(name: str, command: str) -> None:
    assert command in readme(name, CERTIFICATE, FULL, TABLES)


def test_the_numbers_are_where_it_says() -> None:
    text = readme("study.toml", CERTIFICATE, FULL, TABLES, "expected.survey-1.csv")
    assert "--expect expected.survey-1.csv`" in text
    assert "`expected.survey-1.csv` holds the numbers" in text


def test_a_study_without_tables_says_so_and_promises_no_check() -> None:
    text = readme("study.toml", CERTIFICATE, FULL, ())
    assert "The study file declares no table." in text
    assert "expected.csv" not in text


def test_where_nothing_is_promised_nothing_is_called_protected() -> None:
    none = replace(CERTIFICATE, guarantee=Guarantee.none("edges come from the data"))
    text = readme("study.toml", none, FULL, TABLES)
    assert "is synthetic and NOT a protected file" in text
    assert "without a privacy guarantee" in text
    assert "charges the ledger" not in text
    assert "edges come from the data" in text


def test_the_first_line_says_whose_it_is() -> None:
    first = readme("study.toml", CERTIFICATE, FULL, ()).splitlines()[0]
    assert first == mark("survey-1")
    assert mark("survey-1") != mark("survey-2") != mark(None)


def test_a_draft_asks_for_what_the_readme_needs() -> None:
    text = draft(Schema((Column("x"),)), Path("a.dta"), Path("study.toml"))
    tail = text[text.index("# [[table]]") :]
    lines = [line[2:] for line in tail.splitlines() if re.match(r"# (\[|\w+ = )", line)]
    blanks = tomllib.loads("\n".join(lines))
    assert list(blanks["availability"]) == [field.name for field in fields(Availability)]
    assert section(Availability, blanks["availability"], "[availability]") == Availability()
    assert section(TableSpec, blanks["table"][0], "[[table]]").name == "table2"


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40)


def unescaped(markdown: str) -> str:
    """Return what CommonMark shows of text in which only backslash escapes have a meaning."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown))


@given(WORDS.filter(lambda text: "&" not in text))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    line = plain(text)
    assert "\n" not in line
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]<>|~&]", line)
    assert unescaped(line) == " ".join(text.split())


@pytest.mark.parametrize(
    "start", ["# a", "- a", "+ a", "= a", "1. a", "12) a", "--- a", "===", "> a"]
)
def test_no_line_begins_a_block(start: str) -> None:
    assert not re.match(r"#|[-+=>]|\d+[.)]", plain(start))
    assert unescaped(plain(start)) == start


def test_an_entity_is_not_one() -> None:
    assert plain("&lt;b&gt;") == r"\&lt;b\&gt;"


@pytest.mark.parametrize("text", ["snake_case_name", "https://example.org/a_b-c?d=1"])
def test_names_and_addresses_stay_readable(text: str) -> None:
    assert plain(text) == text


def test_paragraphs_stay_paragraphs() -> None:
    assert prose("\n one\ntwo \n \n\n*three*\n") == "one two\n\n\\*three\\*"
    assert prose(" \n ") == ""


@pytest.mark.parametrize("name", ["a.dta", "a`b", "``", "`x", "x`", "a``b`c", "a b", "a|b"])
def test_code_is_fenced_by_more_ticks_than_it_has(name: str) -> None:
    fenced = code(name)
    fence = re.match("`+", fenced)
    assert fence is not None
    inside = fenced[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inside
    assert inside.strip() == name or inside == name
    assert "|" not in code(name, cell=True).replace("\\|", "")


def test_a_valid_regression_without_a_number_is_named() -> None:
    worth = RegressionWorth("a.do", 4, "Table 5", "probit", "works", "valid")
    silent = {"a.do:4 probit works": ("treat", "age")}
    note = PackageNote("a.moments.json", regressions=(worth,), silent=silent)
    said = "- `a.do:4 probit works`: `treat`, `age` not estimated"
    assert said in readme("study.toml", CERTIFICATE, FULL, (), package=note)
    assert said not in readme("study.toml", CERTIFICATE, FULL, (), package=replace(note, silent={}))
