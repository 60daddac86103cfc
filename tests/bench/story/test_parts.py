"""The demo's grid and its images, and the page that tells of them."""

import re

import numpy as np

from policrf.bench.story.denoising import LEVELS, denoise, show_denoising
from policrf.bench.story.photo import NAMES, show_photo
from policrf.crf.grid import grid
from policrf.explore.story_page import shown_source, write_story_page


def test_the_grid_is_proven_and_closer_to_the_truth():
    part = show_denoising(3)
    assert part.solution.optimal
    assert part.wrong_after < 0.1 * part.wrong_before
    unary = (part.noisy[..., None] - np.arange(LEVELS)) ** 2 / 2
    crf = grid(unary, 0.9)
    assert part.solution.energy == crf.energy(part.labels.ravel())
    assert part.solution.energy <= crf.energy(unary.argmin(axis=2).ravel())


def test_images_are_those_of_the_seed_and_the_page_holds_the_first(tmp_path):
    part, again = show_photo(1, 5), show_photo(1, 5)
    assert part.ious == again.ious
    assert part.segmentation.labels.max() < len(NAMES)
    write_story_page(tmp_path / "page.html", show_denoising(0), None, part)
    page = (tmp_path / "page.html").read_text()
    assert '"potential":null' in page
    assert not re.search(r"https?://", page)


def test_the_lines_on_the_page_are_those_that_ran():
    assert shown_source(denoise).splitlines()[0].startswith("def denoise(")
    assert '"""' not in shown_source(denoise)
    assert "pc.solve(crf" in shown_source(denoise)
