from __future__ import annotations

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
    model = PrivateATE(trial(), schema, outcome="y", treatment=["t", "t2"], levels=(0.05, 0.01))
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
