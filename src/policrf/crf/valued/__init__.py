"""Cliques that keep a value in the state: built-in groups, custom functions, boxes half-way."""
