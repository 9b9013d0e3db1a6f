"""How sure a trained tree is of its classes: the temperatures of its likelihood."""

from __future__ import annotations

import torch
from torch import Tensor

from structnet.estimators.temperature import best_temperature, few_enough
from structnet.neural_tree.growth.measures import of_each
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.training.progress import Progress


def best_temperatures(
    tree: NeuralTree, validation: Samples, seed: int = 0, progress: Progress | None = None
) -> tuple[float, float]:
    """The temperatures at which the validation samples are likeliest, by all leaves and by one.

    What grows has the penalty of the linear root. Where lines tell little, that is a strong one,
    and a tree that is nearly always right is hardly sure of it. Others learn to be too sure. If
    routers are undecided, all leaves together may be unsure of what each of them is sure of, so
    that the leaf of the greedy path has a temperature of its own.

    Args:
        tree: tree, which is not changed; its temperatures should be 1.
        validation: samples that it was not trained on. A gain on them that may be chance counts as
            none, and so does any of fewer than 30 samples, or groups of them.
        seed: seed by which some of very many samples are drawn.
        progress: report in which temperatures other than 1 are said.

    Returns:
        Both temperatures, from 0.25 to 8; 1 if the tree predicts numbers.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.table(2), (1,))
        >>> tree.nodes[0].solver.weight.data = torch.tensor([[-0.1], [0.1]])  # hardly sure
        >>> _ = tree.nodes[0].solver.bias.data.zero_()
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> best_temperatures(tree, Samples(x, (x[:, 0] > 0).long()))[0] < 0.3
        True
    """
    if tree.num_classes is None:
        return 1.0, 1.0
    places = few_enough(len(validation), tree.num_classes, seed)
    y, counts = validation.targets.cpu().numpy()[places], validation.counts()[places]
    groups = validation.group_numbers()
    groups = None if groups is None else groups[places]
    paths = ("multi", "greedy") if tree.num_leaves > 1 else ("multi",)

    def log_probs(batch: Samples) -> Tensor:
        return torch.stack([tree.output(batch.x, path) for path in paths], dim=1)

    of_paths = of_each(log_probs, tree, validation, places).swapaxes(0, 1)  # [paths, places, K]
    found = [best_temperature(each, y, counts, groups=groups) for each in of_paths]
    if progress is not None and set(found) != {1.0}:
        progress.say(f"temperature {' and '.join(f'{each:.3g}' for each in found)}")
    return found[0], found[-1]
