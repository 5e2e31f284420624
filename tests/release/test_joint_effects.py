"""A calibrated file whose effects come from one Gaussian release of all outcomes and arms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Block, Calibrated, Cluster, Complete, Simple, ols, read_dta
from dprct.certificate.valid_regressions import Validity
from dprct.errors import ConfirmationError, ParameterError, SchemaError
from dprct.estimate.ate.results import PrivateATEResults
from dprct.estimate.moments.effects import EffectResults
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.composition import sequential
from dprct.privacy.mechanisms import AnalyticGaussian
from dprct.release.calibrated.covariates import FEWEST, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dprct.release.release import Release
    from dprct.schema import Schema

    Trial = Callable[..., pd.DataFrame]

ARMS = ["t", "t2"]
DELTA = 1e-6
PRIVATE = {"neighbors": "replace-one", "assignment": Complete(ARMS)}
FACTS: dict[str, Any] = {"earn": {"sd": 10}, "works": {"sd": 0.5, "missing_policy": 0.0}}
PUBLIC: dict[str, Any] = {"works": {"missing_policy": "public"}}
SCALES: dict[str, Any] = {"facts": FACTS}
TWO = "earn + works ~ t + t2 + age + C(region)"

pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")


def calibrated(data: pd.DataFrame, schema: Schema, formula: str = TWO, *,
               facts: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> Any:  # fmt: skip
    schema = schema.declare(**facts)
    left = formula.split("~")[0]
    rest = [name for name in {"earn", "works"} & set(schema.names) if name not in left]
    schema = schema.declare(**{name: {"fate": "withheld"} for name in rest})
    if options.get("neighbors") == "replace-one":
        schema = schema.declare(t={"exclusive": "arm"}, t2={"exclusive": "arm"})
    options = {"covariate_release": "filler", **options}
    if "assignment" not in options:
        options["treatment"] = ARMS
    return Calibrated.from_formula(formula, data, schema, **options)


def agrees(release: Release, right: str = "age + C(region)", outcomes: Any = None) -> None:
    """Every declared regression returns the released effects and their errors."""
    found = release.estimates
    assert isinstance(found, EffectResults)
    for outcome in outcomes or found.outcomes:
        fit = ols(f"{outcome} ~ {' + '.join([*ARMS, right])}", release.protected, release.schema)
        names = [f"{outcome}: {arm}" if len(found.outcomes) > 1 else arm for arm in ARMS]
        gap = fit.params[ARMS].to_numpy() - found.params[names].to_numpy()
        assert np.abs(gap).max() < 1e-10
        assert fit.bse[ARMS].to_numpy() == pytest.approx(found.bse[names].to_numpy(), rel=1e-11)


@pytest.mark.parametrize("options", [{}, PRIVATE], ids=["public", "private"])
def test_the_regressions_return_effects_errors_and_control_means(
    options: dict[str, Any], make_trial: Trial, trial_schema: Schema, tmp_path: Path
) -> None:
    model = calibrated(make_trial(1200), trial_schema, **SCALES, **options)
    release = model.fit(2, DELTA)
    agrees(release)
    path = tmp_path / "trial.dta"
    release.write_dta(path)
    rows, schema = read_dta(path)
    found = release.estimates
    for place, outcome in enumerate(found.outcomes):
        fit = ols(f"{outcome} ~ t + t2 + age + C(region)", rows, schema)
        names = [f"{outcome}: {arm}" for arm in ARMS]
        assert fit.params[ARMS].to_numpy() == pytest.approx(found.params[names], rel=1e-6, abs=1e-9)
        assert fit.bse[ARMS].to_numpy() == pytest.approx(found.bse[names], rel=1e-6)
        alone = ols(f"{outcome} ~ t + t2", rows, schema)
        mean = found.means.each()[3 * place]
        assert alone.params["Intercept"] == pytest.approx(mean.value, rel=1e-9)
        assert alone.bse["Intercept"] == pytest.approx(mean.half_width(0.05) / 1.959964, rel=1e-6)
        assert alone.bse["Intercept"] > mean.noise_sd
    assert "exactly" in release.plan.facts["calibration"]
    assert "except" not in release.plan.facts["control means"]


def test_two_arms_return_the_control_mean_and_its_error(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(1500)
    two = data[data["t2"] == 0].reset_index(drop=True)
    schema = trial_schema.declare(t2={"fate": "drop"}, works={"fate": "withheld"})
    model = Calibrated.from_formula("earn ~ t + age", two, schema, treatment="t",
                                    covariate_release="filler", specifications=[""])  # fmt: skip
    release = model.fit(2, DELTA)
    found = release.estimates
    for formula in ("earn ~ t", "earn ~ t + age"):
        fit = ols(formula, release.protected, release.schema)
        assert fit.params["t"] == pytest.approx(found.params["t"], abs=1e-10)
        assert fit.bse["t"] == pytest.approx(found.bse["t"], rel=1e-11)
    alone = ols("earn ~ t", release.protected, release.schema)
    control = found.means.each()[0]
    assert alone.params["Intercept"] == pytest.approx(control.value, abs=1e-10)
    assert alone.bse["Intercept"] == pytest.approx(control.half_width(0.05) / 1.959964, rel=1e-6)


def test_the_guarantee_is_the_sum_of_the_parts(make_trial: Trial, trial_schema: Schema) -> None:
    drawn: dict[str, Any] = {"covariate_release": "marginals", **SCALES, **PRIVATE}
    model = calibrated(make_trial(1200), trial_schema, **drawn)
    accountant = Accountant(3, 1e-5, relation="replace-one")
    release = model.fit(2, DELTA, accountant=accountant)
    assert accountant.ledger[0].budget == Budget(2, DELTA)
    assert release.guarantee.budget == Budget(2, DELTA)
    assert release.guarantee.relation == "replace-one"
    allocation = model._allocated(Budget(2, DELTA))
    division = allocation.division
    assert division.jointly
    assert division.whole == Budget(2, DELTA)
    assert division.effects == Budget(Fraction(8, 5), Fraction("8e-7"))
    parts = [part.budget for part in allocation.parts.values()]
    assert sequential(parts) == Budget(2, DELTA)
    (gaussian,) = allocation.effects.parts.values()
    assert isinstance(gaussian, AnalyticGaussian)
    assert gaussian.budget == division.effects
    assert any("centres, scales and weights" in fact for fact in release.guarantee.public_facts)


def test_private_treatment_is_listed_as_protected(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(1200)
    model = calibrated(data, trial_schema, **SCALES, **PRIVATE)
    release = model.fit(2, DELTA)
    certificate = release.certificate()
    assert certificate.guarantee.relation == "replace-one"
    hidden = " ".join(certificate.guarantee.not_covered)
    assert not any(word in hidden for word in ("treatment", "column t", "arm"))
    assert certificate.fates["t"] == certificate.fates["t2"] == "modelled"
    assert any("released noisy numbers" in limit for limit in certificate.limits)
    # sizes of the file are those that were released, and not those of the data
    noisy = [cell.rows for cell in release.estimates.means.cells]
    rows = release.protected
    treated = [int(rows[arm].sum()) for arm in ARMS]
    control = len(rows) - sum(treated)
    assert sizes_of(noisy, 1200, FEWEST).tolist() == [control, *treated]
    assert set(zip(rows["t"], rows["t2"], strict=True)) == {(0, 0), (0, 1), (1, 0)}


def test_rows_that_say_who_has_a_value_keep_saying_it(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(1500)
    model = calibrated(data, trial_schema, "works ~ t + t2 + C(region)", facts=PUBLIC, **PRIVATE)
    release = model.fit(3, DELTA)
    rows = release.protected
    assert rows["works"].isna().sum() == data["works"].isna().sum()
    agrees(release, "C(region)")
    noisy = [cell.rows for cell in release.estimates.means.cells]
    there = rows[rows["works"].notna()]
    sizes = sizes_of(noisy, len(there), FEWEST)
    assert [int(there[arm].sum()) for arm in ARMS] == sizes[1:].tolist()


def test_without_delta_treatment_is_not_private(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(trial, trial_schema, **SCALES, **PRIVATE)
    for ask in (model.plan, model.fit):
        with pytest.raises(ParameterError, match="needs a delta above"):
            ask(1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"neighbors": "replace-one"}, ParameterError, "needs assignment="),
        ({"neighbors": "add-remove"}, ParameterError, "allowed: 'replace-one-design-public'"),
        (
            {"neighbors": "replace-one", "assignment": Cluster(ARMS, cluster="school")},
            ParameterError,
            "protects the treatment",
        ),
        (
            {**PRIVATE, "facts": {"works": {"missing_policy": "private"}}},
            ParameterError,
            "needs public arm sizes",
        ),
        ({"radius": 2.0}, ParameterError, "no option radius="),
    ],
)
def test_what_cannot_be_private_is_refused(
    options: dict[str, Any], error: type[Exception], words: str, trial: pd.DataFrame,
    trial_schema: Schema,
) -> None:  # fmt: skip
    with pytest.raises(error, match=words):
        calibrated(trial, trial_schema, **{**SCALES, **options})


def test_a_private_treatment_is_not_declared_public(
    trial: pd.DataFrame, trial_schema: Schema
) -> None:
    schema = trial_schema.declare(t={"fate": "public"})
    with pytest.raises(SchemaError, match="the treatment, which is private"):
        calibrated(trial, schema, **SCALES, **PRIVATE)


def test_a_private_treatment_is_the_persons_own(trial: pd.DataFrame, trial_schema: Schema) -> None:
    schema = trial_schema.declare(t={"built_from": "cohort"})
    with pytest.raises(SchemaError, match="other people's values"):
        calibrated(trial, schema, **SCALES, **PRIVATE)


def test_arms_too_small_to_be_read_are_refused_and_harmless(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(120)
    model = calibrated(data, trial_schema, "earn ~ t + t2", **PRIVATE)
    with pytest.raises(ConfirmationError, match=r"smallest arm has about 40 people"):
        model.fit(0.5, DELTA)
    release = model.fit(0.5, DELTA, confirm=True)
    lost = release.estimates.params.isna()
    assert lost.any()
    fit = ols("earn ~ t + t2", release.protected, release.schema)
    assert np.isfinite(fit.params[ARMS]).all()
    # an interval that contains every effect on an outcome from 0 to 100
    assert (fit.bse[ARMS][lost[ARMS].to_numpy()] >= 100).all()


def test_the_more_precise_release_is_taken_where_covariates_use_the_delta(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(1200)
    drawn: dict[str, Any] = {"covariate_release": "marginals"}
    one = calibrated(data, trial_schema, "earn ~ t + t2 + age", **drawn)
    assert not one._allocated(Budget(1, DELTA)).division.jointly
    assert isinstance(one.fit(1, DELTA).estimates, PrivateATEResults)
    asked = calibrated(data, trial_schema, "earn ~ t + t2 + age", **drawn, **PRIVATE)
    assert asked._allocated(Budget(1, DELTA)).division.jointly
    alone = calibrated(data, trial_schema, "earn ~ t + t2 + age")
    plan = alone.plan(1, DELTA)
    assert "leave delta out" in plan.facts["better"]


def test_what_the_joint_release_lacks(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(1200)
    school = data["school"].to_numpy()
    data = data.assign(t=(school % 3 == 1) * 1.0, t2=(school % 3 == 2) * 1.0)
    clusters = calibrated(data, trial_schema, "earn ~ t + t2 + age",
                          assignment=Cluster(ARMS, cluster="school"))  # fmt: skip
    with pytest.raises(ParameterError, match="clusters were assigned"):
        clusters.plan(1, DELTA)
    moved = calibrated(
        data, trial_schema, "earn ~ t + t2 + age", assignment=Cluster(ARMS, cluster="school"),
        covariate_release="marginals", gamma="moments",
    )  # fmt: skip
    assert isinstance(moved.fit(4, DELTA).estimates, PrivateATEResults)
    shares = {"earn": 0.7, "works": 0.3}
    unequal = calibrated(make_trial(1200), trial_schema, budget_shares=shares, **SCALES)
    with pytest.raises(ParameterError, match="one release serves all of them"):
        unequal.plan(1, DELTA)
    equal = calibrated(
        make_trial(1200), trial_schema, covariate_release="marginals",
        budget_shares={"covariates": 0.5, "earn": 0.25, "works": 0.25}, **SCALES,
    )  # fmt: skip
    assert equal._allocated(Budget(1, DELTA)).division.effects.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("options", [{}, {"specifications": [""]}], ids=["one", "two"])
def test_outcomes_that_move_with_covariates_keep_their_effects(
    options: dict[str, Any], make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(3000)
    formula = "earn ~ t + t2 + age"
    slopes: dict[str, Any] = {"gamma": "moments", "covariate_release": "marginals"}
    slopes |= {"facts": {"earn": {"sd": 10}}}
    if options:
        with pytest.raises(ParameterError, match="one covariate set"):
            calibrated(data, trial_schema, formula, **slopes, **options, **PRIVATE)
        return
    release = calibrated(data, trial_schema, formula, **slopes, **PRIVATE).fit(8, DELTA)
    agrees(release, "age")
    assert release.guarantee.relation == "replace-one"
    assert release.guarantee.budget == Budget(8, DELTA)


def test_blocks_may_be_public_where_treatment_is_private(
    make_trial: Trial, trial_schema: Schema
) -> None:
    data = make_trial(1200)
    schema = trial_schema.declare(village={"levels": list(range(30))})
    model = calibrated(
        data, schema, "earn ~ t + t2 + C(village)", neighbors="replace-one",
        assignment=Block(ARMS, block="village"),
    )  # fmt: skip
    release = model.fit(2, DELTA)
    agrees(release, "C(village)")
    assert release.protected["village"].sort_values().tolist() == sorted(data["village"])
    assert "column village (declared public)" in release.guarantee.not_covered


@pytest.mark.parametrize("options", [{}, PRIVATE], ids=["public", "private"])
def test_a_crashed_release_is_resumed(
    options: dict[str, Any], make_trial: Trial, trial_schema: Schema, tmp_path: Path
) -> None:
    model = calibrated(make_trial(1200), trial_schema, **SCALES, **options)
    relation = options.get("neighbors", "replace-one-design-public")
    accountant = Accountant.open(
        tmp_path / "trial.ledger", dataset_id="trial", epsilon=3, delta=1e-5, relation=relation,
        unit="person",
    )  # fmt: skip
    first = model.fit(2, DELTA, accountant=accountant)
    again = model.resume(accountant.ledger[0].id, accountant=accountant)
    assert again.estimates.params.equals(first.estimates.params)
    assert again.estimates.cov.equals(first.estimates.cov)
    assert not again.protected["earn"].equals(first.protected["earn"])
    agrees(again)


def test_power_says_where_noise_equals_sampling(trial: pd.DataFrame, trial_schema: Schema) -> None:
    model = calibrated(trial, trial_schema, **SCALES)
    table = model.power(1, DELTA)
    row = table.loc[("earn", "t")]
    there = model.power(float(row["equal_epsilon"]), DELTA).loc[("earn", "t")]
    assert there["noise"] == pytest.approx(there["sampling"], rel=0.01)
    assert row["std_err_double"] < row["std_err"] < row["std_err_half"]
    assert row["std_err"] == model.plan(1, DELTA).value("std_error", outcome="earn", term="t")
    expected = model.fit(1, DELTA).estimates.bse_noise["earn: t"]
    assert row["noise"] == pytest.approx(expected, rel=1e-9)


def test_strictly_legal_files_say_so(make_trial: Trial, trial_schema: Schema) -> None:
    release = calibrated(make_trial(1200), trial_schema, legal="strict", **SCALES, **PRIVATE).fit(
        2, DELTA
    )
    valid = Validity.of(release.schema)
    assert valid is not None
    assert valid.rounded
    assert set(release.protected["works"].dropna()) <= {0.0, 1.0}


def test_public_missingness_stays_where_it_is(make_trial: Trial, trial_schema: Schema) -> None:
    data = make_trial(1200)
    facts = {**FACTS, "works": {"sd": 0.5, "missing_policy": "public"}}
    release = calibrated(data, trial_schema, facts=facts).fit(2, DELTA)
    agrees(release)
    rows = release.protected
    assert (
        rows["works"]
        .isna()
        .groupby([rows["t"], rows["t2"]])
        .sum()
        .equals(data["works"].isna().groupby([data["t"], data["t2"]]).sum())
    )


@pytest.mark.parametrize("kind", [Simple(ARMS, shares=[0.25, 0.25]), Complete(ARMS)])
def test_true_sizes_are_nowhere(
    kind: Any, make_trial: Trial, trial_schema: Schema
) -> None:  # fmt: skip
    """Two tables that differ in everybody's arm, and the same noisy counts: the same file."""
    data = make_trial(1200)
    other = data.assign(t=data["t2"], t2=data["t"])
    options = {**SCALES, **PRIVATE, "assignment": kind}
    first, second = (calibrated(rows, trial_schema, **options) for rows in (data, other))
    assert str(first.plan(1, DELTA)) == str(second.plan(1, DELTA))
    assert first.guarantee(Budget(1, DELTA)) == second.guarantee(Budget(1, DELTA))
    assert first._valid == second._valid
    drawn = first._draw(first._allocated(Budget(1, DELTA)), dprct.privacy.noise.source(1))
    told = [m._told(drawn, None, m.guarantee(Budget(1, DELTA)), "") for m in (first, second)]
    assert told[0][2] == told[1][2]
    for a, b in zip(told[0][1], told[1][1], strict=True):
        assert np.array_equal(a.effects, b.effects)
    files = [
        model._calibrated(
            model.facts.covariates.columns(None, np.random.Generator(np.random.PCG64(4))),
            told[0][1], np.random.Generator(np.random.PCG64(5)), told[0][2],
        ).table.drop(columns=["person"])
        for model in (first, second)
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*files)


def test_targets_of_few_are_the_widest(make_trial: Trial, trial_schema: Schema) -> None:
    """An arm that is not estimated has the width of the bounds for its error, in every effect."""
    model = calibrated(make_trial(1200), trial_schema, "earn ~ t + t2", **PRIVATE)
    allocation = model._allocated(Budget(2, DELTA))
    drawn = model._draw(allocation, dprct.privacy.noise.source(2))
    few = drawn.effects.sums.copy()
    few[1, 0, 0] = 0
    broken = replace(drawn, effects=replace(drawn.effects, sums=few))
    guarantee = model.guarantee(Budget(2, DELTA))
    estimates, (target,), sizes = model._told(broken, None, guarantee, "")
    assert estimates.params.isna().tolist() == [True, False]
    assert sizes[1] == 0
    control = target.control_error**2
    assert target.covariance[0, 0] == pytest.approx(100**2 + control)
    assert target.effects[0] == pytest.approx(50 - target.control)
    assert target.covariance[1, 1] == pytest.approx(float(estimates.bse["t2"]) ** 2)
    assert target.covariance[0, 1] == pytest.approx(control)
