"""Learning: calibrating an energy (no torch), and training policies (torch)."""
