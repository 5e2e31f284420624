from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.additive.release import AdditiveSums, Cells
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate.release import ConstantEffect


@pytest.fixture
def effect(schema):
    terms = terms_of(schema, ["x1", "town"], bins=4, pairs=[("x1", "town")])
    everybody, arms = ConstantEffect.blocks(terms)
    cells = (
        Cells(everybody, None, np.array([70.0])),
        Cells(arms, np.array([50.0, 50.0]), np.array([10.0, 60.0])),
    )
    return ConstantEffect(terms, AdditiveSums(cells, 200.0, 100, 4.0, 2.0, 0.5, False))


def test_it_is_the_difference_of_means_for_everybody(effect):
    assert effect.average == pytest.approx(1.0)
    codes = [np.arange(4, dtype=np.int32), np.array([0, 1, 0, 1], np.int32)]
    assert effect.at(codes).tolist() == [1.0] * 4


def test_its_error_has_noise_of_sums_and_counts_and_sampling(effect):
    noise = (2 * 2.0**2 + (0.2**2 + 1.2**2) * 0.5**2) / 50**2
    assert effect.average_noise("noise").variance == pytest.approx(noise)
    sampling = 2 * effect.sums.largest_variance / 50
    assert effect.average_noise().variance == pytest.approx(noise + sampling)


def test_there_is_no_shape_to_ask_for(effect):
    with pytest.raises(ParameterError, match="the same effect for everybody"):
        effect.levels("x1")
