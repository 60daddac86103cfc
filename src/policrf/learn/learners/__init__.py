"""Ways to learn: Q-learning, tree-search learning, evolution, the supervised baseline."""
