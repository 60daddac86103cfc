"""What `policrf bench` and `policrf demo` measure: the energy core, the solvers, run times."""
