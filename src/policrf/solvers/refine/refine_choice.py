"""Which clique move to try: the most promising of some that are drawn at random.

To try a move takes some hundred visits of nodes, and most moves fail. A weighted sum of what is
known of it before (`refine_known`) is the move's score, and the lowest score is tried. The weights
are `Numbers.move_weights`.
"""

from __future__ import annotations

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.random_numbers import Generator, below
from policrf.solvers.numbers import KNOWN
from policrf.solvers.refine.refine_cliques import Drawn, Mix, draw_labels
from policrf.solvers.refine.refine_known import CHOSEN, LOOKED, SCORE, Choice, look, place
from policrf.solvers.refine.refine_neighbourhoods import (
    AT,
    BALL,
    CLIQUE,
    LENGTH,
    MADE,
    NEW,
    OLD,
    SCOPE,
    Workspace,
    collect_ball,
    collect_members,
    draw_clique,
)
from policrf.solvers.refine.refine_trial import Trial


@inner
def consider(
    a: Arrays, s: State, t: Trial, w: Workspace, generator: Generator, mix: Mix, choice: Choice
) -> int:
    """Draw one more move, and keep it if it is the best so far; returns how many nodes it is about.

    The best one is in CLIQUE, OLD, NEW and `margin[0]`; AT counts them. A node in no clique has the
    ball around it instead; that is tried at once, or passed over if there is a move already.
    """
    i = below(generator, len(s.labels))
    c = draw_clique(a, i, generator)
    first = w.cursor[AT] == 0
    w.cursor[AT] += 1
    if c < 0:
        if first:
            collect_ball(a, w, i, BALL, generator)
            drawn = draw_labels(a, s, i, w.nodes, 0, w.cursor[LENGTH], generator, mix)
            keep_candidate(w, -1, drawn)
            w.cursor[AT] = choice.among
        return 1
    start, size = a.clique_ptr[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    drawn = draw_labels(a, s, i, a.clique_nodes, start, size, generator, mix)
    if choice.among == 1:
        keep_candidate(w, c, drawn)
        return 1
    look(a, s, t, w, c, drawn, choice)
    score, known = 0.0, choice.memory.known
    for k in range(len(KNOWN)):
        score += choice.weights[k] * known[LOOKED, k]
    if first or score < known[CHOSEN, SCORE]:
        for k in range(len(KNOWN)):
            known[CHOSEN, k] = known[LOOKED, k]
        known[CHOSEN, SCORE] = score
        keep_candidate(w, c, drawn)
    return int(size)


@inner
def keep_candidate(w: Workspace, c: int, drawn: Drawn) -> None:
    """The move of clique c is the best so far."""
    w.cursor[CLIQUE], w.cursor[OLD], w.cursor[NEW] = c, drawn.old, drawn.new
    w.margin[0] = drawn.most  # scratch space until the move is made


@inner
def take_candidate(a: Arrays, s: State, w: Workspace, choice: Choice) -> None:
    """The members of the best move into `nodes` and `scope`."""
    c = w.cursor[CLIQUE]
    if c >= 0:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        collect_members(a, s.labels, w, c, 0, size, -1)
        if choice.among > 1:
            tried = choice.memory.tried
            tried[place(a, tried, c, w.cursor[OLD], w.cursor[NEW])] = w.cursor[MADE] + 1
    n = w.cursor[LENGTH]
    for at in range(n):
        w.scope[at] = w.nodes[at]
    w.cursor[SCOPE] = n
