"""What the page says of each key of a study file: its label, what it is for, and what to type.

The page of the documentation on the study file is written from the same words.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from dprct.annotations import STUDY_FILE
from dprct.schema.columns import shown
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from dprct.annotations import Kinds
    from dprct.schema.schema import Schema

FACTS: Mapping[str, str] = {
    "fate": "What the protected file shows of the column ([what each means](first_file.md)). An "
    "estimate shows no column, so its columns need no fate.",
    "levels": "Every possible value. Text is modelled with its levels alone.",
    "bounds": "Smallest and largest possible number.",
    "bins": "Number of equal bins within the bounds, or the inner edges of the bins.",
    "missing": 'The missing codes that may occur, such as `[".", ".a"]`.',
    "missing_policy": "How estimates treat missing values: public (who has a value is public), "
    "private (who has one stays private), or a number to impute.",
    "role": "The role of the column in the study; usually the formula and `[design]` state it.",
    "built_from": "Whether a value depends on its own row alone (own) or also on other people, "
    "like an index that is standardised in the sample (cohort).",
    "constants_public": "Whether the constants of such an index are published numbers.",
    "sd": "Its approximate standard deviation, from public knowledge: it scales noise and "
    "planned errors.",
    "sd_within": "The same for deviations from the mean of a unit that has several rows.",
    "centre": "Its approximate mean, from public knowledge.",
    "clip": "Whether values beyond the bounds are set to the nearest bound; otherwise they are "
    "refused.",
    "integer": "Whether all its values are whole numbers.",
    "coordinates": "Whether it is a latitude or longitude, which has to be withheld, a key or "
    "dropped.",
    "confirmed": "Whether type, format and label of this column may be published.",
    "decimals": "Number of decimals of its values.",
    "made_of": "Other columns from which it was made, if no expression states how. A column made "
    "from an arm cannot be a covariate or a subgroup.",
    "exclusive": "A name shared by columns of which at most one is 1 in a row, such as arms.",
    "derived": "An expression of other columns, from which the protected file computes it.",
    "label": "Its label in the protected file, if not that of the header.",
    "format": "Its format in the protected file, such as %9.2f.",
}
"""What the facts of a column mean."""

_LABELS: Mapping[str, str] = {
    "kind": "How treatment was assigned",
    "arms": "Arms",
    "arm": "The one column that holds the group",
    "shares": "Probability of each arm",
    "control_share": "Probability of no arm",
    "block": "Blocks (strata)",
    "cluster": "Clusters",
    "largest": "Most rows of a cluster",
    "icc": "Correlation within clusters, at most",
    "formula": "Regression",
    "formulas": "Regressions to serve best",
    "rest": "All other columns",
    "sample": "Only these rows",
    "zeta": "Bins by sample size",
    "accept_large_delta": "Accept a delta above 1/n",
    "max_rows": "Most rows of one unit",
    "id": "Column that identifies the unit",
    "name": "Name",
    "by": "Who declares the public facts",
    "confirm": "Go on although the plan refuses",
    "output": "Name of the file that is made",
    "do": "Do-files",
    "sd": "Standard deviation",
    "bounds": "Smallest, largest",
    "levels": "Possible values",
    "missing": "Missing codes",
    "fate": "What readers get",
    "trim": "Trim propensities at",
    "lam": "Ridge penalty",
    "clip": "Count values beyond the bounds as the bound",
    "integer": "Whole numbers only",
    "missing_policy": "Where it is missing",
    "built_from": "Made of",
    "constants_public": "Constants of the index are public",
    "sd_within": "Standard deviation within a unit",
    "made_of": "Made of these columns",
    "exclusive": "Name of the group of which one is 1",
    "centre": "Mean, about",
    "derived": "Computed as",
    "coordinates": "It is a latitude or a longitude",
    "confirmed": "Type, format and label may be published",
    "epsilon_x": "Epsilon of the covariates",
    "keep": "Notes to keep",
    "published": "Numbers that the paper prints",
    "disjoint": "Why nobody is in two of these data sets",
    "neighbors": "Whether treatment is protected",
    "cov_type": "Kind of errors",
    "relation": "Promise of every release",
    "separate": "Why it is a budget of its own",
    "outcome_share": "Share of epsilon for means",
    "cluster_mean_bounds": "Bounds of cluster means",
    "alphas": "Sizes of tests",
    "specifications": "Other covariate sets",
    "budget_shares": "Shares of epsilon",
    "folder": "Replication folder",
    "public": "Other files that may be published",
    "unread": "Files that you vouch for",
    "studies": "Other study files",
    "merge": "Files that were merged",
    "count_effects": "Errors count the fixed effects",
    "x_method": "How covariates are made",
    "pre_fit": "Release the fit before treatment",
    "hajek": "Divide by the sums of weights",
    "where": "Rows that it is about",
    "family": "Kind of model",
    "joint": "Tested together with",
}
"""Labels of keys whose own name is not yet one."""

_LABELS_OF = {("package", "output"): "Name of the folder that is made"}

HELP: Mapping[tuple[str, str], str] = {
    ("release", "epsilon"): "What this release may cost: small is safe and noisy.",
    ("release", "delta"): "The probability of an exception to the promise: 0, or far below one "
    "over the number of people.",
    ("release", "zeta"): "For numbers without bins: their number of bins grows with this power of "
    "the number of rows.",
    ("release", "outcome_share"): "The share of epsilon for the means of main answers within "
    "their bins. If empty, a quarter.",
    ("release", "confirm"): "The plan refuses a release that would be mostly noise. This makes it "
    "anyway.",
    ("release", "accept_large_delta"): "Plan and certificate then begin with what that means.",
    (
        "release",
        "output",
    ): "Its name, in the folder of your data. If empty, it is named after them.",
    ("release", "keep"): "Notes of the .dta file that may be published, such as note1.",
    ("release", "formula"): "Outcomes, then ~, then treatment and covariates, such as income ~ "
    "cash + age. C(village) stands for a dummy of each village.",
    ("unit", "name"): "What one protected unit is called: person, household, firm.",
    ("unit", "id"): "Only where somebody has several rows.",
    ("unit", "max_rows"): "Only where somebody has several rows: the most that anybody has. They "
    "are protected together, and noise grows with this number.",
    ("budget", "epsilon"): "The most that all releases of these data may ever cost together. If "
    "empty, the cost of this release.",
    ("budget", "delta"): "The same for delta.",
    ("budget", "relation"): "Which promise every release has to keep. If empty, any.",
    ("budget", "separate"): "Why these data may have a second budget, besides that of the ledger "
    "next to them. The certificate states the reason.",
    ("header", "columns"): "If not all: the names of those that you confirm, such as hh_*. _dta "
    "stands for the label and notes of the file itself.",
    ("declared", "by"): "A name or an office. The certificate names it.",
    ("study", "columns"): "If not all: their names. hh_* stands for all that begin so.",
    ("study", "rest"): "What becomes of all other columns.",
    ("study", "sample"): "Rows that meet a condition, such as attrit == 0 & round > 1. Its columns "
    "must be public.",
    ("package", "do"): "In the folder of the data. Step 5 then gives a verdict on each of their "
    "regressions.",
    ("package", "folder"): "The folder of your replication files, next to the data. Those that may "
    "be published are copied. Do-files are in it, and are named with it: replication/tables.do.",
    ("package", "public"): "Files of that folder that may be published as they are, such as a "
    "codebook, named with it. Each is searched for rows of your data.",
    ("package", "unread"): "Such files that cannot be searched, like a PDF or a picture: you "
    "looked at each, and vouch that it holds no rows of people.",
    ("package", "output"): "The folder that goes to the journal. If empty, it is named after the "
    "data.",
    ("package", "studies"): "Study files of other data about the same people, next to these. All "
    "are charged to one ledger.",
    ("package", "merge"): "The confidential files that were merged, one row for each person, to "
    "make these data. Readers get files of the same names.",
    ("package", "disjoint"): "For example: two states. Each data set then has a budget of its own.",
    ("package", "published"): "A .csv next to the data with columns file, line, outcome, term, "
    "estimate and error. They are set beside the released ones.",
    ("design", "kind"): "It decides which errors are valid.",
    ("design", "arms"): "Columns of 0 and 1, one for each arm. Or, where one column holds the "
    "group, its groups, the control group first.",
    ("design", "arm"): "Where the group is a text or a code in one column: that column.",
    ("design", "block"): "The column that says in which block a row is; several are combined.",
    ("design", "cluster"): "The column that says in which cluster a row is, such as a village.",
    ("design", "largest"): "The most rows that a cluster can have. It is needed to protect whole "
    "clusters.",
    ("calibrated", "specifications"): "Other covariates with which the paper runs the regression: "
    "it returns the same effects with them.",
    ("calibrated", "alphas"): "Sizes of tests for which intervals are valid, such as 0.05.",
    ("regression", "formula"): "The outcome, then ~, then treatment and covariates, such as income "
    "~ cash + age. With income ~ cash | village each village has an effect; with income ~ age + "
    "[trained ~ cash], cash is the instrument of trained.",
    ("regression", "where"): "Only these rows, such as female == 1 & region <= 3: codes, and not "
    "their labels.",
    ("regression", "weights"): "The column of its sampling weights (pweights).",
    ("regression", "cluster"): "The column by which its errors are clustered, or two with a comma "
    "between them. If empty, as treatment was assigned.",
    ("regression", "name"): "What its numbers are called, such as table2_women.",
    ("regression", "family"): "If empty, least squares.",
    ("regression", "joint"): "Regressions with one word here are tested together, as after suest.",
    ("moments", "formulas"): "One for each regression, such as income ~ cash + age. They are "
    "public, and decide which numbers get the least noise.",
    ("ipw", "treatment"): "The column that says who took part, as 0 or 1.",
    ("table", "outcomes"): "Each is a row, or a column, of the table.",
    ("table", "arms"): "Treatment columns of 0 and 1.",
    ("table", "covariates"): "Such as age or C(village).",
    ("table", "blocks"): "Each of their values gets a dummy.",
    ("table", "control"): "The column of the control group, if there is one.",
    ("table", "errors"): "HC1, HC0, HC2, HC3, nonrobust or cluster.",
    ("table", "cluster"): "The column by which errors are clustered.",
    ("moments", "neighbors"): "With treatment protected, too, fewer regressions are served.",
    ("private_ate", "neighbors"): "With treatment protected, too, its probabilities are public.",
    ("table", "weights"): "The column of weights.",
    ("table", "where"): "Only these rows, such as female == 1 & region <= 3.",
    ("table", "weights_type"): "As in Stata: aweight, fweight or pweight.",
    ("table", "alternative"): "two-sided or one-sided.",
    ("table", "distribution"): "t or normal.",
    ("table", "sample"): "Rows that are complete for each outcome (complete-per-outcome), or for "
    "all (complete).",
    ("table", "adjust"): "For several tests: bonferroni, holm, westfall-young or romano-wolf.",
    ("table", "families"): "Tests that are adjusted together: all, outcome or arm.",
    ("table", "draws"): "Number of draws, for westfall-young and romano-wolf.",
    ("table", "seed"): "Seed of the draws, for westfall-young and romano-wolf.",
}
"""What a field is for, where what the documentation says is for other readers."""

_TREATMENT = {
    "replace-one-design-public": "who was treated is public",
    "replace-one": "who was treated is protected, too",
}
WORDS: Mapping[str, Mapping[str, str]] = {"neighbors": _TREATMENT, "relation": _TREATMENT}
"""What the choices of a field are called, by its key."""

_TAKES: Mapping[str, str] = {
    "text in quotes": "text",
    "a list of texts": "names with commas between them",
    "a list of numbers": "numbers with commas between them",
    "a list of texts or numbers": "values with commas between them",
    "two numbers in brackets": "two numbers, such as 0, 40",
    "two texts in brackets": "two names with a comma between them",
    "a table of numbers": "by name, such as income: 0.6; works: 0.4",
    "a table of whole numbers": "by name, such as income: 3",
    "a table": "by name, such as income: 0.05",
    "a table of lists": "by name, such as income: 0, 40; works: 0, 1",
    "a table of texts": "by name, such as income: 0.8 * before",
    "a table of tables": "the factors in the study file, at the foot of this page",
    "a list of lists": "pairs, such as age & female; age & school",
    "true or false": "yes or no",
}
"""What a person types into a field."""

METHOD_NAMES: Mapping[str, tuple[str, str]] = {
    "calibrated": ("A file on which your regression runs", "Readers run the paper's regression on "
                   "made-up rows, and it returns private effects with valid errors."),
    "moments": ("Effects and regressions, as numbers", "One release of sums from which all tables "
                "of effects are computed, with covariates and subgroups."),
    "private_ate": ("Average effects, as numbers", "Differences in means between the arms, with "
                    "as little noise as there can be."),
    "cate": ("How an effect varies", "The effect of treatment by age, schooling and the like."),
    "ipw": ("The effect of what people chose", "Adjusted for covariates that explain who took "
            "part."),
    "mv_histogram": ("A file of a few columns together", "Made-up rows from the table of all "
                     "combinations of a few columns."),
    "marginals": ("A file, column by column", "Made-up rows in which each column is right by "
                  "itself, and columns are unrelated."),
    "private_additive": ("How a mean varies", "The mean of an outcome by age, schooling and the "
                         "like."),
    "synthetic_control": ("Synthetic control", "The path of one treated unit without treatment, "
                          "made of others whose series stay private."),
    "published_mv_histogram": ("Algorithm 1, as it was published", "A file of a few columns."),
    "published_hybrid": ("Algorithm 2, as it was published", "A file of an experiment."),
    "published_gen_model": ("Algorithm 3, as it was published", "A file of an experiment."),
}  # fmt: skip
"""What each method is called on the page, and what one gets."""

IN_A_SURVEY: Mapping[str, tuple[str, str]] = {
    "moments": ("Regressions, as numbers", "One release of sums from which the regressions that "
                "you declare are computed."),
}  # fmt: skip
"""The same where nobody was treated."""

TITLES: Mapping[str, str] = {
    "release": "What is released",
    "unit": "Who is protected",
    "budget": "The most that these people may ever be charged",
    "header": "Confirm only some columns",
    "declared": "Who declares the public facts",
    "design": "Design of the experiment",
    "informed": "Published method",
    "availability": "What a data editor asks",
    "study": "Only some columns or rows",
    "package": "Do-files and replication package",
    "prepare": "File of public facts",
    "table": "Table of the paper",
    "regression": "Regression",
}
"""Heading of each section that is no method."""

_PARAMETERS = "Parameters\n----------\n"


_WRITTEN = re.compile(
    r"(?:\[+(\w+)\]+ )?\b([a-z]\w*) = "
    r"(\"[^\"]*\"|true|false|\[[^\]]*\]|[-+.\d][-+.\de]*)(?: (?:in|under) \[+\w+\]+)?"
)
_SECTION = re.compile(r"\[+(\w+)\]+")
_UNDERSCORED = re.compile(r"(?<!['\w])([a-z]+(?:_[a-z]+)+)(?!['\w.])")


def in_fields(said: str, keys: Container[str]) -> str:
    """Sentence in the words of the page: the labels of fields, where a study file has keys.

    Examples
    --------
    >>> keys = {"missing", "max_rows", "method", "attrition"}
    >>> in_fields('declare missing = "never", or give max_rows', keys)
    'declare “Missing codes: never”, or give “Most rows of one unit”'
    >>> in_fields('[release] method = "mv_histogram" in [release] has no attrition = true', keys)
    '“A file of a few columns together” has no “Attrition: yes”'
    """

    def written(found: re.Match[str]) -> str:
        key, value = found[2], found[3].strip('"[]').replace('"', "")
        if key not in keys and key not in FACTS:
            return found[0]
        if key == "method" and value in METHOD_NAMES:
            return f"“{METHOD_NAMES[value][0]}”"
        words = {"true": "yes", "false": "no"} | dict(WORDS.get(key, {}))
        return f"“{label(key)}: {words.get(value, value)}”"

    def named(found: re.Match[str]) -> str:
        key = found[1]
        if key in METHOD_NAMES:
            return f"“{METHOD_NAMES[key][0]}”"
        return f"“{label(key)}”" if key in keys or key in FACTS else found[0]

    said = _UNDERSCORED.sub(named, _WRITTEN.sub(written, said.replace("`", "")))
    said = said.replace("give [low, high] with low < high", "give the smaller one first: 0, 40")
    said = said.replace("n.r. for", "not released for")
    said = said.replace("[[regression]]", "“Regression” of its own")

    def titled(found: re.Match[str]) -> str:
        known = found[1] in TITLES and found.start() > 0
        return f"“{TITLES[found[1]]}”" if known else ""

    return _SECTION.sub(titled, said).replace("  ", " ").strip()


_LEVEL = re.compile(r"C\((\w+)\)\[(?:T\.)?([^\]]+)\]")


def in_labels(name: str, header: Schema | None) -> str:
    """Name of an estimate, with the labels of levels where a header has them.

    Examples
    --------
    >>> from dprct.schema import Column, FileFacts, Schema
    >>> file = FileFacts(value_labels={"region": {1: "north", 2: "south"}})
    >>> schema = Schema((Column("region", "byte", value_label="region"),), file)
    >>> in_labels("C(region)[T.2]", schema), in_labels("C(city)[T.Ulm]", None)
    ('region: south', 'city: Ulm')
    """

    def level(found: re.Match[str]) -> str:
        labels = header.labels_of(found[1]) if header and found[1] in header.names else {}
        said = {str(code): text for code, text in labels.items()}
        return f"{found[1]}: {shown(said.get(found[2], found[2]))}"

    return _LEVEL.sub(level, name)


def label(key: str, section: str = "") -> str:
    """Label of a field, for which a section may have its own.

    Examples
    --------
    >>> label("kind"), label("treatment_time")
    ('How treatment was assigned', 'Treatment time')
    """
    found = _LABELS_OF.get((section, key)) or _LABELS.get(key)
    return found or key.replace("_", " ").capitalize()


def takes(kinds: Kinds) -> str:
    """What a person types into a field, in words.

    Examples
    --------
    >>> from dprct.annotations import kinds_of
    >>> takes(kinds_of("float | tuple[str, ...]"))
    'a number, or names with commas between them'
    """
    return ", or ".join(
        dict.fromkeys(_TAKES.get(said, said) for said in STUDY_FILE.words(kinds).split(", or "))
    )


def meanings(kind: Any) -> dict[str, str]:
    """What the numpydoc section ``Parameters`` says of each name, in one line.

    Examples
    --------
    >>> from dprct.study.sections import TotalBudget
    >>> meanings(TotalBudget)["epsilon"]
    'The most that the ledger may charge in total, over all releases.'
    """
    text = inspect.getdoc(kind) or ""
    _, _, part = text.partition(_PARAMETERS)
    part = re.split(r"\n\n[A-Z]\w+\n-+\n", part)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in part.splitlines():
        if line.startswith("    "):
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        elif line.strip():
            listed, _, kinds = line.partition(" : ")
            names = [name.strip() for name in listed.split(",")]
            if kinds.startswith("{"):
                found |= dict.fromkeys(names, f"{_choices(kinds)}:")
    return found


def plain(words: str) -> str:
    """Sentence of a docstring, or of a page, without its marks.

    Examples
    --------
    >>> plain("One of :data:`~dprct.study.methods.METHODS`, as ``x=True`` ([why](a.md)).")
    'One of METHODS, as x = true (why).'
    """
    words = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"\1", words)
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = in_toml(re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", words))
    words = re.sub(r" \([a-z]+_[a-z_]+\)", "", words)  # a name of the package
    return re.sub(r'^(?:"[^"]*"(?:, | or )?)+: ', "", " ".join(words.split()))


def _choices(kinds: str) -> str:
    """Admissible words of a docstring, without what Python alone has to know."""
    return kinds.strip("{}").replace("}", "").removesuffix(", optional")
