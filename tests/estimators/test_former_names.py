"""Files and runs of a time when parameters had other names."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from structnet import (
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
    LabelTreeLanguageModel,
    RoutedLanguageModel,
    SoftmaxTreeClassifier,
    TreeLSTMNodeClassifier,
)
from structnet.label_tree.language_settings import LanguageModelSettings
from structnet.label_tree.settings import LabelTreeSettings
from structnet.naru.settings import NaruSettings
from structnet.recipes.label_tree.settings import LabelTreeRunSettings
from structnet.recipes.language_model.settings import LanguageModelRunSettings
from structnet.recipes.naru.settings import NaruRunSettings, Training
from structnet.recipes.recipe import settings_from, values_of
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.softmax_tree.settings import SoftmaxTreeSettings
from structnet.training.checkpoint import CheckpointError, load_model, save_model

TEXT = ["the cat sees a dog .", "a dog sees the cat .", "the owl sees an owl ."] * 10
X, Y = np.eye(4).repeat(10, axis=0), np.arange(4).repeat(10)
SOFT: dict[str, Any] = {"start": "clusters", "leaf_penalty": 0.1, "max_iter": 2}
CASES = {
    "routed network": (
        RoutedLanguageModel(
            sizes=(1, 2, 1),
            dims=(3,),
            vector_size=3,
            loss="squared_error",
            epochs=1,
            random_state=0,
        ),
        (TEXT,),
        TEXT[:3],
    ),
    "nodes of trees": (
        TreeLSTMNodeClassifier(
            hidden_size=2, epochs=1, random_state=0, min_count=1, top_down=True, bag=False
        ),
        (["(a b)", "(a (b c))"] * 10, [[0, 1], [0, 1, 1]] * 10),
        ["(a b)"],
    ),
    "label tree": (
        LabelTreeClassifier(arity=2, vector_size=2, epochs=1, learning_rate=0.1, random_state=0),
        (X, Y),
        X,
    ),
    "softmax tree": (
        SoftmaxTreeClassifier(depth=1, max_leaf_classes=3, random_state=0, **SOFT),
        (X, Y),
        X,
    ),
    "grown softmax tree": (
        AdaptiveSoftmaxTreeClassifier(0.9, 0.9, 1, start_leaf_classes=2, random_state=0, **SOFT),
        (X, Y),
        X,
    ),
    "language model": (
        LabelTreeLanguageModel(
            tree="huffman", vector_size=3, epochs=1, random_state=0, min_count=1
        ),
        (TEXT,),
        TEXT[:3],
    ),
}


class Loaded(nn.Module):
    """The tensors of a file, by their names."""

    def __init__(self, state: dict[str, Any]):
        super().__init__()
        self.given = state

    def state_dict(self, *_: Any, **__: Any) -> dict[str, Any]:
        """The tensors."""
        return self.given


def aged(value: Any, former: dict[str, str]) -> Any:
    """JSON in which every name, and every text that is a value, has its former one."""
    if isinstance(value, list):
        return [aged(each, former) for each in value]
    if isinstance(value, str):
        return former.get(value, value)
    if not isinstance(value, dict):
        return value
    return {former.get(name, name): aged(each, former) for name, each in value.items()}


def former_of(*sources: Any) -> dict[str, str]:
    """The former name of each name of today, and of each text."""
    told = [getattr(of, kind, {}) for of in sources for kind in ("FORMER", "FORMER_VALUES")]
    return {new: old for each in told for old, new in each.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_file_with_former_names_is_read(name: str, tmp_path: Path) -> None:
    model, given, asked = CASES[name]
    model.fit(*given).save(tmp_path / "new")
    weights, config = load_model(tmp_path / "new")
    former = former_of(*model.SETTINGS)
    if name == "label tree":
        former["trained"] = "training"
    before = aged(config, former)
    assert before["parameters"].keys() != config["parameters"].keys()
    save_model(tmp_path / "old", Loaded(weights), before)
    again = type(model).load(tmp_path / "old")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_proba(asked), model.predict_proba(asked))


def test_a_file_with_an_unknown_name_is_refused(tmp_path: Path) -> None:
    model, given, _ = CASES["language model"]
    model.fit(*given).save(tmp_path / "new")
    weights, config = load_model(tmp_path / "new")
    save_model(tmp_path / "old", Loaded(weights), aged(config, {"tree": "wood"}))
    message = "does not describe a LabelTreeLanguageModel: .* unexpected keyword argument 'wood'"
    with pytest.raises(CheckpointError, match=message):
        LabelTreeLanguageModel.load(tmp_path / "old")


@pytest.mark.parametrize(
    ("settings", "of"),
    [
        (
            LanguageModelRunSettings("brown", training=LanguageModelSettings(tree="flat", arity=4)),
            LanguageModelSettings,
        ),
        (
            LabelTreeRunSettings("planted", training=LabelTreeSettings(vector_size=4)),
            LabelTreeSettings,
        ),
        (
            SoftmaxTreeRunSettings("uneven", training=SoftmaxTreeSettings(2, 5, start="clusters")),
            SoftmaxTreeSettings,
        ),
        (NaruRunSettings("brown", training=Training(loss="squared_error")), NaruSettings),
    ],
)
def test_a_run_with_former_names_keeps_its_settings(settings: Any, of: Any) -> None:
    former = former_of(of)
    assert set(of.FORMER.values()) <= {each.name for each in fields(of)}
    before = aged(values_of(settings), former)
    assert before.keys() != values_of(settings).keys()
    assert settings_from(type(settings), before) == settings
