"""Net files -> scores, inner maps and detections; each foreign library in one file."""
