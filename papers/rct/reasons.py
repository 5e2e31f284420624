"""Why our numbers and the printed ones differ where they do."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_GUARANTEE = (
    "None of these methods has a differential-privacy guarantee; epsilon is a parameter of their "
    "noise. Estimates on the confidential data stand here too: keep this table with the data."
)
GENERATED = (
    "The confidential data were generated here by the paper's design and are not the authors': "
    "their own estimate differs from the printed one by sampling, and so does everything after it."
)
GENMODEL = (
    "GenModel: Algorithms 4 and 5 as printed (line 10, line 9), so that an empty bin gets no noise "
    "and cannot win; the authors' code drops empty bins, too. The printed columns come from code "
    "with other defects, so that no implementation of the algorithm meets them. It takes "
    "sd(residuals)/n for the residual variance, hence standard errors near 0.00 and overlaps near "
    "0 or 0.5 whatever epsilon is; its range search can fall to the lowest bin; and budget shares "
    "are shifted by one coefficient, so that the intercept has that of the first treatment."
)
GENMODEL_SIMULATED = (
    "GenModel without these defects finds the effect at every epsilon of these tables. With noise "
    "on every bin (noise_on='every bin'), which its own privacy proof needs, about a fifth of the "
    "draws at epsilon 0.5 are far off, because an empty bin wins."
)
GENMODEL_LIBERIA = (
    "GenModel without these defects does not lose the effects of the reduced subset at epsilon 1, "
    "2 or 9: the effects near -36, -45 and -46 of Table 6 are not the algorithm's. The "
    "lowest bin accounts for the largest of them, but not for every one. With noise on every bin "
    "(noise_on='every bin') more than half of the draws at epsilon 1 are off by more than 3, and "
    "not only up to the bounds of 50: the noise of a mean goes with its range, and single draws "
    "are off by hundreds."
)
SINGLE_DRAW = (
    "Tables 6 and 13 to 18 print one draw of each method; next to it stands the distribution of "
    "ours, and the share of our draws below the printed value (ties, after rounding, count half)."
)
HISTOGRAM = (
    "MV Histogram: every combination of values in these data belongs to one person, so that the "
    "release is a bootstrap with noisy weights. The paper prints noise of scale 1/(n epsilon); its "
    "code has 2/(n epsilon), what its own relation (a row replaced) needs, and so have we: with "
    "the printed scale overlaps of Tables 1, 3 and 4 would be 0.03 to 0.04 higher than printed."
)
HYBRID = (
    "Hybrid: residual variance is RSS/(n - k) here, RSS/(n - 1) in the authors' code, which is "
    "smaller: standard errors by 1.1 % at most in the simulations and by 7 % with the 131 "
    "coefficients of Liberia's full covariate set."
)
ASSIGNMENT = (
    "Assignment: cash was randomised within cg_strata and therapy within tp_strata_alt, and so "
    "it is here; the authors' code has the two the other way round. The printed standard errors of "
    "Both under Hybrid are 1.3 times ours, those of the other arms 0.93 times: the file behind "
    "Table 14 had fewer people in Both than the quarter of the design."
)
CORRECTED = "Full Baseline, corrected"
"""The panel of Table 12 without the slip."""

SLIP = (
    "Full Baseline, as printed: the authors' code sets mpartners_b to 1 for everybody except the "
    "one record whose count is no whole number. Appendix B.3 says that this record is removed: "
    "without it 53 of the 216 cells of Table 12 differ; with its count set to 1, 25 of the 72 "
    "cells of this panel."
)
OVERLAP = "Overlap: mean share of each 95 % interval inside the other; 0 where disjoint."
TABLE_2 = (
    "All models have the treatment t1 and the outcome y (equations (7) and (8)). Table 2 has "
    "continuous covariates in its rows; Tables 3 and 4 number the models by columns, and their "
    "estimates are those of the models as they are here."
)
TABLE_11 = (
    "Least squares on arms, 57 baseline covariates and both stratifications; HC1. The p-values "
    "are the paper's: one-sided normal, on the side chosen after the estimate was seen, of size "
    "twice their name; Bonferroni with 9 comparisons for the index and 21 for its components."
)
TABLE_12 = "As Table 11 with 7, 10 and 57 covariates; Bonferroni with 3 and 21 comparisons."
AVERAGES = (
    "Tables 1, 3 and 4 average 20 releases (medians for |difference|). Ours: the mean over runs of "
    "{of} releases, and in brackets the smallest and largest of {runs} such runs. An asterisk "
    "marks a printed value outside: as any one run would be with probability {chance:.0%}."
)
ONE_RUN = (
    "Tables 1, 3 and 4 average 20 releases (medians for |difference|). Ours: one run of {of}, too "
    "few to say how far another run would be from it."
)
TIMES = (
    "Seconds depend on the machine, so that only ratios within one machine are compared: each "
    "time over that of the MV Histogram with the same covariates."
)
STEPS = (
    "Each step over the MV Histogram's time with the same covariates (Table 7), and as a part of "
    "the outcome's total. Ours: every outcome run apart, fastest of three, covariates and "
    "treatments being drawn before; of the factoring of the released design, which all outcomes "
    "share, each is counted its part."
)

DIRECT = (
    "Coefficients of the proxies are drawn from their joint law, instead of 5,000 regressions for "
    "each outcome; the law is the same."
)
WHOLE = "Times are from a frame in memory to the protected frame."

BY_METHOD: Mapping[str, str] = MappingProxyType(
    {"MV Histogram": HISTOGRAM, "Hybrid": HYBRID, "GenModel": GENMODEL}
)
