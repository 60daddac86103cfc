"""What is evaluated: any instances, under names that are unique, with what is known beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from policrf.crf.instance import Instance
from policrf.datasets.instances import InstanceSequence
from policrf.errors import InvalidInstance
from policrf.types import IntArray

if TYPE_CHECKING:
    from policrf.datasets.kept_pixels import RebuiltImage
    from policrf.vision.pixels.options import PixelStage


@dataclass(frozen=True, eq=False)
class Subject:
    """One instance of an evaluation."""

    name: str
    instance: Instance
    net_confusion: IntArray | None = None
    """Of the segmentation net's own pixels, `[L, L]`; only prepared images have it."""
    stage: Callable[[str], PixelStage | None] = lambda solver: None
    """The pixel stage that follows a solver, if there is one."""
    rebuild: Callable[[], RebuiltImage] | None = None

    @cached_property
    def image(self) -> RebuiltImage:
        """The pixel maps, rebuilt once for all solvers; only prepared images have them."""
        assert self.rebuild is not None
        return self.rebuild()


def subject_names(instances: Sequence[Instance]) -> list[str]:
    """The images' names; instances that are no prepared images are numbered."""
    if isinstance(instances, InstanceSequence):
        names = instances.names
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise InvalidInstance(
                f"two of the images are called {twice!r}, and results are kept by name; rename one "
                "and prepare them again"
            )
        return names
    return [_number(k) for k in range(len(instances))]


def label_names(instances: Sequence[Instance]) -> tuple[str, ...]:
    """The names of the labels, or their numbers."""
    if isinstance(instances, InstanceSequence):
        return instances.prepared.labels
    first = instances[0]
    return first.label_names or tuple(map(str, range(first.crf.n_labels)))


def read_subject(instances: Sequence[Instance], position: int, *, pixels: bool) -> Subject:
    """The instance at a position, with or without the pixel stage."""
    if not isinstance(instances, InstanceSequence):
        return Subject(_number(position), instances[position])
    record = instances.record(position)
    plain = Subject(record.name, instances.build(record), record.net_confusion)
    if not pixels or record.truth is None:
        return plain
    rebuild = partial(instances.rebuilt, position, record)
    return replace(plain, stage=instances.stage, rebuild=rebuild)


def _number(position: int) -> str:
    return f"{position:05d}"
