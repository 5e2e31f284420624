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
# # From a do-file's regression to the paper's table, on both files
#
# A replication package has a Stata file, a do-file and a paper with tables. Somebody who
# regenerates the tables needs three things: the table that the paper printed, the same table on the
# protected file, and papers that tell a data editor which is which. This page goes from
#
#     reg got any age distvct, cluster(villnum)
#
# to all three, with Thornton's (2008) experiment: did a voucher bring people in to learn the
# result of their HIV test?
#
# You need the installed package, nothing else. Everything runs in a temporary folder.

# %%
import json
import shutil
import tempfile
from pathlib import Path

import dprct
from dprct.cli import main
from dprct.cli.demo import demo_file

folder = Path(tempfile.mkdtemp())
original = shutil.copy(demo_file("thornton_hiv.dta"), folder)
data, schema = dprct.read_dta(original)

# %% [markdown]
# ## 1. The do-file's line, in Python
#
# `reg ..., cluster(villnum)` is `ols` with `cluster`: CR1 standard errors, t with one degree of
# freedom less than there are clusters, rows with a missing value left out.

# %%
clustered = dprct.ols("got ~ any + age + distvct", data, schema, cluster="villnum")
print(clustered.summary())

# %% [markdown]
# A paper sets several such fits side by side. `etable` takes labels from the Stata file; rows that
# a paper adds by hand are added by hand.

# %%
short = dprct.ols("got ~ any", data, schema, cluster="villnum")
printed = dprct.etable(
    [short, clustered],
    schema,
    drop=["Intercept"],
    rows={"Clustered by": ["village", "village"]},
    style="aer",
    title="Learning the result",
)
print(printed)

# %% [markdown]
# A table of effects has one row per outcome and the mean of the control group next to each effect:
# `itt_table`. It takes the same options, and adjustments for several hypotheses.

# %%
effects = dprct.itt_table(
    data,
    schema,
    outcomes=["got"],
    arms={"any": "Any voucher"},
    covariates={"No controls": [], "Age, distance": ["age", "distvct"]},
    cluster="villnum",
    title="Learning the result",
)
print(effects)

# %% [markdown]
# Every table is also LaTeX (for `booktabs` and `siunitx`), HTML, CSV and a data frame of
# unrounded numbers.

# %%
print(printed.to_latex())

# %%
effects.to_frame()

# %% [markdown]
# ## 2. Declare the tables once, in the study file
#
# The demo's study file says what may be published about every column. We add the tables, and what
# a data editor will ask. The village number is released as filler: it keeps the layout of the file
# and carries no information. So a table that clusters by village needs the confidential file, and
# the study declares its robust twin for everybody else.

# %%
TABLES = """
[availability]
title = "The Demand for, and Impact of, Learning HIV Status"
authors = "Rebecca L. Thornton"
access = "The original data are public; here they stand for confidential ones."

[[table]]
name = "table4"
title = "Learning the result, clustered by village"
outcomes = ["got"]
arms = ["any"]
covariates = ["age", "distvct"]
cluster = "villnum"
layout = "aer"

[[table]]
name = "table4_robust"
title = "Learning the result, robust standard errors"
outcomes = ["got"]
arms = ["any"]
covariates = { "No controls" = [], "Age, distance" = ["age", "distvct"] }
layout = "aer"
"""
study = folder / "study.toml"
study.write_text(demo_file("thornton.toml").read_text("utf-8") + TABLES, encoding="utf-8")


def run(*arguments):
    """Run a command as a shell would, and return its exit code."""
    print("$ dprct", *arguments)
    try:
        main([str(folder / one) if (folder / one).exists() else one for one in arguments])
    except SystemExit as ended:
        return int(ended.code or 0)


# %%
run("check", "study.toml")

# %% [markdown]
# ## 3. Protect
#
# This is the only step that spends privacy. It writes the protected file with its certificate, and
# next to them, computed from the protected file alone, `thornton_protected.expected.csv`
# and `thornton_protected.README-data.md`.

# %%
run("protect", "study.toml", "--yes")

# %%
print((folder / "thornton_protected.README-data.md").read_text("utf-8"))

# %% [markdown]
# What the program cannot know stays a visible blank; fill it in under `[availability]`.
#
# ## 4. What the reader of the package runs
#
# The reader has the protected file, the study file and `thornton_protected.expected.csv`,
# and not the confidential file.

# %%
run("table", "study.toml")

# %%
run("table", "study.toml", "--latex")

# %% [markdown]
# The numbers are those that were shipped, or the command ends with 1 and shows which differ:

# %%
assert run("table", "study.toml", "--expect", "thornton_protected.expected.csv") == 0

# %%
edited = folder / "edited.csv"
lines = (folder / "thornton_protected.expected.csv").read_text("utf-8").splitlines()
changed = [line.rsplit(",", 1)[0] + ",0.5" if ",estimate," in line else line for line in lines]
edited.write_text("\n".join([*changed, ""]), encoding="utf-8")
assert run("table", "study.toml", "--expect", "edited.csv") == 1

# %% [markdown]
# Running `protect` again is no way to check them: it makes another file with other numbers and
# charges the ledger.
#
# ## 5. Original and protected, side by side
#
# For the custodian only: the first two columns are computed from the confidential file. The
# guarantee of the third is in its certificate.

# %%
protected, released_schema = dprct.read_dta(folder / "thornton_protected.dta")
certificate = json.loads((folder / "thornton_protected.certificate.json").read_text("utf-8"))
guarantee = dprct.Guarantee.from_dict(certificate["guarantee"])
formula = "got ~ any + age + distvct"
both = dprct.etable(
    {
        "Original, clustered": clustered,
        "Original": dprct.ols(formula, data, schema),
        "Protected": dprct.ols(formula, protected, released_schema, guarantee=guarantee),
    },
    schema,
    stats=["nobs", "rsquared", "cov_type"],
    title="The same regression on both files",
)
print(both)
print(both.to_latex())

# %% [markdown]
# The effect of the voucher survives, because it is large and its cells are full. Read the other
# rows with care:
#
# - `age` and `distvct` were released in a few bins, within which values are uniform: their
#   coefficients are those of the binned variables, and noisy.
# - The standard errors in the last column do not contain the noise of the release.
# - Nothing of the villages was released, so people of one village are no more alike in the
#   protected file than others. Clustering there would be a number without a meaning, which is why
#   `dprct table` says that `table4` needs the confidential file.

# %%
shutil.rmtree(folder)

# %% [markdown]
# **Read next:** [from a do-file to a package](replication_package.py),
# [check a package](../docs/for_data_editors.md).
