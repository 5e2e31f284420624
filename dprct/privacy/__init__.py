"""Budgets, guarantees, mechanisms and their noise; nothing here knows a data frame."""
