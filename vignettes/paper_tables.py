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
# # All tables of an experiment on one budget
#
# An experiment of the size of Blattman, Jamison and Sheridan (2017) in Liberia: 947 men, three arms
# (therapy, cash, both), eight outcomes on crime and violence. The tables of such a paper are many:
# effects of all arms on all outcomes, an index of them, joint tests, the same with covariates and
# among subgroups. Released one by one, each effect would get a part of the budget. Here all of them
# are read off one release of moments, and every table stands next to the raw one.
#
# Put `liberia_round5.dta`, made from the replication package of the study, into a folder, and name
# it in `DPRCT_PAPER_DATA`. Without it an experiment of the same design and size is made up, and the
# page says so.

# %%
import os
from pathlib import Path

import numpy as np
import pandas as pd

import dprct

# in the repository only: run this page with the Python of its `make test`
from papers.rct import liberia

QUICK = bool(os.environ.get("DPRCT_QUICK"))  # one budget where only the code is checked
BUDGETS = (4.0,) if QUICK else (1.0, 2.0, 4.0)
OUTCOMES = {
    "fam_asb_lt": "Antisocial behaviours (z)",
    "drugssellever_ltav": "Usually sells drugs",
    "stealnb_ltav": "Thefts in two weeks",
    "disputes_all_z_ltav": "Disputes and fights (z)",
    "carryweapon_ltav": "Carries a weapon",
    "arrested_ltav": "Arrested in two weeks",
    "asbhostilstd_ltav": "Hostility (z)",
    "domabuse_z_ltav": "Domestic abuse (z)",
}
ARMS = dict(liberia.ARMS)


# %%
def made_up(n: int = 947) -> pd.DataFrame:
    """An experiment of the same design, with effects of no study."""
    rng = np.random.default_rng(6)
    arm = rng.integers(0, 4, n)
    lean = rng.normal(size=n) - 0.25 * (arm == 3) - 0.1 * (arm == 1)
    noise = rng.normal(size=(n, len(OUTCOMES)))
    z = 0.5 * lean[:, None] + np.sqrt(0.75) * noise
    found = {name: z[:, j] for j, name in enumerate(OUTCOMES)}
    for name in ("drugssellever_ltav", "carryweapon_ltav", "arrested_ltav"):
        found[name] = (found[name] > 1.2).astype(float)
    found["stealnb_ltav"] = np.exp(found["stealnb_ltav"]).round()
    for k, name in enumerate(ARMS, 1):
        found[name] = (arm == k).astype(float)
    found["age_b"] = rng.integers(18, 36, n).astype(float)
    found["asbhostil_b"] = 0.4 * lean + rng.normal(size=n)
    return pd.DataFrame(found)


def given() -> pd.DataFrame | None:
    """Return the study's rows, where there are some."""
    here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
    named = os.environ.get("DPRCT_PAPER_DATA")
    folder = Path(named) if named else here.parents[1] / "shared" / "data"
    path = liberia.find(folder) if folder.is_dir() else None
    return None if path is None else liberia.read(path)


read = given()
print("the study's rows" if read is not None else "no file of the study here: rows are made up")
source = made_up() if read is None else read
columns = [*OUTCOMES, *ARMS, "age_b", "asbhostil_b"]

# %% [markdown]
# ## What is public
#
# Bounds are those that the authors of "Assessing Utility of Differential Privacy for RCTs" gave;
# nothing of them is read off the rows. `sd` and `centre` are what one would say before the survey:
# indices have mean 0 and standard deviation 1, and few people are arrested in two weeks. A missing
# outcome is declared to be the centre, which draws effects a little towards 0 where many miss.
#
# `built_from="own"` says that a column is a function of a person's own record and of public
# constants. The study standardised its indices by means and deviations of its sample: whoever
# releases it has to make these constants public, or to make the indices with others.

# %%
bounds = {name: (-5, 5) for name in OUTCOMES}
bounds |= dict.fromkeys(("drugssellever_ltav", "carryweapon_ltav", "arrested_ltav"), (0, 1))
bounds |= {"stealnb_ltav": (0, 70), "age_b": (5, 65), "asbhostil_b": (-5, 5)}
sd = dict.fromkeys([*OUTCOMES, "asbhostil_b"], 1.0)
sd |= dict.fromkeys(("drugssellever_ltav", "carryweapon_ltav", "arrested_ltav"), 0.3)
sd |= {"stealnb_ltav": 4.0, "age_b": 5.0}
centre = dict.fromkeys([*OUTCOMES, "asbhostil_b"], 0.0)
centre |= dict.fromkeys(("drugssellever_ltav", "carryweapon_ltav", "arrested_ltav"), 0.1)
centre |= {"stealnb_ltav": 2.0, "age_b": 25.0}

data = source[columns].copy()
for name, (low, high) in bounds.items():
    data[name] = data[name].clip(low, high)  # what the bounds mean
schema = dprct.Schema(
    tuple(dprct.Column(name) for name in columns), dataset_id="tables of an experiment"
).declare(
    **{
        name: {
            "bounds": bounds[name],
            "sd": sd[name],
            "centre": centre[name],
            "missing": (".",),
            "missing_policy": centre[name],
            "built_from": "own",
        }
        for name in bounds
    },
    **{name: {"levels": [0, 1], "missing": "never", "exclusive": "arm"} for name in ARMS},
)
filled = data.fillna(centre)

# %% [markdown]
# ## One release
#
# Who was in which arm is private, too; the numbers of the arms are released with the rest. Shares
# of the design are not given, so that no share of the rows is checked against it.

# %%
model = dprct.PrivateMoments(
    data,
    schema,
    columns=[*OUTCOMES, "age_b", "asbhostil_b"],
    assignment=dprct.Simple(tuple(ARMS)),
)
print(model.plan(epsilon=BUDGETS[-1], delta=1e-6))
released = {epsilon: model.fit(epsilon=epsilon, delta=1e-6) for epsilon in BUDGETS}
m = released[BUDGETS[-1]]

# %% [markdown]
# ## Table 1: effects of three arms on eight outcomes
#
# First the custodian's own, then what is published. The estimand of the release is the effect on
# each outcome clipped at its own bounds, which the results name.

# %%
raw = dprct.itt_table(filled, schema, outcomes=OUTCOMES, arms=ARMS)
print(raw.to_text(notes=False))
print(m.itt_table(OUTCOMES, arms=ARMS).to_text(notes=False))

# %% [markdown]
# How much of each error is privacy, at each budget:

# %%
shown = {}
for epsilon, one in released.items():
    found = one.effects(list(OUTCOMES))
    scale = np.array([sd[name] for name in OUTCOMES for _ in ARMS])
    shown[f"epsilon {epsilon:g}"] = {
        "median error, sd": float(np.median(found.bse / scale)),
        "of which noise": float(np.median(found.bse_noise / scale)),
    }
print(pd.DataFrame(shown).T.round(3))

# %% [markdown]
# ## Table 2: all eight in one number, and joint tests
#
# An index in public standard deviations (Kling, Liebman and Katz 2007), and for each outcome the
# test that no arm has an effect.

# %%
index = m.outcome_index(list(OUTCOMES), scales={name: sd[name] for name in OUTCOMES})
z = sum((filled[name] - centre[name]) / sd[name] for name in OUTCOMES) / len(OUTCOMES)
indexed = filled.assign(z=z)
wide = dprct.Schema((*schema.columns, dprct.Column("z", bounds=(-20, 20), missing=())))
by_rows = dprct.ols(f"z ~ {' + '.join(ARMS)}", indexed, wide)
print(
    pd.DataFrame(
        {"raw": by_rows.params.iloc[1:].to_numpy(), "raw error": by_rows.bse.iloc[1:].to_numpy(),
         "private": index.params.to_numpy(), "private error": index.bse.to_numpy(),
         "of which noise": index.bse_noise.to_numpy()}, index=list(ARMS.values())
    ).round(3)
)  # fmt: skip
for name, label in OUTCOMES.items():
    test = m.wald_test([f"{name}: {arm} = 0" for arm in ARMS])
    print(f"{label}: chi2({test.df}) = {test.statistic:.2f}, p = {test.pvalue:.3f}")

# %% [markdown]
# ## Table 3: with covariates
#
# Age and hostility at baseline on the right. Any other set of released columns costs nothing more.

# %%
formula = f"asbhostilstd_ltav ~ {' + '.join(ARMS)} + age_b + asbhostil_b"
rows, published = dprct.ols(formula, filled, schema), m.ols(formula)
print(
    pd.DataFrame(
        {"raw": rows.params, "raw error": rows.bse, "private": published.params,
         "private error": published.bse, "of which noise": published.bse_noise}
    ).round(3)
)  # fmt: skip
print(published.notes)

# %% [markdown]
# ## What it says
#
# One budget pays for all tables, and for those that a referee asks for later. At epsilon 4 the
# noise of an effect is about as large as its sampling error; at epsilon 1 it is several times that,
# so that only large effects would be seen with 240 people in an arm. The intervals contain both.
#
# **Read next:** [several releases on one budget](../docs/several_releases.md),
# [from a do-file to a package](replication_package.py).
