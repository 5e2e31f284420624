from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.ate import PrivateATE

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dprct.schema import Schema


def test_intervals_tables_and_p_values_agree(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = PrivateATE(trial(), schema, outcome="y", treatment=["t", "t2"], alphas=(0.05, 0.01))
    result = model.fit(epsilon=1, rng=2)
    half = (result.conf_int()[1] - result.conf_int()[0]) / 2
    assert (half <= 1.96 * result.bse + 1e-9).all()
    assert (result.conf_int(0.01)[0] < result.conf_int(0.1)[0]).all()
    tidy = result.tidy()
    assert tidy["p.value"].tolist() == result.pvalues.tolist()
    assert tidy["conf.low"].tolist() == result.conf_int()[0].tolist()
    for alpha in (0.1, 0.05, 0.01):
        low, high = result.conf_int(alpha).to_numpy().T
        outside = (low > 0) | (high < 0)
        assert (outside[result.pvalues < alpha]).all()
    assert result.glance()["nobs"].tolist() == [900]
    for text in (result.summary(), result.to_latex(), result.to_html()):
        assert "of which noise" in text
        assert "normal plus Laplace" in text
    assert np.isfinite(result.bse).all()
    with pytest.raises(ParameterError, match="alpha"):
        result.conf_int(0)


def test_arms_are_compared_with_each_other_after_the_fit(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = PrivateATE(trial(9_000), schema, outcome="y", treatment=["t", "t2"])
    result = pickle.loads(pickle.dumps(model.fit(epsilon=4, rng=2)))
    found = result.contrast("t - t2")
    assert found.params["t - t2"] == pytest.approx(result.params["t"] - result.params["t2"])
    spread = [mean.variance.value for mean in result.means[0]]
    assert [v.value for v in found.effects[0].variances] == pytest.approx(spread[1:])
    assert found.guarantee == result.guarantee
    assert found.conf_int().loc["t - t2", 0] < 3 < found.conf_int().loc["t - t2", 1]
    against = result.contrast({"t": 1, "control": -1})
    assert against.bse.iloc[0] == pytest.approx(result.bse["t"])
    three = result.contrast("t - 0.5*t2 - 0.5*control")
    assert len(three.effects[0].scales) == 3
    assert "contrast t - t2 of arm means" in found.summary()
    with pytest.raises(ParameterError, match="no arm"):
        result.contrast("t - u")


def test_two_arms_have_one_contrast(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    data = trial()
    data = data[data["t2"] == 0]
    result = PrivateATE.from_formula("y ~ t", data, schema).fit(epsilon=1, rng=2)
    found = result.contrast("t - control")
    assert found.params.tolist() == result.params.tolist()
    assert found.bse.tolist() == result.bse.tolist()
    with pytest.raises(ParameterError, match="only t - control was released"):
        result.contrast("control - t")


def test_results_are_plotted_by_outcome(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    options = {"treatment": ["t", "t2"], "missing": "public"}
    result = PrivateATE(trial(), schema, outcome=["y", "got"], **options).fit(epsilon=1, rng=1)
    axes = result.plot()
    assert [ax.get_title() for ax in axes] == ["y", "got"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["t", "t2"]
    assert any("simulation" in text.get_text() for text in axes[0].texts)
    assert len(result.contrast("t - t2").plot(alpha=0.1)) == 2
    with pytest.raises(ParameterError, match="alpha"):
        result.plot(alpha=0)
    plt.close("all")
