"""Calibrated: a synthetic file on which the unchanged regression returns private effects."""
