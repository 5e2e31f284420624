"""The two roles of weights, and what is refused (the fits are tested with ``ols``)."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.results.covariance import Weighting, check_weights, check_weights_type


def test_roles():
    w = np.array([1.0, 2.0, 5.0])
    for kind in ("aweight", "pweight"):
        found = Weighting.of(w, kind, 3)
        assert (found.root**2).sum() == pytest.approx(3)
        np.testing.assert_allclose(found.root**2 / found.root[0] ** 2, w)
        assert found.copies.tolist() == [1, 1, 1]
    found = Weighting.of(w, "fweight", 3)
    assert (found.root.tolist(), found.copies.tolist()) == ([1, 1, 1], [1, 2, 5])
    assert Weighting.of(None, "fweight", 2).copies.tolist() == [1, 1]


def test_zero_weights_pass_where_others_do_not():
    check_weights(np.array([0.0, 1.0]), "fweight", "w")
    for bad in ([np.nan, 1], [-1, 1], [np.inf, 1], [0, 0], [0.5, 1]):
        with pytest.raises(ParameterError, match=r"^w "):
            check_weights(np.array(bad, float), "fweight", "w")


def test_sampling_weights_without_weights_are_no_matter():
    check_weights_type("pweight", "nonrobust", given=False)
    with pytest.raises(ParameterError, match="robust"):
        check_weights_type("pweight", "nonrobust", given=True)
