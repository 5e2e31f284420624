"""What fits return: coefficients with inference, tables, certificates."""
