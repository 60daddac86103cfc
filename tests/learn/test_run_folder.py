"""A run takes the place of nothing that another command has written."""

from pathlib import Path

import pytest

from policrf.errors import InvalidOption
from policrf.learn.run_folder import LOG, begin_run, erase_run


@pytest.mark.parametrize("overwrite", [False, True])
def test_results_of_other_commands_are_never_erased(tmp_path: Path, *, overwrite: bool) -> None:
    results, config = tmp_path / "results.jsonl", tmp_path / "config.json"
    results.write_text("{}\n")
    config.write_text("{}")
    with pytest.raises(InvalidOption, match=r"holds results .* choose another --out"):
        begin_run(tmp_path, overwrite=overwrite)
    assert results.read_text() == "{}\n"
    assert config.read_text() == "{}"


def test_a_run_is_erased_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "best.safetensors").write_bytes(b"x")
    (tmp_path / LOG).write_text("x")
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InvalidOption, match="holds a run already"):
        begin_run(tmp_path, overwrite=False)
    assert (tmp_path / LOG).exists()
    erase_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
