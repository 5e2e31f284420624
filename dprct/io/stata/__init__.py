"""Stata files without loss: releases 113 to 115 and 117 to 119, in both byte orders."""

from dprct.io.stata.read import read_dta, read_header
from dprct.io.stata.write import write_dta

__all__ = ["read_dta", "read_header", "write_dta"]
