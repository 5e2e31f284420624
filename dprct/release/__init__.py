"""Data in, protected data out: strict releases."""
