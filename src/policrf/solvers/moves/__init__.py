"""Labelings built or improved a node or a few at a time: ICM, highest confidence first, annealing."""
