"""Numbers tuned for a family and a budget: candidates, racing, journal, judging, the last table."""
