"""Texts of bounded length, as bytes of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.errors import SchemaError

if TYPE_CHECKING:
    from dprct.io.stata.layout import Layout


def packed_text(text: str, most: int, layout: Layout, what: str) -> bytes:
    r"""Return a text as bytes of the release's encoding, or refuse.

    Parameters
    ----------
    text : str
        Surrogate escapes become the bytes they stand for.
    most : int
        Largest number of bytes.
    layout : Layout
    what : str
        What the text is, to begin the refusal with.

    Raises
    ------
    SchemaError
        If the release cannot encode the text, it is too long, or it holds a NUL.

    Examples
    --------
    >>> from dprct.io.stata.layout import LAYOUTS
    >>> packed_text("é", 8, LAYOUTS[118], "the label")
    b'\xc3\xa9'
    """
    try:
        packed = layout.encode(text)
    except UnicodeEncodeError:
        raise SchemaError(
            f"{what} has a character that release {layout.release} cannot hold; {_mend(layout)}"
        ) from None
    if b"\0" in packed:
        raise SchemaError(f"{what} holds a NUL character, which ends a text in Stata; remove it")
    if len(packed) > most:
        raise SchemaError(
            f"{what} has {len(packed):,} bytes and release {layout.release} allows {most:,}; "
            "shorten it"
        )
    return packed


def padded_text(text: str, width: int, layout: Layout, what: str) -> bytes:
    """Return a text as a field of ``width`` bytes that ends in at least one NUL."""
    return packed_text(text, width - 1, layout, what).ljust(width, b"\0")


def _mend(layout: Layout) -> str:
    if layout.release < 118:
        return "write version=118 or change the text"
    return "give the undecodable text as bytes"
