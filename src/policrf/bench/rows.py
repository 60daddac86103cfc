"""The solvers of every table, kept apart so that a command's help loads nothing heavy."""

APPROXIMATE = (
    "unary",
    "icm",
    "highest_confidence_first",
    "untrained",
    "mean_field",
    "belief_propagation",
    "dual_decomposition",
    "lazy_flipper",
    "tree_reweighted",
    "alpha_expansion",
)
DEMO = (*APPROXIMATE, "exact")
GRID = (
    *APPROXIMATE,
    "tree_reweighted:schedule=parallel",
    "alpha_expansion:hop2=lagrangian",
    "refine",
    "exact",
)
POTENTIALS = (
    "icm",
    "highest_confidence_first",
    "lazy_flipper",
    "belief_propagation",
    "annealing",
    "refine:start=unary",
    "refine",
    "untrained",
    "untrained:refine=true",
)
