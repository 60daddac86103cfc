"""Image -> instance and back. Each foreign library is touched in exactly one file.

images (Pillow) · opencv (resizing, GrabCut, Darknet) · superpixels (scikit-image) · tflite · onnx ·
figures (matplotlib); everything else is numpy and scipy.
"""
