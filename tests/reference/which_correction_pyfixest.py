"""Numbers of pyfixest, with the defaults of R's fixest, for docs/which_correction.md.

Run where pyfixest is installed, not in this project's environment:
    cd tests/reference
    python which_correction_pyfixest.py > which_correction_pyfixest.json
"""

from __future__ import annotations

import json
from importlib.metadata import version

import pandas as pd
import pyfixest as pf

rows = pd.read_stata("../../data/thornton_hiv.dta", convert_categoricals=False)
rows = rows[rows["hiv2004"].isin([0, 1])]
rows = rows[["got", "any", "hiv2004", "age", "villnum"]].astype(float).dropna()
SSC = pf.ssc(k_adj=True, k_fixef="nonnested", G_adj=True)
FITS = {
    "feols(vcov = 'hetero')": ("got ~ any + hiv2004 + age", "hetero"),
    "feols(cluster = ~villnum)": ("got ~ any + hiv2004 + age", {"CRV1": "villnum"}),
    "feols(| villnum, cluster = ~villnum)": (
        "got ~ any + hiv2004 + age | villnum",
        {"CRV1": "villnum"},
    ),
}
found = {}
for name, (formula, vcov) in FITS.items():
    fit = pf.feols(formula, rows, vcov=vcov, ssc=SSC, fixef_rm="none")
    found[name] = {
        "estimate": fit.coef()["hiv2004"],
        "bse": fit.se()["hiv2004"],
        "p": fit.pvalue()["hiv2004"],
    }
print(json.dumps({"pyfixest": version("pyfixest"), "n": len(rows), "found": found}))
