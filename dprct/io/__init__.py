"""Files in and out: Stata's own codec, other formats, and the comparison of files."""

from dprct.io.formats import read, write

__all__ = ["read", "write"]
