"""A two-node Ray cluster on loopback, without dashboard, of which no process is left in the end."""

from __future__ import annotations

import logging
import os
import uuid
from pathlib import Path

import pytest
from tests.execution.processes_of import processes_with

ROOT = Path(__file__).resolve().parents[2]
MARK = "POLICRF_TEST_CLUSTER"
# Ray then listens on loopback only; it looks when it is imported, which any test may do first.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}


@pytest.fixture(scope="session")
def loopback():
    """What every process of a cluster inherits; the value that marks them all."""
    added = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "POLICRF_COMPILE_JOBS": "1",
        MARK: uuid.uuid4().hex,
    }
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    yield added[MARK]
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="module")
def two_nodes(loopback):
    """A `ray.cluster_utils.Cluster`: one core on each of two nodes."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'policrf[ray]'")
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)
    cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    yield cluster
    import ray

    ray.shutdown()
    cluster.shutdown()
    left = processes_with(MARK, loopback, patience=20)
    assert not left, f"processes are left: {left}"


@pytest.fixture
def cluster(two_nodes):
    """The same with both nodes, whatever a test before has done to it."""
    while len(two_nodes.worker_nodes) < 1:
        two_nodes.add_node(**NODE)
    two_nodes.wait_for_nodes()
    return two_nodes


@pytest.fixture
def executor(cluster):
    """The cluster as policrf uses it."""
    import policrf as pc

    with pc.RayCluster(cluster.address) as found:
        yield found
