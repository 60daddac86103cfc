"""First passes: a small network shared by all labels that labels every node once, fast."""
