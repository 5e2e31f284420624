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
# # One release, every linear regression
#
# A paper is tables: wages on schooling, the effect of a training on several outcomes, the same
# among women. Each of them could be paid for on its own, and the budget would be gone after a few.
# `PrivateMoments` pays once: it releases noisy sums and cross products of the columns, and every
# linear regression on them, with its standard error, follows without another look at the data.
#
# You need the installed package, nothing else; the data are made up.

# %%
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer rows where only the code is checked
rng = np.random.default_rng(4)
n = 10_000 if QUICK else 100_000
age = rng.uniform(20, 60, n).round()
school = rng.integers(6, 19, n).astype(float)
female = rng.integers(0, 2, n).astype(float)
trained = (rng.random(n) < 0.5).astype(float)
skill = rng.normal(size=n)
# of those who were offered the training three in four came, the skilled rather than the others
course = trained * (skill + rng.normal(size=n) > -0.95)
hours = (38 + 2 * trained - 4 * female + 6 * rng.normal(size=n)).clip(0, 70)
wage = (
    4 + 0.5 * school + 0.05 * (age - 40) + 2 * course - female + 2 * skill + rng.normal(size=n)
).clip(0, 40)
data = pd.DataFrame(
    {"wage": wage, "hours": hours, "age": age, "school": school, "female": female,
     "trained": trained, "course": course}
)  # fmt: skip

# %% [markdown]
# ## What is public
#
# Bounds and scales come from what everybody knows, never from the data. Outcomes are clipped at
# their bounds and by nothing else. `sd` and `centre` say where covariates are about: rows much
# further out are projected inwards, which leaves the effect of a randomised treatment as it is and
# saves noise.
# The formulas say which regressions are to be served best; others remain possible.

# %%
never = {"missing": "never"}
schema = dprct.Schema(
    tuple(dprct.Column(name) for name in data.columns), dataset_id="made wages"
).declare(
    wage={"bounds": (0, 40), "sd": 3, "centre": 10, **never},
    hours={"bounds": (0, 70), "sd": 7, "centre": 38, **never},
    age={"bounds": (20, 60), "sd": 12, "centre": 40, **never},
    school={"bounds": (6, 18), "sd": 4, "centre": 12, **never},
    female={"levels": [0, 1], **never},
    trained={"levels": [0, 1], **never},
    course={"levels": [0, 1], **never},
)
model = dprct.PrivateMoments.from_formulas(
    ["wage ~ trained + age + school", "hours ~ trained + age"],
    data,
    schema,
    columns=["course"],
    assignment=dprct.Simple("trained", shares=0.5),
    subgroups=["female"],
)
print(model.plan(epsilon=2, delta=1e-6))

# %% [markdown]
# Who was trained and who is a woman are private, too: the numbers of the four groups are released
# with the rest, at no price.
#
# ## The only private step

# %%
m = model.fit(epsilon=2, delta=1e-6)

# %% [markdown]
# ## Everything else is free
#
# Effects on all outcomes with their joint law, a wage regression, its subgroups, interactions.

# %%
print(m.itt_table(arms={"trained": "Training"}).to_text(notes=False))
print(m.ols("wage ~ trained + age + school").summary())
women = m.ols("wage ~ trained + school", where={"female": 1.0})
print("among women:", women.params.round(2).to_dict())
gap = m.ols("wage ~ trained*female")
print("difference of the effects:", gap.params["trained:female"].round(2), "+-",
      gap.bse["trained:female"].round(2))  # fmt: skip

# %% [markdown]
# Not everybody who was offered the training came. Those who came are the more skilled, so that
# wages on `course` say too much; with the offer as instrument it is the effect on those who come
# when they are asked (2 in these data):

# %%
print("least squares:", m.ols("wage ~ course + age").params["course"].round(2))
print(m.iv("wage ~ age + [course ~ trained]").summary())

# %% [markdown]
# An index of outcomes, and a joint test:

# %%
print(m.outcome_index(["wage", "hours"], scales={"wage": 3, "hours": 7}).tidy().to_string())
print(m.wald_test(["wage: trained = 0", "hours: trained = 0"]))

# %% [markdown]
# How close is it? The same regression on the confidential rows, which the custodian alone can run:

# %%
raw = dprct.ols("wage ~ trained + age + school", data, schema)
private = m.ols("wage ~ trained + age + school")
print(
    pd.DataFrame(
        {"raw": raw.params, "raw std err": raw.bse, "private": private.params,
         "private std err": private.bse, "of which noise": private.bse_noise}
    ).round(4)
)  # fmt: skip

# %% [markdown]
# ## Publish it
#
# The file holds released numbers and public facts. Readers load it and run their own regressions,
# in Python or with `dprct ols study.moments.json "wage ~ school"`.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = m.save(Path(folder) / "study.moments.json")
    print(path.name, path.stat().st_size, "bytes")
    theirs = dprct.Moments.load(path)
print(dprct.ols("wage ~ school + age", theirs).params.round(3).to_dict())

# %% [markdown]
# **Read next:** [answer readers without a server](validation_server.py),
# [private moments](../docs/private_moments.md).
