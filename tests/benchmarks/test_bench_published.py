"""How long the published methods take on the Liberia file; each group has a baseline.

The histogram is measured against a bootstrap of its rows, the two model-informed methods against
one regression of every outcome and against a thousandth of those that GenModel replaces.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.io.stata import read_dta
from dprct.published import Allocation, GenModel, Hybrid, MVHistogram

MODELS = "published Hybrid and GenModel, Liberia (8 outcomes, 131 coefficients)"
ARMS = ["cashassonly", "tpassonly", "tpcashass"]


@pytest.fixture
def liberia(shared):
    return read_dta(shared / "data" / "liberia" / "liberia_round5.dta")


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_bind_and_protect(benchmark, liberia):
    data, schema = liberia
    release = benchmark(lambda: MVHistogram(data, schema).fit(epsilon=1))
    assert release.protected.shape == (947, 71)


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_protect_once_bound(benchmark, liberia):
    model = MVHistogram(*liberia)
    assert benchmark(lambda: model.fit(epsilon=1)).protected.shape == (947, 71)


@pytest.mark.benchmark(group="published histogram, Liberia (947 x 71)")
def test_baseline_a_bootstrap_of_the_rows(benchmark, liberia):
    data, _ = liberia
    rng = np.random.default_rng(1)
    drawn = benchmark(lambda: data.sample(frac=1, replace=True, random_state=rng))
    assert isinstance(drawn, pd.DataFrame)


def outcomes_of(schema):
    return [name for name in schema.names if name.endswith(("_lt", "_ltav"))]


def regressors_of(schema):
    baseline = [name for name in schema.names if name.endswith("_b")]
    return " + ".join([*ARMS, *baseline, "C(tp_strata_alt)", "C(cg_strata)"])


def informed(method, data, schema, **options):
    design = dprct.Factorial(
        [dprct.Block("cash", block="cg_strata"), dprct.Block("tp", block="tp_strata_alt")],
        arms={"cashassonly": ["cash"], "tpassonly": ["tp"], "tpcashass": ["cash", "tp"]},
    )
    formula = f"{' + '.join(outcomes_of(schema))} ~ {regressors_of(schema)}"
    options |= {"treatment": ARMS, "assignment": design, "attrition": True}
    return method.from_formula(formula, data, schema, **options)


@pytest.mark.benchmark(group=MODELS)
def test_hybrid_from_a_frame(benchmark, liberia):
    release = benchmark(lambda: informed(Hybrid, *liberia).fit(epsilon=1))
    assert release.protected.shape == (947, 71)


@pytest.mark.filterwarnings("ignore:the private residual variance")
@pytest.mark.benchmark(group=MODELS)
def test_genmodel_from_a_frame(benchmark, liberia):
    rule = Allocation.section5(0.5)
    release = benchmark(
        lambda: informed(GenModel, *liberia, allocation=rule).fit(epsilon=1, confirm=True)
    )
    assert len(release.estimates) == 8


@pytest.mark.benchmark(group=MODELS)
def test_baseline_one_regression_of_every_outcome(benchmark, liberia):
    data, schema = liberia
    right = regressors_of(schema)
    fits = benchmark(
        lambda: [dprct.ols(f"{y} ~ {right}", data, schema) for y in outcomes_of(schema)]
    )
    assert len(fits) == 8


@pytest.mark.benchmark(group=MODELS)
def test_baseline_a_tenth_of_a_percent_of_the_regressions(benchmark, liberia):
    """40 of the 8 times 5,000 regressions, without anything else that GenModel does."""
    assert len(liberia[0]) == 947
    rng = np.random.default_rng(1)
    W, beta = rng.standard_normal((947, 131)), rng.standard_normal(131)

    def regress():
        proxies = W @ beta + rng.standard_normal((40, 947))
        return [np.linalg.lstsq(W, y, rcond=None)[0] for y in proxies]

    assert len(benchmark.pedantic(regress, rounds=2)) == 40
