"""Numbers of pyfixest, with the defaults of R's fixest, for docs/which_correction.md.

Run where pyfixest is installed, not in this project's environment:
    cd tests/reference
    python which_correction_pyfixest.py > which_correction_pyfixest.json
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd

FITS: dict[str, tuple[str, str | dict[str, str]]] = {
    "feols(vcov = 'hetero')": ("got ~ any + hiv2004 + age", "hetero"),
    "feols(cluster = ~villnum)": ("got ~ any + hiv2004 + age", {"CRV1": "villnum"}),
    "feols(| villnum, cluster = ~villnum)": (
        "got ~ any + hiv2004 + age | villnum",
        {"CRV1": "villnum"},
    ),
}


def found(rows: pd.DataFrame, formula: str, vcov: str | dict[str, str]) -> dict[str, float]:
    import pyfixest as pf

    ssc = pf.ssc(k_adj=True, k_fixef="nonnested", G_adj=True)
    fit = pf.feols(formula, rows, vcov=vcov, ssc=ssc, fixef_rm="none")
    numbers = (fit.coef(), fit.se(), fit.pvalue())
    return {k: v["hiv2004"] for k, v in zip(("estimate", "bse", "p"), numbers, strict=True)}


if __name__ == "__main__":
    file = Path(__file__).resolve().parents[2] / "data" / "thornton_hiv.dta"
    data = pd.read_stata(file, convert_categoricals=False)
    data = data[data["hiv2004"].isin([0, 1])]
    data = data[["got", "any", "hiv2004", "age", "villnum"]].astype(float).dropna()
    table = {name: found(data, *fit) for name, fit in FITS.items()}
    print(json.dumps({"pyfixest": version("pyfixest"), "n": len(data), "found": table}))
