"""The strict estimator in the experiments is the one that users call."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from papers.ippw.samples import studies, synthetic
from papers.ippw.strict import STRICT, strict, without_privacy

STUDY = studies(None)["synthetic n1=1000"]


def test_much_budget_finds_what_is_there() -> None:
    sample = synthetic(2000, np.random.default_rng(1))
    epsilons = [Fraction(1), Fraction(20)]
    rng = np.random.default_rng(2)
    for one in STRICT.values():
        found = strict(STUDY, sample, epsilons, rng, **one.options)
        # penalty and trimming leave some of the confounding, which is 0.9
        assert 0.7 < found.full[1] < 1.8
        assert np.isnan(found.own)
        assert np.isnan(found.partial).all()
        assert found.copies == 1


def test_estimators_without_privacy_find_the_effect() -> None:
    sample = synthetic(4000, np.random.default_rng(3))
    found = without_privacy(sample)
    assert abs(found["ipw"] - 1) < 0.25
    assert abs(found["aipw"] - 1) < 0.15
    assert found["difference in means"] > 1.5
