import json
import math

import pytest
from tests.vision.builders import call, prepare_arguments, prepared_scenes, without_truth

from policrf.datasets.store import Prepared
from policrf.errors import InvalidInstance, InvalidOption
from policrf.vision.calibration.calibrate import calibrate
from policrf.vision.calibration.result import Grids
from policrf.vision.energy_weights import Energy

SMALL = Grids(
    alpha=(0.2, 0.8),
    alpha_contrast=(0.05, 0.2),
    beta=(0.3, 0.7),
    sigma_colour=(10.0, math.inf),
    sigma_feature=(math.inf,),
    w=(0.4,),
    w_support=(),
    lambda_=(1.0,),
    C=(2.0,),
    temperature=(0.03, 0.3),
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return prepared_scenes(tmp_path_factory.mktemp("scenes"), 8)


def test_the_best_of_every_stage_goes_on(scenes):
    found = calibrate(Prepared(scenes / "prepared"), solver="icm", grids=SMALL)
    best = {}
    for trial in found.trials:
        best[trial.stage] = max(best.get(trial.stage, 0), found.value(trial))
    assert found.kinds["u+p+hop1"].w == 0.4
    assert found.kinds["u+p+hop1+hop2"].lambda_ == 1.0
    assert found.best == {k: v for k, v in best.items() if k != "temperature"}
    assert max(best.values()) > found.baseline
    assert set(found.kinds) == {"u", "u+p", "u+p+hop1", "u+p+hop1+hop2"}
    assert found.energy == found.kinds["u+p+hop1+hop2"]
    pairwise = [t for t in found.trials if t.stage.startswith("pairwise")]
    winner = max(pairwise, key=found.value)
    assert found.kinds["u+p"].gate == winner.energy.gate
    assert found.energy.temperature in SMALL.temperature


def test_same_seed_same_energy_and_a_subset_of_images(scenes):
    prepared = Prepared(scenes / "prepared")
    first, second = (
        calibrate(prepared, solver="icm", grids=SMALL, images=4, seed=3, gates=["contrast"])
        for _ in range(2)
    )
    assert first == second
    assert first.images == 4


def test_wrong_options(scenes):
    prepared = Prepared(scenes / "prepared")
    with pytest.raises(InvalidOption, match="gate"):
        calibrate(prepared, gates=["sideways"])
    with pytest.raises(InvalidOption, match="score"):
        calibrate(prepared, score="best")
    with pytest.raises(InvalidOption, match="at least one"):
        calibrate(prepared, images=0)


def test_calibration_needs_truth(scenes, tmp_path):
    arguments = without_truth(prepare_arguments(scenes, tmp_path / "blind"))
    call([*arguments, "--limit", "2"])
    with pytest.raises(InvalidInstance, match="has no truth"):
        calibrate(Prepared(tmp_path / "blind"), solver="icm", grids=SMALL)


def test_command_writes_energy_tables_and_picture(scenes, tmp_path, capsys):
    out = tmp_path / "energy.yaml"
    arguments = [
        "calibrate", str(scenes / "prepared"), "--out", str(out), "--solver", "icm",
        "--gates", "contrast", "--images", "2", "--jobs", "1",
    ]  # fmt: skip
    assert call([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert Energy.load(out).alpha == printed["energy"]["alpha"]
    assert Energy.load(tmp_path / "energy.u+p.yaml").gate == "contrast"
    for suffix in (".csv", ".md", ".png"):
        assert out.with_suffix(suffix).stat().st_size > 100
    assert "pairwise contrast" in out.with_suffix(".md").read_text()


def test_python_and_the_command_write_the_same_files(scenes, tmp_path):
    """No default of the command differs from the library's."""
    (tmp_path / "command").mkdir()
    arguments = ["--solver", "icm", "--images", "2", "--gates", "below"]
    out = tmp_path / "command" / "energy.yaml"
    assert call(["calibrate", str(scenes / "prepared"), "--out", str(out), *arguments]) == 0
    (tmp_path / "python").mkdir()
    found = calibrate(scenes / "prepared", solver="icm", images=2, gates=("below",))
    written = found.save(tmp_path / "python" / "energy.yaml")
    assert {path.name for path in written} == {path.name for path in out.parent.iterdir()}
    for path in written:
        if path.suffix != ".png":
            assert path.read_bytes() == (out.parent / path.name).read_bytes()


def test_an_unknown_option_lists_what_there_is(scenes):
    with pytest.raises(InvalidOption, match=r"no option 'solvr'; there are solver, gates"):
        calibrate(scenes / "prepared", solvr="icm")
