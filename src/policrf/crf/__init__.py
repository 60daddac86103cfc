"""The model: a CRF of any order, its potentials, and the compiled energy every solver shares."""
