"""Monte-Carlo tree search over labelings: a tree in arrays on the incremental engine."""
