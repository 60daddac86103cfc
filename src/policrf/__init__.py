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
    from policrf import errors as errors
    from policrf.crf.grid import grid as grid
    from policrf.crf.instance import Instance as Instance
    from policrf.crf.io import read as read
    from policrf.crf.io import write as write
    from policrf.crf.io.mpe import read_mpe as read_mpe
    from policrf.crf.io.mpe import write_mpe as write_mpe
    from policrf.crf.io.toulbar2.cfn import read_cfn as read_cfn
    from policrf.crf.io.toulbar2.cfn_write import write_cfn as write_cfn
    from policrf.crf.io.toulbar2.wcsp import read_wcsp as read_wcsp
    from policrf.crf.io.toulbar2.wcsp_write import write_wcsp as write_wcsp
    from policrf.crf.io.uai import read_uai as read_uai
    from policrf.crf.io.uai_write import write_uai as write_uai
    from policrf.crf.model import CRF as CRF
    from policrf.crf.potentials import BoxAgreement as BoxAgreement
    from policrf.crf.potentials import BoxSupport as BoxSupport
    from policrf.crf.potentials import Connectivity as Connectivity
    from policrf.crf.potentials import CoOccurrence as CoOccurrence
    from policrf.crf.potentials import CountFunction as CountFunction
    from policrf.crf.potentials import Custom as Custom
    from policrf.crf.potentials import LabelCost as LabelCost
    from policrf.crf.potentials import LabelOrder as LabelOrder
    from policrf.crf.potentials import Pairwise as Pairwise
    from policrf.crf.potentials import Potts as Potts
    from policrf.crf.potentials import RobustPotts as RobustPotts
    from policrf.crf.potentials import Summary as Summary
    from policrf.crf.potentials import Tables as Tables
    from policrf.datasets.prepare import prepare as prepare
    from policrf.datasets.sources import load_instances as load_instances
    from policrf.evaluation.runner import evaluate as evaluate
    from policrf.execution.processes import Processes as Processes
    from policrf.execution.ray_cluster import RayCluster as RayCluster
    from policrf.learn.train import train as train
    from policrf.plots.traces import plot_trace as plot_trace
    from policrf.policy.checkpoint import list_policies as list_policies
    from policrf.policy.checkpoint import load_policy as load_policy
    from policrf.policy.policy import Policy as Policy
    from policrf.scenes import make_scene as make_scene
    from policrf.scenes import render_scene as render_scene
    from policrf.solvers import list_solvers as list_solvers
    from policrf.solvers import solve as solve
    from policrf.solvers.describe import describe as describe
    from policrf.solvers.many import solve_many as solve_many
    from policrf.types import Solution as Solution
    from policrf.vision.calibration.calibrate import calibrate as calibrate
    from policrf.vision.energy.weights import Energy as Energy
    from policrf.vision.segment import Segmenter as Segmenter

# Public name -> the module that has it. Loaded on first use: importing policrf costs nothing.
_PUBLIC = {
    "BoxAgreement": "policrf.crf.potentials",
    "BoxSupport": "policrf.crf.potentials",
    "CRF": "policrf.crf.model",
    "Custom": "policrf.crf.potentials",
    "Energy": "policrf.vision.energy.weights",
    "Instance": "policrf.crf.instance",
    "Policy": "policrf.policy.policy",
    "Potts": "policrf.crf.potentials",
    "Processes": "policrf.execution.processes",
    "RayCluster": "policrf.execution.ray_cluster",
    "Segmenter": "policrf.vision.segment",
    "Solution": "policrf.types",
    "CoOccurrence": "policrf.crf.potentials",
    "Connectivity": "policrf.crf.potentials",
    "CountFunction": "policrf.crf.potentials",
    "LabelCost": "policrf.crf.potentials",
    "LabelOrder": "policrf.crf.potentials",
    "Pairwise": "policrf.crf.potentials",
    "RobustPotts": "policrf.crf.potentials",
    "Summary": "policrf.crf.potentials",
    "Tables": "policrf.crf.potentials",
    "calibrate": "policrf.vision.calibration.calibrate",
    "describe": "policrf.solvers.describe",
    "errors": "policrf",
    "evaluate": "policrf.evaluation.runner",
    "grid": "policrf.crf.grid",
    "list_policies": "policrf.policy.checkpoint",
    "list_solvers": "policrf.solvers",
    "load_instances": "policrf.datasets.sources",
    "load_policy": "policrf.policy.checkpoint",
    "make_scene": "policrf.scenes",
    "plot_trace": "policrf.plots.traces",
    "prepare": "policrf.datasets.prepare",
    "read": "policrf.crf.io",
    "read_cfn": "policrf.crf.io.toulbar2.cfn",
    "read_mpe": "policrf.crf.io.mpe",
    "read_uai": "policrf.crf.io.uai",
    "read_wcsp": "policrf.crf.io.toulbar2.wcsp",
    "render_scene": "policrf.scenes",
    "solve": "policrf.solvers",
    "solve_many": "policrf.solvers.many",
    "train": "policrf.learn.train",
    "write": "policrf.crf.io",
    "write_cfn": "policrf.crf.io.toulbar2.cfn_write",
    "write_mpe": "policrf.crf.io.mpe",
    "write_uai": "policrf.crf.io.uai_write",
    "write_wcsp": "policrf.crf.io.toulbar2.wcsp_write",
}
# The extra that installs what a name needs beyond a plain install.
_EXTRAS = {"calibrate": "vision", "prepare": "vision", "Segmenter": "vision", "train": "learn"}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'policrf' has no attribute {name!r}")
    try:
        module = import_module(f"policrf.{name}" if _PUBLIC[name] == "policrf" else _PUBLIC[name])
    except ModuleNotFoundError as error:
        from policrf.errors import MissingDependency

        if name not in _EXTRAS or (error.name or "").startswith("policrf"):
            raise
        raise MissingDependency(
            f"policrf.{name} needs {error.name}; run pip install 'policrf[{_EXTRAS[name]}]'"
        ) from None
    value = module if _PUBLIC[name] == "policrf" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
