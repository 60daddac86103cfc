"""Scores from one net, hypercolumns from another that has no class scores."""

from dataclasses import replace

import numpy as np
import pytest
from tests.vision.builders import LABELS, recipe, scene, write_onnx

from policrf.errors import InvalidOption
from policrf.vision.image_options import ImageOptions, recipe_of
from policrf.vision.nets.feature_net import FeatureNet
from policrf.vision.nets.segmentation_net import NetOptions
from policrf.vision.pipeline import Pipeline
from policrf.vision.recipe import file_digest


def test_maps_are_those_of_the_named_tensors(tmp_path):
    path, weights = write_onnx(tmp_path / "vgg.onnx", 1000, n_inner=6)
    image = scene(0, (20, 30)).image
    options = NetOptions(hypercolumns=("inner",), mean=(1, 2, 3), deviation=(2, 2, 2), bgr=True)
    maps = FeatureNet(path, options).maps(image)
    fed = (image[:, :, ::-1].astype(np.float32) - (1, 2, 3)) / 2
    assert len(maps) == 1
    found = maps[0][0].values
    np.testing.assert_allclose(found, fed @ weights["first"][:, :, 0, 0].T, atol=1e-3)


def test_two_nets_give_the_scores_of_one_and_the_columns_of_the_other(tmp_path):
    net, _ = write_onnx(tmp_path / "net.onnx", len(LABELS))
    other, _ = write_onnx(tmp_path / "vgg.onnx", 1000, n_inner=6, seed=1)
    image = scene(0).image
    plain = recipe(score_kind="logits", hypercolumns=("inner",))
    both = replace(plain, feature_net=file_digest(other))
    pipeline = Pipeline(both, net=net, feature_net=other)
    pipeline.load()
    one, two = Pipeline(plain, net=net).view(image).record, pipeline.view(image).record
    np.testing.assert_array_equal(one.distribution, two.distribution)
    assert pipeline.columns(image, None).shape[1] == 6
    assert np.abs(one.product - two.product).max() > 1e-3


def test_precomputed_scores_need_no_other_net(tmp_path):
    other, _ = write_onnx(tmp_path / "vgg.onnx", 1000, n_inner=6)
    rendered = scene(0)
    both = recipe(hypercolumns=("inner",), feature_net=file_digest(other))
    record = Pipeline(both, feature_net=other).view(rendered.image, scores=rendered.scores).record
    assert np.isfinite(record.product).all()


def test_a_feature_net_needs_names_and_a_recipe_needs_its_net(tmp_path):
    other, _ = write_onnx(tmp_path / "vgg.onnx", 1000)
    with pytest.raises(InvalidOption, match="--hypercolumns"):
        recipe_of(ImageOptions(feature_net=other), recipe())
    with pytest.raises(InvalidOption, match="name the tensors"):
        FeatureNet(other, NetOptions())
    asked = recipe_of(ImageOptions(feature_net=other, hypercolumns="inner"), recipe())
    assert asked.feature_net == file_digest(other)
    with pytest.raises(InvalidOption, match="--feature-net"):
        Pipeline(asked).view(scene(0).image, scores=scene(0).scores)
