"""Learned heuristics, classical solvers and proven optima for MAP inference in CRFs of any order.

>>> import policrf as pc
>>> crf = pc.CRF([[0.0, 2.0], [1.0, 0.9], [2.0, 0.0]], pc.Potts([[0, 1], [1, 2]], 0.5))
>>> pc.solve(crf, "exact").labels.tolist()
[0, 1, 1]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from policrf._version import __version__ as __version__

if TYPE_CHECKING:
    from policrf.crf.instance import Instance as Instance
    from policrf.crf.io.uai import read_uai as read_uai
    from policrf.crf.io.uai import write_uai as write_uai
    from policrf.crf.model import CRF as CRF
    from policrf.crf.potentials import BoxAgreement as BoxAgreement
    from policrf.crf.potentials import BoxSupport as BoxSupport
    from policrf.crf.potentials import Custom as Custom
    from policrf.crf.potentials import Potts as Potts
    from policrf.crf.potentials import Tables as Tables
    from policrf.policy.checkpoint import load_policy as load_policy
    from policrf.policy.policy import Policy as Policy
    from policrf.scenes import make_scene as make_scene
    from policrf.scenes import render_scene as render_scene
    from policrf.solvers import list_solvers as list_solvers
    from policrf.solvers import solve as solve
    from policrf.types import Solution as Solution

# Public name -> the module that has it. Loaded on first use: importing policrf costs nothing.
_PUBLIC = {
    "CRF": "policrf.crf.model",
    "BoxAgreement": "policrf.crf.potentials",
    "BoxSupport": "policrf.crf.potentials",
    "Custom": "policrf.crf.potentials",
    "Instance": "policrf.crf.instance",
    "Policy": "policrf.policy.policy",
    "Potts": "policrf.crf.potentials",
    "Solution": "policrf.types",
    "Tables": "policrf.crf.potentials",
    "list_solvers": "policrf.solvers",
    "load_policy": "policrf.policy.checkpoint",
    "make_scene": "policrf.scenes",
    "read_uai": "policrf.crf.io.uai",
    "render_scene": "policrf.scenes",
    "solve": "policrf.solvers",
    "write_uai": "policrf.crf.io.uai",
}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'policrf' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
