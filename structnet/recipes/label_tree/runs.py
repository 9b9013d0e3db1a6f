"""A run of a label tree: its training in a folder, and the trained tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structnet.checks import num_threads
from structnet.label_tree import (
    LabelTree,
    LabelTreeSettings,
    TextFeatures,
    Training,
    begin,
)
from structnet.label_tree.class_parts import choose_parts, divided
from structnet.label_tree.parted import PartedTree
from structnet.label_tree.shapes import usual_arity
from structnet.recipes.label_tree.data import LabelData
from structnet.recipes.label_tree.settings import LabelTreeRunSettings
from structnet.recipes.recipe import Place, Say
from structnet.recipes.run import Run
from structnet.recipes.words import counted
from structnet.training.checkpoint import load_model, save_model
from structnet.training.progress import Progress

STATE = "training.safetensors"
SHOWN = 6  # labels named at a node
LEVELS = 2  # depth of the last level in tree.txt


@dataclass(frozen=True)
class Opened:
    """A trained tree, with the names of its labels and the way to its features.

    Attributes:
        run: run.
        settings: its settings, with the place where it is used.
        data: description of its data.
        classes: trained tree, which tells parts of the labels.
        labels: names of the labels.
        text: way in which words become features; None for rows.
    """

    run: Run
    settings: LabelTreeRunSettings
    data: dict[str, Any]
    classes: PartedTree
    labels: tuple[str, ...]
    text: TextFeatures | None


def trained(
    settings: LabelTreeRunSettings, data: LabelData, run: Run, say: Say
) -> tuple[Training, PartedTree]:
    """Trains a tree, or resumes from the state in the folder; the state is saved in each epoch.

    Returns:
        The training, and the tree as one of whole labels, which may have several parts each.
    """
    file, progress = run.folder / STATE, Progress()
    if file.exists():
        weights, content = load_model(file)
        chosen = LabelTreeSettings(**content["chosen"])
        part_classes = np.array(content["part_classes"])
        examples = divided(data.train, part_classes, chosen.seed)
        training = Training.of(_empty(content), chosen, content["state"])
        training.tree.load_state_dict(weights)
        say(f"going on after {len(training.epochs)} of {counted(chosen.epochs or 0, 'epoch')}")
    else:
        wanted = settings.training
        if wanted.tree is None or wanted.learning_rate is None:
            say("trying rates and trees on examples held out ...")
        found = choose_parts(data.train, len(data.labels), wanted, settings.parts, progress)
        examples, part_classes, chosen, solve = found
        training = Training(begin(examples, len(part_classes), chosen, solve=solve), chosen)
        kind = f"a {chosen.tree} tree of arity {chosen.arity}"
        usual = usual_arity(len(data.labels), wanted.max_depth)
        if wanted.arity is None and chosen.arity == len(part_classes) > usual:
            kind = f"a single node of all labels, better held out than a tree (--arity {usual})"
        passes = f"{counted(chosen.epochs or 0, 'epoch')} at the rate {chosen.learning_rate:.3g}"
        if chosen.start == "naive_bayes":
            passes = f"half naive Bayes, half {passes}" if chosen.epochs else "naive Bayes"
        elif chosen.epochs == 0 != wanted.epochs:
            passes = "solved"
        parts = np.bincount(part_classes).max()
        say(f"{kind}, {passes}" + f", for up to {parts} parts of each label" * bool(parts > 1))
    classes = PartedTree(training.tree, part_classes)
    training.threads = num_threads(settings.n_jobs)

    def after_epoch(training: Training) -> None:
        record = training.epochs[-1]
        if len(data.validation):
            record["validation_loss"] = classes.loss_of(data.validation)
        # State and history are written together, so that they have the same epochs.
        save_model(file, training.tree, content_of(data, training, part_classes))
        run.write_history(training.epochs)
        training.tell(progress)

    return training.run(examples, after_epoch=after_epoch), classes


def content_of(data: LabelData, training: Training, part_classes: np.ndarray) -> dict[str, Any]:
    """All that is needed to rebuild a tree, except its weights.

    Args:
        data: data of the run.
        training: training of the tree.
        part_classes: label of each of its parts.

    Shapes:
        part_classes ``[parts]``.
    """
    names = "pairs", "pieces", "lines", "frequency"
    text = data.text and {name: getattr(data.text, name) for name in names}
    return {
        "chosen": vars(training.settings),
        "state": training.state(),
        "labels": list(data.labels),
        "part_classes": part_classes.tolist(),
        "words": None if data.text is None else list(data.text.words),
        "text": text,
        "size": data.train.features.size,
    }


def _empty(content: dict[str, Any]) -> LabelTree:
    chosen = LabelTreeSettings(**content["chosen"])
    return LabelTree.empty(content["size"], len(content["part_classes"]), chosen)


def opened(run: Run, place: Place) -> Opened:
    """The trained tree of a run."""
    arrays: dict[str, Any] = {}

    def build(content: dict[str, Any]) -> LabelTree:
        arrays.update(content)
        return _empty(content)

    tree = run.load_model(build)
    words = arrays["words"]
    text = None if words is None else TextFeatures(tuple(words), **arrays["text"])
    settings = run.settings(LabelTreeRunSettings, place)
    classes = PartedTree(tree, np.array(arrays["part_classes"]))
    return Opened(run, settings, run.config["data"], classes, tuple(arrays["labels"]), text)


def first_levels(tree: LabelTree, labels: Sequence[str]) -> str:
    """The most frequent labels at each node of the first levels, one line per node."""
    topology, lines, stack = tree.topology, [], [0]
    at_nodes = frequent(tree, LEVELS)
    while stack:
        v = stack.pop()
        depth = int(topology.depth[v])
        number, most = at_nodes[v]
        named = ", ".join(labels[k] for k in most)
        more = f", ... ({number:,} labels)" if number > len(most) else ""
        lines.append(f"{'|   ' * depth}|--- {named}{more}")
        if depth < LEVELS:
            stack += reversed(topology.children_of(v))
    return "\n".join(lines)


def frequent(tree: LabelTree, levels: int, shown: int = SHOWN) -> dict[int, tuple[int, list[int]]]:
    """For each node down to a depth, the number of labels below, and the most frequent ones."""
    numbering, topology = tree.codes.numbering, tree.topology
    order = np.argsort(-tree.softmax.counts.numpy(), kind="stable")
    leaf = np.zeros(tree.num_outputs, np.int64)
    leaf[numbering.label[topology.leaves]] = topology.leaves
    above = leaf[order]  # each label's ancestor, one level higher in each pass
    arrays: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    while (above >= 0).any():
        high = (above >= 0) & (topology.depth[above] <= levels)
        for node in np.unique(above[high]).tolist():
            arrays[node].append(np.flatnonzero(above == node))
        above = np.where(above >= 0, topology.parent[above], above)
    places = {node: np.sort(np.concatenate(parts)) for node, parts in arrays.items()}
    return {node: (len(each), order[each[:shown]].tolist()) for node, each in places.items()}
