"""Learning first passes: evolution on the energy that they end in."""
