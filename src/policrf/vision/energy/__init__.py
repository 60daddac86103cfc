"""Weights of an energy, and what they make of a record: the instance of an image."""
