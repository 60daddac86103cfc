"""Proven minima: reductions, parts, MILP, toulbar2, brute force; every step is safe to rounding."""
