"""Thermal cycles for tables and Potts edges: kept costs, sweeps, crossing region by region."""
