"""The forms of heterogeneous effects that are compared, and the public facts they are given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from papers.cate.designs import Design, Sample

DELTA = 1e-5
"""As in the paper."""

NO_PRIVACY = math.inf
"""Stands for epsilon where nothing is protected."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to estimate.

    Parameters
    ----------
    title : str
    kind : {"strict", "published", "none"}
        The one-step learner, DP-EBM, or no privacy.
    learner : str
    known : bool
        Whether it needs, and uses, a known probability of treatment.
    average : bool
        Whether only the average effect is kept, for everybody.
    worst : bool
        Whether pseudo-outcomes are clipped at their worst case in place of the declared R.
    half : bool
        Whether it also needs that the probability is one half.
    """

    title: str
    kind: str
    learner: str
    known: bool = False
    average: bool = False
    worst: bool = False
    half: bool = False

    def options(self, design: Design) -> dict[str, Any]:
        """Return the arguments that the models of all kinds share."""
        return {
            "outcome": "y",
            "features": design.names,
            "treatment": "t",
            "learner": self.learner,
            "propensity": design.propensity if self.known or self.kind == "none" else None,
        }

    def possible(self, design: Design) -> bool:
        """Whether the design has what the form needs."""
        if self.half:
            return design.propensity == 0.5
        return design.propensity is not None or not self.known


FORMS = {
    "one-step": Form("one-step DR, known e, all rows, declared R", "strict", "dr", known=True),
    "one-step, worst R": Form(
        "one-step DR, known e, worst-case R", "strict", "dr", known=True, worst=True
    ),
    "one-step r": Form("one-step R, known e, declared R", "strict", "r", known=True),
    "one-step, split": Form("one-step DR, e and outcomes estimated (1/4, 1/4, 1/2)",
                            "strict", "dr"),
    "one-step r, split": Form("one-step R, e and outcomes estimated (1/4, 1/4, 1/2)",
                              "strict", "r"),
    "constant": Form("constant effect, known e (S-learner)", "strict", "s", known=True),
    "constant, split": Form(
        "constant effect: the average of the one-step DR, split", "strict", "dr", average=True
    ),
    "ebm dr": Form("DP-EBM DR, e and outcomes estimated", "published", "dr"),
    "ebm dr, known e": Form("DP-EBM DR, known e", "published", "dr", known=True),
    "ebm r": Form("DP-EBM R, known e = 1/2", "published", "r", known=True, half=True),
    "ebm s": Form("DP-EBM S", "published", "s"),
    **{
        f"{learner}, not private": Form(f"{title}, not private", "none", learner)
        for learner, title in (("dr", "DR"), ("r", "R"), ("s", "S"), ("t", "T"),
                               ("constant", "constant effect"))
    },
}  # fmt: skip


def forms_of(design: Design) -> tuple[str, ...]:
    """Return the forms that a design allows.

    Examples
    --------
    >>> from papers.cate.designs import designs
    >>> "one-step" in forms_of(designs(None)["A"]), "ebm r" in forms_of(designs(None)["B"])
    (False, True)
    """
    return tuple(name for name, form in FORMS.items() if form.possible(design))


def constant_of(design: Design) -> str:
    """Return the private constant effect that a design allows."""
    return "constant, split" if design.propensity is None else "constant"


def worst_case(design: Design) -> float:
    """Return (U - L) over the smallest propensity, which the declared R replaces."""
    low, high = design.bounds
    e = 0.5 if design.propensity is None else design.propensity
    return (high - low) / min(e, 1 - e)


def framed(design: Design, sample: Sample) -> pd.DataFrame:
    """Return a sample as a data frame with columns ``y`` and ``t``."""
    return pd.DataFrame(sample.X, columns=list(design.names)).assign(y=sample.y, t=sample.t)


def schema_of(design: Design) -> Schema:
    """Return the public facts of a design."""
    columns = [
        Column("y", bounds=design.bounds, missing=()),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
    ]
    for name, low, high in design.features:
        facts: dict[str, Any] = {"bounds": (low, high)}
        if name in design.binary:
            facts = {"levels": (0.0, 1.0)}
        columns.append(Column(name, **facts, missing=()))
    return Schema(tuple(columns))
