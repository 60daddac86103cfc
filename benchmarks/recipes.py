"""The policies that ship, made again by one command each: data, training, judgement, card.

    python benchmarks/recipes.py voc-250 --data DATA --work recipes --ship
    python benchmarks/recipes.py synthetic-250 --work recipes --ship

A policy is judged on data that it was not trained on, against the untrained rule. It ships if it is
better there beyond the paired 95 % interval, and not surely below any solver (images), or in some
kinds of scenes and worse in none (scenes); what does not ship is a row of the table all the same.

voc-N         VOC train, degraded until the net does on it as on val (`as_unseen.py`); judged on val
mots-2000     one sequence of KITTI MOTS; judged on the other, whose frames are drawn in blocks
synthetic-N   scenes of regimes A, B, C without their truth, the paper's network; judged on others
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from as_unseen import degraded_root
from command import run
from recipe_judges import LINES, judged_on_images, judged_on_scenes
from recipe_list import FACTOR, LEARNED_FROM, RECIPES, Recipe
from voc_halves import NETS

from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import write_json
from policrf.datasets.instances import InstanceSequence, load_prepared
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.train import train
from policrf.policy.card import Card
from policrf.policy.checkpoint import load_policy

SHIPPED = Path(__file__).parent.parent / "src" / "policrf" / "pretrained"
DETECTOR = "yolo-fastest-1.1-xl.cfg"  # learned on COCO: it has seen neither VOC nor KITTI
ROOTS = {"voc": Path("voc") / "VOC2012", "mots": Path("mots") / "KITTI_MOTS"}
COLUMNS = ("policy", "goal", "judged on", "IoU", "− untrained", "− best solver", "energy, %")


@dataclass(frozen=True)
class Config:
    """Which policy, from which data."""

    name: Annotated[str, tyro.conf.Positional]
    """One of the recipes."""
    data: Path = Path("data")
    """Holds voc/VOC2012, mots/KITTI_MOTS and nets; not needed for scenes."""
    work: Path = Path("recipes")
    """Prepared data and runs; what is finished there is not made again."""
    ship: bool = False
    """Put the policy among those that ship, or take it away, as its figures say."""
    seed: int = 0
    jobs: int = 1
    out: Path = Path("benchmarks/results")


@dataclass(frozen=True)
class Kitchen:
    """The steps of one recipe."""

    recipe: Recipe
    config: Config

    def images(self, split: str) -> InstanceSequence:
        """Prepared images of a split, under the default energy."""
        return load_prepared(self.prepared(split))

    def prepared(self, split: str) -> Path:
        recipe, config = self.recipe, self.config
        folder, nets = config.work / f"{recipe.name}-{split}", config.data / "nets"
        if (folder / "index.json").exists():
            return folder
        root = config.data / ROOTS[recipe.dataset]
        if (recipe.dataset, split) == ("voc", "train"):
            root = degraded_root(config, FACTOR)
        more = ("--net-names", "voc", "--net-fit", "fill") if recipe.dataset == "mots" else ()
        more += ("--limit", LEARNED_FROM) if split == "train" else ()
        run(
            "prepare", recipe.dataset, "--root", root, "--split", split,
            "--net", nets / NETS["half"], "--detector", nets / DETECTOR,
            "--superpixels", recipe.size, "--components", 0,
            "--out", folder, "--jobs", config.jobs, *more,
        )  # fmt: skip
        return folder

    def learned(self) -> Path:
        """The run's policy, whether it won on its own training data or not."""
        recipe, config = self.recipe, self.config
        folder = config.work / f"{recipe.name}-seed-{config.seed}"
        shared = ("--out", folder, "--name", recipe.name, "--seed", config.seed, "--overwrite")
        if recipe.dataset == "scenes":
            if not (folder / "done").exists():
                run("train", "dqn", *recipe.train, *shared)
                (folder / "done").touch()
            return folder / "best.safetensors"
        if not (folder / "report.json").exists():
            rounds = recipe.rounds
            train(
                self.images("train")[:LEARNED_FROM], "imitate", goal="labels", out=folder,
                name=recipe.name, seed=config.seed, overwrite=True, rounds=rounds,
                decay_rounds=rounds, validate_rounds=rounds,
            )  # fmt: skip
        return folder / "learned.safetensors"


def cooked(recipe: Recipe, config: Config) -> dict[str, Any]:
    """Make the policy, judge it, and ship it if that is asked for and it is good enough."""
    kitchen = Kitchen(recipe, config)
    file = kitchen.learned()
    policy = load_policy(file)
    if recipe.dataset == "scenes":
        judged = judged_on_scenes(policy)
    else:
        judged = judged_on_images(policy, kitchen.images("val"), recipe.block)
    told = {"policy": recipe.name, "goal": "labels", **judged, "seed": config.seed}
    write_json(make_folder(config.out / "recipes") / f"{recipe.name}.json", told)
    target = SHIPPED / f"{recipe.name}.safetensors"
    if config.ship and judged["ships"]:
        card = Card(
            goal="labels", data=recipe.data, energy=json.dumps(policy.energy.get("weights", "")),
            command=f"python benchmarks/recipes.py {recipe.name} --data DATA --ship",
            seed=config.seed, figures=tuple(judged[LINES]), limits=recipe.limits,
        )  # fmt: skip
        training = policy.training | {"card": card.as_dict()}
        replace(policy, training=training).save(target)
    elif config.ship:
        target.unlink(missing_ok=True)
    return told


def table_of_all(config: Config) -> Table:
    """A row a policy that was made."""
    files = [config.out / "recipes" / f"{name}.json" for name in RECIPES]
    found = [json.loads(file.read_text()) for file in files if file.exists()]
    rows = [
        (*(told[name] for name in COLUMNS), "ships" if told["ships"] else "does not ship")
        for told in found
    ]
    note = (
        "IoU of pixels over the frequent classes (images) or of single scenes, in points, with "
        "paired 95 % intervals on data that was not trained on; energy against the untrained "
        "rule's. A policy ships if it is surely better than the untrained rule and not surely "
        "below any solver (images), or better in some kinds of scenes and worse in none."
    )
    return Table("The recipes", (*COLUMNS, "verdict"), tuple(rows), note)


def main(config: Config) -> None:
    if config.name not in RECIPES:
        raise SystemExit(f"there is no recipe {config.name!r}; there are {', '.join(RECIPES)}")
    told = cooked(RECIPES[config.name], config)
    print(*told[LINES], sep="\n")
    table = table_of_all(config)
    table.show()
    write_tables(config.out, "recipes", [table], {"recipes": list(RECIPES)})


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
