"""Data sets in their own layouts (voc, mots, folder, images), and prepared records as Parquet.

`DATASETS` is the only list of data sets; entry points of the group `policrf.datasets` join it.
Opened by `opening`, made into records by `prepare` (options, plan, writer), kept by `store`, read
back as instances by `sources.load_instances` (any source) and `instances.load_prepared`.
"""

from __future__ import annotations

from policrf.registry import Registry

DATASETS = Registry(
    "dataset",
    {
        "voc": "policrf.datasets.voc:Voc",
        "mots": "policrf.datasets.mots:Mots",
        "folder": "policrf.datasets.folder:folder_with_masks",
        "images": "policrf.datasets.folder:folder_of_images",
    },
)
