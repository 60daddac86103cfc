"""Images -> superpixels, which of them touch, and labels back onto pixels."""
