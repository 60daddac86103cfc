"""Solvers on prepared data: a resumable grid, its figures with intervals, and tables."""
