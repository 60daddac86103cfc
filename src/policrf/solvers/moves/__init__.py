"""Labelings improved or built a node or a few at a time: ICM, highest confidence first, refine."""
