"""Proven minima: reductions, independent parts, MILP, toulbar2, brute force."""
