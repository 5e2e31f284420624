"""Tables 7 and 8: time by method, and by step of GenModel, as ratios within one machine."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dprct.errors import DprctWarning
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source as noise_source
from dprct.published import GenModel
from dprct.published.genmodel import ReleasedDesign, proxies, sanitised
from papers.rct.methods import allocation_of, bound
from papers.rct.printed import BASE, asked, printed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from dprct.published.allocation import OutcomeShare
    from dprct.published.informed import Rows
    from dprct.published.outcomes import OutcomeFit
    from papers.rct.printed import Asked
    from papers.rct.sources import Source


REPEATS = 3


def compared_timings(source: Source, repeats: int = REPEATS) -> pd.DataFrame:
    """Return Table 7 number by number, each time over that of the MV Histogram beside it.

    Parameters
    ----------
    source : Source
        Liberia.
    repeats : int
        Releases of each; the fastest counts.

    Returns
    -------
    DataFrame
        Those of ``printed`` with ``seconds`` (ours, from a frame in memory to a protected one),
        ``printed_ratio`` and ``ours``, our ratio.

    Notes
    -----
    The data are public or simulated: on confidential ones a time is itself a disclosure.
    """
    page = printed(7)
    found: dict[tuple[str, str], float] = {}
    for panel, method in zip(page["row"], page["method"], strict=True):
        wanted = asked(7, panel, "", method)
        assert wanted is not None
        found[panel, method] = fastest(wanted, source, repeats)
    keys = list(zip(page["row"], page["method"], strict=True))
    theirs = dict(zip(keys, page["value"], strict=True))
    page["seconds"] = [found[key] for key in keys]
    page["printed_ratio"] = [theirs[key] / theirs[key[0], BASE] for key in keys]
    page["ours"] = [found[key] / found[key[0], BASE] for key in keys]
    return page.assign(low=np.nan, high=np.nan, share=np.nan)


def fastest(wanted: Asked, source: Source, repeats: int = REPEATS) -> float:
    """Return the seconds of the fastest of several releases."""
    return min(_seconds(wanted, source, k) for k in range(repeats))


def _seconds(wanted: Asked, source: Source, repeat: int) -> float:
    frame, spec = source.frame(), source.models()[wanted.model]
    rng = noise_source(repeat).post_processing_rng()
    allocation = allocation_of(wanted.study, wanted.method, Fraction(wanted.epsilon))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        start = time.perf_counter()
        model = bound(wanted.method, frame, spec, allocation)
        _ = model.fit(epsilon=Fraction(wanted.epsilon), rng=rng, confirm=True).protected
        return time.perf_counter() - start


def compared_steps(source: Source, repeats: int = REPEATS) -> pd.DataFrame:
    """Return Table 8 number by number: over the MV Histogram, and as a part of the total.

    Parameters
    ----------
    source : Source
        Liberia.
    repeats : int
        Runs of each step; the fastest counts.

    Returns
    -------
    DataFrame
        Those of ``printed`` with ``seconds``; ``printed_ratio`` and ``ours``, over the time that
        the MV Histogram takes with the same covariates (Table 7); ``printed_part`` and
        ``our_part``, of the total of the same outcome.

    Notes
    -----
    The steps of an outcome run apart from the other outcomes, after covariates and treatments are
    drawn; a release factors its design once for all outcomes, and each is counted its part of it.
    """
    page = printed(8)
    histogram = printed(7).query("method == @BASE").set_index("row")["value"]
    found: dict[tuple[str, str, str, str], float] = {}
    base: dict[str, float] = {}
    for panel, method in dict.fromkeys(zip(page["panel"], page["method"], strict=True)):
        if panel not in base:
            own = asked(7, panel, "", BASE)
            assert own is not None
            base[panel] = fastest(own, source, repeats)
        wanted = asked(8, panel, "", method)
        assert wanted is not None
        for outcome, taken in _step_seconds(wanted, source, repeats).items():
            found |= {(panel, outcome, method, step): t for step, t in taken.items()}
    keys = list(zip(page["panel"], page["row"], page["method"], page["arm"], strict=True))
    page["seconds"] = [found[key] for key in keys]
    page["printed_ratio"] = page["value"] / page["panel"].map(histogram)
    page["ours"] = page["seconds"] / page["panel"].map(base)
    total = page["arm"] == "total"
    of = page[total].set_index(["panel", "row", "method"])
    places = [key[:3] for key in keys]
    page["printed_part"] = page["value"].to_numpy() / of["value"].loc[places].to_numpy()
    page["our_part"] = page["seconds"].to_numpy() / of["seconds"].loc[places].to_numpy()
    return page.assign(low=np.nan, high=np.nan, share=np.nan)


def _step_seconds(wanted: Asked, source: Source, repeats: int) -> Mapping[str, dict[str, float]]:
    """Return the seconds of every step by outcome; covariates and treatments are there before."""
    epsilon = Fraction(wanted.epsilon)
    allocation = allocation_of(wanted.study, wanted.method, epsilon)
    model = bound(wanted.method, source.frame(), source.models()[wanted.model], allocation)
    assert isinstance(model, GenModel)
    noise = noise_source(0)
    budget = Budget(epsilon, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        drawn = model._draw(model._allocated(budget), noise)
        rng = noise.post_processing_rng()
        rows = model._rows(drawn.columns, rng)
    factored = _factored(model, rows, repeats)
    names = {
        fit.outcome: np.array(model.facts.regressors)[fit.kept][
            factored[fit.kept.tobytes()][0].kept
        ].tolist()
        for fit in model.facts.fits
    }
    shares = model.spec.divided(model.facts, budget, names).outcomes
    found = {}
    for fit in model.facts.fits:
        released, part = factored[fit.kept.tobytes()]
        mine = names[fit.outcome], shares[fit.outcome]
        runs = [_one_run(model, fit, released, *mine, rng) for _ in range(repeats)]
        best = {step: min(run[step] for run in runs) for step in runs[0]}
        best["proxies"] += part
        found[fit.outcome] = {"total": sum(best.values()), **best}
    return found


def _factored(
    model: GenModel, rows: Rows, repeats: int
) -> dict[bytes, tuple[ReleasedDesign, float]]:
    """Return each released design, factored, and the seconds that took per outcome using it."""
    users = Counter(fit.kept.tobytes() for fit in model.facts.fits)
    found = {}
    for pattern, count in users.items():
        taken = []
        for _ in range(repeats):
            start = time.perf_counter()
            released = ReleasedDesign.of(rows.design[:, np.frombuffer(pattern, bool)])
            taken.append(time.perf_counter() - start)
        found[pattern] = released, min(taken) / count
    return found


def _one_run(
    model: GenModel,
    fit: OutcomeFit,
    released: ReleasedDesign,
    names: list[str],
    shares: OutcomeShare,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return the seconds of the three steps of one outcome."""
    clock = time.perf_counter
    start = clock()
    drawn = proxies(released, fit.beta, fit.sigma2, model.spec.settings.B, rng)
    fitted = clock()
    found = sanitised(released, drawn, fit.sigma2, shares, names, model.spec.settings, rng)
    clean = clock()
    mean = released.W[:, released.kept] @ found.beta
    _ = mean + math.sqrt(found.sigma2) * rng.standard_normal(len(mean))
    end = clock()
    return {"proxies": fitted - start, "parameters": clean - fitted, "outcome": end - clean}
