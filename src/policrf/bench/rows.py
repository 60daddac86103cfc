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
GENERIC = (
    "icm",
    "complete: highest_confidence_first",
    "complete: lazy_flipper",  # it starts from the former
    "annealing",
)
"""What there is without asking a potential half-way: the rows to be compared with."""
POTENTIALS = (
    *GENERIC,
    "known: alpha_expansion + icm",
    "highest_confidence_first",
    "lazy_flipper",
    "belief_propagation",
    "refine:start=unary",
    "untrained + icm",
    "untrained:refine=true",
    "auto",
    "cp_sat",
)
