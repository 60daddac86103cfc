"""Choosing the weights of an energy on prepared training data: the search, what it gives, files."""
