"""A noise source that records a transcript on one table, or forces it on another.

Every exact draw of the package is made by the object that ``noise.source()`` returns, and is made
inside the ``release`` of a mechanism, which says what the draw covers.  The recorder stands in the
place of both: the source, and a frame around every ``release`` that tells the source which numbers
are covered.  Nothing of any method is known here, so that methods may be rebuilt; a draw outside a
mechanism, or a mechanism whose law is not written down here, is a finding of its own.

A transcript is *forced* by moving the noise: where the recorded draw was z on the true numbers v,
the draw on the neighbour's numbers v' is z + (v - v'), so that the same number is released.
Bytes that decide a random partition are held as they are.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.privacy import histograms, mechanisms, noise
from dprct.privacy.aggregates import _open, cell_indices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    import pytest

SECURE = noise.Secure()
LAPLACE, GAUSSIAN, CELLS, CUBES = "Laplace", "Gaussian", "cells", "cubes"
VECTORS = {
    "DiscreteLaplace": LAPLACE,
    "DiscreteGaussian": GAUSSIAN,
    "AnalyticGaussian": GAUSSIAN,
    "CubeNoise": CUBES,
}
HISTOGRAMS = ("SparseHistogram", "StabilityHistogram")
POST_PROCESSING_SEED = 20_240_229


class Finding(AssertionError):
    """A way in which the two fits cannot be brought to the same transcript."""


@dataclass(frozen=True)
class Far:
    """How far two vectors of whole numbers are from each other, or may be at most.

    ``columns`` is the sum over columns of the largest move in each, where the numbers are a table.
    """

    l1: int
    l2_squared: Fraction | int
    l_inf: int
    columns: int = 0

    def of_rows(self, rows: int) -> Far:
        """Return how far they may be where so many rows are replaced, each with this claim."""
        return Far(
            rows * self.l1, rows**2 * self.l2_squared, rows * self.l_inf, rows * self.columns
        )


@dataclass
class Step:
    """One ``release``: what it covered, what was drawn for it, and what came out.

    ``truth`` is a list of integers, or for histograms a mapping from cell to count; ``scales`` are
    those that the sampler was really asked for, in the units of the truth.  ``claim`` is what the
    aggregate says of its own sensitivity, whichever query made it.
    """

    mechanism: Any
    law: str
    truth: Any
    size: int
    claim: Far
    refinement: int = 0
    columns: int = 1
    draws: list[tuple[str, float, Any]] = field(default_factory=list)
    released: Any = None

    @property
    def scale(self) -> float:
        """The one scale of its noise."""
        scales = {scale for _, scale, _ in self.draws}
        if len(scales) != 1:
            raise Finding(f"{self.name} drew at the scales {sorted(scales)}, not at one")
        return scales.pop()

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return type(self.mechanism).__name__


@dataclass
class Transcript:
    """Everything that was drawn in one fit."""

    steps: list[Step] = field(default_factory=list)
    held: list[bytes] = field(default_factory=list)


class Recorder:
    """What stands in the place of the exact source; see the module."""

    simulation = False

    def __init__(self) -> None:
        self.now: Transcript | None = None
        self.forced: Transcript | None = None
        self.step: Step | None = None
        self.generators = 0

    def begin(self, forced: Transcript | None = None) -> Transcript:
        """Record from here on, or force what was recorded, into a new transcript."""
        self.now, self.forced, self.step, self.generators = Transcript(), forced, None, 0
        return self.now

    def discrete_laplace(self, scale: float, size: int) -> Any:
        """Draw, or move the recorded draw."""
        return self._drawn("discrete_laplace", scale, size)

    def discrete_gaussian(self, scale: float, size: int) -> Any:
        """Draw, or move the recorded draw."""
        return self._drawn("discrete_gaussian", scale, size)

    def cubes(self, scale: float, size: int, count: int) -> Any:
        """Draw, or move the recorded draw; numbers are recorded as the table has them."""
        step = self._step("cubes")
        if (size * count, count) != (step.size, step.columns):
            raise Finding(f"{step.name} drew {count} cubes of {size} numbers for {step.size}")
        if self.forced is None:
            found = noise.in_cubes(scale, size, count, SECURE).T.ravel()
        else:
            ((_, _, recorded),) = self._old.draws
            pairs = zip(recorded, self._old.truth, step.truth, strict=True)
            found = np.array([z + v - w for z, v, w in pairs], object)
        if step.draws:
            raise Finding(f"{step.name} drew twice for one table")
        step.draws.append(("cubes", scale, [int(z) for z in found]))
        return found.reshape(size, count).T

    def geometric(self, scale: float, size: int) -> Any:
        """Draw what an empty cell has above the threshold."""
        return self._of_cells("geometric", scale, SECURE.geometric(scale, size))

    def binomial(self, trials: int, tail: Any) -> int:
        """Draw how many empty cells pass."""
        step = self._step("binomial")
        if trials != step.mechanism.cells - len(step.truth):
            raise Finding(f"{step.name} draws among {trials} cells, not among all empty ones")
        found = SECURE.binomial(trials, tail)
        self._of_cells("binomial", float(1 / tail.exponent), found)
        return found

    def uniform_below(self, bound: int) -> int:
        """Draw the place of an empty cell that passes; nothing else is drawn so."""
        if self._step("uniform_below").law != CELLS:
            raise Finding("a uniform number was drawn outside a histogram")
        return SECURE.uniform_below(bound)

    def uniform_bytes(self, size: int) -> Any:
        """Hold what decides a random partition."""
        if self.now is None:
            return SECURE.uniform_bytes(size)
        place = len(self.now.held)
        if self.forced is None:
            found = SECURE.uniform_bytes(size).tobytes()
        elif place < len(self.forced.held) and len(self.forced.held[place]) == size:
            found = self.forced.held[place]
        else:
            raise Finding("the neighbour asks for another number of bytes for its partition")
        self.now.held.append(found)
        return np.frombuffer(found, np.uint8)

    def post_processing_rng(self) -> np.random.Generator:
        """Return the same generator in both fits."""
        self.generators += 1
        return np.random.default_rng(POST_PROCESSING_SEED + self.generators)

    @property
    def _old(self) -> Step:
        assert self.now is not None
        assert self.forced is not None
        return self.forced.steps[len(self.now.steps)]

    def _step(self, draw: str) -> Step:
        if self.step is None:
            raise Finding(f"{draw} was drawn outside a mechanism, so nothing says what it covers")
        return self.step

    def _of_cells(self, draw: str, scale: float, found: Any) -> Any:
        step = self._step(draw)
        if step.law != CELLS:
            raise Finding(f"{step.name} drew {draw}, which is for histograms")
        step.draws.append((draw, scale, found))
        return found

    def _drawn(self, kind: str, scale: float, size: int) -> Any:
        step = self._step(kind)
        if size != step.size:
            raise Finding(f"{step.name} drew {size} numbers for {step.size}")
        if step.law == CELLS or self.forced is None:
            found = getattr(SECURE, kind)(scale, size)
        else:
            ((drew, _, recorded),) = self._old.draws
            if drew != kind:
                raise Finding(f"the neighbour drew {kind}, not {drew}")
            pairs = zip(recorded, self._old.truth, step.truth, strict=True)
            found = _narrow([z + ((v - w) << step.refinement) for z, v, w in pairs])
        if step.law != CELLS and step.draws:
            raise Finding(f"{step.name} drew twice for one vector")
        step.draws.append((kind, scale, [int(z) for z in found]))
        return found

    def released(self, mechanism: Any, aggregate: Any, draw: Callable[[], Any]) -> Any:
        """Record the release that ``draw`` makes, or force the one that was recorded."""
        if self.now is None:
            return draw()
        if self.step is not None:
            raise Finding(f"{type(mechanism).__name__} is drawn within {self.step.name}")
        step = _step_of(mechanism, aggregate)
        if self.forced is not None:
            self._check(step)
        self.step = step
        try:
            if self.forced is not None and step.law == CELLS:
                draw()  # for its draws; which cells come out of another draw is another transcript
                step.released = self._old.released
            else:
                step.released = draw()
        finally:
            self.step = None
        if self.forced is not None:
            _check_equal(step, self._old)
        self.now.steps.append(step)
        return step.released

    def _check(self, step: Step) -> None:
        assert self.now is not None
        assert self.forced is not None
        if len(self.now.steps) == len(self.forced.steps):
            raise Finding(f"the neighbour draws {step.name} after the transcript has ended")
        if step.mechanism != self._old.mechanism:
            raise Finding(f"the neighbour has other noise: {step.mechanism}, {self._old.mechanism}")
        if step.claim != self._old.claim:
            raise Finding(f"{step.name} covers {self._old.claim}, on the neighbour {step.claim}")
        if step.size != self._old.size and step.law != CELLS:
            raise Finding(f"the neighbour releases {step.size} numbers, not {self._old.size}")


def _step_of(mechanism: Any, aggregate: Any) -> Step:
    name, opened = type(mechanism).__name__, _open(aggregate)
    if name in HISTOGRAMS:
        codes, counts = opened
        places = [int(place) for place in cell_indices(codes, aggregate.radices)]
        truth, claim = (
            dict(zip(places, map(int, counts), strict=True)),
            Far(aggregate.l1, aggregate.l2_squared, 1),
        )
        return Step(mechanism, CELLS, truth, len(counts), claim)
    claim = Far(aggregate.l1, aggregate.l2_squared, aggregate.l_inf, getattr(aggregate, "reach", 0))
    refinement = mechanism.noise.refinement if name == "AnalyticGaussian" else 0
    truth = [int(value) for value in opened.ravel()]
    columns = aggregate.shape[1] if name == "CubeNoise" else 1
    return Step(mechanism, VECTORS[name], truth, len(truth), claim, refinement, columns)


def _narrow(values: list[int]) -> Any:
    """Return integers as the sampler would: int64 where they fit."""
    limits = np.iinfo(np.int64)
    if all(limits.min <= value <= limits.max for value in values):
        return np.array(values, np.int64)
    return np.array(values, object)


def _check_equal(step: Step, old: Step) -> None:
    """Refuse a release that is not the recorded one: then more than the noise tells."""
    one, other = step.released, old.released
    if step.law == CELLS:
        same = one is other or one == other
    else:
        rows = zip(*(r if isinstance(r, tuple) else (r,) for r in (one, other)), strict=True)
        same = all(
            [int(u) for u in mine.units] == [int(u) for u in yours.units]
            and all(
                getattr(mine, part) == getattr(yours, part)
                for part in ("grid", "noise_sd", "relation", "simulation")
            )
            for mine, yours in rows
        )
    if not same:
        raise Finding(f"{step.name} cannot release on the neighbour what it released")


def charged(part: Any, rows: int = 1) -> Iterator[tuple[Any, int]]:
    """Yield every mechanism that an allocation charges, and for how many rows of a unit."""
    if hasattr(part, "parts"):
        for inner in part.parts.values():
            yield from charged(inner, rows * part.rows)
    else:  # one-way histograms are drawn by a mechanism of their own
        yield getattr(part, "mechanism", part), rows


def drawing() -> Iterator[type]:
    """Yield every class of ``privacy/`` that draws: it has a ``release`` that takes a source.

    One-way histograms hand each of their draws to a mechanism that is among the others.
    """
    for module in (mechanisms, histograms):
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == module.__name__
            if own and "release" in vars(kind) and kind is not histograms.OneWayHistograms:
                yield kind


def install(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Put a recorder in the place of the exact source, and around every release."""
    recorder = Recorder()
    monkeypatch.setattr(noise, "Secure", lambda: recorder)
    for kind in drawing():
        monkeypatch.setattr(kind, "release", _framed(kind.release, recorder))
    return recorder


def _framed(release: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    @functools.wraps(release)
    def framed(self: Any, aggregate: Any, source: Any) -> Any:
        if source is not recorder:
            raise Finding(f"{type(self).__name__} draws from {type(source).__name__}")
        return recorder.released(self, aggregate, lambda: release(self, aggregate, source))

    return framed
