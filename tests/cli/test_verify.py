from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dprct.io.stata import read_dta, write_dta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def released(dprct: Callable[..., Any], study: Path, folder: Path) -> Path:
    """The protected file of the study."""
    assert dprct("protect", study, "--yes").code == 0
    return folder / "survey_protected.dta"


def test_the_file_as_released(dprct: Callable[..., Any], released: Path) -> None:
    ran = dprct("verify", released)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "survey_protected.dta is byte for byte the file that survey_protected.certificate.json"
    )
    assert "integrity, not authorship" in ran.out


def test_what_an_archive_makes_of_it(dprct: Callable[..., Any], released: Path) -> None:
    data, _ = read_dta(released)
    archived = released.with_suffix(".tab")
    data.to_csv(archived, sep="\t", index=False)
    ran = dprct("verify", archived)
    assert ran.code == 0
    assert "its values match" in ran.out
    assert "labels not checked" in ran.out


def test_an_altered_file(dprct: Callable[..., Any], released: Path) -> None:
    data, schema = read_dta(released)
    data.loc[3, "age"] = 44.0 if data.loc[3, "age"] != 44 else 45.0
    altered = released.with_name("altered.dta")
    write_dta(data, schema, altered)
    certificate = released.with_suffix(".certificate.json")
    ran = dprct("verify", altered, "--certificate", certificate)
    assert ran.code == 1
    assert "altered.dta DOES NOT MATCH survey_protected.certificate.json" in ran.out
    assert "- values differ in age\n" in ran.out
    ran = dprct("verify", altered, "--certificate", certificate, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert (found["verified"], found["differing"]) == (False, ["age"])


def test_a_column_too_many(dprct: Callable[..., Any], released: Path) -> None:
    data, _ = read_dta(released)
    data.assign(row=1).to_csv(released.with_suffix(".csv"), index=False)
    ran = dprct("verify", released.with_suffix(".csv"))
    assert ran.code == 1
    assert "the certificate does not know: row" in ran.out


def test_without_a_certificate_it_says_where_one_may_be(
    dprct: Callable[..., Any], released: Path
) -> None:
    moved = released.with_name("moved.dta")
    released.rename(moved)
    ran = dprct("verify", moved)
    assert ran.code == 2
    assert "there is survey_protected.certificate.json: give it with --certificate" in ran.err
