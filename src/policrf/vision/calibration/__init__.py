"""Choosing an energy on prepared data: stages, early stopping, scores with errors, the choice, files."""
