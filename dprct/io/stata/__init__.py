"""Stata files without loss: releases 102 to 119 as far as they are known, in both byte orders."""

from dprct.io.stata.files import read_dta, read_header, table_of_dta, write_dta

__all__ = ["read_dta", "read_header", "table_of_dta", "write_dta"]
