"""Means of the control group on a calibrated file: the errors that are printed, and their coverage.

The coverage test fails where fewer of its runs cover than the 1e-9 quantile of the binomial of .95:
of 10,000 a share of .937.  What the file's own HC1 error does covers less than half here.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.certificate.valid_regressions import Validity
from dprct.estimate.ate.release import (
    CountedOutcome,
    Outcome,
    control_law,
    drawn_alone,
    mechanisms_of,
)
from dprct.estimate.noise_law import correction, quantile
from dprct.io import read
from dprct.privacy.noise import source
from dprct.queries.sums import Arms
from dprct.schema import Column, Schema
from dprct.schema.tables import table

if TYPE_CHECKING:
    from pathlib import Path

FALSE_ALARM = 1e-9
RUNS = 10_000
N = 900


def experiment(p: float = 0.2, seed: int = 3) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    t = rng.permutation(np.repeat([0.0, 1.0], N // 2))
    data = pd.DataFrame({"t": t, "x": rng.integers(0, 2, N) * 1.0})
    data["got"] = (rng.random(N) < p + 0.1 * t) * 1.0
    schema = Schema(
        (
            Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="public"),
            Column("x", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
            Column("got", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
        )
    )
    return data, schema


def released(p: float = 0.2, *, seed: int | None = None, **options: Any) -> dprct.Release:
    data, schema = experiment(p)
    given = {"covariate_release": "filler", "specifications": [""]} | options
    model = dprct.Calibrated.from_formula("got ~ t + x", data, schema, treatment="t", **given)
    return model.fit(1.0, rng=seed)


@pytest.fixture(scope="module")
def release() -> dprct.Release:
    return released(seed=5)


def test_the_constant_of_the_arms_alone_has_the_released_error(release: dprct.Release) -> None:
    fit = dprct.ols("got ~ t", release)
    mean, noise, error = release.estimates.control.loc["got", ["mean", "noise", "std_error"]]
    assert fit.params["Intercept"] == pytest.approx(mean, abs=1e-10)
    assert fit.bse["Intercept"] == pytest.approx(error, rel=1e-9)
    assert error > noise  # sampling error besides
    assert fit.bse["t"] == pytest.approx(release.estimates.bse["t"], rel=1e-9)
    assert any("The constant is the mean of the control group" in note for note in fit.notes)
    # the file's own error is far below it: the effect is far more precise than the mean
    plain = dprct.ols("got ~ t", release.protected)
    assert plain.bse["Intercept"] < error / 2
    assert plain.bse["t"] == pytest.approx(fit.bse["t"], rel=1e-9)
    # what the file does not have is not made up: the covariance of mean and effect
    assert np.isnan(fit.cov_params().loc["Intercept", "t"])
    assert np.isnan(fit.lincom("Intercept + t").bse.iloc[0])


def test_of_other_regressions_the_constant_has_no_error(release: dprct.Release) -> None:
    fit = dprct.ols("got ~ t + x", release)
    assert fit.not_carried == ("Intercept", "x")
    assert np.isfinite(fit.bse["t"])
    assert fit.tidy().set_index("term").loc[["Intercept", "x"]].isna().all(axis=None)
    for name in ("Intercept", "x"):
        (line,) = [one for one in str(fit.summary()).splitlines() if one.startswith(f"{name} ")]
        assert line.split() == [name, "n.r.", "n.r."]
    assert fit.to_latex().count("& {n.r.}") == 4
    of_some = dprct.ols("got ~ t", (release.protected[: N // 2], release.schema))
    assert of_some.not_carried == ("Intercept", "t")
    balance = dprct.ols("x ~ t", release)  # no outcome, and the note says that it is an artefact
    assert balance.not_released == balance.not_carried == ()


def test_tables_print_the_error_or_that_there_is_none(release: dprct.Release) -> None:
    error = release.estimates.control.loc["got", "std_error"]
    fits = [dprct.ols("got ~ t", release), dprct.ols("got ~ t + x", release)]
    shown = dprct.etable(fits).to_text(notes=False)
    (below,) = [
        after
        for line, after in zip(shown.splitlines(), shown.splitlines()[1:], strict=False)
        if line.startswith("Constant")
    ]
    assert below.split() == [f"({error:.3f})"]
    (constant,) = [line for line in shown.splitlines() if line.startswith("Constant")]
    (covariate,) = [line for line in shown.splitlines() if line.startswith("x ")]
    assert constant.split()[-1] == covariate.split()[-1] == "n.r."
    made = dprct.itt_table(release, outcomes=["got"], arms=["t"], covariates=["x"])
    record = made.tidy().iloc[0]
    assert record["control_mean.std.error"] == pytest.approx(error, rel=1e-9)
    assert record["control_mean"] == pytest.approx(release.estimates.control.loc["got", "mean"])
    assert "(s.e.)" in made.to_text()
    ordinary = dprct.itt_table(release.protected, outcomes=["got"], arms=["t"])
    assert "control_mean.std.error" not in ordinary.tidy()
    some = release.protected[: N // 2]
    cut = dprct.itt_table((some, release.schema), outcomes=["got"], arms=["t"])
    assert cut.to_text().count("n.r.") == 2  # the error of the control mean, and the effect
    assert np.isnan(cut.tidy()["estimate"].iloc[0])


def test_a_file_that_is_read_tells_the_same(tmp_path: Path) -> None:
    data, schema = experiment()
    model = dprct.Calibrated.from_formula(
        "got ~ t", data, schema, treatment="t", covariate_release="filler"
    )
    made = model.fit(1.0)
    made.write_dta(tmp_path / "protected.dta")
    fit = dprct.ols("got ~ t", tmp_path / "protected.dta")
    assert fit.bse["Intercept"] == pytest.approx(
        made.estimates.control.loc["got", "std_error"], rel=1e-8
    )
    frame, known = read(tmp_path / "protected.dta")
    words = Validity.of(known).control_words()  # type: ignore[union-attr]
    assert "does not find them" in words
    texts = [text for _, name, text in known.file.characteristics if name.startswith("note")]
    assert words in texts
    certificate = json.loads((tmp_path / "protected.certificate.json").read_text())
    assert words in certificate["limits"]
    frame.loc[0, "got"] += 1  # no longer what the certificate describes
    changed = dprct.ols("got ~ t", frame, known)
    assert changed.bse["Intercept"] < fit.bse["Intercept"]


def test_means_lie_within_bounds() -> None:
    found = [released(0.01, seed=seed) for seed in range(12)]
    means = [one.estimates.control.loc["got", "mean"] for one in found]
    assert min(means) == 0  # noise took some of them below it
    for one, mean in zip(found, means, strict=True):
        fit = dprct.ols("got ~ t", one)
        assert fit.params["Intercept"] == pytest.approx(mean, abs=1e-10)
        assert fit.params["t"] == pytest.approx(one.estimates.params["t"], abs=1e-10)


def test_with_an_index_the_constant_is_no_control_mean() -> None:
    made = released(index="0.1*x", index_bounds=(-1, 1), seed=2)
    fit = dprct.ols("got ~ t", made)
    assert fit.not_released == ("Intercept",)


def test_with_a_delta_the_file_finds_the_error_itself() -> None:
    data, schema = experiment()
    model = dprct.Calibrated.from_formula(
        "got ~ t", data, schema, treatment="t", covariate_release="filler"
    )
    made = model.fit(1.0, delta=1e-6, rng=4)
    valid = Validity.of(made.schema)
    assert valid is not None
    assert valid.control_found
    fit = dprct.ols("got ~ t", made)
    plain = dprct.ols("got ~ t", made.protected)
    assert valid.control_errors[0] == pytest.approx(plain.bse["Intercept"], rel=1e-8)
    assert fit.cov_params().equals(plain.cov_params())


def laws_of(
    p: float, sizes: tuple[int, int], seed: int, epsilon: Fraction = Fraction(1, 5)
) -> tuple[Any, Any, Any]:
    """Draw RUNS experiments and the released numbers of each; return mean, law and HC1 variance.

    Every run has the budget of one of five outcomes at epsilon = 1, and noise of the released law.
    """
    rng = np.random.default_rng(seed)
    counts = [rng.binomial(size, p, RUNS) for size in sizes]
    shares = [count / size for count, size in zip(counts, sizes, strict=True)]
    variances = [s * (1 - s) / (size - 1) for s, size in zip(shares, sizes, strict=True)]
    codes = np.repeat([0, 1], sizes)
    outcome = Outcome(Column("y", bounds=(0.0, 1.0)), Arms(codes, (sizes,)), Fraction(1))
    frame = table(pd.DataFrame({"y": (rng.random(sum(sizes)) < p) * 1.0}))
    parts = tuple(mechanisms_of(outcome, epsilon).values())
    law = control_law(outcome, drawn_alone(outcome, frame, epsilon, parts, source(1)))
    assert law is not None
    (b,), (spread,) = law.scales, law.variances
    means = shares[0] + rng.laplace(0, b, RUNS)
    noisy = sum(variances) + rng.laplace(0, spread.scale, RUNS)
    raised = np.maximum(0, noisy + correction(spread.rho, 0.05) * spread.scale)
    # the release brings them within the bounds as well, which is no further from p
    return means, (b, raised), variances[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("p", "sizes"),
    [(0.005, (1500, 1500)), (0.3, (1500, 1500)), (0.5, (250, 150)), (0.1, (80, 900))],
)
def test_the_interval_of_the_control_mean_covers(p: float, sizes: tuple[int, int]) -> None:
    means, (b, variance), own = laws_of(p, sizes, seed=7)
    half = quantile(0.05, variance, (b,))
    covered = int((np.abs(means - p) <= half).sum())
    print(f"p={p} {sizes}: {covered / RUNS:.4f}, the file's own {own.mean() ** 0.5:.4g}")
    assert covered >= stats.binom.ppf(FALSE_ALARM, RUNS, 0.95)
    # the error that the file finds by itself is that of a share of the effect's, and does not cover
    assert (np.abs(means - p) <= 1.96 * np.sqrt(own)).mean() < 0.5


@pytest.mark.long
def test_the_check_of_coverage_has_power() -> None:
    floor = stats.binom.ppf(FALSE_ALARM, RUNS, 0.95)
    assert floor / RUNS > 0.93
    assert stats.binom.cdf(floor - 1, RUNS, 0.925) > 0.99


def test_several_arms_and_counted_outcomes_have_a_law_and_private_arms_of_two_none() -> None:
    data, schema = experiment()
    data["s"] = 0.0
    data.loc[data.index[data["t"] == 0][:200], "s"] = 1.0
    wide = Schema((*schema.columns, Column("s", "byte", levels=(0.0, 1.0), missing=(),
                                           fate="public")))  # fmt: skip
    three = dprct.PrivateATE.from_formula("got ~ t + s", data, wide, treatment=["t", "s"])
    found = three.fit(1.0, rng=1)
    assert (found.control["std_error"] > found.control["noise"]).all()
    gaps = Schema((*schema.columns[:2], Column(
        "got", "byte", levels=(0.0, 1.0), missing=(".",), missing_policy="private")))  # fmt: skip
    counted = dprct.PrivateATE.from_formula("got ~ t", data, gaps, treatment="t")
    outcome = counted.facts.outcomes[0]
    assert isinstance(outcome, CountedOutcome)
    assert np.isfinite(counted.fit(1.0, rng=1).control["std_error"]).all()
    hidden = dprct.PrivateATE.from_formula(
        "got ~ t", data, schema, treatment="t", assignment=dprct.Complete("t", shares=0.5),
        neighbors="replace-one",
    )  # fmt: skip
    assert hidden.fit(1.0, rng=1).control["std_error"].isna().all()


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.2])
def test_a_fit_of_the_release_has_its_law(release: dprct.Release, alpha: float) -> None:
    columns = ["estimate", "p.value", "conf.low", "conf.high"]
    fit = dprct.ols("got ~ t", release)
    mine, theirs = (one.tidy(alpha).set_index("term").loc["t", columns] for one in (fit, release))
    np.testing.assert_allclose(mine.to_numpy(float), theirs.to_numpy(float), rtol=1e-6)
    # a part of a declared set has other errors, and other rows have other effects
    assert dprct.ols("got ~ t", (release.protected, release.schema)).released is None
    assert dprct.ols("got ~ t", release, cov_type="HC3").released is None


def test_a_file_alone_says_at_which_level_its_errors_hold(release: dprct.Release) -> None:
    bare = dprct.ols("got ~ t", (release.protected, release.schema))
    assert bare.conf_int().loc["t"].to_numpy() == pytest.approx(
        release.estimates.conf_int().loc["t"].to_numpy(), rel=1e-2
    )
    with pytest.warns(dprct.errors.DprctWarning, match="99 % are asked for.* 95 % only"):
        bare.conf_int(0.01)
