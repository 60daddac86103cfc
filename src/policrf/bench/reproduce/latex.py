"""A table as LaTeX, for a paper: booktabs, numbers as the Markdown has them."""

from __future__ import annotations

from typing import Any

from policrf.evaluation.tables import Table, format_value

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "α": r"$\alpha$", "λ": r"$\lambda$", "φ": r"$\varphi$", "±": r"$\pm$", "−": "$-$",
    "≈": r"$\approx$", "ŷ": r"$\hat{y}$", "μ": r"$\mu$", "·": r"$\cdot$", "…": r"\ldots{}",
}  # fmt: skip


def latex(table: Table) -> str:
    """A table environment.

    >>> print(latex(Table("α & β", ("row", "IoU"), (("DQN_R2", 71.234),))).splitlines()[5])
    DQN\\_R2 & 71.23 \\\\
    """
    columns = "l" + "r" * (len(table.columns) - 1)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}} \toprule"]
    lines += [_line(table.columns), r"\midrule"]
    lines += [_line(row) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    note = f" {escaped(table.note)}" if table.note else ""
    lines += [rf"\caption{{{escaped(table.title)}.{note}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[Any, ...]) -> str:
    return " & ".join(escaped(format_value(cell)) for cell in cells) + r" \\"


def escaped(text: str) -> str:
    """Text whose signs LaTeX takes as they are."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text)
