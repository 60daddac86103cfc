"""Labelings built or improved a few nodes at a time: ICM, highest confidence first, annealing."""
