"""Data sets in their own layouts, and prepared records as Parquet.

`DATASETS` is the only list of data sets; entry points of the group `policrf.datasets` join it.

    layouts/    VOC, KITTI-MOTS, folders of images, and result files of others
    opening     a data set by name
    prepare     a data set -> records on disk (options, plan, inputs, writer, workers, store)
    sources     load_instances: any source as instances (instances.load_prepared: prepared ones)
"""

from __future__ import annotations

from policrf.registry import Registry

DATASETS = Registry(
    "dataset",
    {
        "voc": "policrf.datasets.layouts.voc:Voc",
        "mots": "policrf.datasets.layouts.mots:Mots",
        "folder": "policrf.datasets.layouts.folder:folder_with_masks",
        "images": "policrf.datasets.layouts.folder:folder_of_images",
    },
)
