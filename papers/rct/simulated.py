"""The simulated experiments of the paper's Section 4: our own generator, and the eleven models."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.assignment import Complete
from papers.rct.specification import Specification

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROWS = 1000
TRUE_EFFECT = 5.0
_INTERCEPT, _SD = 1.0, 2.0

SIZES: Mapping[str, int] = MappingProxyType({"sim1": 4, "sim2": 10})
"""How many continuous, and how many binary, covariates each experiment has."""

FILES: Mapping[str, str] = MappingProxyType(
    {name: f"{name}_confidential.csv" for name in ("sim1", "sim2")}
)
"""The names under which the authors' two data sets are looked for."""


def generate(size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw one experiment of 1,000 rows (equation 6).

    Parameters
    ----------
    size : int
        Continuous covariates, and as many binary ones.
    rng : numpy.random.Generator

    Returns
    -------
    (1000, 2 size + 2) DataFrame
        ``t1``; continuous ``x1`` ...: normal with standard deviation 2 and, alternately, uniform
        on (0, 0.2) to two decimals; binary ones, with a binomial number of ones; ``y``.

    Notes
    -----
    ``y = 1 + 5 t1 + sum_k 0.99 (2/3)^(k-1) x_k + sum_k 3 (7/11)^(k-1) x_(size+k) + 2 z``.

    Examples
    --------
    >>> frame = generate(4, np.random.default_rng(1))
    >>> frame.shape, int(frame["t1"].sum())
    ((1000, 10), 500)
    """
    columns = {"t1": rng.permutation(np.repeat([0.0, 1.0], ROWS // 2))}
    y = _INTERCEPT + TRUE_EFFECT * columns["t1"] + _SD * rng.standard_normal(ROWS)
    for k in range(size):
        wide = k % 2 == 0
        x = _SD * rng.standard_normal(ROWS) if wide else np.round(rng.uniform(0, 0.2, ROWS), 2)
        columns[f"x{k + 1}"] = x
        y += 0.99 * (2 / 3) ** k * x
    for k in range(size):
        ones = rng.binomial(ROWS, 0.5)
        x = rng.permutation((np.arange(ROWS) < ones).astype(np.float64))
        columns[f"x{size + k + 1}"] = x
        y += 3 * (7 / 11) ** k * x
    return pd.DataFrame(columns | {"y": y})


def read_authors(path: Path) -> pd.DataFrame:
    """Read a data set of the authors; their binary columns are texts that end in 1 or 2."""
    frame = pd.read_csv(path)
    numbers = sorted(int(str(name)[1:]) for name in frame.columns if str(name).startswith("x"))
    names = ["t1", *(f"x{k}" for k in numbers), "y"]
    return pd.DataFrame(
        {
            name: frame[name].astype(float)
            if pd.api.types.is_numeric_dtype(frame[name])
            else frame[name].str.endswith("2").astype(float)
            for name in names
        }
    )


def models(study: str) -> dict[str, Specification]:
    """Return the regressions of an experiment by the names of Table 2.

    Parameters
    ----------
    study : {"sim1", "sim2"}

    Notes
    -----
    Table 2 has continuous covariates in its rows, Tables 3 and 4 say of the same models that it
    has them in its columns; the estimates are those of Tables 3 and 4.

    Examples
    --------
    >>> models("sim2")["Unbounded"].covariates
    ('x1', 'x3', 'x5', 'x7', 'x9', 'x11', 'x12')
    """
    size = SIZES[study]
    if study == "sim1":
        return {"Table 1": _model(range(1, size + 1), size)}
    counts = (2, 5, 10)
    pairs = [(continuous, binary) for binary in counts for continuous in counts]
    found = {
        f"Model {j}": _model(range(1, continuous + 1), binary)
        for j, (continuous, binary) in enumerate(pairs, start=1)
    }
    found["Unbounded"] = _model(range(1, size + 1, 2), 2)
    found["Finite Set"] = _model(range(2, size + 1, 2), 2)
    return found


def split_covariates(names: tuple[str, ...], size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the continuous and the binary ones of covariates.

    Examples
    --------
    >>> split_covariates(("x1", "x3", "x11"), 10)
    (('x1', 'x3'), ('x11',))
    """
    continuous = tuple(name for name in names if int(name[1:]) <= size)
    return continuous, names[len(continuous) :]


def _model(continuous: range, binary: int) -> Specification:
    first = 4 if continuous == range(1, 5) else 10
    names = [f"x{k}" for k in (*continuous, *range(first + 1, first + 1 + binary))]
    return Specification(("y",), ("t1",), tuple(names), (), Complete("t1"))
