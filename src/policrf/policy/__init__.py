"""Policies: the network (torch, for learning), the engine (numba, for acting), their files."""
