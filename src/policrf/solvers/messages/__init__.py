"""Message passing on the factor graph: belief propagation, TRW-S and TRBP, and what both share."""
