"""Choosing an energy on prepared data: stages, scores with errors, the choice, its files."""
