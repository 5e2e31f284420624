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
# # From a do-file to a replication package
#
# A replication folder has a data file that cannot be published and do-files that run on it. This
# page goes from there to a folder that can be published: the protected file lies where the
# confidential one lay, the do-files are untouched, and a list says of every regression whether its
# number means something. Two studies are taken: a programme for the poor (Banerjee and others; five
# outcomes, effects of 119 hamlets, a reader's do-file as it was written), and the eight outcomes of
# Blattman, Jamison and Sheridan (2017) in Liberia.
#
# Where the studies' files are not at hand (`DPRCT_PAPER_DATA` names their folder), rows of the same
# shape are made up, and the do-file is one of the same shape. Everything runs in a temporary
# folder.

# %%
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import dprct
from dprct.cli import main

out = Path(tempfile.mkdtemp())
here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
named = os.environ.get("DPRCT_PAPER_DATA")
shared = Path(named) if named else here.parents[1] / "shared" / "data"


def run(*words: object) -> None:
    """Run a command of dprct as in a shell."""
    print(f"$ dprct {' '.join(str(w).replace(str(out), '.') for w in words)}")
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        print(f"exit code {end.code or 0}\n")


# %% [markdown]
# ## 1. What the do-file runs
#
# `dprct regressions` reads a do-file and runs nothing. The first five regressions are plain, the
# other five absorb the hamlet; all have `if el1==1`: those who were found at the first endline.

# %%
OUTCOMES = [
    "asset_ind_tot_el1", "index_ctotal_el1", "index_foodsecurity_el1", "ind_increv_updated_el1",
    "ind_fin_el1",
]  # fmt: skip
poor = out / "poor" / "replication"
poor.mkdir(parents=True)


def made_up(rows: int = 990) -> pd.DataFrame:
    """Rows of the shape of the study."""
    rng = np.random.default_rng(4)
    found = {name: rng.normal(size=rows) for name in OUTCOMES}
    found |= {"treatment": rng.integers(0, 2, rows), "el1": (rng.uniform(size=rows) > 0.01)}
    found |= {"vil_ham": rng.integers(1, 120, rows)}
    return pd.DataFrame(found).astype(float)


lines = [f"reg {name} treatment if el1==1" for name in OUTCOMES]
lines += [f"areg {name} treatment if el1==1, absorb(vil_ham) robust" for name in OUTCOMES]
given = shared / "do_files" / "microcredit"
if given.is_dir():
    print("the study's rows and its do-file")
    rows, schema = dprct.read_dta(given / "Data.dta")
    shutil.copyfile(given / "Regression.do", poor / "Regression.do")
else:
    print("no file of the study here: rows are made up")
    rows = made_up()
    schema = dprct.Schema.from_frame(rows)
    text = "\n".join(['use "C:\\Users\\me\\Data.dta", clear', "* Table 1", *lines, ""])
    (poor / "Regression.do").write_text(text)
run("regressions", poor, "--treatment", "treatment")

# %% [markdown]
# ## 2. What only a person can say
#
# The confidential file holds those who were found (`el1==1`) and whose hamlet is known. This is
# done once, before anything is released: the do-file's `if el1==1` then holds for every row, which
# the study file says in public (`levels = [1]`, never missing). The indices are standardised by the
# control group; means and deviations of that group are printed in the paper, so that they are
# declared public constants. Bounds are three standard deviations; what lies beyond counts as the
# bound.

# %%
kept = rows[(rows["el1"] == 1) & rows["vil_ham"].notna()].reset_index(drop=True)
file = replace(schema.file, characteristics=(), timestamp="")
dprct.write_dta(kept, replace(schema, file=file), poor / "Data.dta")

columns = "".join(
    f"""
[columns.{name}]
fate = "modelled"
bounds = [-3, 3]
clip = true
missing = ["."]
missing_policy = "public"
built_from = "cohort"
constants_public = true
"""
    for name in OUTCOMES
)
study = poor.parent / "study.toml"
study.write_text(
    f"""version = 1
data = "replication/Data.dta"
dataset_id = "programme-for-the-poor"

[unit]
name = "household"

[release]
method = "calibrated"
epsilon = 8.0
formula = "{" + ".join(OUTCOMES)} ~ treatment"

[design]
kind = "simple"
arms = ["treatment"]

[calibrated]
covariate_release = "filler"
specifications = ["C(vil_ham)"]

[header]
confirm = true

[package]
folder = "replication"

[columns.treatment]
fate = "public"
levels = [0, 1]
missing = "never"

[columns.el1]
fate = "public"
levels = [1]
missing = "never"

[columns.vil_ham]
fate = "public"
bounds = [1, 200]
missing = "never"
{columns}"""
)

# %% [markdown]
# `dprct check` says before a cent is spent what each regression will be worth. Those with hamlet
# effects will be valid. The plain ones ask for classical errors, which are not those that are
# calibrated: their effects will be right, and `, robust` would make them valid.

# %%
run("check", study)

# %% [markdown]
# ## 3. The package
#
# One command protects the file and packs the folder. What is copied is on an allow-list; a log and
# an older data set, which are put here for the purpose, stay at home. The do-file names a path of
# another computer. No profile of Stata can fix that, so that the line is listed.

# %%
(poor / "Regression.log").write_text("mean of ind_fin_el1 = 0.1303558\n")
shutil.copyfile(poor / "Data.dta", poor / "Data_2015.dta")
raw = poor.parent / "custodian.html"
run("package", study, "--yes", "--custodian", raw)

# %%
package = poor.parent / "Data_package"
for path in sorted(package.rglob("*")):
    print(path.relative_to(package))
print((package / "valid.do").read_text())

# %% [markdown]
# A reader has the package and nothing else. `verify --do` gives the same verdicts, from what the
# file says of itself.

# %%
run("verify", package / "Data.dta", "--do", package / "Regression.do")

# %% [markdown]
# `report.html` shows the table cell by cell. The custodian's page has each confidential number next
# to it, and stays with the data; here are its widths for the regressions with hamlet effects.

# %%
released, released_schema = dprct.read_dta(package / "Data.dta")
for name in OUTCOMES:
    formula = f"{name} ~ treatment + C(vil_ham)"
    mine = dprct.ols(formula, released, released_schema)
    true = dprct.ols(formula, kept, schema)
    widths = [float(np.diff(fit.conf_int().loc["treatment"])[0]) for fit in (mine, true)]
    print(
        f"{name:24s} {mine.params['treatment']:7.3f} ({mine.bse['treatment']:.3f})   "
        f"width {widths[0]:.3f}, confidential {widths[1]:.3f}"
    )

# %% [markdown]
# ## 4. Another study: Liberia's eight outcomes
#
# The main table of the paper is eight regressions on three arms; a do-file with these, one with a
# subgroup and one with an interaction shows what becomes of the rest of a paper.

# %%
EIGHT = {
    "fam_asb_lt": (-5, 5), "drugssellever_ltav": (0, 1), "stealnb_ltav": (0, 70),
    "disputes_all_z_ltav": (-5, 5), "carryweapon_ltav": (0, 1), "arrested_ltav": (0, 1),
    "asbhostilstd_ltav": (-5, 5), "domabuse_z_ltav": (-5, 5),
}  # fmt: skip
ARMS = ["tpassonly", "cashassonly", "tpcashass"]
monrovia = out / "monrovia" / "replication"
monrovia.mkdir(parents=True)
path = shared / "liberia" / "liberia_round5.dta"
if path.is_file():
    print("the study's rows")
    rows, schema = dprct.read_dta(path)
    rows = rows[[*EIGHT, *ARMS, "age_b"]]
else:
    print("no file of the study here: rows are made up")
    rng = np.random.default_rng(6)
    arm = rng.integers(0, 4, 947)
    rows = pd.DataFrame({name: rng.normal(size=947) for name in EIGHT})
    rows = rows.assign(**{name: (arm == k) * 1.0 for k, name in enumerate(ARMS, 1)})
    rows = rows.assign(age_b=rng.integers(18, 36, 947) * 1.0)
    schema = dprct.Schema.from_frame(rows)
for name, (low, high) in EIGHT.items():
    rows[name] = rows[name].clip(low, high)
schema = schema.select(tuple(rows.columns))
schema = replace(schema, file=replace(schema.file, characteristics=(), timestamp=""))
dprct.write_dta(rows, schema, monrovia / "STYL.dta")
(monrovia / "tables.do").write_text(
    f"""use "$data/STYL.dta", clear
* Table 2
foreach y in {" ".join(EIGHT)} {{
    reg `y' {" ".join(ARMS)}, robust
}}
* Table 3
reg fam_asb_lt {" ".join(ARMS)} if age_b > 25, robust
gen young = age_b < 25
reg fam_asb_lt {" ".join(ARMS)} young, robust
reg fam_asb_lt {" ".join(ARMS)} age_b, robust
probit arrested_ltav {" ".join(ARMS)}
"""
)
columns = "".join(
    f"""
[columns.{name}]
fate = "modelled"
bounds = {list(bounds)}
missing = ["."]
missing_policy = "public"
built_from = "own"
"""
    for name, bounds in EIGHT.items()
) + "".join(
    f'[columns.{name}]\nfate = "public"\nlevels = [0, 1]\nmissing = "never"\n' for name in ARMS
)
study = monrovia.parent / "study.toml"
study.write_text(
    f"""version = 1
data = "replication/STYL.dta"
dataset_id = "monrovia"

[unit]
name = "man"

[release]
method = "calibrated"
epsilon = 8.0
formula = "{" + ".join(EIGHT)} ~ {" + ".join(ARMS)}"

[design]
kind = "complete"
arms = {ARMS}

[calibrated]
covariate_release = "filler"
specifications = ["age_b"]
attrition = true

[header]
confirm = true

[package]
folder = "replication"

{columns}
[columns.age_b]
fate = "modelled"
bounds = [5, 65]
missing = ["."]
"""
)
run("check", study)
run("package", study, "--yes")
print((monrovia.parent / "STYL_package" / "profile.do").read_text())

# %% [markdown]
# ## What this does not do
#
# - No Stata ran here: the do-files were read, and the regressions of the report were run by
#   `dprct.ols`, which is tested against Stata's numbers.
# - A subgroup, a variable that the do-file makes, or a probit is an artefact on this file. The
#   verdicts say what would help: declare the variable before the release, or release moments with
#   the subgroup as groups.
# - Whether a file that you name as public is public, nobody can say but you.

# %%
shutil.rmtree(out)

# %% [markdown]
# **Read next:** [from do-file to package](../docs/paper_to_package.md),
# [check a package](../docs/for_data_editors.md).
