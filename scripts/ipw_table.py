"""Write the table of docs/ipw.md: private IPW with its defaults on IHDP, LaLonde and a made study.

Usage: python scripts/ipw_table.py FOLDER [draws per row, 200 by default]

FOLDER has ``ihdp_npci_1-100.npz`` and ``nsw.dta`` at any depth.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dprct import IPW
from papers.ippw.samples import Study, studies

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ipw.md"
BEGIN, END = "<!-- rows of ipw_table.py -->", "<!-- end of rows -->"
HEAD = (
    "| study | n | covariates | epsilon | form | bias | rmse | wrong sign | mean half width | "
    "coverage | not estimated |\n" + "|---" * 11 + "|\n"
)
NAMES = {"synthetic": "made", "ihdp": "IHDP", "lalonde": "LaLonde"}


def row(study: Study, epsilon: float, draws: int) -> str:
    """Return a row: the default fit against the truth of each sample."""
    samples = study.stream(1)
    rng = np.random.default_rng([study.n1, int(10 * epsilon)])
    found = []
    for draw in range(draws):
        sample = study.sample(draw, samples)
        model = IPW.from_arrays(
            sample.X, sample.t, sample.y, bounds=study.bounds, x_bounds=study.x_bounds,
            estimator="ipw",
        )  # fmt: skip
        result = model.fit(epsilon, 1e-5, rng=rng)
        form = model.plan(epsilon, 1e-5).facts["form"].partition(":")[0]
        low, high = result.conf_int().to_numpy()[0]
        value = result.params.iloc[0]
        found.append(
            (value - sample.truth, value * sample.truth < 0, (high - low) / 2,
             low <= sample.truth <= high)
        )  # fmt: skip
    error, wrong, half, covers = np.array(found, float).T
    known = ~np.isnan(error)
    facts = (
        NAMES[study.name], f"{len(sample.t):,}", str(sample.X.shape[1]), f"{epsilon:g}", form,
        f"{error[known].mean():+,.3g}", f"{np.sqrt((error[known] ** 2).mean()):,.3g}",
        f"{wrong[known].mean():.0%}", f"{half[known].mean():,.3g}", f"{covers[known].mean():.0%}",
        f"{1 - known.mean():.0%}",
    )  # fmt: skip
    return "| " + " | ".join(facts) + " |\n"


def main() -> None:
    """Write the table into the page."""
    there = studies(Path(sys.argv[1]))
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    labels = ("synthetic n1=1000", "ihdp", "lalonde")
    grid = [(label, epsilon) for label in labels for epsilon in (0.5, 1.0, 2.0, 5.0)]
    rows = "".join(row(there[label], epsilon, draws) for label, epsilon in grid)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{HEAD}{rows}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
