"""What each kind of cell does: prepare, calibrate, train, score, time, draw."""
