"""A first call in a new environment: kernels compiled by several processes, with an estimate."""
