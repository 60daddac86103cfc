"""Graph cuts: alpha-expansion, its moves and max-flow; quotas (HOP2) met by repair or by prices."""
