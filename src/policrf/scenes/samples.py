"""Files to try the commands on, made here: a model, a scene, an image with a net's scores.

denoising.uai     a noisy picture of four grey levels as a grid, 768 nodes (UAI)
scene.npz         a scene with boxes: an instance with features and truth
photo.png         a rendered image; scores/photo.npy is what a net says of it (class scores),
                  truth/photo.png what is there, labels.txt the names of the labels
"""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.uai import write_uai
from policrf.crf.model import CRF
from policrf.crf.potentials import Potts
from policrf.errors import InvalidFile
from policrf.plots.png import encode_png
from policrf.scenes.render import render_scene
from policrf.scenes.scene import make_scene
from policrf.types import IntArray

GRID = (24, 32)
LEVELS = 4
PHOTO = (180, 240)
LABELS = ("background", *(f"object {k}" for k in range(1, 6)))


def write_samples(folder: str | Path) -> list[Path]:
    """Write all of them; returns the files. The same every time; others of their names stay."""
    root = Path(folder)
    scene = render_scene(PHOTO, "A", seed=12, n_labels=len(LABELS))
    mask = np.where(scene.truth < 0, 255, scene.truth).astype(np.uint8)
    makers: dict[str, Callable[[Path], None]] = {
        "denoising.uai": lambda path: write_uai(denoising_grid(), path),
        "scene.npz": lambda path: make_scene(150, "B", seed=4).save(path),
        "photo.png": lambda path: _write(path, encode_png(scene.image)),
        "scores/photo.npy": lambda path: _write_array(path, scene.scores),
        "truth/photo.png": lambda path: _write(path, encode_png(mask)),
        "labels.txt": lambda path: _write(path, ("\n".join(LABELS) + "\n").encode()),
    }

    def write_to(place: Path) -> None:
        for name, make in makers.items():
            make_folder((place / name).parent)
            make(place / name)

    with tempfile.TemporaryDirectory() as place:
        write_to(Path(place))
        for name in makers:
            path, new = root / name, Path(place) / name
            if path.exists() and not (path.is_file() and filecmp.cmp(new, path, shallow=False)):
                raise InvalidFile(f"{path}: another file is there; choose another --out")
    write_to(root)
    return [root / name for name in makers]


def denoising_grid(seed: int = 0) -> CRF:
    """A picture of four levels behind noise: unaries are squared distances, neighbours agree."""
    rng = np.random.default_rng(seed)
    levels = np.arange(LEVELS)
    noisy = _picture() + rng.normal(0, 1.0, GRID)
    unary = 0.5 * (noisy[..., None] - levels) ** 2
    return CRF(unary.reshape(-1, LEVELS), Potts(_grid_edges(), 0.9))


def _picture() -> IntArray:
    y, x = np.mgrid[: GRID[0], : GRID[1]]
    picture = np.zeros(GRID, np.int64)
    picture[(x - 10) ** 2 + (y - 11) ** 2 < 70] = 1
    picture[(x > 18) & (y > 6) & (y < 20)] = 2
    picture[(x > 22) & (x < 28) & (y > 9) & (y < 17)] = 3
    return picture


def _grid_edges() -> IntArray:
    nodes = np.arange(GRID[0] * GRID[1]).reshape(GRID)
    pairs = ((nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)


def _write_array(path: Path, values: np.ndarray) -> None:
    with atomic_write(path) as file:
        np.save(file, values)
