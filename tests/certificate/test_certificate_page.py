from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import (
    CAVEATS,
    Certificate,
    ErrorRatio,
    PermittedDifference,
    Reading,
    digest_of,
)
from dprct.certificate.page import certificate_page, text
from dprct.privacy.budget import Budget, Guarantee
from dprct.schema import Column, Schema

DIGEST = digest_of(pd.DataFrame({"got": np.arange(3.0)}), Schema((Column("got"),)))


@pytest.fixture
def certificate() -> Certificate:
    return Certificate(
        guarantee=Guarantee.of(
            Budget(1),
            "replace-one",
            unit="person",
            public_facts=("n = 400",),
            not_covered=("column village (declared public)",),
        ),
        method="a method <1>",
        facts={"K": "12 cells"},
        dataset_id="survey",
        seal="schema 0123 declared by A. Custodian on 2026-11-21, before the data were read",
        seal_sha256="0" * 64,
        header="header facts confirmed as public",
        ledger="entry 1 of data set 'survey'",
        fates={"got": "modelled", "age": "modelled", "village": "public"},
        differences=(
            PermittedDifference("values", "got", "synthetic"),
            PermittedDifference("notes", None, "dropped unless listed"),
        ),
        limits=("small subgroups are gone",),
        file={"name": "trial.dta", "sha256": "f" * 64},
        issued="2026-11-21",
        values=DIGEST,
    )


def test_the_page_says_what_the_certificate_says(certificate: Certificate) -> None:
    page = certificate_page(certificate)
    for part in (
        "Certificate of a protected data file", "trial.dta", "2026-11-21", "epsilon=1",
        "e^1 = 2.72", "n = 400", "column village (declared public)", "a method <1>", "12 cells",
        "declared by A. Custodian on 2026-11-21", "entry 1 of data set 'survey'",
        "synthetic values, drawn from the release", "NOT PROTECTED: published as it is",
        "notes of the file: dropped unless listed", "small subgroups are gone",
        "f" * 64, DIGEST.sha256, DIGEST.plain_sha256, "dprct verify trial.dta", "Made by dprct",
        *CAVEATS,
    ):  # fmt: skip
        assert text(part) in page


def test_columns_of_one_fate_and_one_reason_share_a_row(certificate: Certificate) -> None:
    assert "<td>got</td><td>synthetic</td>" in certificate_page(certificate)
    reason = PermittedDifference("values", "age", "synthetic")
    page = certificate_page(replace(certificate, differences=(*certificate.differences, reason)))
    assert "<td>got, age</td><td>synthetic</td>" in page


@pytest.mark.parametrize(
    "words", ["not a legal determination of anonymity", "cannot be known", "kept by the author"]
)
def test_it_claims_no_more_than_is_known(certificate: Certificate, words: str) -> None:
    assert words in certificate_page(certificate)
    assert words in certificate.to_text().replace("\n  ", " ")


def test_without_a_guarantee_the_page_says_so_first(certificate: Certificate) -> None:
    nothing = replace(certificate, guarantee=Guarantee.none("edges come from the data"))
    page = certificate_page(nothing)
    head = page[page.index("<header>") : page.index("</header>")]
    assert "WITHOUT a privacy guarantee" in head
    assert "protected data file" not in head
    assert "anything, because nothing is promised" in page


def test_what_commands_find_is_a_table(certificate: Certificate) -> None:
    ratios = (
        ErrorRatio("regress y t, vce(hc2)", 0.98, 1.0),
        ErrorRatio("areg y t", 1.0, float("nan")),
    )
    page = certificate_page(replace(certificate, reading=Reading(ratios, ("tab y",))))
    row = '<tr><th scope="row">regress y t, vce(hc2)</th><td>0.9800</td><td>1.0000</td>'
    assert f"{row}<td>too small: its intervals are not valid</td></tr>" in page
    assert "<td>1.0000</td><td>none</td><td></td></tr>" in page
    assert "<li>tab y</li>" in page
    assert "How commands read this file" not in certificate_page(certificate)


@pytest.mark.parametrize("change", [{"file": {}}, {"values": None}, {"limits": ()}])
def test_what_is_not_there_is_left_out(certificate: Certificate, change: dict[str, Any]) -> None:
    page = certificate_page(replace(certificate, **change))
    assert ("How to check it" in page) is ("file" not in change)
    assert ("Digest of the values" in page) is not bool({"file", "values"} & set(change))
    assert ("is not good for" in page) is ("limits" not in change)
