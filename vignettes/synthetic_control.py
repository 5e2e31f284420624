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
# # A synthetic control from donors who are protected
#
# One region taxed sugar. What would its consumption have been without the tax? A synthetic control
# answers with a weighted mean of other units, the donors. Here the donors are 400 shops, whose
# sales are confidential, and the treated unit is a region whose figures are public.
#
# **What is protected is a donor: its whole series, whatever it is.** Here that is a shop. In the
# textbook examples it is a state, and then the guarantee says nothing about a person in it.
#
# The panel of this page is generated, so that the truth is known: the tax lowers sales by 8.

# %%
import os

import numpy as np
import pandas as pd

import dprct

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer repetitions where only the code is checked

YEARS, START, EFFECT = np.arange(2000, 2016), 2012, -8.0
rng = np.random.default_rng(2)


def generated(shops: int = 400, *, alike: bool = True) -> pd.DataFrame:
    """Sales per head: levels, trends and noise; the region is like an average shop, or like few."""
    level = rng.uniform(20, 80, shops)
    trend = np.linspace(0, 6, len(YEARS))
    growth = np.ones(shops) if alike else rng.uniform(0, 2, shops)
    sales = level[:, None] + np.outer(growth, trend) + rng.normal(0, 1.5, (shops, len(YEARS)))
    region = level.mean() + trend if alike else 70 + 2 * trend
    region = region + rng.normal(0, 0.5, len(YEARS))
    region[YEARS >= START] += EFFECT
    names = [*(f"shop {i}" for i in range(1, shops + 1)), "Región Norte"]
    values = np.vstack([sales, region]).clip(0, 100).round(1)
    return pd.DataFrame(
        {
            "unit": np.repeat(names, len(YEARS)),
            "year": np.tile(YEARS, len(names)),
            "sales": values.ravel(),
        }
    )


data = generated()

# %% [markdown]
# ## 1. What is public
#
# The bounds of sales are declared, never looked up. From a .dta file, the columns of unit and time
# are those of `xtset`, if they are not given.

# %%
schema = dprct.Schema.from_frame(data).declare(sales=dict(bounds=(0, 100), missing="never"))
panel = dict(
    unit="unit", time="year", outcome="sales", treated="Región Norte", treatment_time=START
)

# %% [markdown]
# ## 2. What it will cost
#
# `plan` is free. Ridge weights are released with noise, and so they cost half of the budget; equal
# weights are public. `donor_weights="auto"` takes whichever is expected to be better, from the
# number of donors, periods and epsilon alone, never from the data.

# %%
model = dprct.SyntheticControl(data, schema, donor_weights="auto", pre_fit=True, **panel)
print(model.plan(epsilon=2))

# %% [markdown]
# ## 3. The effect
#
# The noise band is of **privacy noise alone**: it covers the path that these weights give without
# noise. It does not cover the error of the weights, nor chance in sales, and so it is no interval
# for the effect: `conf_int()` refuses. Section 5 shows how seldom the band holds the effect.

# %%
accountant = dprct.Accountant(epsilon=10)
result = model.fit(epsilon=2, accountant=accountant)
print(result.summary())

# %%
low, high = result.noise_band().loc["mean effect"]
print(f"mean effect {result.att:.2f}, noise band {low:.2f} to {high:.2f}; truth {EFFECT}")

# %% [markdown]
# The custodian may compare with what the same equal weights give without noise. This stays with the
# data. (Abadie's weights without privacy are in `papers/baselines`, in the repository.)

# %%
sales = data.pivot(index="unit", columns="year", values="sales")
gap = sales.loc["Región Norte"] - sales.drop(index="Región Norte").mean()
print(f"CONFIDENTIAL: mean effect without noise {gap.loc[START:].mean():.2f}")

# %% [markdown]
# ## 4. Ridge weights or equal ones
#
# A unit that is unlike the average donor needs weights of its own, and their noise must be small
# compared with the weights. At a small epsilon it is not, and the plan says so. This region
# resembles the average shop, so that ridge weights have a price and gain nothing.

# %%
ridge = dprct.SyntheticControl(data, schema, donor_weights="ridge", **panel)
for line in ridge.plan(epsilon=2).warnings:
    print("!", line)

repetitions = 10 if QUICK else 200
for epsilon in (2, 20, 200):
    for rule in ("uniform", "ridge"):
        made = dprct.SyntheticControl(data, schema, donor_weights=rule, **panel)
        fits = [made.fit(epsilon, rng=seed) for seed in range(repetitions)]
        error = np.sqrt(np.mean([(fit.att - EFFECT) ** 2 for fit in fits]))
        print(f"epsilon {epsilon:3}: {rule:8} root mean squared error of the effect {error:.2f}")

# %% [markdown]
# ## 5. Donors who are unlike the region
#
# Now shops grow at different rates, and the region sells and grows as only few of them do. Equal
# weights miss it by far, and ridge weights are pulled towards equal ones: the released effect is
# wrong, and a narrow noise band around it says nothing of that. Even with donors who are alike the
# band misses the effect once its noise is smaller than chance in sales.


# %%
def share(*, alike: bool, rule: str, epsilon: float, panels: int) -> float:
    """How often the 95 % noise band of the mean effect holds the true effect."""
    held = 0
    for seed in range(panels):
        drawn = generated(alike=alike)
        made = dprct.SyntheticControl(drawn, schema, donor_weights=rule, **panel)
        low, high = made.fit(epsilon, rng=seed).noise_band().loc["mean effect"]
        held += low <= EFFECT <= high
    return held / panels


for alike in (True, False):
    for rule in ("uniform", "ridge"):
        for epsilon in (2, 20):
            found = share(alike=alike, rule=rule, epsilon=epsilon, panels=3 if QUICK else 100)
            who = "alike" if alike else "unlike"
            print(f"donors {who:6} {rule:8} epsilon {epsilon:2}: the band holds it in {found:.2f}")

# %% [markdown]
# ## 6. Placebos, and a treated unit that is confidential itself
#
# A placebo pretends that a donor was treated. That donor's series is confidential, so its effect
# has far more noise than the region's, and each run has its price.

# %%
few = dprct.SyntheticControl(
    data, schema, donor_weights="uniform", placebos=["shop 1", "shop 2", "shop 3"], **panel
)
print(few.plan(epsilon=4))
placebos = few.fit(epsilon=4, accountant=accountant)
print(placebos.placebo_table())

# %%
hidden = dprct.SyntheticControl(
    data, schema, donor_weights="uniform", protect_treated=True, **panel
)
print(hidden.fit(epsilon=4, accountant=accountant).guarantee)
print(accountant.remaining, "left")

# %% [markdown]
# ## 7. As published
#
# The first paper on private synthetic control adds noise to the weights or to the objective, and to
# every donor's whole series. The first form is private, with so much noise that nothing is left;
# the second **is not private at all**, and its guarantee says why.

# %%
for perturb in ("output", "objective"):
    published = dprct.published.SyntheticControl(data, schema, perturb=perturb, **panel)
    path = published.fit(epsilon=4)
    print(f"{perturb}: effect {path.att:.3g}")
    print(path.guarantee.sentence())

# %% [markdown]
# ## 8. Figures

# %%
try:
    for kind in ("paths", "gap", "weights"):
        result.plot(kind)
    placebos.plot("placebos")
except dprct.errors.MissingDependencyError as error:
    print(error)

# %% [markdown]
# **Read next:** [synthetic controls](../docs/synthetic_control.md),
# [choose epsilon](../docs/choosing_epsilon.md).
