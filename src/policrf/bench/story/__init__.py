"""The demo as a story: a proven grid, a potential of one's own, an image through the pipeline."""
