"""Every form on one sample after the other, with simulation noise.

The one-step learner is run by its own steps (``dprct.estimate.cate.learners``) instead of
``CATE.fit``, so that the features of a sample are coded once for all forms and epsilons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.defaults import ADDITIVE_BINS
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate import CATE
from dprct.estimate.cate.learners import learned
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.published.cate import CATE as Published
from dprct.queries import CodedRows
from papers.cate.baseline import fitted_effect
from papers.cate.forms import DELTA, FORMS, framed, schema_of, worst_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.cate.learners import Recipe
    from papers.cate.designs import Design, Sample

    Array = NDArray[np.float64]


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
        self._recipes: dict[str, Recipe] = {}

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
        if name not in self._recipes:  # a function of public facts alone
            clip = worst_case(self.design) if form.worst else self.design.clip
            model = CATE(frame, self.schema, clip=clip, **form.options(self.design))
            self._recipes[name] = model.recipe
        budget = Budget.asked(epsilon, DELTA)
        found = learned(self._recipes[name], rows, budget, source(seed))["effect"]
        return np.full(len(self.at), found.average) if form.average else found.at(self._at)

    def _published(self, name: str, frame: pd.DataFrame, epsilon: float, seed: int) -> Array:
        options = FORMS[name].options(self.design)
        model = Published(frame, self.schema, **options, accept_uncertified=True)
        return model.fit(epsilon, DELTA, rng=seed).effect(self.new)
