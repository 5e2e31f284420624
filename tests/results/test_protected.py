"""A fit that is given a release, or a protected file, knows what holds for it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.privacy.budget import Guarantee
from dprct.results.base import Origin
from dprct.results.ols import RELEASED_NOTE

FORMULA = "income ~ treated"


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(5)
    treated = np.tile([0.0, 1.0], 300)
    rows = pd.DataFrame(
        {"income": np.clip(12 + 2 * treated + rng.normal(0, 3, 600), 0, 40), "treated": treated}
    )
    schema = dprct.Schema((dprct.Column("income"), dprct.Column("treated", "byte"))).declare(
        income={"bounds": (0, 40), "missing": "never"},
        treated={"levels": [0, 1], "missing": "never"},
    )
    model = dprct.Calibrated.from_formula(
        FORMULA,
        rows,
        schema,
        treatment=["treated"],
        assignment=dprct.Complete("treated", shares=0.5),
    )
    return model.fit(epsilon=3)


@pytest.fixture
def file(release, tmp_path):
    path = tmp_path / "jobs_protected.dta"
    release.write_dta(path)
    return path


def says_calibrated(fit, release):
    assert fit.guarantee == release.guarantee
    assert fit.notes[-1].startswith("Calibrated: the errors of treated contain")
    assert "No differential-privacy guarantee" not in fit.summary()


def test_a_release_brings_its_guarantee(release):
    fit = dprct.ols(FORMULA, release)
    says_calibrated(fit, release)
    pair = dprct.ols(FORMULA, release.protected, release.schema)
    pd.testing.assert_series_equal(fit.params, pair.params)


def test_a_file_with_its_certificate_does_too(release, file):
    data, schema = dprct.read_dta(file)
    for given in ((file,), (str(file),), ((data, schema),), (data, schema)):
        says_calibrated(dprct.ols(FORMULA, *given), release)


def test_a_table_does_too(release, file):
    for given in (release, file, dprct.read_dta(file)):
        made = dprct.itt_table(given, outcomes=["income"], arms=["treated"])
        assert made.guarantee == release.guarantee
        assert "Calibrated: the errors of treated" in made.to_text().replace("\n", " ")
        assert "No differential-privacy" not in made.to_text()
    assert "treated" in dprct.etable([release]).to_text()


def test_changed_values_and_a_part_of_the_rows_are_not_vouched_for(file):
    data, schema = dprct.read_dta(file)
    moved = dprct.ols(FORMULA, data.assign(income=data["income"] + 1), schema)
    assert not moved.guarantee.holds
    assert "does not describe the column income as given" in str(moved.guarantee)
    assert moved.notes == ()
    part = dprct.ols(FORMULA, data.iloc[:400], schema)
    assert "columns income, treated as given" in str(part.guarantee)
    assert "it uses 400 of 600 rows" in part.notes[0].lower()
    added = dprct.ols("income ~ treated + more", data.assign(more=np.arange(600.0)), schema)
    assert "the column more as given" in str(added.guarantee)
    by_row = dprct.ols(FORMULA, data, schema, weights=np.arange(600.0))
    assert "given by row" in str(by_row.guarantee)


def test_a_certificate_of_another_file_is_not_believed(release, file):
    place = file.with_suffix(".certificate.json")
    content = json.loads(place.read_text("utf-8"))
    content["values"]["rows"] = 5
    first = content["values"]["columns"][0]
    first["plain"] = first["rounded"] = "0" * 64
    place.write_text(json.dumps(content), encoding="utf-8")
    fit = dprct.ols(FORMULA, file)
    assert not fit.guarantee.holds
    assert "is not a certificate that can be read" in str(fit.guarantee)
    place.unlink()
    alone = dprct.ols(FORMULA, file)
    assert str(alone.guarantee).startswith("Guarantee not verified: no certificate was found")
    assert "epsilon=3" in str(alone.guarantee)
    says = dprct.ols(FORMULA, release.protected, release.schema)
    assert says.guarantee == alone.guarantee


def test_a_simulation_stays_one():
    rows = pd.DataFrame({"got": np.tile([0.0, 1.0], 200), "t": np.repeat([0.0, 1.0], 200)})
    schema = dprct.Schema((dprct.Column("got", "byte"), dprct.Column("t", "byte"))).declare(
        got={"levels": [0, 1], "missing": "never"}, t={"levels": [0, 1], "missing": "never"}
    )
    seeded = dprct.MVHistogram(rows, schema, columns=["got", "t"]).fit(epsilon=2, rng=1)
    fit = dprct.ols("got ~ t", seeded)
    assert fit.guarantee.simulation
    assert fit.notes == (RELEASED_NOTE,)
    ordinary = dprct.ols("got ~ t", rows, schema)
    assert str(ordinary.guarantee).startswith("No differential-privacy guarantee")


def test_an_origin_survives_as_text(release):
    origin = Origin("the certificate", release.guarantee, release.certificate().values)
    assert Origin.from_json(origin.to_json()) == origin
    assert "no digest" in str(origin.promised(release.protected, ["income"]))
    with pytest.raises(ParameterError, match="take them from the release"):
        Origin.from_json("{}")


def test_an_unverified_guarantee_never_holds_and_survives():
    found = Guarantee.unverified_because("nobody looked")
    assert not found.holds
    assert Guarantee.from_dict(found.to_dict()) == found
    assert "unverified" not in Guarantee.none("it was seen").to_dict()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"schema": dprct.Schema((dprct.Column("income"),))}, "a release brings its schema"),
        ({"guarantee": Guarantee.none("it was seen")}, "a release brings its schema"),
    ],
)
def test_a_release_takes_no_other_facts(release, options, says):
    with pytest.raises(ParameterError, match=says):
        dprct.ols(FORMULA, release, **options)
    with pytest.raises(ParameterError, match="is a tuple"):
        dprct.ols(FORMULA, (release.protected, release.schema, 1))
