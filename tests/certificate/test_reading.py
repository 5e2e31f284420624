"""The table of errors that a certificate carries."""

import json
import math
from pathlib import Path

import jsonschema
import pytest

from dprct.certificate import certificate as certificates
from dprct.certificate.certificate import TOLERANCE, Certificate, ErrorRatio, Reading
from dprct.privacy.budget import Budget, Guarantee

SCHEMA_FILE = Path(certificates.__file__).with_name("certificate.schema.json")
READING = Reading(
    (
        ErrorRatio("regress y t x, vce(robust)", 1.0, 1 + 1e-13, "earn on cash"),
        ErrorRatio("regress y t x", 0.91, 1.25, "earn on cash"),
        ErrorRatio("regress y t x, vce(hc3)", math.nan, math.nan),
    ),
    ("logit got stops",),
)


def test_only_what_is_too_small_is_marked():
    heading, robust, classical, hc3 = READING.lines()
    assert heading.split() == ["command", "smallest", "largest"]
    assert "!" not in robust
    assert classical.endswith("0.9100   1.2500  ! too small")
    assert hc3.split()[-2:] == ["none", "none"]


@pytest.mark.parametrize(
    ("ratio", "marked"),
    [(1.0, False), (1 - TOLERANCE / 2, False), (1 - 10 * TOLERANCE, True), (0.9997, True)],
)
def test_rounding_is_not_too_small(ratio, marked):
    assert ErrorRatio("regress", ratio, 2.0).too_small is marked


def test_numbers_stand_below_each_other():
    ends = {line.index("    1") for line in READING.lines()[1:2]}
    assert len({len(line.split("  !")[0]) for line in READING.lines()}) == 1
    assert ends


def test_json_comes_back_with_null_for_what_does_not_exist():
    content = json.loads(json.dumps(READING.to_dict(), allow_nan=False))
    assert content["ratios"][2]["smallest"] is None
    again = Reading.from_dict(content)
    assert again.lines() == READING.lines()
    assert again.breaks == READING.breaks


def test_an_empty_reading_is_a_heading():
    assert len(Reading().lines()) == 1


def test_a_certificate_carries_it_as_text_and_json(published):
    certificate = Certificate(
        guarantee=Guarantee.of(Budget(1), "replace-one-design-public"),
        method="Calibrated",
        facts={},
        dataset_id=None,
        seal="sealed",
        seal_sha256="0" * 64,
        header="confirmed",
        ledger="none",
        fates={},
        differences=(),
        reading=READING,
    )
    content = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    jsonschema.validate(content, published)
    again = Certificate.from_dict(content)
    assert again.to_text() == certificate.to_text()
    text = certificate.to_text()
    assert "regress y t x                 0.9100   1.2500  ! too small" in text.splitlines()
    assert "- logit got stops" in text
    assert max(map(len, text.splitlines())) <= 88


def test_other_certificates_have_no_such_part():
    assert "reading" not in json.loads(SCHEMA_FILE.read_text("utf-8"))["required"]


@pytest.fixture
def published():
    return json.loads(SCHEMA_FILE.read_text("utf-8"))
