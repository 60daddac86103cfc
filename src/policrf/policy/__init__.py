"""Policies: kinds of network, the incremental engine that acts, their files, a policy as a solver."""
