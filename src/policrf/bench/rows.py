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
GRID = (
    *APPROXIMATE,
    "tree_reweighted:schedule=parallel",
    "alpha_expansion:hop2=lagrangian",
    "refine",
    "exact",
)
COMPLETE_ONLY = (
    "icm",
    "complete: highest_confidence_first",
    "complete: lazy_flipper",  # it starts from the former
    "complete: highest_confidence_first + refine:cliques=false,halfway=false",
    "belief_propagation",  # where tables of the cliques fit
)
"""What there was before potentials could be asked half-way; refine without clique moves."""
GENERIC = (*COMPLETE_ONLY, "annealing")
"""What there is without asking a potential half-way: annealing came with half-way questions."""
POTENTIALS = (
    *GENERIC,
    "known: alpha_expansion + icm",
    "highest_confidence_first",
    "lazy_flipper",
    "refine:start=unary",
    "untrained + icm",
    "untrained:refine=true",
    "auto",
    "cp_sat",
)
