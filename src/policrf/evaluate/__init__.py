"""Measuring: metrics, the solver × instance grid, benchmarks and their tables."""
