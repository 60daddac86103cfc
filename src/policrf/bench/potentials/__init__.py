"""`policrf bench potentials`: solvers on potentials that none of them knows from inside."""
