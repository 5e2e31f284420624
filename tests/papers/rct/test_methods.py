from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.published import Allocation
from papers.rct.methods import METHODS, allocation_of, bound, drawn_effects
from papers.rct.simulated import generate, models


@pytest.mark.parametrize("method", METHODS)
def test_each_method_releases_the_effect(method: str) -> None:
    frame = generate(4, np.random.default_rng(1))
    spec = models("sim1")["Table 1"]
    model = bound(method, frame, spec)
    found = drawn_effects(model, spec, Fraction(5000), 4, np.random.default_rng(2))
    assert found["draw"].tolist() == [0, 1, 2, 3]
    own = spec.effects(frame)["estimate"].item()
    # the release adds as much sampling error as the data have, 0.13; ten of them
    assert (found["estimate"] - own).abs().max() < 1.5
    assert found["estimate"].nunique() == 4
    assert found["se"].between(0.08, 0.2).all()


def test_another_method_is_refused() -> None:
    frame = generate(4, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="MV Histogram, Hybrid, GenModel"):
        bound("Calibrated", frame, models("sim1")["Table 1"])


def test_genmodel_divides_as_table_19() -> None:
    shares = {e: allocation_of("liberia", "GenModel", Fraction(e)) for e in (1, 2, 9)}
    assert shares[1] == Allocation.section5(Fraction(1, 2))
    assert shares[2] == shares[9] == Allocation.section5(1)
    assert allocation_of("sim1", "GenModel", Fraction(1)) == Allocation.section4()
    assert allocation_of("sim1", "Hybrid", Fraction(1)) is None
