"""Another tree for a module: from a saved state, whose sizes are taken over, or with new weights.

Another tree of the same labels has other sizes. What belongs to the module and not to the tree, the
size of the representation and the number of labels, must be the same, as in any torch module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from structnet.label_tree.codes import LabelCodes


def codes_in(
    module: nn.Module, state: Mapping[str, Tensor], prefix: str, in_features: int, n_classes: int
) -> tuple[LabelCodes | None, list[str]]:
    """The tree in a state, and what does not fit; if anything does not, there is no tree.

    Args:
        module: module with the layout of a tree, its weights, and its statistics.
        state: tensors by name.
        prefix: beginning of the names of those for this module.
        in_features: size of the representation.
        n_classes: number of labels.

    Shapes:
        layout ``[nodes, arity]``, weight ``[nodes, arity, in_features]``, counts ``[n_classes]``.
    """
    names = ("layout", "weight", "bias", "counts")
    present: dict[str, Any] = {name: getattr(module, name, None) for name in names}
    loaded = {name: state[prefix + name] for name in present if prefix + name in state}
    layout: Tensor = loaded.get("layout", present["layout"])
    nodes = tuple(layout.shape)
    wanted = {
        "layout": nodes,
        "weight": (*nodes, in_features),
        "bias": nodes,
        "counts": (n_classes,),
    }
    faults = [
        f"size mismatch for {prefix}{name}: copying a param with shape {value.shape} from "
        f"checkpoint, the shape in current model is {present[name].shape}."
        for name, value in loaded.items()
        if tuple(value.shape) != wanted[name]
    ]
    if faults:
        return None, faults
    try:
        return LabelCodes(layout.cpu().numpy(), n_classes), []
    except ValueError as error:
        return None, [f"{prefix}layout is not a tree of {n_classes} labels: {error}."]


def take_sizes(module: nn.Module, state: Mapping[str, Tensor], prefix: str) -> None:
    """Gives the tensors of a module the sizes that they have in a state; parameters remain the same
    objects, so that an optimizer goes on to train them.

    Args:
        module: module whose tensors are to be loaded.
        state: tensors by name.
        prefix: beginning of the names of those for this module.

    Shapes:
        any, ``[...]``.
    """
    for name in ("weight", "bias", "layout", "sums", "seen"):
        value = state.get(prefix + name)
        present = getattr(module, name) if value is not None else None
        if value is None or present is None or value.shape == present.shape:
            continue
        other = torch.zeros(value.shape, dtype=present.dtype, device=present.device)
        if isinstance(present, nn.Parameter):
            present.data, present.grad = other, None
        else:
            setattr(module, name, other)


def check_parameters(module: nn.Module, *optimizers: Any) -> None:
    """Raises an error if weights are computed from others, so that they cannot be set.

    Args:
        module: module with the weights.
        optimizers: optimizers whose state is to be set with them; None for one that is not there.

    Raises:
        RuntimeError: the weight or the bias is parametrized.
        TypeError: an optimizer is something else.
    """
    for other in optimizers:
        if not isinstance(other, torch.optim.Optimizer | None):
            raise TypeError(
                f"expected optimizers of torch, one after the other. Got {type(other).__name__}."
            )
    for name in ("weight", "bias"):
        if name not in module._parameters:
            raise RuntimeError(
                f"the {name} is parametrized, as by weight_norm, so that it cannot be set to 0 for "
                "new nodes; expected a parameter: remove the parametrization before"
            )
