"""The kind "shared": weights that all labels share, for any number of labels, nodes and cliques."""
