"""`policrf bench foreign FOLDER`: solvers on models that other people made, with known energies."""
