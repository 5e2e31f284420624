"""The forms of heterogeneous effects that are compared, and each of them fitted to samples.

The one-step learner is run by its own steps (``dprct.estimate.cate.release``) instead of
``CATE.fit``, so that the features of a sample are coded once for all forms and epsilons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.defaults import ADDITIVE_BINS
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate.model import CATE
from dprct.estimate.cate.release import released
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.published.cate import CATE as Published
from dprct.queries.additive import CodedRows
from dprct.schema import Column, Schema
from papers.cate.baseline import fitted_effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.cate.release import LearnerForm
    from papers.cate.designs import Design, Sample

    Array = NDArray[np.float64]


DELTA = 1e-5
"""As in section 5.1.3."""

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
    printed : bool
        Whether DP-EBM is run as in section 5.1.1.
    more : dict
        Further arguments of the one-step learner.
    """

    title: str
    kind: str
    learner: str
    known: bool = False
    average: bool = False
    worst: bool = False
    half: bool = False
    printed: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

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


LOGIT = {"propensity_model": "logit"}
ALONE = {"parts": {"propensity": Fraction(1, 4), "effect": Fraction(3, 4)}}

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
    "ebm dr, printed": Form("DP-EBM DR, as printed", "published", "dr", printed=True),
    "ebm r, printed": Form("DP-EBM R, as printed", "published", "r", printed=True),
    "ebm s, printed": Form("DP-EBM S, as printed", "published", "s", printed=True),
    "ebm dr": Form("DP-EBM DR, corrected, e and outcomes estimated", "published", "dr"),
    "ebm dr, known e": Form("DP-EBM DR, corrected, known e", "published", "dr", known=True),
    "ebm r": Form("DP-EBM R, corrected, known e = 1/2", "published", "r", known=True, half=True),
    "ebm s": Form("DP-EBM S, corrected", "published", "s"),
    "ebm dr, printed, known e": Form(
        "DP-EBM DR, as printed but with known e", "published", "dr", known=True, printed=True
    ),
    **{
        f"{learner}, not private": Form(f"{title}, not private", "none", learner)
        for learner, title in (("dr", "DR"), ("r", "R"), ("s", "S"), ("t", "T"),
                               ("constant", "constant effect"))
    },
    "logit, split": Form("one-step DR, e by a logit, outcomes estimated (1/4, 1/4, 1/2)",
                         "strict", "dr", more=LOGIT),
    "e alone": Form("one-step DR, e alone estimated (1/4, 3/4)", "strict", "dr", more=ALONE),
    "logit alone": Form("one-step DR, e alone, by a logit (1/4, 3/4)", "strict", "dr",
                        more={**LOGIT, **ALONE}),
    "plug-in": Form("plug-in (T), no e, all rows", "strict", "t"),
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


class Fits:
    """Forms of one kind on samples of one size.

    Parameters
    ----------
    design : Design
    forms : sequence of str
        Of one kind.
    at : (m, p) array
        Features at which effects are wanted.
    """

    def __init__(self, design: Design, forms: Sequence[str], at: Array) -> None:
        self.design, self.forms, self.at = design, tuple(forms), at
        self.kind = FORMS[self.forms[0]].kind
        self.schema = schema_of(design)
        self.new = pd.DataFrame(at, columns=list(design.names))
        self._terms = terms_of(self.schema.seal(), design.names, bins=ADDITIVE_BINS)
        self._at = self._terms.codes(self.new) if self.kind == "strict" else []
        self._learners: dict[str, LearnerForm] = {}

    def on(
        self, sample: Sample, epsilons: Sequence[float], seed: int
    ) -> Iterator[tuple[str, float, Array]]:
        """Yield form, epsilon and the estimated effect (m,).

        Parameters
        ----------
        sample : Sample
        epsilons : sequence of float
            Of no meaning to the forms without privacy.
        seed : int
        """
        frame = framed(self.design, sample)
        rows = self._coded(frame, sample) if self.kind == "strict" else None
        seeds = source(seed).post_processing_rng()
        for form in self.forms:
            for epsilon in epsilons:
                own = int(seeds.integers(2**31))
                if rows is not None:
                    yield form, epsilon, self._strict(form, frame, rows, epsilon, own)
                elif self.kind == "published":
                    yield form, epsilon, self._published(form, frame, epsilon, own)
                else:
                    options = FORMS[form].options(self.design)
                    learner, e = options["learner"], options["propensity"]
                    yield form, epsilon, fitted_effect(sample, self.at, learner, e, own)

    def _coded(self, frame: pd.DataFrame, sample: Sample) -> CodedRows:
        return CodedRows(self._terms.codes(frame), sample.y, sample.t)

    def _strict(
        self, name: str, frame: pd.DataFrame, rows: CodedRows, epsilon: float, seed: int
    ) -> Array:
        form = FORMS[name]
        if name not in self._learners:  # a function of public facts alone
            clip = worst_case(self.design) if form.worst else self.design.clip
            model = CATE(frame, self.schema, clip=clip, **form.options(self.design), **form.more)
            self._learners[name] = model.spec.form(model.facts)
        own = self._learners[name]
        allocation = own.allocation(Budget.asked(epsilon, DELTA))
        found = own.fits(released(own, allocation, rows, source(seed)))["effect"]
        return np.full(len(self.at), found.average) if form.average else found.at(self._at)

    def _published(self, name: str, frame: pd.DataFrame, epsilon: float, seed: int) -> Array:
        options = FORMS[name].options(self.design)
        printed = FORMS[name].printed
        model = Published(
            frame, self.schema, **options, accept_uncertified=True, as_printed=printed
        )
        return model.fit(epsilon, DELTA, rng=seed).effect(self.new)
