"""Policies: kinds of network, the incremental engine that acts, files, and a policy as a solver."""
