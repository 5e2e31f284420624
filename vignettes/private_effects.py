# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # A private effect, and a file that returns it
#
# LaLonde (1986): 445 people applied for a job training, a draw admitted 185, and their earnings in
# 1978 were compared. What is in the paper is one number and its standard error. This page chooses
# epsilon with the plan, releases the effect under differential privacy, releases a whole file on
# which the paper's own regression returns it, reads the certificate, and says what not to do.
#
# You need the installed package, nothing else. Everything runs in a temporary folder.

# %%
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dprct
from dprct.cli.demo import demo_file
from dprct.errors import BudgetError

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer repetitions where only the code is checked

folder = Path(tempfile.mkdtemp())
original = shutil.copy(demo_file("nsw_mixtape.dta"), folder)

# %% [markdown]
# ## 1. Public facts, before the data are opened
#
# Three facts carry everything: the bounds of the outcome, who was drawn (public in this release),
# and how. Earnings are declared to lie between 0 and 40,000 dollars of 1982; what is above counts
# as 40,000. A bound is taken from the questionnaire or from other surveys, never from these data.

# %%
schema = dprct.Schema.from_dta(original)
schema = schema.declare(
    dataset_id="nsw-1986",
    re78=dict(bounds=(0, 40_000), clip=True, sd=6500, missing="never", fate="modelled"),
    treat=dict(levels=[0, 1], missing="never", fate="public"),
    age=dict(bounds=(16, 60), missing="never", fate="modelled"),
    educ=dict(bounds=(0, 20), missing="never", fate="modelled"),
    confirm_header=True,
)
schema = schema.declare_rest("withheld").seal(by="the authors of this page")

data, schema = dprct.read_dta(original, schema)

# %% [markdown]
# ## 2. Choose epsilon with the plan
#
# A plan is computed from public facts, so that any number of them may be read. `sd` is a guess of
# the outcome's standard deviation from other surveys; without it the plan takes the worst case that
# the bounds allow, half their width.

# %%
design = dprct.Complete("treat", shares=185 / 445)
model = dprct.PrivateATE.from_formula("re78 ~ treat", data, schema, assignment=design)
print(model.plan(epsilon=1))

# %% [markdown]
# The same for a range of epsilons, as a table: the noise, and the sampling error that is there in
# any case, and the effect that would be found in 80 of 100 experiments.

# %%
epsilons = [0.25, 0.5, 1, 2, 4]
table = pd.concat([model.power(epsilon) for epsilon in epsilons], ignore_index=True)
table.index = pd.Index(epsilons, name="epsilon")
print(table[["noise", "sampling", "std_err", "detectable", "usable"]].round(0))

# %% [markdown]
# At epsilon = 0.73 noise is as large as sampling error (`equal at` in the plan). Below it, halving
# epsilon nearly doubles the error; above 2, more epsilon gains hardly anything. We take 1: the
# standard error is about a third larger than without privacy, and the odds of any statement about
# one person change by a factor of at most 2.72.
#
# Two ways to waste the budget: a second outcome (each then has half), and bounds that are too wide,
# for noise is proportional to their width.

# %%
two = dprct.PrivateATE.from_formula(
    "re78 ~ treat", data, schema.declare(re78=dict(bounds=(0, 400_000))), assignment=design
)
print(two.power(1)[["noise", "usable"]])

# %% [markdown]
# ## 3. The effect alone
#
# `fit` is the only step that touches privacy. The accountant is charged before anything is drawn.

# %%
accountant = dprct.Accountant(epsilon=2)
effect = model.fit(epsilon=1, accountant=accountant)
print(effect.summary())

# %% [markdown]
# The standard error contains sampling and privacy noise; the column next to it says how much of it
# is privacy. Without privacy the effect is 1794 with a standard error of 671 (HC1). Read the notes:
# the effect is that on clipped earnings, and who was in which arm is not protected.
#
# ## 4. A file on which the paper's regression returns such an effect
#
# If readers are to run the regression, release a file instead. It draws an effect of its own, for
# a price of its own, so a paper that releases both has spent both: choose one. Covariates that are
# in the regression but were not paid for are filled uniformly; they do not improve the effect.

# %%
calibrated = dprct.Calibrated.from_formula(
    "re78 ~ treat + age + educ",
    data,
    schema,
    treatment="treat",
    assignment=design,
    specifications=[""],  # the regression without covariates is valid too
    covariate_release="filler",
)
release = calibrated.fit(epsilon=1, accountant=accountant)
certificate = release.write_dta(folder / "nsw_protected.dta")

# %%
try:
    calibrated.fit(epsilon=0.5, accountant=accountant)
except BudgetError as error:
    print(error)

# %% [markdown]
# ## 5. The regression, on the released file
#
# This is what a reader does, in Stata `regress re78 treat age educ, vce(robust)`. Coefficient and
# error of `treat` are the released ones, to the last digits.

# %%
protected, protected_schema = dprct.read_dta(folder / "nsw_protected.dta")
fit = dprct.ols("re78 ~ treat + age + educ", protected, protected_schema)
print(fit.summary())
assert abs(fit.params["treat"] - release.estimates.params["treat"]) < 1e-8
assert abs(fit.bse["treat"] / release.estimates.bse["treat"] - 1) < 1e-10

# %% [markdown]
# Any other regression runs as well, and says that it means nothing. There is no effect by age in
# this file, nor a true coefficient of schooling:

# %%
print(dprct.ols("re78 ~ treat * educ", protected, protected_schema).summary())

# %% [markdown]
# ## 6. The certificate
#
# Three files next to the data: a page for people (`.html`), the same as text, and JSON. It says who
# is protected and how strongly, on which public facts that rests, what every column has become, and
# what each command finds on this file.

# %%
print((folder / "nsw_protected.certificate.txt").read_text("utf-8"))

# %% [markdown]
# Whoever receives the file checks it in a shell with `dprct verify`; also on the `.csv` or `.tab`
# that an archive makes of it. It shows integrity, not authorship.

# %%
command = [Path(sys.executable).parent / "dprct", "verify", folder / "nsw_protected.dta"]
print(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
protected.to_csv(folder / "nsw_protected.csv", index=False)
print(dprct.verify(folder / "nsw_protected.csv"))

# %% [markdown]
# ## 7. How often the interval is right
#
# Simulations with a seed are free of charge and marked "for simulation only". Here treatment does
# nothing, so that the interval should contain zero in 95 of 100 experiments
# (`docs/coverage.md` has 53 such scenarios, and the one that fails).

# %%
repetitions = 40 if QUICK else 400
rng = np.random.default_rng(1)
covered = 0
for _ in range(repetitions):
    drawn = rng.permutation(data["treat"].to_numpy())
    nothing = data.assign(treat=drawn)
    trial = dprct.PrivateATE.from_formula("re78 ~ treat", nothing, schema, assignment=design)
    low, high = trial.fit(epsilon=1, rng=rng).conf_int().loc["treat"]
    covered += low <= 0 <= high
print(f"{covered / repetitions:.3f} of {repetitions} intervals contain the truth")
assert covered / repetitions > 0.8

# %% [markdown]
# ## 8. A larger experiment
#
# Noise falls with 1 / n, sampling error with 1 / sqrt(n). In Thornton's experiment (2,901 people
# with a recorded draw, a binary outcome) epsilon = 0.5 costs next to nothing. Who has no recorded
# result is declared public here, and the effect is that among the others.

# %%
path = demo_file("thornton_hiv.dta")
thornton = dprct.Schema.from_dta(path).declare(
    got=dict(levels=[0, 1], missing=[".a"], missing_policy="public", fate="modelled"),
    any=dict(levels=[0, 1], missing=[".a"], fate="public"),
    confirm_header=True,
)
people, thornton = dprct.read_dta(path, thornton.declare_rest("withheld").seal())
people = people[people["any"].notna()]
voucher = dprct.PrivateATE.from_formula("got ~ any", people, thornton)
print(voucher.power(0.5)[["noise", "sampling", "std_err", "detectable"]].round(4))
print(voucher.fit(epsilon=0.5).summary())

# %% [markdown]
# ## What was released, and what was not
#
# - One effect and its error, twice, for epsilon = 1 each. Not who was trained: that is public here;
#   `neighbors="replace-one"` protects it too, and the plan above prints what that costs.
# - An interval that is valid at 95 %, and at no other level unless `alphas=` declares it.
# - Not the effect on unclipped earnings, and not a word about subgroups.
# - The odds statement holds for whoever knows everything else; not if a bound was looked
#   up in the data.

# %%
shutil.rmtree(folder)

# %% [markdown]
# **Read next:** [all tables on one budget](paper_tables.py),
# [what a calibrated file is](../docs/calibrated.md).
