"""Numbers of pyfixest, which its authors test against R's fixest.

Run where pyfixest is installed, not in this project's environment:
    python tests/reference/fixed_effects_pyfixest.py > tests/reference/fixed_effects_pyfixest.json
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

CASES = [
    (effects, vcov, weights)
    for effects in (["firm"], ["firm", "year"], ["region", "year"])
    for vcov in ("iid", "hetero", "region", "year")
    for weights in (None, "w")
]


def case(panel: pd.DataFrame, effects: list[str], vcov: str, weights: str | None) -> Any:
    import pyfixest as pf

    fit = pf.feols(
        f"y ~ x + z | {' + '.join(effects)}",
        panel,
        vcov=vcov if vcov in ("iid", "hetero") else {"CRV1": vcov},
        weights=weights,
        ssc=pf.ssc(k_adj=True, k_fixef="nonnested", G_adj=True),
        fixef_rm="none",
        fixef_tol=1e-14,
        fixef_maxiter=1_000_000,
    )
    return {
        "effects": effects,
        "vcov": vcov,
        "weights": weights,
        "estimate": fit.coef().tolist(),
        "bse": fit.se().tolist(),
        "p": fit.pvalue().tolist(),
    }


if __name__ == "__main__":
    text = Path(__file__).with_name("fixed_effects_r.json").read_text("utf-8")
    rows = pd.DataFrame(json.loads(text)["data"])
    found = [case(rows, *each) for each in CASES]
    print(json.dumps({"pyfixest": version("pyfixest"), "cases": found}))
