import json

import numpy as np
import pytest
from tests.vision.builders import call, prepare_arguments, prepared_scenes, without_truth
from tests.vision.calibration.builders import record, write_records

from policrf.datasets.instances import load_prepared
from policrf.errors import InvalidInstance, InvalidOption
from policrf.evaluation.runner import evaluate
from policrf.vision.calibration import counting, search
from policrf.vision.calibration.calibrate import calibrate
from policrf.vision.calibration.options import Grids
from policrf.vision.energy.weights import Energy

GRIDS = Grids(
    alpha=(0.2, 0.8),
    alpha_contrast=(0.05, 0.2),
    beta=(0.5,),
    sigma_colour=(10.0,),
    sigma_feature=(np.inf,),
    alpha_pixels=(4.0,),
    sigma_colour_pixels=(5.0,),
    long_range=(1.0,),
    band=(0, 1),
    w=(0.4,),
    w_support=(),
    lambda_=(1.0,),
    C=(2.0,),
    temperature=(0.03, 0.3),
)
SETTINGS = {"solver": "icm", "gates": ("contrast",), "grids": GRIDS}


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smooth") / "prepared"
    return write_records(folder, [record(k, smooth=True) for k in range(40)])


@pytest.fixture(scope="module")
def chance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chance") / "prepared"
    return write_records(folder, [record(k, smooth=False, box=k % 2 == 0) for k in range(40)])


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few") / "prepared"
    return write_records(folder, [record(k, smooth=True) for k in range(8)])


def test_a_term_that_helps_is_chosen(smooth):
    found = calibrate(smooth, **SETTINGS)
    assert "p" in found.terms
    assert found.energy.alpha > 0
    assert found.chosen.difference > 3 * found.chosen.difference_error > 0
    assert found.folds.difference > 2 * found.folds.error
    assert found.energy.w == found.energy.lambda_ == 0  # there are no boxes


def test_a_term_that_does_not_help_stays_out(chance):
    found = calibrate(chance, **SETTINGS)
    assert found.terms == ()
    energy = found.energy
    assert energy.alpha == energy.long_range == energy.w == energy.lambda_ == 0
    assert found.chosen == found.net
    assert found.folds.difference == 0
    assert "the net alone" in found.verdict()
    assert {"u", "u+p", "u+p+hop1", "u+p+hop1+hop2"} == set(found.kinds)
    assert found.kinds["u+p"].alpha + found.kinds["u+p"].long_range > 0
    assert found.kinds["u+p+hop1"].w > 0


def test_bad_settings_stop_early_and_the_net_never_does(chance, monkeypatch):
    monkeypatch.setattr(search, "LEAST", 5)
    found = calibrate(chance, **SETTINGS)
    tried = [trial for trial in found.trials if trial.stage == "hop2"]
    assert min(trial.images for trial in found.trials) < 40
    assert tried
    assert max(trial.images for trial in tried) == 40
    assert found.net.images == 40
    assert found.terms == ()


def test_too_few_images_give_the_net_alone_unless_forced(few):
    found = calibrate(few, **SETTINGS)
    assert found.terms == ()
    assert len(found.trials) == 1
    assert "fewer than two classes" in found.warnings[0]
    assert "8 images" in found.warnings[0]
    forced = calibrate(few, force=True, **SETTINGS)
    assert len(forced.trials) > 1
    assert "forced" in forced.warnings[0]


def test_one_seed_one_answer_and_processes_do_not_change_it(smooth, tmp_path):
    first = calibrate(smooth, images=32, seed=3, **SETTINGS)
    assert first == calibrate(smooth, images=32, seed=3, **SETTINGS)
    assert first == calibrate(smooth, images=32, seed=3, jobs=2, **SETTINGS)
    assert first.images == 32
    other = calibrate(smooth, images=32, seed=4, **SETTINGS)
    assert other.net.score != first.net.score


def test_a_killed_calibration_goes_on_from_its_journal(smooth, tmp_path, monkeypatch):
    journal = tmp_path / "energy.journal.jsonl"
    solved = []
    count = counting.KeptImage.counts

    def counted(image, *rest):
        solved.append(image.record.name)
        if len(solved) == 150:
            raise KeyboardInterrupt
        return count(image, *rest)

    whole = calibrate(smooth, **SETTINGS)
    monkeypatch.setattr(counting.KeptImage, "counts", counted)
    with pytest.raises(KeyboardInterrupt):
        calibrate(smooth, journal=journal, **SETTINGS)
    with journal.open("a") as file:
        file.write('{"pass": "cut sho')
    lines = len(journal.read_text().split("\n"))
    solved[:] = [""] * 1000
    assert calibrate(smooth, journal=journal, **SETTINGS) == whole
    assert len(journal.read_text().split("\n")) > lines
    solved[:] = [""] * 1000
    assert calibrate(smooth, journal=journal, **SETTINGS) == whole
    assert len(solved) == 1000  # everything was there


def test_a_journal_of_another_question_is_not_used(smooth, tmp_path):
    journal = tmp_path / "journal.jsonl"
    calibrate(smooth, journal=journal, images=12, **SETTINGS)
    before = journal.read_text().split("\n")[0]
    changed = calibrate(smooth, journal=journal, images=12, seed=1, **SETTINGS)
    assert journal.read_text().split("\n")[0] != before
    assert changed == calibrate(smooth, images=12, seed=1, **SETTINGS)


def test_pixels_are_tried_last_and_scored_as_evaluate_does(tmp_path):
    scenes = prepared_scenes(tmp_path, 12)
    found = calibrate(scenes / "prepared", force=True, **SETTINGS)
    assert found.stages()[-2:] == ["pixels", "profile"]
    before = [t for t in found.trials if t.stage not in ("pixels", "profile")]
    assert all(trial.energy.pixels == 0 for trial in before)
    tried = [t for t in found.trials if t.stage == "pixels"]
    assert {t.energy.pixels for t in tried} == {0.5, 1.0}
    assert {(t.energy.alpha, t.energy.long_range) for t in tried} >= {(4, 1), (16, 4)}
    for trial in [*tried[:3], tried[-1], before[-1]]:
        instances = load_prepared(scenes / "prepared", trial.energy)
        row = evaluate(instances, ["icm"]).row("icm")
        assert trial.iou == pytest.approx(row["pixels_all"]["iou"], abs=1e-12)
    assert not any("hold no pixels" in warning for warning in found.warnings)
    assert "| pixels | pixels 0.5, " in found.markdown()


def test_without_pixels_the_stage_is_left_out_with_a_sentence(smooth):
    found = calibrate(smooth, **SETTINGS)
    assert "pixels" not in found.stages()
    assert found.energy.pixels == 0
    assert any("hold no pixels" in warning for warning in found.warnings)


def test_wrong_options(smooth):
    for change, said in (
        ({"gates": ["sideways"]}, "gate"),
        ({"gates": []}, "at least one"),
        ({"score": "best"}, "score"),
        ({"images": 0}, "at least one"),
        ({"folds": 1}, "folds is 1"),
        ({"solvr": "icm"}, r"no option 'solvr'; there are solver, gates"),
    ):
        with pytest.raises(InvalidOption, match=said):
            calibrate(smooth, **change)


def test_calibration_needs_truth(tmp_path):
    scenes = prepared_scenes(tmp_path, 2)
    call(without_truth(prepare_arguments(scenes, tmp_path / "blind")))
    with pytest.raises(InvalidInstance, match="has no truth"):
        calibrate(tmp_path / "blind", **SETTINGS)


def test_command_and_python_write_the_same_files(chance, tmp_path, capsys):
    """No default of the command differs from the library's."""
    (tmp_path / "command").mkdir()
    out = tmp_path / "command" / "energy.yaml"
    arguments = ["--solver", "icm", "--gates", "below", "--jobs", "1", "--json"]
    assert call(["calibrate", str(chance), "--out", str(out), *arguments]) == 0
    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert "only 40 images and 3 classes" in said.err
    (tmp_path / "python").mkdir()
    found = calibrate(chance, solver="icm", gates=("below",))
    written = found.save(tmp_path / "python" / "energy.yaml")
    assert {path.name for path in written} == {path.name for path in out.parent.iterdir()}
    for path in written:
        assert path.stat().st_size > 100
        if path.suffix != ".png":
            assert path.read_bytes() == (out.parent / path.name).read_bytes()
    assert Energy.load(out) == found.energy
    assert printed["calibration"]["images"] == 40
    assert printed["calibration"]["classes"] == ["background", "cat", "dog"]
    lines = out.with_suffix(".csv").read_text().splitlines()
    assert len(lines) == 1 + len(found.trials)
    assert lines[0].startswith("stage,images,score,error,difference,difference_error")


def test_too_few_images_is_a_warning_of_the_command(few, tmp_path, capsys):
    out = tmp_path / "energy.yaml"
    assert call(["calibrate", str(few), "--out", str(out), "--jobs", "1"]) == 0
    assert "fewer than two classes" in capsys.readouterr().err
    assert Energy.load(out).alpha == 0
    assert not out.with_suffix(".journal.jsonl").exists()


def test_a_missing_folder_is_one_sentence(smooth, tmp_path, capsys):
    assert call(["calibrate", str(smooth), "--out", str(tmp_path / "no" / "energy.yaml")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert call(["calibrate", str(tmp_path / "nothing")]) == 2
    assert "not a finished folder" in capsys.readouterr().err


def test_the_papers_form_is_never_left(chance):
    found = calibrate(chance, solver="icm", form="paper", grids=GRIDS)
    for trial in found.trials:
        energy = trial.energy
        assert energy.gate in ("below", "above")
        assert (energy.unary, energy.penalty, energy.support) == ("mean", "fixed", "special")
        assert energy.band == energy.long_range == energy.pixels == 0
    assert set(found.kinds) == {"u", "u+p", "u+p+hop1", "u+p+hop1+hop2"}
    assert found.kinds["u+p+hop1+hop2"].lambda_ > 0


def test_the_papers_fixed_penalty_is_tried_too(chance):
    found = calibrate(chance, **SETTINGS)
    assert {t.energy.penalty for t in found.trials if t.stage == "hop2"} == {"per_node", "fixed"}


@pytest.mark.parametrize("options", [{"form": "theirs"}, {"form": "paper", "gates": ("contrast",)}])
def test_a_form_that_cannot_be_is_refused(chance, options):
    with pytest.raises(InvalidOption, match="form"):
        calibrate(chance, **options)
