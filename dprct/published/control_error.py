"""Bounds on the error of DPSC, from public numbers: its theorems, corollaries and cost of privacy.

They are the paper's, as printed or with the lengths of its noise corrected, and say nothing of
privacy.  Everything is for outcomes divided by their public bound, as in its equation (3).
"""

from __future__ import annotations

import math

from dprct.arguments import check_choice, checked, given, number_between
from dprct.errors import ParameterError
from dprct.published.synthetic_control import objective_of, output_scale
from dprct.records import dataclass

PERTURBED = ("output", "objective")


@checked
@dataclass(frozen=True, kw_only=True)
class ControlError:
    """Bounds on the error of ``published.SyntheticControl`` (section 5), for your own panel.

    Parameters
    ----------
    n, T0, K : int
        Donors, periods before treatment, and periods after it.
    lam, eps1, eps2 : float
        The penalty, and what the two steps spend.
    sigma : float
        Standard deviation of chance in one outcome, divided by the public bound.
    perturb : {"output", "objective"}
        Algorithm 2 or Algorithm 3.
    delta : float
        Above 0 for Algorithm 3 with Gaussian noise.
    c : float, optional
        Of Algorithm 3; ``(1 + sqrt(16 n - 15)) T0`` if not given.
    psi : float, optional
        Bound on the largest ridge weight; ``sqrt(T0 / (2 lam))`` if not given, which every panel
        within its bound keeps.
    printed : bool
        Whether the lengths of the noise are as printed.  They are too short, and what is printed
        is then no bound on the error of the algorithms; corrected is the default.

    Raises
    ------
    ParameterError
        If a number is outside its range.

    Notes
    -----
    As printed (equation (10) and Theorem 3.5), the mean length of the L2-Laplace noise is its scale
    a, where its density has n a; that of the Gaussian noise is ``sqrt(n beta)``, where it is at
    most ``sqrt(n) beta``; and step 2 has ``sqrt(2) / eps2`` where ``E ||W||_F / sqrt(K)`` is
    ``2 n K / eps2`` for the density of Algorithms 2 and 3.

    The ridge weights are at most ``||y|| / sqrt(2 lam)`` long: singular values s of X' enter as
    ``s / (s^2 + lam / 2) <= 1 / sqrt(2 lam)``.

    References
    ----------
    Rho, Cummings and Misra, "Differentially Private Synthetic Control", Theorems 3.2 and 3.5,
    Corollaries 5.5 and 7.2, equations (10), (12) and (18).

    Examples
    --------
    >>> panel = dict(n=10, T0=10, K=3, lam=10, eps1=50, eps2=50, sigma=0.005)
    >>> round(ControlError(**panel, printed=True).cost(), 2)
    1.15
    >>> round(ControlError(**panel).cost(), 2)
    17.54
    """

    n: int
    T0: int
    K: int
    lam: float
    eps1: float
    eps2: float
    sigma: float
    perturb: str = "output"
    delta: float = 0.0
    c: float | None = None
    psi: float | None = None
    printed: bool = False

    def __post_init__(self) -> None:
        check_choice("perturb", self.perturb, PERTURBED)
        for name in ("n", "T0", "K", "lam", "eps1", "eps2", "sigma", "c", "psi"):
            value = getattr(self, name)
            if name not in ("c", "psi") or value is not None:
                number_between(name, value)
        if not 0 <= self.delta < 1 or (self.delta and self.perturb == "output"):
            raise ParameterError(
                f"``delta={given(self.delta)}``; give a number between 0 and 1 with "
                "``perturb='objective'``, and leave it out with ``perturb='output'``"
            )

    @property
    def weight_noise(self) -> float:
        """Bound on the mean distance of the released weights from those of the ridge."""
        if self.perturb == "output":
            scale = output_scale(self.n, self.T0, self.lam, self.eps1)
            return scale * (1 if self.printed else self.n)
        found = objective_of(self.n, self.T0, self.lam, self.eps1, self.delta, self.c)
        # Lemma 7.1, with the mean length of b
        moved = 2 * self._length(found.scale) / (self.lam + found.extra)
        if found.extra:
            both = 1 / self.lam + 1 / (self.lam + found.extra)
            moved += both * 2 * self.T0**2 * math.sqrt(self.n)
        return moved

    def _length(self, scale: float) -> float:
        if self.delta:
            return math.sqrt(self.n * scale) if self.printed else math.sqrt(self.n) * scale
        return scale * (1 if self.printed else self.n)

    @property
    def donor_noise(self) -> float:
        """Mean length of the noise of step 2, over ``sqrt(K)``."""
        return math.sqrt(2) / self.eps2 if self.printed else 2 * self.n * self.K / self.eps2

    @property
    def chance(self) -> float:
        """Mean norm of the donors' random shocks in one period."""
        return math.sqrt(self.n) * self.sigma

    @property
    def largest_weight(self) -> float:
        """The bound psi on the ridge weights."""
        return math.sqrt(self.T0 / (2 * self.lam)) if self.psi is None else self.psi

    def theorem(self, signal: float, distance: float) -> float:
        """Return the bound of Theorem 3.2 or 3.5 on the root mean squared error.

        Parameters
        ----------
        signal : float
            ``||M_post||_2 / sqrt(K)``.
        distance : float
            Mean distance of the ridge weights from the true ones.

        Examples
        --------
        >>> one = ControlError(n=8, T0=10, K=3, lam=10, eps1=1, eps2=1, sigma=0.01, printed=True)
        >>> round(one.theorem(signal=2, distance=0.5), 2)
        58.96
        """
        spread = math.sqrt(self.n) * self.largest_weight
        noise = self.weight_noise
        return signal * (distance + noise) + (self.chance + self.donor_noise) * (spread + noise)

    def cost(self, signal: float | None = None) -> float:
        """Price of privacy in the bound: equation (12), or (18) for the objective.

        Parameters
        ----------
        signal : float, optional
            As for :meth:`theorem`; its upper bound ``sqrt(n)`` if not given.
        """
        size = math.sqrt(self.n) if signal is None else signal
        spread = math.sqrt(self.n) * self.largest_weight
        return (size + self.chance + self.donor_noise) * self.weight_noise + (
            self.donor_noise * spread
        )

    def closed_form(self, reach: float, xi: float = 0.5, outside: float | None = None) -> float:
        """Bound of Corollary 5.5 or 7.2, without anything of the confidential data.

        Parameters
        ----------
        reach : float
            s, the largest absolute value of chance in one outcome, over the public bound.
        xi : float
            Between 0 and 1.
        outside : float, optional
            Norm of the part of the true weights outside the space of the donors' series before
            treatment; 1 if not given, which holds for weights of norm 1 at most.  As printed it is
            0.

        Raises
        ------
        ParameterError
            If xi or outside is no number between 0 and 1, or outside is given as printed.

        Notes
        -----
        It rests on Assumptions 5.2 to 5.4 (low rank, isotropic, bounded) and holds with the
        probability of Lemma 5.6 for T0 above a multiple of k log n that the paper leaves open, so
        that nothing here can check it.  As printed, Lemma 5.6 has ``lam / (2 T0)`` in the place of
        the ``lam / 2`` that the minimiser of Algorithm 2 has; the corrected bound has the latter.

        Lemma 5.7 takes ``(1 - xi) T0 + lam / 2`` for the smallest eigenvalue of ``X X' +
        (lam / 2) I``.  Of n donors in k < n dimensions the n - k others are ``lam / 2``: it is the
        smallest on the space E of the donors alone.  The ridge weights are in E, so that what the
        true weights have outside is never learnt, whatever T0 is: ``outside`` is added to the
        distance, and as printed the bound fails without it.

        Examples
        --------
        >>> one = ControlError(n=10, T0=10, K=3, lam=10, eps1=50, eps2=50, sigma=0.005)
        >>> one.closed_form(reach=0.015) > one.theorem(signal=1, distance=0)
        True
        """
        return self.theorem(math.sqrt(self.n), self.weight_distance(reach, xi, outside))

    def weight_distance(self, reach: float, xi: float = 0.5, outside: float | None = None) -> float:
        """Bound of Lemma 5.6 on the mean distance of the ridge weights from the true ones.

        Parameters
        ----------
        reach, xi, outside
            As for :meth:`closed_form`.
        """
        number_between("xi", xi, 0, 1)
        if self.printed and outside is not None:
            raise ParameterError(
                "``outside=`` is for the corrected bound; leave it out with ``printed=True``"
            )
        beyond = float(not self.printed) if outside is None else outside
        if not 0 <= beyond <= 1:
            raise ParameterError(f"``outside={given(outside)}``; give a number from 0 to 1")
        kappa = self.lam / 2 / (self.T0 if self.printed else 1)
        spread = math.sqrt(2) * self.chance * (1 + reach)
        return (spread * self.T0 + kappa) / ((1 - xi) * self.T0 + kappa) + beyond
