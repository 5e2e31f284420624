"""Private inverse probability weighting: effects of a treatment that was not randomised."""
