from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import FormulaError, ParameterError, SimulationError
from dprct.rbridge.api.models import METHODS, method_named
from dprct.rbridge.convert import Table
from dprct.rbridge.registry import exported
from dprct.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_there_or_says_that_it_is_not(name: str) -> None:
    room, short = (dprct.published, name[10:]) if "." in name else (dprct, name)
    if hasattr(room, short):
        assert callable(method_named(name).fit)
    else:
        with pytest.raises(ParameterError, match=f"has no {name}; update"):
            method_named(name)


def test_another_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="no method 'Magic'"):
        method_named("Magic")


def test_a_fit_from_r_is_the_fit_from_python(nsw: Table, effect: Any) -> None:
    direct = dprct.PrivateATE.from_formula(
        "re78 ~ treat",
        nsw.data,
        nsw.schema,
        assignment=dprct.Complete("treat", shares=185 / 445),
        sd={"re78": 6500},
    )
    through = exported("fit")(effect, 1.0, rng=4.0).fields["coefficients"]
    pd.testing.assert_series_equal(through, direct.fit(1, rng=4).params)
    assert exported("plan")(effect, 1.0).fields["text"] == str(direct.plan(1))


def test_what_a_method_does_not_take_is_refused(effect: Any) -> None:
    with pytest.raises(ParameterError, match="leave delta out"):
        exported("plan")(effect, 1.0, 1e-6)
    with pytest.raises(ParameterError, match="rng="):
        exported("fit")(effect, 1.0, rng=1.5)
    with pytest.raises(ParameterError, match="confirm is str; give True"):
        exported("fit")(effect, 1.0, confirm="no")
    with pytest.raises(TypeError, match="acountant"):
        exported("fit")(effect, 1.0, acountant=None)


def test_options_of_a_calibrated_release_reach_its_estimate(nsw: Table, design: Any) -> None:
    options = {"assignment": design, "sd": {"re78": 6500.0}, "covariate_release": "filler"}
    assert exported("model")("Calibrated", nsw, options, "re78 ~ treat").live is not None
    with pytest.raises(ParameterError, match="did you mean sd"):
        exported("model")("Calibrated", nsw, {"sdd": 1.0}, "re78 ~ treat")


def test_intervals_are_those_of_the_law(effect: Any) -> None:
    result = effect.method.fit(1.0, rng=1)
    ends = exported("estimate_interval")(result, 0.1)
    np.testing.assert_array_equal(ends.values, result.conf_int(0.1).to_numpy())


def test_a_release_is_written_and_a_simulation_is_not(
    release: Any, nsw: Table, design: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "out.dta")
    exported("release_write")(release.live, path)
    assert dprct.verify(path).identical
    model = exported("model")("Calibrated", nsw, {"assignment": design}, "re78 ~ treat").live
    simulated = exported("fit")(model, 1.0, rng=1).live
    with pytest.raises(SimulationError):
        exported("release_write")(simulated, str(tmp_path / "simulated.dta"))


def test_functions_of_covariates_are_evaluated() -> None:
    rows = pd.DataFrame({"x": np.linspace(0, 1, 400), "y": np.linspace(0, 1, 400)})
    facts = {name: {"bounds": (0, 1), "missing": "never"} for name in rows}
    schema = Schema.from_frame(rows).declare(**facts)
    model = exported("model")("PrivateAdditive", Table(rows, schema), {}, "y ~ x").live
    result = exported("fit")(model, 20.0, rng=1)
    few = Table(rows.iloc[[10, 390]], schema)
    low, high = exported("result_predict")(result.live, few)
    assert high - low > 0.5
    ends = exported("result_band")(result.live, 0.05)
    assert ends.values.shape == (1, 2)
    with pytest.raises(ParameterError, match="predicts nothing"):
        exported("result_predict")(object(), few)
    with pytest.raises(ParameterError, match="no interval"):
        exported("result_band")(object(), 0.05)


def test_a_formula_names_the_columns_of_a_class_that_takes_columns(nsw: Table) -> None:
    with pytest.raises(FormulaError, match="2 columns on the left"):
        exported("model")("published.CATE", nsw, {"treatment": "treat"}, "re78 + age ~ educ")
