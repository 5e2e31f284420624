"""Algorithm 1 as published: its laws, and that it protects nobody."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.errors import FileError, ParameterError, SchemaError, SimulationError
from dprct.io.stata import read_dta
from dprct.missing import missing_numbers, tagged
from dprct.privacy.accountant import Accountant
from dprct.privacy.ledger import ledger_path
from dprct.published import MVHistogram
from dprct.published.histogram import reweighted, threshold
from dprct.schema import Column, FileFacts, Schema
from tests.statistical.auditing import lower_bound

ALPHA = 1e-9


class Recorder(np.random.Generator):
    """A generator that remembers with which scale Laplace noise was asked for."""

    def laplace(self, loc=0.0, scale=1.0, size=None):
        self.asked = (loc, scale, size)
        return super().laplace(loc, scale, size)


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    n = 300
    income = np.round(rng.normal(50, 20, n), 3)
    income[:40] = tagged(np.repeat([0, 1], 20))
    return pd.DataFrame(
        {
            "arm": rng.integers(0, 2, n).astype(float),
            "income": income,
            "region": rng.choice(["N", "S"], n).astype(object),
        }
    )


@pytest.fixture
def schema():
    columns = (Column("arm", "byte"), Column("income"), Column("region", "str1", levels=("N", "S")))
    return Schema(columns, FileFacts(label="a confidential survey", rows=300))


def reference(data, eta, most, scale, cutoff, seed):
    """Algorithm 1 row by row, in the order in which the package draws."""
    rng = np.random.default_rng(seed)
    income = data["income"].to_numpy()
    letters = missing_numbers(income)
    known = income[letters < 0]
    low, high = known.min(), known.max()
    assert len(set(known)) > most
    edges = [(k * high + (eta - k) * low) / eta for k in range(eta + 1)]
    first = list(dict.fromkeys(data["region"]))

    def row(i):
        if letters[i] >= 0:
            bin_ = eta + int(letters[i])
        else:
            bin_ = next(k for k in range(eta) if income[i] < edges[k + 1] or k == eta - 1)
        return (int(data["arm"][i]), bin_, first.index(data["region"][i]))

    counts = Counter(row(i) for i in range(len(data)))
    cells = sorted(counts)
    noise = rng.laplace(0, scale, len(cells))
    noisy = [counts[c] / len(data) + z for c, z in zip(cells, noise, strict=True)]
    kept = [p if p > cutoff else 0.0 for p in noisy]
    chosen = rng.choice(len(cells), len(data), p=np.array(kept) / sum(kept))
    uniform = rng.random(len(data))
    rows = []
    for u, index in zip(uniform, chosen, strict=True):
        arm, bin_, region = cells[index]
        inside = bin_ < eta
        value = edges[bin_] + (edges[bin_ + 1] - edges[bin_]) * u if inside else np.nan
        rows.append((arm, value, bin_ - eta if not inside else -1, first[region]))
    return rows


@pytest.mark.parametrize(("neighbors", "s"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_the_release_is_that_of_a_dense_reference(data, schema, neighbors, s, delta):
    model = MVHistogram(data, schema, zeta=0.5, neighbors=neighbors)
    found = model.fit(epsilon=4, delta=delta, rng=11).protected
    cutoff = 2 * math.log(2 / delta) / (300 * 4) + 1 / 300 if delta else 0.0
    expected = reference(data, 18, 300**0.5, s / (300 * 4), cutoff, 11)
    assert found["arm"].tolist() == [row[0] for row in expected]
    np.testing.assert_allclose(found["income"], [row[1] for row in expected], rtol=1e-12)
    letters = missing_numbers(found["income"].to_numpy())
    assert letters.tolist() == [row[2] for row in expected]
    assert found["region"].tolist() == [row[3] for row in expected]


@pytest.mark.parametrize(("neighbors", "s"), [("replace-one", 2), ("add-remove", 1)])
def test_the_scale_of_the_noise(data, schema, neighbors, s):
    rng = Recorder(np.random.PCG64(1))
    MVHistogram(data, schema, neighbors=neighbors).fit(epsilon=0.5, rng=rng)
    loc, scale, size = rng.asked
    assert (loc, scale) == (0, s / (300 * 0.5))
    assert size <= 300


def test_threshold_only_if_delta_is_above_two_over_q():
    c = 2 * math.log(2 / 0.05) / (1000 * 2) + 1 / 1000
    assert threshold(2, 0.05, 1000, 41) == pytest.approx(c, rel=1e-15)
    assert threshold(2, 0.05, 1000, 40) == 0.0
    assert threshold(2, 0.0, 1000, 10**9) == 0.0
    assert threshold(1, 1e-6, 1000, 1000) == 0.0  # q is at most n: never for delta < 2/n


def test_proportions_are_noisy_thresholded_and_normalised():
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    noise = np.random.default_rng(2).laplace(0.0, 0.02, 4)
    found = reweighted(shares, 0.02, 0.2, np.random.default_rng(2))
    kept = np.where(shares + noise > 0.2, shares + noise, 0)
    np.testing.assert_allclose(found, kept / kept.sum(), rtol=1e-14)
    assert found.sum() == pytest.approx(1)
    assert (found[2:] == 0).all()


def test_without_any_share_above_the_threshold_it_is_zero():
    shares = np.full(100, 0.01)
    found = reweighted(shares, 1e-6, 0.5, np.random.default_rng(2))
    noisy = shares + np.random.default_rng(2).laplace(0.0, 1e-6, 100)
    np.testing.assert_allclose(found, noisy / noisy.sum(), rtol=1e-14)


def test_without_any_positive_share_all_rows_are_equally_likely():
    found = reweighted(np.full(4, -5.0), 1e-6, 0.1, np.random.default_rng(2))
    assert found.tolist() == [0.25] * 4


def test_rows_follow_the_noisy_proportions():
    """With next to no noise rows are multinomial; alarms at 1e-9, sees a shift of a tenth."""
    n = 50_000
    shares = np.array([0.5, 0.3, 0.2])
    x = np.repeat([1.0, 2.0, 3.0], (shares * n).astype(int))
    model = MVHistogram(pd.DataFrame({"x": x}), Schema((Column("x", "byte"),)))
    drawn = model.fit(epsilon=1000, rng=4).protected["x"]
    counts = np.array([(drawn == level).sum() for level in (1, 2, 3)])
    assert counts.sum() == n
    assert stats.chisquare(counts, shares * n).pvalue > ALPHA
    shifted = np.array([0.45, 0.33, 0.22])
    assert stats.chisquare(counts, shifted * n).pvalue < ALPHA


@pytest.mark.long
def test_one_person_is_found_where_epsilon_promises_nothing_of_the_kind():
    """All rows are distinct: a combination is released only if its person is there."""
    schema = Schema((Column("a", "byte"), Column("b", "byte")))
    a, b = (np.arange(40.0) % 8, np.arange(40.0) // 8)
    with_her, without = pd.DataFrame({"a": a, "b": b}), pd.DataFrame({"a": a, "b": b})
    with_her.loc[0] = [3.0, 77.0]
    epsilon, draws = 0.25, 600

    def seen(model):
        released = (model.fit(epsilon=epsilon).protected for _ in range(draws))
        return np.array([float((table["b"] == 77).any()) for table in released])

    present, absent = (seen(MVHistogram(table, schema)) for table in (with_her, without))
    assert absent.max() == 0
    audit = lower_bound(present, absent)
    assert audit.refutes(4 * epsilon)


@pytest.mark.long
def test_the_same_audit_does_not_refute_the_strict_form():
    schema = Schema((Column("b", "byte"),)).declare(
        b={"levels": [*range(5), 77], "missing": "never"}
    )
    b = np.arange(40.0) // 8
    with_her, without = pd.DataFrame({"b": b}), pd.DataFrame({"b": b})
    with_her.loc[0] = 77.0

    rng = np.random.default_rng(6)

    def seen(table):
        model = dprct.MVHistogram(table, schema, columns=["b"])
        fits = (model.fit(epsilon=0.25, rng=rng, confirm=True).protected for _ in range(100))
        return np.array([float((found["b"] == 77).any()) for found in fits])

    with pytest.warns(dprct.errors.DprctWarning):
        assert not lower_bound(seen(with_her), seen(without)).refutes(0.25)


def test_the_guarantee_is_none_and_says_why(data, schema):
    release = MVHistogram(data, schema).fit(epsilon=1)
    assert "nothing is charged" in release.plan.facts["cost"]
    assert release.guarantee.measure == "none"
    assert "come from the data" in release.guarantee.sentence()
    assert "charged to no ledger, because nothing is promised" in release.summary()
    assert release.summary().startswith("Synthetic, not protected,")
    plan = str(MVHistogram(data, schema).plan(1, 0.1))
    assert "NONE, whatever epsilon is" in plan
    assert "threshold" in plan


def test_the_plan_tells_nothing_of_the_data(data, schema):
    other = pd.DataFrame({name: data[name].to_numpy()[::-1] for name in data})
    other["income"] = other["income"].to_numpy() * 1000 + 7
    assert str(MVHistogram(data, schema).plan(1)) == str(MVHistogram(other, schema).plan(1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "survey_no_dp_guarantee.dta"


def test_the_file_says_so_in_its_label_its_notes_and_its_certificate(data, schema, path):
    release = MVHistogram(data, schema).fit(epsilon=1)
    release.write_dta(path)
    table, written = read_dta(path)
    assert table.shape == (300, 3)
    assert written.file.label == "NO DP GUARANTEE: a confidential survey"
    notes = [text for owner, _, text in written.file.characteristics if owner == "_dta"]
    assert any("No differential-privacy guarantee, because" in note for note in notes)
    text = path.with_suffix(".certificate.txt").read_text("utf-8")
    assert "No differential-privacy guarantee, because" in text
    assert "dataset-label of the file: says that there is no guarantee" in text
    page = path.with_suffix(".certificate.html").read_text("utf-8")
    for said in (" ".join(text.split()), page):
        assert "drawn from the confidential data without a privacy guarantee" in said
        assert "private release" not in said


def test_the_certificate_is_valid(data, schema, path):
    written = MVHistogram(data, schema).fit(epsilon=1).write_dta(path).to_dict()
    rules = files("dprct.certificate").joinpath("certificate.schema.json").read_text("utf-8")
    jsonschema.validate(written, json.loads(rules))
    assert written["guarantee"]["measure"] == "none"
    assert written["guarantee"]["epsilon"] is None


def test_it_is_reached_from_the_top_level_and_loaded_when_used():
    assert dprct.published.MVHistogram is MVHistogram
    assert dprct.MVHistogram is not MVHistogram
    code = "import dprct, sys; print('dprct.published' in sys.modules, 'published' in dir(dprct))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("label", ["", "x" * 80, "NO DP GUARANTEE: before"])
def test_any_label_has_room_for_the_warning(data, schema, label):
    with_label = Schema(schema.columns, FileFacts(release=114, label=label))
    new = MVHistogram(data, with_label).fit(epsilon=1).schema.file.label
    assert new.startswith("NO DP GUARANTEE: ")
    assert new.count("GUARANTEE") == 1
    assert len(new) <= 80


def test_a_name_that_hides_it_is_refused_and_the_right_one_given(data, schema, tmp_path):
    model = MVHistogram(data, schema)
    for write in (model.rehearse, model.fit(epsilon=1).write_dta):
        with pytest.raises(FileError, match=r"name it 'survey_no_dp_guarantee\.dta'"):
            write(tmp_path / "survey.dta")
    assert not list(tmp_path.iterdir())


def test_compare_permits_the_differences(data, schema, path, tmp_path):
    dprct.write_dta(data, schema, tmp_path / "survey.dta")
    original, read = read_dta(tmp_path / "survey.dta")
    MVHistogram(original, read.declare(region=["N", "S"])).fit(epsilon=1).write_dta(path)
    assert not dprct.compare(tmp_path / "survey.dta", path).unexpected


def test_a_seed_makes_a_simulation_that_is_not_written(data, schema, path):
    one, two = (MVHistogram(data, schema).fit(epsilon=1, rng=8) for _ in range(2))
    pd.testing.assert_frame_equal(one.protected, two.protected)
    assert one.guarantee.simulation
    with pytest.raises(SimulationError, match="a seed was given"):
        one.write_dta(path)


def test_nothing_is_charged(data, schema, tmp_path):
    dprct.write_dta(data, schema, tmp_path / "survey.dta")
    original, read = read_dta(tmp_path / "survey.dta")
    book = ledger_path(tmp_path / "survey.dta", "survey")
    account = Accountant.open(book, dataset_id="survey", epsilon=1, delta=0, unit="person")
    model = MVHistogram(original, read.declare(dataset_id="survey", region=["N", "S"]))
    words = model.fit(epsilon=5).ledger
    assert "charged to no ledger" in words
    (entry,) = account.ledger
    assert f"entry {entry.id} of data set 'survey' says that it was made without" in words
    assert (entry.priced, entry.relation, account.spent.epsilon) == (False, None, 0)
    assert account.remaining == account.total
    assert "NO GUARANTEE for 1 of 1 entries" in str(account)
    with pytest.raises(ParameterError, match="leave accountant out"):
        model.fit(epsilon=0.1, accountant=account)


def test_fates_and_derived_columns_are_those_of_the_strict_form(data, schema):
    both = Column("both", "byte", derived="arm * 2")
    wide = Schema((*schema.columns, both, Column("id", "int"))).declare(id={"fate": "key"})
    frame = data.assign(both=data["arm"] * 2, id=np.arange(300.0))
    table = MVHistogram(frame, wide, columns=["arm", "income", "region"]).fit(1).protected
    assert (table["both"] == 2 * table["arm"]).all()
    assert table["id"].is_unique
    with pytest.raises(SchemaError, match="no fate declared for: income"):
        MVHistogram(frame, wide, columns=["arm", "region"])


def test_a_formula_names_the_columns(data, schema):
    rest = schema.declare(region={"fate": "withheld"})
    table = MVHistogram.from_formula("income ~ arm", data, rest).fit(epsilon=1).protected
    assert (table["region"] == "").all()
    assert table["arm"].isin([0, 1]).all()


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"zeta": 1}, "between 0 and 1"),
        ({"zeta": "2/3"}, "between 0 and 1"),
        ({"neighbors": "replace-one-design-public"}, "allowed: replace-one, add-remove"),
    ],
)
def test_options_outside_their_range(data, schema, option, match):
    with pytest.raises(ParameterError, match=match):
        MVHistogram(data, schema, **option)


def test_what_is_declared_holds(data, schema):
    with pytest.raises(SchemaError, match="arm: a value outside the declared levels"):
        MVHistogram(data, schema.declare(arm=[1]), columns=list(data))


def test_liberia(shared):
    data, schema = read_dta(shared / "data" / "liberia" / "liberia_round5.dta")
    model = MVHistogram(data, schema)
    assert model.spec.eta(model.n) == 97
    binned = [
        name
        for name in data
        if len(np.unique(data[name].to_numpy()[~np.isnan(data[name].to_numpy())])) > 96.4
    ]
    assert len(binned) == 13
    table = model.fit(epsilon=1).protected
    assert table.shape == (947, 71)
    whole = [name for name in data if name not in binned]
    real = {row.tobytes() for row in np.nan_to_num(data[whole].to_numpy(), nan=-9e9)}
    released = {row.tobytes() for row in np.nan_to_num(table[whole].to_numpy(), nan=-9e9)}
    assert released <= real  # nothing but real combinations: why there is no guarantee
    assert 300 < len(released) < 700


def test_the_regression_of_the_paper_runs_on_it_and_is_near(shared):
    """Thirty seeded draws: re-weighted bootstraps of the rows, so centred near the original."""
    data, schema = read_dta(shared / "data" / "liberia" / "liberia_round5.dta")
    model, rng = MVHistogram(data, schema), np.random.default_rng(12)
    arms = ["tpassonly", "cashassonly", "tpcashass"]
    formula = f"fam_asb_lt ~ {' + '.join(arms)} + age_b"
    strata = ["tp_strata_alt", "cg_strata"]
    original = dprct.ols(formula, data, absorb=strata)
    tables = (model.fit(1, rng=rng).protected for _ in range(30))
    fits = [dprct.ols(formula, table, absorb=strata) for table in tables]
    drawn = np.array([fit.params[arms] for fit in fits])
    assert all(fit.nobs == 947 for fit in fits)
    centre, error = drawn.mean(axis=0), drawn.std(axis=0) / math.sqrt(30)
    assert (np.abs(centre - original.params[arms]) < 4 * error).all()
    assert (drawn.std(axis=0) > 1.2 * original.bse[arms]).all()  # the noise adds to the sampling
