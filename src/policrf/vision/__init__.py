"""Image -> instance and back.

An image goes through `pipeline` (superpixels, net, detector, foregrounds) into a `record` of raw
quantities; `energy` applies weights to it; `segment` does all of it for one photo.

    nets/           files of segmentation nets and detectors, hypercolumns, precomputed detections
    superpixels/    SLIC, cut along a net's labels, which superpixels touch, labels back onto pixels
    energy/         the weights, and what they make of a record
    pixels/         pixels near the boundaries of a solution, decided again
    calibration/    choosing the weights on prepared training data

Each foreign library is touched in one file: Pillow in images, OpenCV in opencv, TFLite and ONNX in
nets/tflite and nets/onnx; matplotlib in plots/figures.
Everything else is numpy and scipy.
"""
