"""The state of a training after an iteration, from which it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import nn

from structnet.estimators.checked import facts_of_both
from structnet.estimators.hyper_parameters import settings_of_file
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.growth import Trial
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenGrowth, ChosenSettings, GrowthSettings
from structnet.softmax_tree.tree import SoftmaxTree
from structnet.training.checkpoint import (
    MALFORMED,
    CheckpointError,
    bounded,
    check_settings,
    load_model,
    save_model,
)
from structnet.training.history import History

TREES = ("draft", "best")


@dataclass
class State:
    """A training between two iterations.

    Attributes:
        settings, growth: hyper-parameters, in which nothing is None except limits; growth is None
            if nothing grows.
        draft: present tree.
        best: tree of the best round so far; None before the first round has ended.
        round: round of growth of the draft, 0 before growth.
        best_round: round of ``best``.
        iterations: number of iterations in this round.
        settled: True if the objective hardly fell in the last of them.
        least: lowest wrongness of a round on the validation samples; None without these.
        since: number of rounds since the best one.
        chosen: True once growth has ended, so that the draft is that of the best round.
        history, trials: records of the iterations, and subtrees tried, as in :class:`.Trained`.
        data: facts that identify the data, from :func:`facts_of`; {} if nothing is saved.
    """

    settings: ChosenSettings
    growth: GrowthSettings | None
    draft: Draft
    best: Draft | None = None
    round: int = 0
    best_round: int = 0
    iterations: int = 0
    settled: bool = False
    least: float | None = None
    since: int = 0
    chosen: bool = False
    history: History = field(default_factory=History)
    trials: list[Trial] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def begin(self, draft: Draft, *, grown: bool) -> None:
        """Continues with another tree, that of the next round or the one chosen at the end."""
        self.draft, self.iterations, self.settled = draft, 0, False
        self.round, self.chosen = self.round + 1 if grown else self.best_round, not grown

    def save(self, path: str | Path) -> None:
        """Writes the state to a safetensors file, which is replaced atomically."""
        drafts = {name: getattr(self, name) for name in TREES if getattr(self, name) is not None}
        trees = {
            name: SoftmaxTree.from_draft(draft, self.data["features"], self.data["classes"])
            for name, draft in drafts.items()
        }
        config = {
            "settings": asdict(self.settings),
            "growth": self.growth and asdict(self.growth),
            "trees": {name: tree.config() for name, tree in trees.items()},
            "most": {name: _most(draft) for name, draft in drafts.items()},
            "progress": {name: getattr(self, name) for name in _PROGRESS},
            "history": list(self.history),
            "trials": [asdict(trial) for trial in self.trials],
            "data": self.data,
        }
        save_model(path, nn.ModuleDict(trees), config)

    @classmethod
    def load(cls, path: str | Path, data: dict[str, Any]) -> State:
        """Reads a state that :meth:`save` wrote.

        Args:
            path: file of the state.
            data: facts from :func:`facts_of` that the data of the state must have.

        Raises:
            CheckpointError: there is no such file, it is damaged, or it belongs to other data.
        """
        weights, config = load_model(path)
        try:
            with bounded(weights):
                trees = {name: SoftmaxTree.from_config(of) for name, of in config["trees"].items()}
            nn.ModuleDict(trees).load_state_dict(weights)
            state = cls._of(trees, config)
        except (RuntimeError, *MALFORMED) as error:
            raise CheckpointError(f"{path} holds no state of a softmax tree: {error}") from None
        check_settings(path, state.data, data)
        return state

    @classmethod
    def _of(cls, trees: Mapping[str, SoftmaxTree], config: Mapping[str, Any]) -> State:
        drafts = {name: _drafted(tree, config["most"][name]) for name, tree in trees.items()}
        return cls(
            settings_of_file(ChosenSettings, config["settings"]),
            config["growth"] and settings_of_file(ChosenGrowth, config["growth"]),
            drafts["draft"],
            drafts.get("best"),
            **config["progress"],
            history=History(config["history"]),
            trials=[Trial(**trial) for trial in config["trials"]],
            data=config["data"],
        )


def facts_of(points: Points, validation: Points | None) -> dict[str, Any]:
    """Facts that identify the data of a training in the file of its state."""
    return {
        "features": points.num_features,
        "classes": points.num_classes,
        "rows": "sparse" if points.sparse else "full",
        **facts_of_both(points, validation),
    }


_PROGRESS = ("round", "best_round", "iterations", "settled", "least", "since", "chosen")


def _most(draft: Draft) -> list[int]:
    """The largest number of classes for each leaf, which a trained tree lacks; 0 for others."""
    return [node.k if isinstance(node, Leaf) else 0 for node in draft.nodes]


def _drafted(tree: SoftmaxTree, most: list[int]) -> Draft:
    """A tree as a draft, with the largest number of classes for each leaf."""
    draft = tree.draft()
    draft.nodes = [
        replace(node, k=k) if isinstance(node, Leaf) else node
        for node, k in zip(draft.nodes, most, strict=True)
    ]
    return draft
