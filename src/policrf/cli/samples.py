"""`policrf samples`: a folder of small files to try the other commands on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Config:
    """Write a model, a scene and an image with a net's scores, to try the commands on."""

    out: Path = Path("samples")
    """Folder to write them to."""


def run(config: Config) -> None:
    """Write them, and say what to do with each."""
    from policrf.scenes.samples import write_samples

    write_samples(config.out)
    out = config.out
    print(f"policrf solve {out}/denoising.uai --solver exact")
    print(f"policrf explore {out}/scene.npz")
    print(
        f"policrf segment {out}/photo.png --scores {out}/scores --labels {out}/labels.txt "
        f"--truth {out}/truth"
    )
