"""What fits know of their table, and what they return: numbers, a guarantee, and no rows.

A guarantee is repeated only where it is known to hold for the columns that a fit uses: they are
those of the release that was given, or their digests are those of the certificate next to the file
that was read.  Whatever else looks like a protected file is said to be unverified, and why.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from dprct import disk
from dprct.arguments import Checked, given
from dprct.certificate.certificate import (
    NO_GUARANTEE_LABEL,
    VOID_ERRORS,
    Certificate,
    ValuesDigest,
    certificate_path,
    number_digest,
    text_digest,
    to_15_digits,
)
from dprct.certificate.valid_regressions import Validity
from dprct.errors import (
    DisclosureError,
    DprctError,
    DprctWarning,
    ModelPicklingError,
    ParameterError,
)
from dprct.formula.design_matrix import columns_of, is_factor
from dprct.io.formats import read
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.plots import Labels, coefficients, watermark_of
from dprct.privacy.budget import Guarantee
from dprct.records import dataclass
from dprct.results.typeset import (
    Grid,
    NumberColumn,
    Summary,
    count,
    each,
    html,
    latex,
    lines_of,
    p_value,
    statistic,
)
from dprct.schema.columns import DATASET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from dprct.certificate.certificate import ColumnDigest
    from dprct.schema.schema import Schema


WATERMARK = "CONFIDENTIAL: compared with the confidential data; do not publish"
MARK = "dprct"
"""Key of the watermark among the ``attrs`` of a frame."""

CAUTION = (
    "this compares with the confidential data: publishing its numbers, or choosing the best of "
    "several draws by them, is itself a disclosure that no guarantee covers; keep it with the data"
)


class Confidential:
    """Base of reports on confidential data: they stay in the process that made them.

    Notes
    -----
    A report refuses to be pickled, and with it whatever it was put into: caches, other processes
    and files are how a comparison with the truth gets out by mistake.  Its frames can be saved
    on purpose; they carry the watermark in ``attrs``.

    Examples
    --------
    >>> import pickle
    >>> pickle.dumps(Confidential())
    Traceback (most recent call last):
    ...
    dprct.errors.DisclosureError: a Confidential is confidential and is not pickled; ...
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DisclosureError(
            f"a ``{type(self).__name__}`` is confidential and is not pickled; keep the frames "
            "that you need, with the confidential data"
        )


class HoldsRows:
    """Base of models, which hold confidential rows and stay in the process that made them.

    Notes
    -----
    ``__reduce_ex__`` is what :mod:`pickle` and :mod:`copy` ask, at every protocol, and what joblib
    and cloudpickle are built on.  Tools that ask for the state by itself are refused as well.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._stays()

    def __reduce__(self) -> NoReturn:
        self._stays()

    def __getstate__(self) -> NoReturn:
        self._stays()

    def _stays(self) -> NoReturn:
        raise ModelPicklingError(
            f"``{type(self).__name__}`` holds confidential rows and is not pickled or copied; "
            "pickle the results or the release that fit returns"
        )


def marked(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the watermark among its ``attrs``.

    Examples
    --------
    >>> import pandas as pd
    >>> marked(pd.DataFrame({"overlap": [0.5]})).attrs["dprct"] == WATERMARK
    True
    """
    frame.attrs[MARK] = WATERMARK
    return frame


def is_confidential(thing: Any) -> bool:
    """Whether this is a report on confidential data, or a frame of one.

    Examples
    --------
    >>> is_confidential(Confidential()), is_confidential("a sentence")
    (True, False)
    """
    attrs = getattr(thing, "attrs", None)
    carries = isinstance(attrs, dict) and attrs.get(MARK) == WATERMARK
    return isinstance(thing, Confidential) or carries


def caution(stacklevel: int = 3) -> None:
    """Warn whoever called the function that calls this; ``stacklevel`` counts from here."""
    warnings.warn(CAUTION, DprctWarning, stacklevel=stacklevel)


_SMALLEST = 1e-12
"""Size of a test; intervals of smaller ones cannot be told from numbers of 16 digits."""


def checked_alpha(alpha: object) -> float:
    """Return the size of a test; refuse one that is not between 0 and 1, or next to either.

    Examples
    --------
    >>> checked_alpha(0.05)
    0.05
    """
    if (
        isinstance(alpha, (int, float, Fraction, np.floating))
        and _SMALLEST <= alpha <= 1 - _SMALLEST
    ):
        return float(alpha)
    raise ParameterError(
        f"``alpha={given(alpha)}``; give a number between 0 and 1 such as 0.05, and at least "
        f"{_SMALLEST:g} from both"
    )


def interval_frame(params: pd.Series[float], half: ArrayLike) -> pd.DataFrame:
    """Ends of intervals around estimates, by name, of which half the width is given.

    Examples
    --------
    >>> interval_frame(pd.Series({"t": 2.0}), 0.5).loc["t"].tolist()
    [1.5, 2.5]
    """
    values, around = params.to_numpy(), np.asarray(half, np.float64)
    ends = np.column_stack([values - around, values + around])
    return pd.DataFrame(ends, index=params.index)


def labelled(
    names: Iterable[Any], values: ArrayLike, cov: Any, noise: ArrayLike | None = None
) -> dict[str, Any]:
    """Coefficients, covariance and noise of :class:`LinearResults`, by name."""
    index = pd.Index(list(names), dtype=object)
    return {
        "params": pd.Series(values, index=index, dtype=np.float64),
        "cov": pd.DataFrame(cov, index=index, columns=index),
        "bse_noise": None if noise is None else pd.Series(noise, index=index, dtype=np.float64),
        "layout": tuple(map(str, index)),
    }


class Shown(Checked, ABC):
    """Results that print themselves as a table: as text, in a notebook, and as LaTeX.

    A class has :meth:`grid`; everything that writes the table is the same for all.
    """

    __slots__ = ()

    @abstractmethod
    def grid(self, alpha: float = 0.05) -> Grid:
        """Return the table, ready to be written in any format."""

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the table of results; equal results print the same text.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``.
        """
        return Summary.of(self.grid(alpha))

    def to_latex(self, alpha: float = 0.05) -> str:
        """Return the table as LaTeX, for ``booktabs``, ``siunitx`` and ``threeparttable``."""
        return latex(self.grid(alpha))

    def to_html(self, alpha: float = 0.05) -> str:
        """Return the table as HTML."""
        return html(self.grid(alpha))

    def to_docx(self, path: str | Path, alpha: float = 0.05) -> None:
        """Write the table as a Word document, ending in ``.docx``; needs python-docx."""
        from dprct.results.word import write_word

        write_word(self.grid(alpha), path)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinearResults(Shown):
    """Estimated coefficients with inference; the base of every result that has coefficients.

    Parameters
    ----------
    params : (k,) Series
        Coefficients by name.
    cov : (k, k) DataFrame
        Their covariance, privacy noise included where there is any.
    df_inference : float
        Degrees of freedom of t and of intervals; infinity for the normal distribution.
    df_resid : float
        Observations less coefficients.
    nobs : int
        Observations used.
    cov_type : str
    guarantee : Guarantee
    outcome, formula : str
    title : str
        First line of the summary.
    bse_noise : (k,) Series or None
        The part of each standard error that comes from privacy noise.
    layout : tuple of str
        All names in the order of the formula, omitted ones included.
    notes : tuple of str
        Sentences below the table.

    Notes
    -----
    Results hold aggregates only.  No row of the data can be reached from them, and they can be
    pickled.
    """

    inverts: ClassVar[bool] = False
    """Whether p-values come from intervals or profiles, and not from coefficient over error."""

    params: pd.Series[float]
    cov: pd.DataFrame
    df_inference: float
    df_resid: float
    nobs: int
    cov_type: str
    guarantee: Guarantee
    outcome: str = ""
    formula: str = ""
    title: str = "Coefficients"
    bse_noise: pd.Series[float] | None = None
    layout: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors, by name."""
        return self._series(np.sqrt(np.diag(self.cov.to_numpy())))

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients over standard errors, by name, or what has the same p-value.

        Where intervals are not the coefficient and a multiple of one error, p-values come from the
        intervals or from a profile.  The statistic beside them is then the quantile, of t or of the
        normal distribution, that has this p-value, with the sign of the coefficient.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.params.to_numpy() / self.bse.to_numpy()
        if self.inverts:
            p = self.pvalues.to_numpy()
            size = np.abs(special.stdtrit(self.df_inference, p / 2))
            # a p-value that is 0 in double precision is that of any large number
            found = np.where(p > 0, np.copysign(size, self.params.to_numpy()), found)
            found = np.where(np.isnan(p), np.nan, found)
        return self._series(found)

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values, by name."""
        tail = special.stdtr(self.df_inference, -np.abs(self.tvalues.to_numpy()))
        return self._series(2 * tail)

    @property
    def use_t(self) -> bool:
        """Whether inference uses t rather than the normal distribution."""
        return math.isfinite(self.df_inference)

    @property
    def omitted(self) -> tuple[str, ...]:
        """Names of the regressors that are linear combinations of earlier ones."""
        return tuple(name for name in self.layout if name not in self.params.index)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of level ``1 - alpha``; with privacy noise, where errors have it.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        (k, 2) DataFrame
            Columns 0 and 1 are the lower and the upper end.
        """
        return interval_frame(self.params, self._half_widths(checked_alpha(alpha)))

    def _half_widths(self, alpha: float) -> Any:
        """Half the length of every interval, (k,)."""
        return special.stdtrit(self.df_inference, 1 - alpha / 2) * self.bse.to_numpy()

    def cov_params(self) -> pd.DataFrame:
        """Return a copy of the covariance of the coefficients."""
        return self.cov.copy()

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per coefficient, with the column names of R's broom."""
        interval = self.conf_int(alpha)
        table = {
            "term": list(self.params.index),
            "estimate": self.params.to_numpy(),
            "std.error": self.bse.to_numpy(),
            "statistic": self.tvalues.to_numpy(),
            "p.value": self.pvalues.to_numpy(),
            "conf.low": interval[0].to_numpy(),
            "conf.high": interval[1].to_numpy(),
        }
        if self.bse_noise is not None:
            table["std.error.noise"] = self.bse_noise.to_numpy()
        return pd.DataFrame(table)

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole."""
        return pd.DataFrame(
            {
                "nobs": [self.nobs],
                "df.residual": [self.df_resid],
                "df.inference": [self.df_inference],
                "cov_type": [self.cov_type],
            }
        )

    def plot(
        self, *, alpha: float = 0.05, ax: Axes | None = None, schema: Schema | None = None
    ) -> Axes:
        """Draw the coefficients with their intervals.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``.
        ax : Axes, optional
            A new one if not given.
        schema : Schema, optional
            Variable labels are taken from here.

        Returns
        -------
        Axes
            The thin line is the interval; the thick line shows how wide it would be with privacy
            noise alone, if that were normal.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        interval, half = self.conf_int(alpha), None
        if self.bse_noise is not None:
            half = self.bse_noise * -float(special.ndtri(alpha / 2))
        label = f"Coefficient, with {100 * (1 - alpha):g}% interval"
        # an ordinary fit promises nothing to begin with
        watermark = watermark_of(self.guarantee) if self.guarantee.simulation else ""
        labels = Labels(schema)
        return coefficients(
            self.params.rename(index=labels.of), interval, noise=half,
            title=labels.of(self.outcome), label=label, watermark=watermark, ax=ax,
        )  # fmt: skip

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        degrees = f"t({self.df_inference:g})" if self.use_t else "normal"
        return (
            ("Outcome", self.outcome),
            ("Observations", count(self.nobs)),
            ("Covariance", self.cov_type),
            ("Inference", degrees),
        )

    def grid(self, alpha: float = 0.05) -> Grid:
        """Return the coefficient table, ready to be written in any format."""
        columns, (warning, notes) = self._columns(alpha), warning_in(self.notes)
        table = self.tidy(alpha).set_index("term")
        records = {
            str(name): dict(zip(table.columns, row, strict=True))
            for name, row in zip(table.index, table.to_numpy(np.float64).tolist(), strict=True)
        }
        return Grid(
            title=self.title,
            facts=self.facts(),
            headings=tuple(column.heading for column in columns),
            lines=lines_of(records, columns, self.layout or tuple(map(str, self.params.index))),
            notes=(*notes, *self._of_statistic(), *str(self.guarantee).splitlines()),
            warning=warning,
        )

    def _of_statistic(self) -> tuple[str, ...]:
        """Words for a statistic that is not coefficient over error."""
        if not self.inverts:
            return ()
        letter = "t" if self.use_t else "z"
        return (
            f"{letter} is the quantile of the p-value, which comes from the intervals; it is not "
            "coef over std err.",
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.params)} coefficients, nobs={self.nobs}>"

    def _following(
        self, table: Mapping[str, Any], title: str, notes: tuple[str, ...] = ()
    ) -> LinearResults:
        """Functions of the coefficients, :func:`labelled`, as a result of their own."""
        return LinearResults(
            **table, df_inference=self.df_inference, df_resid=self.df_resid, nobs=self.nobs,
            cov_type=self.cov_type, guarantee=self.guarantee, outcome=self.outcome,
            formula=self.formula, title=title, notes=notes,
        )  # fmt: skip

    def _series(self, values: NDArray[np.floating[Any]]) -> pd.Series[float]:
        return pd.Series(values, index=self.params.index)

    def _columns(self, alpha: float) -> list[NumberColumn]:
        size = checked_alpha(alpha)
        low, high = f"[{size / 2:.4g}", f"{1 - size / 2:.4g}]"
        columns = [
            NumberColumn("estimate", "coef"),
            NumberColumn("std.error", "std err"),
        ]
        if self.bse_noise is not None:
            columns.append(NumberColumn("std.error.noise", "of which noise"))
        letter = "t" if self.use_t else "z"
        return [
            *columns,
            NumberColumn("statistic", letter, each(statistic)),
            NumberColumn("p.value", f"P>|{letter}|", each(p_value)),
            NumberColumn("conf.low", low),
            NumberColumn("conf.high", high),
        ]


# Where the table of a fit comes from: a release, a protected file, or nothing that is known.

_MADE = re.compile(r"(?:Protected|Synthetic, not protected,) file made by dprct\. ")
_MOST_NAMED = 4


@dataclass(frozen=True)
class Origin:
    """A certificate that may describe a table."""

    name: str  # what messages call it
    guarantee: Guarantee
    # Of the table that it describes; None where it has none, or the release is a simulation.
    values: ValuesDigest | None

    def to_json(self) -> str:
        """Return it as text, by which a frame of R carries it."""
        content: dict[str, Any] = {"name": self.name, "guarantee": self.guarantee.to_dict()}
        if self.values is not None:
            content["values"] = self.values.to_dict()
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> Origin:
        """Object of what :meth:`to_json` wrote."""
        try:
            content = json.loads(text)
            values = ValuesDigest.from_dict(content["values"]) if "values" in content else None
            return cls(str(content["name"]), Guarantee.from_dict(content["guarantee"]), values)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ParameterError(
                "what the data state about their release cannot be read; take them from the release"
            ) from None

    def promised(self, data: Any, names: Iterable[str]) -> Guarantee:
        """Return the guarantee, if these columns of a table are those of the certificate."""
        if self.guarantee.simulation:
            return self.guarantee
        if self.values is None:
            return Guarantee.unverified_because(
                f"{self.name} has no digest of the values, and cannot be checked against them"
            )
        known = {column.name: column for column in self.values.columns}
        names = list(dict.fromkeys(names))
        frame = columns_of(data, names)
        foreign = [n for n in names if n not in known or not _is_described(frame[n], known[n])]
        if not foreign:
            return self.guarantee
        shown = ", ".join(foreign[:_MOST_NAMED]) + (", ..." if len(foreign) > _MOST_NAMED else "")
        return Guarantee.unverified_because(
            f"{self.name} does not describe the column{'s' * (len(foreign) > 1)} {shown} as given "
            "(rows were left out or reordered, values were changed, or columns were added)"
        )


@dataclass(frozen=True)
class Provenance:
    """What is known of the table of a fit."""

    guarantee: Guarantee | None  # None of a table of which nothing says that it was released
    # Whether there is a certificate, and it does not describe the columns: what the file says of
    # its errors then does not hold for them either.
    contradicted: bool = False

    @property
    def is_released(self) -> bool:
        """Whether the table is known to be a release, whatever that promises."""
        return self.guarantee is not None and not self.guarantee.unverified


def binned_notes(
    schema: Schema | None, outcomes: Iterable[str], known: Provenance
) -> tuple[str, ...]:
    """Notes on means of released columns that have bins, as their schema tells."""
    if schema is None or not known.is_released:
        return ()
    names = [
        name
        for name in dict.fromkeys(outcomes)
        if name in schema.names and schema.column(name).bins is not None
    ]
    if not names:
        return ()
    return (
        f"{', '.join(names)}: released in bins; within them values are drawn, and a mean or an "
        "effect is as good as the plan in the certificate says of it.",
    )


def void_notes(schema: Schema | None) -> tuple[str, ...]:
    """Notes on errors that are computed on a file where they mean nothing.

    Whatever was done to the rows since, it holds of them, too.
    """
    if schema is None:
        return ()
    return tuple(
        text
        for owner, name, text in schema.file.characteristics
        if owner == DATASET and name.startswith("note") and text.startswith(VOID_ERRORS)
    )


def warning_in(notes: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Part notes into what stands above a table, and what stands below it."""
    above = dict.fromkeys(note for note in notes if note.startswith(VOID_ERRORS))
    return " ".join(above), tuple(note for note in notes if note not in above)


def table_given(
    data: Any, schema: Schema | None, guarantee: Guarantee | None
) -> tuple[Any, Schema | None, Guarantee | None]:
    """Table, schema and guarantee of the argument ``data``.

    A release brings its schema and its guarantee, a file and a pair their schema.
    """
    if getattr(type(data), "holds_protected", False):
        if schema is not None or guarantee is not None:
            raise ParameterError(
                "a release brings its schema and its guarantee; leave out ``schema=`` "
                "and ``guarantee=``"
            )
        return data.protected, data.schema, data.guarantee
    if isinstance(data, (str, os.PathLike)):
        data = read(data)
    if isinstance(data, tuple):
        if len(data) != 2 or schema is not None:
            raise ParameterError(
                "``data=`` is ``a tuple``; give a pair of data and schema, and leave out "
                "``schema=``"
            )
        data, schema = data
    return data, schema, guarantee


def provenance(
    data: Any,
    schema: Schema | None,
    names: Iterable[str],
    guarantee: Guarantee | None,
    *,
    by_row: bool,
) -> Provenance:
    """Facts known of the columns that a fit uses.

    A guarantee that was given holds, unless it says itself that it is unverified; ``by_row`` says
    that something was given by row, which is not a column of any file.
    """
    if guarantee is not None:
        return Provenance(guarantee, contradicted=guarantee.unverified)
    if schema is None:
        return Provenance(None)
    origin, problem = _beside(schema.source)
    if origin is not None and by_row:
        return Provenance(Guarantee.unverified_because(_BY_ROW.format(origin.name)))
    if origin is not None:
        found = origin.promised(data, names)
        return Provenance(found, contradicted=found.unverified)
    words = _own_words(schema)
    if words is None and not problem:
        return Provenance(None)
    said = "" if words is None else f"; the data's own notes say: {words.rstrip('.')}"
    problem = problem or "no certificate was found with these data"
    return Provenance(Guarantee.unverified_because(problem + said))


_BY_ROW = "{} does not describe the clusters or weights, which were given by row"


def _beside(source: Path | None) -> tuple[Origin | None, str]:
    """Return the certificate next to a file, or why it cannot be read; neither without one."""
    if source is None:
        return None, ""
    place = certificate_path(source)
    if not os.path.lexists(place):
        return None, ""
    try:
        found = Certificate.from_dict(json.loads(disk.content(place, disk.MOST_JSON)))
    except (OSError, ValueError, TypeError, RecursionError, DprctError):
        return None, f"{place.name}, next to the file, is not a certificate that can be read"
    return Origin(place.name, found.guarantee, found.values), ""


def _own_words(schema: Schema) -> str | None:
    """Guarantee that the file of a schema states; None of an ordinary file."""
    for owner, name, text in schema.file.characteristics:
        found = _MADE.match(text)
        if owner == DATASET and name.startswith("note") and found is not None:
            return text[found.end() :]
    if Validity.of(schema) is not None:
        return "it is calibrated"
    label = schema.file.label
    return label if isinstance(label, str) and label.startswith(NO_GUARANTEE_LABEL) else None


def _is_described(column: Any, digest: ColumnDigest) -> bool:
    """Whether a column has the values of a digest; which missing code stands where is no matter."""
    if digest.kind == "text":
        return bool(text_digest(list(column)) == digest.plain)
    if is_factor(column):
        return False
    values = column.to_numpy(np.float64, na_value=np.nan)
    if digest.kind == "float":
        values = values.astype(np.float32).astype(np.float64)
    if number_digest(values, exact=False) == digest.plain:
        return True
    return bool(number_digest(to_15_digits(values), exact=False) == digest.rounded)
