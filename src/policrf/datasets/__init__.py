"""Data sets in their own layouts (voc, mots, folder), and prepared records as Parquet (store)."""

from __future__ import annotations

from policrf.registry import Registry

DATASETS = Registry(
    "dataset",
    {
        "voc": "policrf.datasets.voc:Voc",
        "mots": "policrf.datasets.mots:Mots",
        "folder": "policrf.datasets.folder:Folder",
    },
)
