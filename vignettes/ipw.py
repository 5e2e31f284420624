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
# # An effect without an experiment: private inverse probability weighting
#
# A training was not assigned by lot: older people took it more often, and older people earn more.
# The plain difference in means then mixes both. Weighting everybody by one over the probability of
# what they did, given their age and schooling, takes the mixture apart. Here covariates, treatment
# and earnings of every person are protected.
#
# You need the installed package, nothing else; the data are made up.

# %%
import os

import numpy as np
import pandas as pd

import dprct

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer rows where only the code is checked
rng = np.random.default_rng(2)
n = 10_000 if QUICK else 50_000
age = rng.uniform(20, 60, n).round()
school = rng.integers(8, 17, n).astype(float)
index = (age - 40) / 20 + 0.3
trained = (rng.random(n) < 1 / (1 + np.exp(-index))).astype(float)
earnings = (20 + 4 * trained + 8 * (age - 40) / 20 + rng.uniform(-5, 5, n)).clip(0, 40)
data = pd.DataFrame({"earnings": earnings, "trained": trained, "age": age, "school": school})
print("plain difference:", round(data.groupby("trained")["earnings"].mean().diff().iloc[-1], 2))
print("the truth: 4")

# %% [markdown]
# Bounds and levels are declared from public knowledge; they are all that scales the noise.

# %%
schema = dprct.Schema(
    (
        dprct.Column("earnings", bounds=(0, 40), missing=()),
        dprct.Column("trained", "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column("age", "byte", bounds=(20, 60), missing=()),
        dprct.Column("school", "byte", bounds=(8, 16), missing=()),
    )
)
model = dprct.IPW.from_formula(
    "trained ~ age + school", data, schema, outcome="earnings", overlap=True
)
print(model.plan(epsilon=2, delta=1e-6))

# %% [markdown]
# The plan is free: penalty, trimming, form and noise are functions of public facts. The Hajek form
# pays for the sums of weights and is the more precise one wherever these are large, because most of
# the noise of the propensity weights cancels: with so many rows the plan chooses it. Where a
# study is too small for a private answer, the plan warns: `docs/ipw.md` shows what to expect.

# %%
result = model.fit(epsilon=2, delta=1e-6)
print(result.summary())
print(result.overlap_table)

# %% [markdown]
# The interval contains sampling, the noise of the propensity weights (to first order) and the noise
# of the output. It does not contain what penalty and trimming leave of the confounding:
# `docs/coverage_ipw.md` shows where that matters.
#
# Released propensities can be looked at for rows that everybody may see:

# %%
print(result.propensity(pd.DataFrame({"age": [20.0, 40.0, 60.0], "school": [12.0] * 3})).round(2))

# %% [markdown]
# The algorithm as its authors ran it scales by the largest norm in the sample and draws both parts
# with replacement. It promises nothing, and says why:

# %%
published = dprct.published.IPW.from_formula(
    "trained ~ age + school", data, schema, outcome="earnings", sampling="replacement"
)
print(published.fit(epsilon=0.5, delta=1e-6).guarantee)

# %% [markdown]
# **Read next:** [weighting and its errors](../docs/ipw.md),
# [which method](../docs/which_method.md).
