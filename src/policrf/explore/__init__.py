"""Pages to open in a browser."""
