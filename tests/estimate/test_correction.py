"""c(rho) against the table of ALGORITHMS.md, section 4, and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.noise_law import correction, coverage, quantile, worst_coverage

TABLES = {
    0.05: "0.1:.06 .25:.13 .5:.22 1:.37 1.6:.49 2:.54 4:.73 8:.93 16:1.13 32:1.33 64:1.51",
    0.01: ".25:.13 .5:.17 1:.46 1.6:.62 2:.72 4:1.10 8:1.53 16:1.97 32:2.37 64:2.69",
}
CELLS = [
    (alpha, *map(float, cell.split(":"))) for alpha, row in TABLES.items() for cell in row.split()
]
Z_NINE = 6.11  # two-sided false alarms of 1e-9


@pytest.mark.parametrize(("alpha", "rho", "tabulated"), CELLS)
def test_the_tabulated_values_are_reached_within_their_tolerance(
    alpha: float, rho: float, tabulated: float
) -> None:
    # they allow 2e-4 of coverage and are rounded to .01, which is worth up to 3e-4 more
    assert worst_coverage(rho, tabulated, alpha) == pytest.approx(1 - alpha, abs=5e-4)
    exact = correction(rho, alpha)
    assert worst_coverage(rho, exact, alpha) >= 1 - alpha - 1e-9
    assert worst_coverage(rho, max(exact - 0.01, 0.0), alpha) < 1 - alpha - 1e-6
    assert exact > tabulated - 0.0075


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 1e-4])
@pytest.mark.parametrize("rho", [0.01, 3.0, 1e4])
def test_no_ratio_of_a_fine_grid_has_less_coverage(rho: float, alpha: float) -> None:
    c = correction(rho, alpha)
    grid = np.concatenate([[0.0], np.geomspace(1e-6, 3000 * max(rho, 1.0), 700)])
    found = coverage(grid, rho, c, alpha)
    assert found.min() >= 1 - alpha - 1e-6
    assert found.min() <= 1 - alpha + 2e-3 * alpha


@pytest.mark.parametrize(("ratio", "rho", "c"), [(0.2, 1.6, 0.49), (20.0, 32.0, 0.4)])
def test_the_coverage_is_that_of_simulated_intervals(ratio: float, rho: float, c: float) -> None:
    draws = 200_000
    rng = np.random.default_rng(11)
    error = rng.normal(0, np.sqrt(ratio), draws) + rng.laplace(0, 1, draws)
    noisy = np.maximum(ratio + rng.laplace(0, rho, draws) + c * rho, 0)
    share = float(np.mean(np.abs(error) <= quantile(0.05, noisy, (1.0,))))
    expected = float(coverage(np.array([ratio]), rho, c)[0])
    # power: half a percentage point is 10 standard errors
    assert abs(share - expected) < Z_NINE * np.sqrt(expected * (1 - expected) / draws)


def test_what_is_outside_its_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="rho"):
        correction(2e4)
    with pytest.raises(ParameterError, match="alpha"):
        correction(1.0, 1.0)
