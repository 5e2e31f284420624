"""Private synthetic control: a counterfactual path from donors, each of which is one record."""
