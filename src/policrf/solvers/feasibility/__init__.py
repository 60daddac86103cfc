"""Allowed labelings of models that forbid: propagation, guided search, weighted repair."""
