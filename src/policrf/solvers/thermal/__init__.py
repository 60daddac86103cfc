"""Thermal cycles for tables and Potts edges: kept costs, sweeps, crossing by region, messages."""
