"""Both models of a panel take arrays, and neither is pickled."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dprct import published
from dprct.errors import ModelPicklingError, ParameterError
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.estimate.synthetic_control.panel import OfArrays

X, Y = np.full((3, 5), 0.5), np.full(5, 0.25)


def test_arrays_become_a_model_with_names_and_times() -> None:
    made = SyntheticControl.from_arrays(
        X, Y, 3, 1.0, names=["a", "b", "ż"], times=range(2000, 2005), donor_weights="uniform"
    )
    assert isinstance(made, OfArrays)
    result = made.fit(10, rng=1)
    assert result.donor_weights.index.tolist() == ["a", "b", "ż"]
    assert result.effect.index.tolist() == [2003, 2004]


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="bound="):
        SyntheticControl.from_arrays(X, Y, 3, -1.0)


@pytest.mark.parametrize("kind", [SyntheticControl, published.SyntheticControl])
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(kind: type[OfArrays]) -> None:
    with pytest.raises(ParameterError, match=r"from_arrays has no option lamb=; did you mean lam="):
        kind.from_arrays(X, Y, 3, 1.0, lamb=3)
    with pytest.raises(ParameterError, match=r"has no option outcome=; allowed: .*lam"):
        kind.from_arrays(X, Y, 3, 1.0, outcome="y")  # of a table, not of arrays
    with pytest.raises(ParameterError, match="has no option record="):
        kind.from_arrays(X, Y, 3, 1.0, record="state")  # ours, not a caller's


def test_arrays_take_every_option_that_a_table_takes() -> None:
    options = dict(
        donor_weights="auto", lam=90, protect_treated=True, mean_effect=True, pre_fit=True
    )
    made = SyntheticControl.from_arrays(
        X, Y, 3, 1.0, placebos="all", noise="laplace", neighbors="replace-one", **options
    )
    assert (made.spec.lam, made.spec.pre_fit, made.spec.placebos) == (90, True, "all")
    with pytest.raises(ParameterError, match="neighbors='add-remove'; allowed: replace-one"):
        SyntheticControl.from_arrays(X, Y, 3, 1.0, neighbors="add-remove")


def test_confidential_rows_are_not_copied() -> None:
    made = SyntheticControl.from_arrays(X, Y, 3, 1.0)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ModelPicklingError, match="pickle the results"):
            attempt(made)
