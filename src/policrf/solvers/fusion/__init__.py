"""Moves between two labelings by roof duality: fusion of proposals, and alpha-beta swap."""
