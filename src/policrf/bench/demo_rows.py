"""The solvers that the demo compares with, kept apart so that its help loads nothing heavy."""

ROWS = (
    "unary",
    "icm",
    "highest_confidence_first",
    "untrained",
    "mean_field",
    "belief_propagation",
    "tree_reweighted",
    "dual_decomposition",
    "lazy_flipper",
    "alpha_expansion",
    "exact",
)
