"""Pictures from arrays: PNG bytes, colours of labels, mosaics, figures."""
