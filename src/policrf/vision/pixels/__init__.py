"""Pixels near the boundaries of a solution over superpixels, decided again one by one."""
