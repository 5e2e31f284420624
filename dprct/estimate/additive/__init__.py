"""Private additive regression: counts and clipped sums at levels of features, released once."""
