"""The folder of a neural tree's run: what lies in it, and how it is read and written.

==========================  ====================================================================
``config.json``             settings, and what the data are
``growth.safetensors``      the tree after its last decision, with all decisions and records
``refine/``                 the state of the refinement after its last whole epoch
``history.jsonl``           one record an epoch, of all phases
``model.safetensors``       the tree in the end
``result.json``             what the run came to; only the pictures are written later
``summary.txt``             the tree in tables and text
``tree_grown.png``,         pictures: the tree before and after refinement; how it grew; the mean
``tree.png``,               image at each leaf; where each class goes
``growth.png``,
``leaves.png``,
``classes.png``
==========================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structnet.cli.neural_tree.build import build_tree
from structnet.cli.neural_tree.settings import LATER, TASK
from structnet.cli.run import Run
from structnet.neural_tree import NeuralTree
from structnet.training.checkpoint import CheckpointError, load_model
from structnet.training.history import History

GROWTH, MODEL = "growth.safetensors", "model.safetensors"


class TreeRun(Run):
    """A neural tree's run; the files in its folder need not be there."""

    keys = ("settings", "data")
    tasks = (TASK,)

    @property
    def config(self) -> dict[str, Any]:
        """What the run was told; a run from before a setting was there has what it then was."""
        config = super().config
        return {**config, "settings": {**LATER, **config["settings"]}}

    def write_history(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Writes the records of all phases, whole or not at all."""
        temporary = self.folder / ".history.jsonl.tmp"
        History(records).save(temporary)
        temporary.replace(self.folder / "history.jsonl")

    @property
    def has_tree(self) -> bool:
        """Is there a trained tree?"""
        return (self.folder / MODEL).exists()

    def tree(self) -> NeuralTree:
        """The trained tree, on the CPU.

        Raises:
            CheckpointError: there is none yet, or its file is damaged.
        """
        if not self.has_tree:
            raise CheckpointError(
                f"{self} has no {MODEL}, as its training has not ended; continue it with: "
                f"structnet train --resume {self}"
            )
        return self._tree(MODEL)

    def grown_tree(self) -> NeuralTree:
        """The tree before its refinement, as far as it has grown.

        Raises:
            CheckpointError: there is none yet, or its file is damaged.
        """
        return self._tree(GROWTH)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """What was decided so far, as :class:`structnet.neural_tree.Decision` has it."""
        file = self.folder / GROWTH
        return load_model(file)[1]["decisions"] if file.exists() else []

    def _tree(self, name: str) -> NeuralTree:
        file = self.folder / name
        weights, content = load_model(file)
        try:
            tree = build_tree(self.config, content["tree"])
            tree.load_state_dict(weights)
        except (KeyError, RuntimeError):
            raise CheckpointError(f"{file} does not fit the tree of config.json") from None
        return tree.eval()
