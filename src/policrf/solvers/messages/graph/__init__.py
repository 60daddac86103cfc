"""The CRF as a factor graph: nodes in order, pairwise terms as arcs, cliques, tables, counts."""
