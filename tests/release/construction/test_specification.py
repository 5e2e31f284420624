"""A specification whose parts contradict each other is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.release.calibrated.residuals import Specification

W = np.column_stack([np.arange(6) % 2, np.ones(6)])


def test_its_parts_are_named():
    found = Specification.of(W, 1, np.array([[0.04]]))
    np.testing.assert_array_equal(found.treatments, W[:, :1])
    np.testing.assert_array_equal(found.controls, W[:, 1:])
    assert found.errors.tolist() == [0.2]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"effects": 0}, "effects=0"),
        ({"effects": 2}, "effects=2"),
        ({"design": W[:, 0]}, "shape"),
        ({"design": np.where(W > 0, np.nan, W)}, "missing or infinite"),
        ({"covariance": np.eye(2)}, "shape"),
        ({"covariance": np.full((1, 1), np.inf)}, "finite"),
        ({"covariance": np.array([[-1.0]])}, "variances from 0"),
        ({"groups": np.zeros(6, int)}, "two clusters"),
        ({"groups": np.arange(5)}, "each row"),
    ],
)
def test_contradictions_are_refused(changed, said):
    facts = {"design": W, "effects": 1, "covariance": np.eye(1), **changed}
    with pytest.raises(ParameterError, match=said):
        Specification.of(**facts)


def test_an_asymmetric_covariance_is_refused():
    arms = np.column_stack([np.arange(6) == 1, np.arange(6) == 2, np.ones(6)]).astype(float)
    with pytest.raises(ParameterError, match="symmetric"):
        Specification.of(arms, 2, np.array([[1.0, 0.2], [0.3, 1.0]]))
