"""How sure a trained tree is of its classes: the temperature of its likelihood."""

from __future__ import annotations

from structnet.estimators.temperature import best_temperature, few_enough
from structnet.neural_tree.growth.measures import of_each
from structnet.neural_tree.likelihood import Categorical, Likelihood
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.training.progress import Progress


def tempered(
    tree: NeuralTree, validation: Samples, seed: int = 0, progress: Progress | None = None
) -> Likelihood:
    """The likelihood of a tree at the temperature that suits the validation samples.

    What grows has the penalty of the linear root. Where lines tell little, that is a strong one,
    and a tree that is nearly always right is hardly sure of it. Others learn to be too sure.

    Args:
        tree: tree, which is not changed; its temperature should be 1.
        validation: samples that it was not trained on. A gain on them that may be chance counts as
            none, and so does any of fewer than 30.
        seed: seed by which some of very many samples are drawn.
        progress: report in which a temperature other than 1 is said.

    Returns:
        The tree's own likelihood, if it predicts numbers.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.table(2), (1,))
        >>> tree.nodes[0].solver.weight.data = torch.tensor([[-0.1], [0.1]])  # hardly sure
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> tempered(tree, Samples(x, (x[:, 0] > 0).long())).temperature < 0.3
        True
    """
    if not isinstance(tree.likelihood, Categorical):
        return tree.likelihood
    few = validation[few_enough(len(validation), tree.num_outputs, seed)]
    log_prob = of_each(tree.predict_log_proba, tree, few)
    by = few.targets.cpu().numpy(), few.counts()
    found = best_temperature(log_prob, *by, groups=few.group_numbers())
    if found != 1 and progress is not None:
        progress.say(f"temperature {found:.3g}")
    return Categorical(found)
