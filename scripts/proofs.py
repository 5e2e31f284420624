"""Write the table of docs/why_believe_it.md, from each guarantee to where it can be checked.

``python scripts/proofs.py`` writes it, and ends if a link of it leads nowhere;
``python scripts/proofs.py --lines`` prints the lines of code and tests instead.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))
PAGE = TOP / "docs" / "why_believe_it.md"
BEGIN, END = "<!-- trails, written by scripts/proofs.py -->", "<!-- end of trails -->"


@dataclass(frozen=True)
class Trail:
    """Where a guarantee is proved, programmed and tried: ``file:name`` for code and tests."""

    guarantee: str
    section: str
    code: str
    test: str
    replay: str | None = None
    audit: str | None = None


_QUERIES, _PRIVACY = "dprct/queries/", "dprct/privacy/"
_SHARED = "0. What all methods share"
_MOMENTS = "10. Released moments: `PrivateMoments`"
_EFFECTS = "3. Effects of an experiment: `PrivateATE`"
TRAILS = (
    Trail("sums are exact integers, in every engine", _SHARED,
          _QUERIES + "sums.py:Clipped", "tests/queries/test_sums.py:test_engines_agree_to_the_bit",
          "estimate.PrivateATE: jointly, two outcomes, in Polars"),
    Trail("no neighbour moves an aggregate further than it says", _SHARED,
          _QUERIES + "sums.py:difference_aggregates",
          "tests/contract/test_sensitivity.py:test_no_neighbour_is_further_than_claimed",
          "estimate.PrivateATE: two arms", "PrivateATE"),
    Trail("noise has the stated law, and no last bits that give a value away", _SHARED,
          _PRIVACY + "mechanisms.py:DiscreteLaplace",
          "tests/statistical/test_noise_laws.py:test_discrete_laplace",
          "release.Calibrated: in Polars", "PrivateATE"),
    Trail("Gaussian noise costs what is charged", _SHARED,
          _PRIVACY + "mechanisms.py:AnalyticGaussian",
          "tests/privacy/test_composition.py:test_mu_agrees_with_googles_analytic_gaussian",
          "estimate.PrivateMoments: formulas", "PrivateMoments"),
    Trail("releases add up to at most what the ledger says", _SHARED,
          _PRIVACY + "composition.py:Charge",
          "tests/privacy/test_composition.py:test_composed_gaussians_agree_with_googles_loss_distributions"),
    Trail("a charge that fails draws nothing; one budget is not spent twice", _SHARED,
          _PRIVACY + "accountant.py:Accountant",
          "tests/contract/test_contract.py:test_fit_charges_once_and_before_it_draws"),
    Trail("a histogram's counts, and combinations that nobody has", "1. Histograms: `MVHistogram`",
          _PRIVACY + "histograms.py:SparseHistogram",
          "tests/statistical/test_audit_releases.py:test_mv_histogram",
          "release.MVHistogram: all columns", "MVHistogram"),
    Trail("one-way tables", "2. Marginals: `Marginals`",
          _PRIVACY + "histograms.py:OneWayHistograms",
          "tests/statistical/test_audit_releases.py:test_marginals",
          "release.Marginals: all columns", "Marginals"),
    Trail("several outcomes in one cube", _EFFECTS, _PRIVACY + "mechanisms.py:CubeNoise",
          "tests/statistical/test_noise_laws.py:test_noise_in_cubes",
          "estimate.PrivateATE: two outcomes"),
    Trail("clusters, one person protected", _EFFECTS, _QUERIES + "clusters.py:inflation",
          "tests/queries/test_clusters.py:test_no_person_moves_it_further_than_claimed",
          "estimate.PrivateATE: clusters, persons"),
    Trail("who was treated is private",
          '4. Treatment private: `PrivateATE(neighbors="replace-one")`',
          _QUERIES + "horvitz_thompson.py:horvitz_thompson_sums",
          "tests/queries/test_horvitz_thompson.py:test_no_neighbour_is_further_than_claimed_and_some_are_as_far",
          "estimate.PrivateATE: treatment private, custom", "PrivateATE, treatment private"),
    Trail("a calibrated file is made of released numbers alone",
          "5. A file that returns the private effects: `Calibrated`",
          "dprct/release/calibrated/residuals.py:residuals",
          "tests/statistical/test_audit_releases.py:test_calibrated",
          "release.Calibrated: clusters", "Calibrated"),
    Trail("moments of rows in a ball", _MOMENTS, _QUERIES + "group_moments.py:MomentsGrid",
          "tests/queries/test_group_moments.py:test_no_neighbour_moves_the_sums_further_and_some_as_far",
          "estimate.PrivateMoments: columns and products, in Polars", "PrivateMoments"),
    Trail("declared regressions, by one step", _MOMENTS, _QUERIES + "one_step.py:Score",
          "tests/queries/test_one_step.py:test_no_person_moves_a_vector_further_and_some_as_far",
          "estimate.PrivateMoments: declared, adjusted, in Polars"),
    Trail("conditions on private columns", _MOMENTS, _QUERIES + "members.py:Members",
          "tests/queries/test_members.py:test_no_person_moves_a_vector_further_and_some_as_far",
          "estimate.PrivateMoments: declared, people whom private columns choose"),
    Trail("synthetic control: ridge weights and the path",
          "6. Synthetic control: `SyntheticControl`",
          _PRIVACY + "ridge_sensitivity.py:ridge_l2",
          "tests/privacy/test_ridge_sensitivity.py:test_an_adversary_finds_nothing_beyond_the_bound",
          "estimate.SyntheticControl: ridge, gaussian", "SyntheticControl"),
    Trail("propensity weights and weighted sums", "7. Inverse probability weighting: `IPW`",
          _QUERIES + "propensity.py:propensity_weights",
          "tests/queries/test_propensity.py:test_the_rounded_weights_of_neighbours_stay_within_the_sensitivity",
          "estimate.IPW: ate, laplace", "IPW"),
    Trail("shapes of outcomes and effects",
          "8. Shapes of outcomes and effects: `PrivateAdditive`, `CATE`",
          _QUERIES + "additive.py:additive_sums",
          "tests/queries/test_additive.py:test_no_neighbour_is_further_than_claimed",
          "estimate.CATE: pairs and subgroups", "CATE"),
    Trail("moments of treatment, for a logit of the propensity",
          "8. Shapes of outcomes and effects: `PrivateAdditive`, `CATE`",
          _QUERIES + "treatment_moments.py:TreatmentMoments",
          "tests/estimate/cate/test_logit.py:test_no_pair_of_rows_moves_the_moments_by_more",
          "estimate.CATE: propensity by a logit"),
    Trail("what is refused, warned of or planned is public", _SHARED, "dprct/model.py:unaffordable",
          "tests/contract/test_refusals_are_public.py:test_neighbours_look_alike"),
    Trail("nothing else leaves: no attribute, text, file or traceback holds a value", _SHARED,
          _PRIVACY + "aggregates.py:IntegerVector",
          "tests/contract/test_contract.py:test_no_planted_value_is_reachable"),
)  # fmt: skip


@cache
def places(path: str) -> dict[str, int]:
    """Lines of the functions and classes of a file."""
    file = TOP / path
    if not file.exists():
        return {}
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node.lineno for node in nodes if isinstance(node, kinds)}


def anchor(heading: str) -> str:
    """Name that a heading gets where Markdown is shown as a page."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def figure(method: str | None) -> str:
    """What the attack on a method certifies, of its claim; from docs/audit.md."""
    if method is None:
        return ""
    text = (TOP / "docs" / "audit.md").read_text("utf-8")
    best = ("", 0.0)
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 8 and cells[0].split(", delta")[0] == method and cells[6].endswith("%"):
            share = float(cells[6][:-1])
            if share > best[1]:
                best = f"{cells[5]} of {cells[4].split(',')[0]}", share
    return f"[{best[0]}](audit.md)" if best[0] else ""


def broken(trails: tuple[Trail, ...] = TRAILS) -> list[str]:
    """Links that lead nowhere, in words."""
    from tests.replay.cases import CASES

    methods = (TOP / "docs" / "methods.md").read_text("utf-8")
    lost = []
    for one in trails:
        if f"\n## {one.section}\n" not in methods:
            lost.append(f"no section {one.section!r} in docs/methods.md")
        for where in (one.code, one.test):
            path, _, name = where.partition(":")
            if name not in places(path):
                lost.append(f"no {name} in {path}")
        if one.replay is not None and one.replay not in CASES:
            lost.append(f"no replay case {one.replay!r}")
        if one.audit is not None and not figure(one.audit):
            lost.append(f"no row of {one.audit!r} in docs/audit.md")
    return lost


def table() -> str:
    """Rows of the page."""
    head = ("guarantee", "theorem", "code", "test", "replay", "attack")
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for one in TRAILS:
        number = one.section.partition(".")[0]
        links = []
        for where in (one.code, one.test):
            path, _, name = where.partition(":")
            links.append(f"[`{name}`](../{path})")
        replay = one.replay.partition(".")[2] if one.replay else ""
        cells = (one.guarantee, f"[{number}](methods.md#{anchor(one.section)})", *links)
        rows.append("| " + " | ".join([*cells, replay, figure(one.audit)]) + " |")
    return "\n".join(rows)


def written(page: str) -> str:
    """Page with its table of trails brought up to date."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{begin}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    if faults := broken():
        raise SystemExit("\n".join(faults))
    if "--lines" in sys.argv:
        for one in TRAILS:
            found = [where.partition(":")[::2] for where in (one.code, one.test)]
            where = "; ".join(f"{path}:{places(path)[name]}" for path, name in found)
            print(f"{one.guarantee}: {where}")
    else:
        PAGE.write_text(written(PAGE.read_text("utf-8")), encoding="utf-8")
