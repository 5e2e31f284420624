from __future__ import annotations

import pickle
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import dprct
from dprct import Block, Calibrated, Cluster, Complete, Factorial, ols, read_dta
from dprct.certificate.valid_regressions import Validity
from dprct.errors import (
    BudgetError,
    FormulaError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
    SimulationError,
)
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.composition import per_row, sequential
from dprct.privacy.histograms import OneWayHistograms
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace
from dprct.privacy.noise import Secure

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.release.release import Release
    from dprct.schema import Schema

    Trial = Callable[..., pd.DataFrame]

ARMS = ["t", "t2"]
FORMULA = "earn ~ t + t2 + age + female + C(region) + C(village)"

pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")


def calibrated(
    data: pd.DataFrame, schema: Schema, formula: str = FORMULA, *, missing: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """A calibrated file; ``missing`` is declared of works."""
    options = {"treatment": ARMS, **options}
    left = formula.split("~")[0]
    rest = [name for name in {"earn", "works"} & set(schema.names) if name not in left]
    schema = schema.declare(**{name: {"fate": "withheld"} for name in rest})
    if missing is not None:
        schema = schema.declare(works={"missing_policy": missing})
    return Calibrated.from_formula(formula, data, schema, **options)


def agrees(release: Release, formula: str, outcome: str = "earn", **how: Any) -> None:
    """The reader's regression returns effects, errors and, for HC1, the whole covariance."""
    fit = ols(formula, release.protected, release.schema, **how)
    found = release.estimates
    several = len(found.control) > 1
    names = [f"{outcome}: {arm}" if several else arm for arm in ARMS]
    scale = float(found.bse[names].max())
    assert np.abs(fit.params[ARMS].to_numpy() - found.params[names].to_numpy()).max() < 1e-10
    target = found.cov.loc[names, names].to_numpy()
    assert np.abs(fit.cov.loc[ARMS, ARMS].to_numpy() - target).max() < 1e-11 * scale**2
    assert np.abs(fit.bse[ARMS].to_numpy() / found.bse[names].to_numpy() - 1).max() < 1e-12


def test_the_regression_returns_the_effects_and_their_errors(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    release = calibrated(trial, trial_schema).fit(epsilon=2)
    agrees(release, FORMULA)
    assert "exactly" in release.plan.facts["calibration"]
    pd.testing.assert_frame_equal(release.tidy(), release.estimates.tidy())
    with pytest.raises(ParameterError, match="this release has no estimates"):
        replace(release, estimates=None).tidy()


def test_chance_decides_nothing_before_the_fit(
    trial: pd.DataFrame, trial_schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rehearsal with other filler each time announced other facts of its file, 1 time in 800."""

    def drawn(source: Secure) -> np.random.Generator:
        raise AssertionError("random filler")

    monkeypatch.setattr(Secure, "post_processing_rng", drawn)
    models = [calibrated(trial, trial_schema) for _ in range(2)]
    first, again = (model._announced(model.guarantee(Budget(2))) for model in models)
    assert first.unsealed().digest() == again.unsealed().digest()


def test_statsmodels_finds_the_same(trial: pd.DataFrame, trial_schema: Schema) -> None:
    release = calibrated(trial, trial_schema).fit(epsilon=2)
    fit = smf.ols(FORMULA, release.protected).fit(cov_type="HC1")
    assert fit.params[ARMS].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)
    assert fit.bse[ARMS].to_numpy() == pytest.approx(release.estimates.bse, rel=1e-12)


def test_the_control_mean_of_the_file_is_the_released_one(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    release = calibrated(trial, trial_schema).fit(epsilon=2)
    rows = release.protected
    control = rows["earn"][(rows["t"] == 0) & (rows["t2"] == 0)]
    assert control.mean() == pytest.approx(release.estimates.control.loc["earn", "mean"], abs=1e-10)


def test_two_arms_get_classical_errors_too(trial: pd.DataFrame, trial_schema: Schema) -> None:
    two = trial[trial["t2"] == 0].reset_index(drop=True)
    schema = trial_schema.declare(t2={"fate": "drop"})
    release = calibrated(two, schema, "earn ~ t + age", treatment="t").fit(epsilon=2)
    for kind in ("HC1", "nonrobust"):
        fit = ols("earn ~ t + age", release.protected, release.schema, cov_type=kind)
        assert fit.bse["t"] == pytest.approx(release.estimates.bse["t"], rel=1e-12)
    valid = Validity.of(release.schema)
    assert valid is not None
    assert valid.classical


def test_several_outcomes_and_covariate_sets_share_one_file(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model = calibrated(
        trial, trial_schema, "earn + works ~ t + t2", missing=0.0,
        specifications=[["C(village)"]], budget_shares={"earn": 0.5, "works": 0.5},
    )  # fmt: skip
    release = model.fit(epsilon=4)
    for right in ("", "+ C(village)"):
        for outcome in ("earn", "works"):
            agrees(release, f"{outcome} ~ t + t2 {right}", outcome)


def test_errors_of_sets_that_contradict_each_other_are_never_too_small(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model = calibrated(trial, trial_schema, specifications=["", "female"])
    release = model.fit(epsilon=4)
    assert "conservative" in release.plan.facts["calibration"]
    for right in ("", "+ female", FORMULA.partition("t2")[2]):
        fit = ols(f"earn ~ t + t2 {right}", release.protected, release.schema)
        ratio = fit.bse[ARMS].to_numpy() / release.estimates.bse.to_numpy()
        assert ratio.min() > 1 - 1e-12
        assert ratio.max() < 1.1
        assert fit.params[ARMS].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)


def test_a_subset_of_the_covariates_returns_the_effects(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    release = calibrated(trial, trial_schema).fit(epsilon=2)
    fit = ols("earn ~ t + t2 + age", release.protected, release.schema)
    assert fit.params[ARMS].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)
    assert any("errors are not" in note for note in fit.notes)


def test_public_missingness_is_that_of_the_file(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(trial, trial_schema, "works ~ t + t2 + age", missing="public")
    release = model.fit(epsilon=4)
    for arm in ARMS:
        gone = release.protected["works"][release.protected[arm] == 1].isna().sum()
        assert gone == trial["works"][trial[arm] == 1].isna().sum()
    agrees(release, "works ~ t + t2 + age")


def test_clusters_get_cluster_errors(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(1800)
    arm = np.random.default_rng(1).permutation(np.arange(60) % 3)[data["school"].astype(int)]
    data = data.assign(t=(arm == 1) * 1.0, t2=(arm == 2) * 1.0)
    model = calibrated(
        data, trial_schema, "earn ~ t + t2 + age", assignment=Cluster(ARMS, cluster="school")
    )
    release = model.fit(epsilon=8)
    agrees(release, "earn ~ t + t2 + age", cov_type="CR1", cluster="school")
    pairs = release.protected[["school", *ARMS]].drop_duplicates()
    assert len(pairs) == 60  # schools are whole, and each is in one arm
    assert sorted(release.protected["school"]) == sorted(data["school"])


def test_protected_clusters_pay_for_all_their_rows(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(1800)
    arm = np.random.default_rng(1).permutation(np.arange(60) % 3)[data["school"].astype(int)]
    data = data.assign(t=(arm == 1) * 1.0, t2=(arm == 2) * 1.0)
    model = calibrated(
        data, trial_schema, "earn ~ t + t2 + age", privacy_unit="cluster",
        assignment=Cluster(ARMS, cluster="school", largest=30), covariate_release="marginals",
    )  # fmt: skip
    plan = model.plan(30)
    assert plan.value("covariates: price of clusters") == 30
    assert "epsilon=0.2" in plan.facts["covariates: noise"]  # a fifth of 30, for 30 rows
    assert model.fit(30).guarantee.unit == "cluster of school"


@pytest.mark.parametrize("unit", ["person", "cluster"])
def test_the_parts_of_a_release_cost_what_was_charged(
    unit: str, make_trial: Trial, trial_schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effects, covariates and slopes together; those drawn row by row at a cluster's price."""
    data = make_trial(1800)
    arm = np.random.default_rng(1).permutation(np.arange(60) % 3)[data["school"].astype(int)]
    data = data.assign(t=(arm == 1) * 1.0, t2=(arm == 2) * 1.0)
    rows = 30 if unit == "cluster" else 1
    design = Cluster(ARMS, cluster="school", largest=30 if unit == "cluster" else None)
    model = calibrated(
        data, trial_schema, "earn ~ t + t2 + age", assignment=design, privacy_unit=unit,
        covariate_release="marginals", gamma="moments",
    )  # fmt: skip
    of_rows: list[Budget] = []
    of_units: list[Budget] = []
    for mechanism, kept in (
        (OneWayHistograms, of_rows), (AnalyticGaussian, of_rows), (DiscreteLaplace, of_units),
    ):  # fmt: skip

        def watched(self: Any, *given: Any, real: Any = mechanism.release, kept: Any = kept) -> Any:
            kept.append(self.budget)
            return real(self, *given)

        monkeypatch.setattr(mechanism, "release", watched)
    model.fit(30, 1e-6)
    part = model._allocated(Budget(30, 1e-6)).division
    assert part.whole == Budget(30, 1e-6)
    assert sum(of_units, Budget(0)) == sequential([part.effects, per_row(part.covariates, rows)])
    assert of_rows[0] == per_row(part.covariates, rows)  # its Laplace noise is among of_units
    assert of_rows[1:] == [per_row(part.slopes, rows)]


def test_blocks_keep_their_public_sizes(trial: pd.DataFrame, trial_schema: Schema) -> None:
    release = calibrated(trial, trial_schema, assignment=Block(ARMS, block="village")).fit(
        epsilon=2
    )
    sizes = [frame.groupby(["village", *ARMS]).size() for frame in (trial, release.protected)]
    assert sizes[0].equals(sizes[1])
    agrees(release, FORMULA)


def test_a_column_of_codes_is_a_treatment(trial: pd.DataFrame, trial_schema: Schema) -> None:
    data = trial.assign(t=trial["t"] + 2 * trial["t2"])
    schema = trial_schema.declare(t={"levels": [0, 1, 2]}, t2={"fate": "drop"})
    model = calibrated(
        data,
        schema,
        "earn ~ C(t) + age",
        treatment=None,
        assignment=Complete([0, 1, 2], arm="t"),
        control=0.0,
    )
    release = model.fit(epsilon=2)
    fit = ols("earn ~ C(t) + age", release.protected, release.schema)
    arms = ["C(t)[T.1]", "C(t)[T.2]"]
    assert fit.params[arms].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)
    assert fit.bse[arms].to_numpy() == pytest.approx(release.estimates.bse, rel=1e-12)


@pytest.mark.parametrize("how", ["histogram", "marginals", "filler"])
def test_covariates_are_drawn_as_asked(how: str, trial: pd.DataFrame, trial_schema: Schema) -> None:
    data = trial.assign(female=0.0)
    model = calibrated(data, trial_schema, "earn ~ t + t2 + female + old", covariate_release=how)
    release = model.fit(epsilon=60, confirm=True)
    women = release.protected["female"].mean()
    assert women == pytest.approx(0.5, abs=0.11) if how == "filler" else women < 0.01
    assert release.protected["old"].equals((release.protected["age"] > 50) * 1.0)
    spent = release.plan.facts["budget"]
    assert ("nothing on covariates" in spent) == (how == "filler")
    expected = "filler" if how == "filler" else "modelled"
    assert release.certificate().fates["female"] == expected
    agrees(release, "earn ~ t + t2 + female + old")


def test_auto_spends_where_covariates_will_resemble_the_originals(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model = calibrated(trial, trial_schema)
    for epsilon, rule in ((0.5, "filler"), (20, "histogram")):
        plan = model.plan(epsilon)
        assert plan.facts["covariates"].startswith(rule)
        assert float(plan.budget.epsilon) == epsilon


def test_the_whole_budget_is_charged_once(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(
        trial,
        trial_schema,
        covariate_release="marginals",
        budget_shares={"covariates": 0.25, "earn": 0.75},
    )
    accountant = Accountant(3, relation="replace-one-design-public")
    release = model.fit(epsilon=2, accountant=accountant)
    (entry,) = accountant.ledger
    assert float(entry.budget.epsilon) == 2
    assert "epsilon=1.5 on effects" in release.plan.facts["budget"]
    assert "epsilon=0.5 on covariates" in release.plan.facts["budget"]
    assert release.guarantee.relation == "replace-one-design-public"
    assert release.estimates.guarantee == release.guarantee
    with pytest.raises(BudgetError):
        model.fit(epsilon=1.5, accountant=accountant)
    assert len(accountant.ledger) == 1


def test_the_guarantee_is_that_of_the_effects_and_of_the_file(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model = calibrated(trial, trial_schema)
    whole, effects = (
        model.guarantee(Budget(1)),
        model.spec.effects.guarantee(model.facts.effects, model._allocated(Budget(1)).effects),
    )
    assert set(effects.public_facts) < set(whole.public_facts)
    assert any(fact.startswith("names, types, formats, labels") for fact in whole.public_facts)
    public = {c.name for c in model.schema.columns if c.fate == "public"}
    assert public
    assert {f"column {name} (declared public)" for name in public} <= set(whole.not_covered)
    assert set(effects.not_covered) <= set(whole.not_covered)


@pytest.mark.parametrize("how", [{}, {"gamma": "moments", "covariate_release": "marginals"}])
def test_a_crashed_release_is_resumed_from_its_saved_state(
    how: dict[str, Any], trial: pd.DataFrame, trial_schema: Schema, tmp_path: Path
) -> None:
    path = tmp_path / "trial.ledger"
    promise = {"relation": "replace-one-design-public", "unit": "person"}
    accountant = Accountant.open(path, dataset_id="trial", epsilon=3, delta=1e-6, **promise)
    model = calibrated(trial, trial_schema, **how)
    first = model.fit(2, 1e-6 if how else 0, accountant=accountant)
    again = model.resume(accountant.ledger[0].id, accountant=accountant)
    assert again.estimates.params.equals(first.estimates.params)
    assert again.estimates.bse.equals(first.estimates.bse)
    assert not again.protected["earn"].equals(first.protected["earn"])
    agrees(again, FORMULA)
    assert len(accountant.ledger) == 1


def certified(release: Release) -> tuple[str, ...]:
    return release.certificate().limits


def test_a_public_index_narrows_the_bounds(trial: pd.DataFrame, trial_schema: Schema) -> None:
    data = trial.assign(age=trial["age"].fillna(40))
    model = calibrated(data, trial_schema, index=lambda rows: 40 + 0 * rows["age"],
                       index_columns=["age"], index_bounds=(-30, 30))  # fmt: skip
    release = model.fit(epsilon=2)
    agrees(release, FORMULA)
    plain = calibrated(data, trial_schema).fit(epsilon=2)
    assert any("control mean is not that of the outcome" in x for x in certified(release))
    assert not any("control mean" in x for x in certified(plain))
    ratio = release.estimates.bse_noise / plain.estimates.bse_noise
    assert ratio.to_numpy() == pytest.approx(0.6, rel=1e-6)


@pytest.mark.parametrize("design", [Block(ARMS, block="village"), Complete(ARMS)])
def test_a_column_of_the_design_is_shown_only_where_it_is_declared_public(
    design: Any, trial: pd.DataFrame, trial_schema: Schema
) -> None:
    """Its values stand in the file as they are; the study file refuses it in the same words."""
    schema = trial_schema.declare(**{design.uses[0] if design.uses else "t": {"fate": "modelled"}})
    with pytest.raises(SchemaError, match=r'of the design, which is public.*fate = "public"'):
        calibrated(trial, schema, "earn ~ t + t2", assignment=design)


def test_an_unsealed_schema_was_not_sealed_before_the_data_were_read(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    assert not trial_schema.opened
    assert trial_schema.seal_of is None
    certificate = calibrated(trial, trial_schema).fit(epsilon=2).certificate()
    assert certificate.seal.endswith("sealed after opening")


@pytest.mark.parametrize("covariates", ["filler", "histogram"])
def test_the_certificate_names_the_seal_of_the_declaration(
    trial: pd.DataFrame, trial_schema: Schema, covariates: str
) -> None:
    schema = trial_schema.declare(works={"fate": "withheld"})
    left_out = [replace(c, fate=None) if c.name == "age" else c for c in schema.columns]
    schema = replace(schema, columns=tuple(left_out), opened=False).seal(by="Ada").as_opened()
    release = calibrated(trial, schema, covariate_release=covariates).fit(epsilon=20)
    certificate = release.certificate()
    assert "declared by Ada" in certificate.seal
    assert "before the data were read" in certificate.seal
    assert schema.seal_of is not None
    assert certificate.seal_sha256 == schema.seal_of.sha256


def test_delta_buys_covariates_or_effects(trial: pd.DataFrame, trial_schema: Schema) -> None:
    release = calibrated(trial, trial_schema, covariate_release="histogram").fit(
        2, 1e-6, confirm=True
    )
    assert release.guarantee.measure == "approximate"
    plan = calibrated(trial, trial_schema, covariate_release="filler").plan(2, 1e-6)
    assert "all of it, epsilon=2, delta=1e-06, on effects" in plan.facts["budget"]
    assert "Gaussian noise" in plan.facts["released"]


def test_slopes_come_from_private_moments(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(6000)
    earn = np.clip(0.8 * data["age"].fillna(40) + 6 * data["t"], 0, 100)
    data = data.assign(earn=earn.astype(np.float32).astype(float))
    formula = "earn ~ t + t2 + age + C(region)"
    model = calibrated(data, trial_schema, formula, gamma="moments", covariate_release="marginals")
    accountant = Accountant(9, 1e-6, relation="replace-one-design-public")
    release = model.fit(8, 1e-6, accountant=accountant)
    agrees(release, formula)
    assert ols(formula, release.protected, release.schema).params.isna()["age"]
    fit = ols(formula, release.protected)
    # zero without moments; shrunk to .72 by the noise, whose sd is .02
    assert fit.params["age"] == pytest.approx(0.8, abs=0.2)
    assert float(accountant.ledger[0].budget.epsilon) == 8
    assert "epsilon=1.6, delta=1e-06 on their coefficients" in release.plan.facts["budget"]
    valid = Validity.of(release.schema)
    assert valid is not None
    assert not valid.subsets_valid


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("earn ~ t + t2 + age", {"specifications": [""]}, "calibrates one covariate set"),
        ("earn ~ t + t2", {}, "needs covariates"),
        (
            "earn ~ t + t2 + age",
            {"budget_shares": {"covariates": 1}, "covariate_release": "marginals"},
            "a positive share for each of covariates, moments, earn",
        ),
        ("earn ~ t + t2 + age", {"covariate_release": "filler"}, "carry no information"),
    ],
)
def test_slopes_that_nobody_could_see_are_refused(
    formula: str, options: dict[str, Any], words: str, trial: pd.DataFrame, trial_schema: Schema
) -> None:
    with pytest.raises(ParameterError, match=words):
        calibrated(trial, trial_schema, formula, gamma="moments", **options).plan(2, 1e-6)


def test_slopes_need_a_delta(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(trial, trial_schema, gamma="moments", covariate_release="marginals")
    with pytest.raises(ParameterError, match="needs a delta"):
        model.plan(2)


def test_the_file_is_drop_in(trial: pd.DataFrame, trial_schema: Schema, tmp_path: Path) -> None:
    confidential, protected = tmp_path / "trial.dta", tmp_path / "protected.dta"
    dprct.write_dta(trial, trial_schema, confidential)
    model = calibrated(trial, trial_schema, "works ~ t + t2 + age", missing="public")
    release = model.fit(epsilon=4)
    certificate = release.write_dta(protected)
    found = dprct.compare(confidential, protected)
    assert found.unexpected == ()
    assert ("type", "works") in {(d.facet, d.column) for d in found.differences}
    assert "not a code" in certificate.to_text()
    data, schema = read_dta(protected)
    fit = ols("works ~ t + t2 + age", data, schema)
    assert fit.params[ARMS].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)
    assert any(note.startswith("Calibrated") for note in fit.notes)
    assert Validity.of(schema) is not None


def test_r_finds_the_same_on_the_written_file(
    trial: pd.DataFrame, trial_schema: Schema, tmp_path: Path, rscript: str
) -> None:
    release = calibrated(trial, trial_schema, "earn ~ t + t2 + age + C(village)").fit(epsilon=2)
    release.write_dta(tmp_path / "protected.dta")
    code = (
        f"d <- haven::read_dta('{(tmp_path / 'protected.dta').as_posix()}');"
        "X <- model.matrix(~ t + t2 + age + factor(village), haven::zap_labels(d));"
        "y <- as.numeric(d$earn); f <- lm.fit(X, y); B <- solve(crossprod(X));"
        "u <- X * f$residuals; V <- nrow(X) / (nrow(X) - ncol(X)) * B %*% crossprod(u) %*% B;"
        "cat(sprintf('%.17g', c(f$coefficients[2:3], sqrt(diag(V))[2:3])))"
    )
    run = subprocess.run([rscript, "-e", code], check=True, capture_output=True, text=True)
    found = [float(word) for word in run.stdout.split()]
    assert found[:2] == pytest.approx(release.estimates.params.tolist(), abs=1e-10)
    assert found[2:] == pytest.approx(release.estimates.bse.tolist(), rel=1e-11)


def test_legal_values_cost_the_calibration_and_it_is_said(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model = calibrated(
        trial, trial_schema, "works ~ t + t2 + age", missing="public", legal="strict"
    )
    release = model.fit(epsilon=4)
    assert set(release.protected["works"].dropna()) == {0.0, 1.0}
    assert release.schema.column("works").type == "byte"
    assert "rounded and clipped" in release.plan.facts["calibration"]
    assert any("not valid" in note for note in release.estimates.notes)
    valid = Validity.of(release.schema)
    assert valid is not None
    assert valid.rounded
    release.schema.validate(release.protected)


def test_the_protected_table_is_legal_in_its_schema(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    release = calibrated(trial, trial_schema).fit(epsilon=2)
    release.schema.validate(release.protected)
    assert release.schema.column("earn").type == "double"
    assert release.schema.column("earn").bounds is None
    assert not release.protected["age"].isna().any()  # a missing value would cost the reader rows


def test_who_has_the_protected_table_can_change_it(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    model, before = calibrated(trial, trial_schema), trial.copy()
    table = model.fit(epsilon=2).protected
    for name in table:  # an array that is read-only, or another column's, would show here
        others = table.drop(columns=name)
        table.loc[0, name] = table[name].iloc[-1]
        assert table.drop(columns=name).equals(others)
    assert trial.equals(before)


def test_releases_pickle_and_hold_no_confidential_value(
    trial: pd.DataFrame, trial_schema: Schema, secrets: tuple[bytes, ...]
) -> None:
    model = calibrated(trial, trial_schema, covariate_release="marginals")
    release = model.fit(epsilon=2)
    stored = pickle.dumps(release)
    secret = np.float64(trial["earn"][0])
    for pattern in (*secrets[:1], secret.tobytes(), np.float32(secret).tobytes()):
        assert pattern not in stored
    again = pickle.loads(stored)
    assert again.protected.equals(release.protected)
    assert again.estimates.params.equals(release.estimates.params)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model)


def test_a_seed_is_a_simulation(trial: pd.DataFrame, trial_schema: Schema, tmp_path: Path) -> None:
    model = calibrated(trial, trial_schema)
    first, second = (model.fit(epsilon=2, rng=7) for _ in range(2))
    assert first.protected.equals(second.protected)
    assert first.guarantee.simulation
    assert first.estimates.guarantee.simulation
    with pytest.raises(SimulationError):
        first.write_dta(tmp_path / "x.dta")


def test_nothing_is_charged_for_what_is_refused(
    trial: pd.DataFrame, trial_schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = Accountant(3, relation="replace-one-design-public")
    model = calibrated(trial, trial_schema, covariate_release="histogram")

    def never(*_args: object) -> None:
        pytest.fail("the confidential rows were counted although the fit was refused")

    monkeypatch.setattr("dprct.release.calibrated.model.released_effects", never)
    with pytest.raises(dprct.errors.ConfirmationError):
        model.fit(epsilon=0.1, accountant=accountant)
    with pytest.raises(BudgetError):
        model.fit(epsilon=30, accountant=accountant, confirm=True)
    assert accountant.ledger == ()


def test_the_plan_prices_the_covariates(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(
        trial,
        trial_schema.declare(earn={"sd": 10}),
        covariate_release="marginals",
        budget_shares={"covariates": 0.5, "earn": 0.5},
    )
    plan = model.plan(1)
    assert plan.value("covariates: price", "divide the noise of every effect") == 2
    for words in ("each of 3 columns adds 2", "not adjusted for covariates", "80% power"):
        assert words in " ".join(str(plan).split())


def test_rehearsal_writes_the_header_that_the_file_will_have(
    trial: pd.DataFrame, trial_schema: Schema, tmp_path: Path
) -> None:
    model = calibrated(trial, trial_schema)
    model.rehearse(tmp_path / "protected.dta")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("earn ~ t + t2 + t:age", {}, FormulaError, "transforms the treatment"),
        ("earn ~ t + t2 + I(t * age)", {}, FormulaError, "interacts or transforms"),
        ("earn ~ t + t2 - 1", {}, FormulaError, "no intercept"),
        ("earn ~ t + age", {}, FormulaError, "lacks the treatment t2"),
        ("earn ~ t + t2", {"treatment": None}, FormulaError, "name its columns"),
        ("earn + works ~ t + t2 + works", {"missing": 0.0}, ParameterError, "outcome and a cov"),
        ("earn ~ t + t2", {"specifications": ["t"]}, ParameterError, "treatment column 't'"),
        ("earn ~ t + t2 + diary", {}, SchemaError, "'withheld'"),
        ("earn ~ t + t2 + age", {"covariate_release": "bootstrap"}, ParameterError,
         "allowed: auto"),
        ("earn ~ t + t2 + age", {"legal": "loose"}, ParameterError, "allowed: calibrated"),
        ("earn ~ t + t2 + age", {"budget_shares": {"covariates": 1}}, ParameterError,
         "budget_shares"),
        ("earn ~ t + t2", {"neighbors": "replace-one"}, ParameterError, "needs assignment="),
        ("earn ~ t + t2 + I(2 * old) + old",
         {"budget_shares": {"covariates": 0.1, "earn": 0.9}, "covariate_release": "filler"},
         ParameterError, "a positive share for each of earn"),
        ("works ~ t + t2", {}, SchemaError, "may be missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_calibrated_is_refused(
    formula: str,
    options: dict[str, Any],
    error: type[Exception],
    words: str,
    trial: pd.DataFrame,
    trial_schema: Schema,
) -> None:
    with pytest.raises(error, match=words):
        calibrated(trial, trial_schema, formula, **options)


def test_a_covariate_needs_public_facts(trial: pd.DataFrame, trial_schema: Schema) -> None:
    columns = [
        c if c.name != "age" else dprct.Column("age", "byte", missing=("."), fate="modelled")
        for c in trial_schema.columns
    ]
    with pytest.raises(SchemaError, match="covariate: column 'age' has neither bounds nor levels"):
        calibrated(trial, trial_schema.with_columns(columns), "earn ~ t + t2 + age")


def test_more_coefficients_than_rows_are_refused_before_anything_is_spent(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(90)
    data = data.assign(village=np.arange(90.0))
    with pytest.raises(ParameterError, match="leave covariates out"):
        calibrated(data, trial_schema, "earn ~ t + t2 + C(village)")


def test_liberia_with_all_its_covariates_and_blocks(shared: Path) -> None:
    data, schema = read_dta(shared / "data/liberia/liberia_round5.dta")
    arms = ["cashassonly", "tpassonly", "tpcashass"]
    base = [name for name in data.columns if name.endswith("_b")]
    blocks = ["tp_strata_alt", "cg_strata"]
    wide = {"missing": "never", "built_from": "own", "fate": "modelled"}
    facts: dict[str, Any] = {
        # stand-ins for bounds from a questionnaire: what is tested is the size of the regression
        name: {**wide, "bounds": (float(data[name].min()), float(data[name].max()) + 1)}
        for name in base
    }
    facts |= {name: {"levels": [0, 1], "missing": "never", "fate": "public"} for name in arms}
    facts |= {name: {"missing": "never", "fate": "public"} for name in blocks}
    schema = schema.declare(fam_asb_lt={**wide, "bounds": (-2, 6)}, **facts)
    schema = schema.declare_rest("withheld")
    factors = [Block("cash", block="cg_strata"), Block("tp", block="tp_strata_alt")]
    design = Factorial(
        factors, {"cashassonly": ["cash"], "tpassonly": ["tp"], "tpcashass": ["cash", "tp"]}
    )
    formula = "fam_asb_lt ~ " + " + ".join([*arms, *base, *(f"C({b})" for b in blocks)])
    model = calibrated(
        data, schema, formula, treatment=arms, assignment=design, blocks="ignore", attrition=True
    )
    release = model.fit(epsilon=1)
    fit = ols(formula, release.protected, release.schema)
    assert len(fit.params) == 131
    assert fit.params[arms].to_numpy() == pytest.approx(release.estimates.params, abs=1e-10)
    assert fit.bse[arms].to_numpy() == pytest.approx(release.estimates.bse, rel=1e-12)
    noise = release.estimates.bse_noise
    assert noise is not None
    assert noise["cashassonly"] == pytest.approx(0.11, abs=0.01)
