"""Thermal cycles for tables and Potts edges: kept costs, sweeps, balls, crossing by region."""
