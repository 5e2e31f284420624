"""Data in, private estimates out: strict methods whose results are numbers, not rows."""
