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
# # A Stata file in, a protected Stata file out
#
# Thornton (2008) tested 4,820 people in rural Malawi for HIV and drew a voucher for some of them,
# to be had on coming to learn the result. Did the voucher bring people in? The file has a row for
# every person, so it cannot simply be published. This page makes a file that can, and says what
# exactly is guaranteed and what is lost.
#
# You need the installed package, nothing else. Everything runs in a temporary folder.

# %%
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

import dprct
from dprct.cli.demo import demo_file
from dprct.errors import BudgetError

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # fewer repetitions where only the code is checked

folder = Path(tempfile.mkdtemp())
original = shutil.copy(demo_file("thornton_hiv.dta"), folder)

# %% [markdown]
# ## 1. Before the data are opened
#
# `Schema.from_dta` reads the header of the file: names, types, formats, labels. It never touches
# the data. What the values *can* be is then declared from public knowledge: the questionnaire, the
# design, the map. A bound that is looked up in the data is a leak, which no later noise repairs.

# %%
schema = dprct.Schema.from_dta(original)
print(schema)

# %% [markdown]
# The main regression needs four columns, and coarsely: a file with few combinations of values is
# released well, a file with many is not. The village number stays for the layout, filled with noise
# that carries no information; the amount and the test result are withheld.

# %%
schema = schema.declare(
    dataset_id="thornton-2008",
    got=dict(levels=[0, 1], missing=[".a"], fate="modelled"),
    any=dict(levels=[0, 1], missing=[".a"], fate="modelled"),
    distvct=dict(bounds=(0, 6), bins=3, missing=["."], fate="modelled"),
    age=dict(bounds=(10, 90), bins=[20, 30, 40, 50], missing=["."], fate="modelled"),
    villnum=dict(bounds=(1, 145), missing=["."], fate="filler"),
    confirm_header=True,
).declare_rest("withheld")
schema = schema.seal()
print(schema.seal_of)

# %% [markdown]
# The seal dates and hashes the declaration; the certificate will carry it.
#
# ## 2. What it will cost, and how good it can be
#
# The plan is computed from public facts, so reading it is free.

# %%
data, schema = dprct.read_dta(original, schema)
model = dprct.MVHistogram(data, schema)
print(model.plan(epsilon=1))

# %% [markdown]
# `t` is the price in plain words: a combination that fewer than about `t` people share disappears.
# With epsilon = 0.1 the price is higher:

# %%
print(model.plan(epsilon=0.1))

# %% [markdown]
# ## 3. The release
#
# `fit` is the only step that touches privacy. An accountant holds the whole budget of these people;
# a second release that does not fit is refused before anything is drawn.

# %%
accountant = dprct.Accountant(epsilon=1)
release = model.fit(epsilon=1, accountant=accountant)
print(release.summary())

# %%
try:
    model.fit(epsilon=1, accountant=accountant)
except BudgetError as error:
    print(error)

# %%
certificate = release.write_dta(folder / "thornton_protected.dta")
print(certificate)

# %% [markdown]
# ## 4. The same regression on both files
#
# `ols` gives Stata's `regress got any, robust`. The first table is a custodian's view: it is
# computed from the confidential data and must not be published.

# %%
raw = dprct.ols("got ~ any", data, schema)
protected, released_schema = dprct.read_dta(folder / "thornton_protected.dta")
synthetic = dprct.ols("got ~ any", protected, released_schema, guarantee=release.guarantee)
print(raw.summary())
print(synthetic.summary())

# %% [markdown]
# The standard error on the protected file does not know of the privacy noise. How large that is can
# be simulated, with a seed: such a run is marked "for simulation only" and cannot be written.

# %%
repetitions = 20 if QUICK else 200


def effect(table):
    """The difference in the share of those who came, with and without a voucher."""
    came, voucher = table["got"].to_numpy(), table["any"].to_numpy()
    return np.nanmean(came[voucher == 1]) - np.nanmean(came[voucher == 0])


draws = [effect(model.fit(epsilon=1, rng=seed).protected) for seed in range(repetitions)]
print(f"original {effect(data):.3f}")
print(f"protected {np.mean(draws):.3f}, standard deviation {np.std(draws):.3f}")

# %% [markdown]
# ## 5. What differs, and nothing else
#
# `compare` goes through every facet of both files. What the certificate names is permitted; there
# must be nothing else.

# %%
difference = dprct.compare(original, folder / "thornton_protected.dta")
print(difference)
assert not difference.unexpected

# %% [markdown]
# ## What this file is not good for
#
# - Subgroups that few people share are gone, and with them tails and rare codes.
# - Within a bin every value is uniform: `distvct` has three steps, not metres.
# - Only `got`, `any`, `distvct` and `age` carry information.
# - For an effect with an honest interval, release the effect itself rather than a whole file.

# %%
shutil.rmtree(folder)

# %% [markdown]
# **Read next:** [a private effect](private_effects.py), [which method](../docs/which_method.md).
