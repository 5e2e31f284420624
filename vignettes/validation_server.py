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
# # A validation server that nobody has to run
#
# A custodian holds a trial of 200 villages. Instead of answering readers one by one for years, she
# releases one document, and readers run their regressions on it. Then a referee asks for a column
# that it does not hold, and a coding error is found.
#
# You need the installed package, nothing else; the data are made up.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

rng = np.random.default_rng(3)
n = 6000
village = np.arange(n) // 30
treat = village % 2.0
data = pd.DataFrame({
    "village": village, "treat": treat, "district": village // 2 % 5 * 1.0,
    "female": rng.integers(0, 2, n) * 1.0, "age": rng.uniform(20, 60, n),
    "income": (11 + 1.5 * treat + 0.8 * rng.normal(size=200)[village]
               + 3 * rng.normal(size=n)).clip(0, 25),
    "works": (rng.random(n) < 0.5 + 0.05 * treat) * 1.0,
})  # fmt: skip

# %% [markdown]
# ## What is public
#
# The design, and scales that a questionnaire or another survey gives. Who lives in which
# village and which villages were treated is known to everybody there.

# %%
never = {"missing": "never"}
schema = dprct.Schema(
    tuple(dprct.Column(name) for name in data.columns), dataset_id="villages"
).declare(
    income={"bounds": (0, 25), "sd": 3.5, "centre": 11, **never},
    works={"levels": [0, 1], **never},
    treat={"levels": [0, 1], **never},
    female={"levels": [0, 1], **never},
    age={"bounds": (20, 60), "sd": 12, "centre": 40, **never},
    district={"levels": [0, 1, 2, 3, 4], **never},
    village=never,
)
design = dprct.BlockCluster("treat", block="district", cluster="village", shares=0.5, icc=0.1)
paper = ["income ~ treat + age + female", "works ~ treat + age + female"]


def release_of(formulas):
    return dprct.PrivateMoments(
        data, schema, assignment=design, formulas=formulas, neighbors="replace-one-design-public"
    )


# %% [markdown]
# ## The custodian, once
#
# The plan reads public facts alone. It is printed, signed, and only then are the data asked.

# %%
model = release_of(paper)
plan = model.plan(epsilon=4, delta=1e-6)
print(plan)

# %%
folder = Path(tempfile.mkdtemp())
ledger = dprct.Accountant.open(
    folder / "villages.ledger.json",
    epsilon=8, delta=1e-5, composition="gdp", dataset_id="villages",
)  # fmt: skip
document = model.fit(epsilon=4, delta=1e-6, accountant=ledger).save(
    folder / "villages.moments.json"
)
print(document.name, document.stat().st_size, "bytes; spent:", ledger.spent)

# %% [markdown]
# ## Readers, for ever
#
# They have the document and nothing else. From a shell the same is
# `dprct ols villages.moments.json "income ~ treat + age + female"`.

# %%
m = dprct.Moments.load(document)
fits = [m.ols(formula) for formula in paper]
print(dprct.etable(fits).to_text(notes=False))
print(m.margins(paper[1], family="logit").tidy().round(4).to_string())

# %% [markdown]
# ## A referee
#
# She wants income without sex among the covariates, and the effect on work by sex. How much
# would it have cost before, and what does it cost now?

# %%
more = ["income ~ treat + age", "works ~ treat*female"]


def errors(formulas, epsilon):
    table = release_of(formulas).plan(epsilon=epsilon, delta=1e-6).to_frame()
    return table[table["quantity"] == "std_error"].set_index(["regression", "term"])["value"]


print(
    pd.DataFrame({
        "declared at first": errors([*paper, *more], 4),
        "a second release": errors(more, 1),
        "the first as it is": errors(paper, 4),
    }).round(4).to_string()
)  # fmt: skip

# %%
referee = release_of(more).fit(epsilon=1, delta=1e-6, accountant=ledger)
print(dprct.etable([referee.ols(formula) for formula in more]).to_text(notes=False))
print("spent:", ledger.spent, "; left:", ledger.remaining)

# %% [markdown]
# Gaussian releases add up by their squares, so that both together are less than their sum.
#
# ## A corrected release
#
# Income of district 4 was coded in the wrong unit. The corrected data are about the same people:
# the same ledger pays the whole price again, for the regressions that were wrong and for no others.

# %%
data = data.assign(income=data["income"].where(data["district"] != 4, data["income"] * 0.9))
corrected = release_of(paper[:1]).fit(epsilon=2, delta=1e-6, accountant=ledger)
print(corrected.ols(paper[0]).tidy().round(3).to_string())
print("spent:", ledger.spent, "; left:", ledger.remaining)
print(ledger)

# %% [markdown]
# **Read next:** [answer readers without a server](../docs/validation_server.md),
# [several releases](../docs/several_releases.md).
