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
# # For whom does it work? Effects that vary, under differential privacy
#
# A mailing was sent to half of 16,000 voters, at random. Did it move the young more than the old?
# The answer is an effect *function*. `dprct.CATE` releases one without revealing anybody's age,
# treatment or vote: the whole row of a person is protected.
#
# The data of this page are generated, so that the truth is known.

# %%
import os

import numpy as np
import pandas as pd

import dprct

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer rows where only the code is checked
n = 4_000 if QUICK else 16_000
rng = np.random.default_rng(1)

age = rng.uniform(18, 90, n)
income = rng.uniform(0, 100, n)
region = rng.choice(["north", "south"], n)
mailed = (rng.random(n) < 0.5).astype(float)


def truth(rows: pd.DataFrame) -> np.ndarray:
    """The effect: the young gain three, the old nothing, the north half a point more."""
    return 3 * (90 - rows["age"]) / 72 + 0.5 * (rows["region"] == "north")


people = pd.DataFrame({"age": age, "income": income, "region": region, "mailed": mailed})
score = 0.02 * income + mailed * truth(people) + rng.normal(0, 1, n)
people["score"] = np.clip(score, -5, 10)

# %% [markdown]
# ## 1. What is public
#
# Bounds and levels, declared from public knowledge; and the design.

# %%
schema = dprct.Schema(
    (
        dprct.Column("age", bounds=(18, 90), missing=()),
        dprct.Column("income", bounds=(0, 100), missing=()),
        dprct.Column("region", "str5", levels=("north", "south"), missing=()),
        dprct.Column("mailed", "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column("score", bounds=(-5, 10), missing=()),
    )
)
model = dprct.CATE.from_formula(
    "score ~ age + income + C(region)",
    people,
    schema,
    treatment="mailed",
    assignment=dprct.Simple("mailed"),
    clip=8,  # pseudo-outcomes beyond it are clipped; noise is proportional to it
    projection=["age", "income"],
)

# %% [markdown]
# ## 2. How noisy it will be, before anything is spent

# %%
print(model.plan(epsilon=1, delta=1e-6))

# %% [markdown]
# ## 3. The one private step

# %%
result = model.fit(epsilon=1, delta=1e-6)
print(result.summary())

# %% [markdown]
# Along age the effect falls. The line is smoothed and shrunk towards the average by its noise; the
# band is of each level alone, and holds privacy noise and sampling. What smoothing does is in no
# interval, and the page says so.

# %%
result.plot("age")

# %%
low, high = result.average_interval()
print(
    f"average effect {result.average:.2f}, from {low:.2f} to {high:.2f}; "
    f"truth {truth(people).mean():.2f}"
)
result.subgroup_effects("region")

# %%
result.projection(["age", "income"])

# %% [markdown]
# ## 4. The effect of people who are public, or on a grid
#
# Everything after the fit is free.

# %%
grid = pd.DataFrame({"age": [20.0, 50, 80], "income": 50.0, "region": "north"})
grid.assign(effect=result.effect(grid), truth=truth(grid))

# %% [markdown]
# A constant effect is the least that it must beat. Its error is the variance of the truth:

# %%
error = np.mean((result.effect(people) - truth(people)) ** 2)
print(f"mean squared error {error:.3f}; of the true average {truth(people).var():.3f}")

# %% [markdown]
# ## 5. Without a design
#
# Then the propensity is estimated on a part of its own, a random one, and no interval that contains
# sampling is proved: asking for one is refused, with the reason.

# %%
observed = dprct.CATE.from_formula(
    "score ~ age + income", people, schema, treatment="mailed", clip=8
)
private = observed.fit(epsilon=1, delta=1e-6)
try:
    private.average_interval()
except ValueError as refused:
    print(refused)
print(private.average_interval(part="noise"))

# %% [markdown]
# ## 6. As published
#
# `dprct.published.CATE` fits interpret's DP-EBM in every part, under the conditions that its claim
# needs; the paper ran interpret's defaults, which do not meet them. Its guarantee is claimed and
# not certified, so that it asks for `accept_uncertified=True`, enters no ledger's total, and says
# so in all that it prints. `dprct.CATE` is what protects people.
#
# **Read next:** [find effects that vary](../docs/heterogeneous_effects.md),
# [limits](../docs/limits.md).
