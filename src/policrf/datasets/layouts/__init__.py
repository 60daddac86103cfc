"""Layouts of files that others made: VOC, KITTI-MOTS, folders of images, TrackR-CNN results."""
