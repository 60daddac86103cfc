"""Every command: what it does, in a line, and an example that runs as it stands after `samples`."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A line for the overview, and one to try."""

    text: str
    example: str


COMMANDS = {
    "demo": Command(
        "three things that policrf does, on embedded data; a table and a page to open",
        "policrf demo --out demo",
    ),
    "solve": Command(
        "a labeling of least energy for a .uai or .npz model",
        "policrf solve samples/denoising.uai --solver exact --seconds 10",
    ),
    "bench": Command(
        "measure: the energy core, the solvers, the run times",
        "policrf bench solvers --sizes 250 1000 --out bench-solvers",
    ),
    "prepare": Command(
        "images, a net and a detector -> CRFs on disk",
        "policrf prepare voc --root VOCdevkit/VOC2012 --split train --net deeplab.tflite "
        "--out prepared/train",
    ),
    "calibrate": Command(
        "choose the weights of the energy on training data",
        "policrf calibrate prepared/train --out energy.yaml",
    ),
    "train": Command(
        "by a goal (energy, labels), judged; or by shared, dqn, mcts, supervised, …",
        "policrf train energy --data family:parity:144 --budget 7us --seconds 60 --out runs/parity",
    ),
    "policies": Command(
        "the policies that ship: goals, figures, how they were made", "policrf policies"
    ),
    "segment": Command(
        "segment one photo or a folder of them",
        "policrf segment samples/photo.png --scores samples/scores --labels samples/labels.txt",
    ),
    "samples": Command("small files to try the commands on", "policrf samples --out samples"),
    "warmup": Command(
        "compile the kernels of all solvers ahead, on all cores",
        "policrf warmup --solvers auto untrained",
    ),
    "doctor": Command(
        "what is installed, what is missing, where kernels are kept", "policrf doctor --json"
    ),
    "explore": Command(
        "look at answers of solvers in one HTML page: a photo, a model, a scene, results",
        "policrf explore samples/scene.npz --out explore.html",
    ),
    "evaluate": Command(
        "solvers on prepared data: IoU, energies, gaps, seconds",
        "policrf evaluate prepared/val --solvers unary alpha_expansion --out results",
    ),
    "reproduce": Command(
        "the paper's tables and figures, cell by cell, in its own form or in ours",
        "policrf reproduce all --preset quick --out reproduce",
    ),
    "completion": Command(
        "a script that completes commands, options and solvers in bash, zsh or fish",
        'eval "$(policrf completion bash)"',
    ),
}
