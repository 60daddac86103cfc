"""Local search by larger moves: pairs, regions, boxes, cuts, whole cliques, half-way repairs."""
