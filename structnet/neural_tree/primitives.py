"""The building blocks of a neural tree: routers, transformers and solvers for given shapes.

Each is made by a function ``shape -> nn.Module`` from the shape of one sample, without the batch
axis. The shape of its output is found by running it once.

A module must not change its input in place, as a node's router and the modules of both its children
get the same features.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from structnet.training.metrics import evaluating

Shape = tuple[int, ...]
Make = Callable[[Shape], nn.Module]
# Side of a large map, by the number of axes of a sample: a module that runs on it, but not on a
# smaller map, fails there because of the size.
LARGE = {2: 64, 3: 64, 4: 16}


class TooSmallError(ValueError):
    """A module cannot be made, as the map has become too small for it."""


@dataclass(frozen=True)
class Primitives:
    """The functions that make the modules of a tree.

    Args:
        router: function whose module maps ``[n, *shape]`` to ``[n]`` or ``[n, 1]``, the logit of
            going left, without a sigmoid. None grows a chain without branches.
        transformer: function whose module maps ``[n, *shape]`` to ``[n, *another]``. None grows a
            tree without transformers.
        solver: function whose module maps ``[n, *shape]`` to ``[n, outputs]``: logits of classes,
            or means.
        pool_every: interval of pooling: the map is halved (2x2 max-pooling) after the first of
            every ``pool_every`` transformers on a path; 0 never halves it.
        plain_root: start a tree as a solver of untransformed samples; otherwise its root has a
            transformer from the start, if there is a function for it.

    Raises:
        TypeError: one of the three is not a function but, for instance, a module.

    Example:
        >>> primitives = Primitives(
        ...     router=lambda shape: nn.Linear(shape[0], 1),
        ...     transformer=lambda shape: nn.Sequential(nn.Linear(shape[0], 8), nn.Tanh()),
        ...     solver=lambda shape: nn.Linear(shape[0], 3),
        ... )
        >>> transformer, shape = primitives.make_transformer((4,), index=0)
        >>> shape
        (8,)
        >>> questions_alone = Primitives(  # a tree of routers and solvers
        ...     router=primitives.router, transformer=None, solver=primitives.solver
        ... )
    """

    router: Make | None
    transformer: Make | None
    solver: Make
    pool_every: int = 0
    plain_root: bool = False

    def __post_init__(self) -> None:
        for name in ("router", "transformer", "solver"):
            given, optional = getattr(self, name), name != "solver"
            if isinstance(given, nn.Module) or not (
                callable(given) or (optional and given is None)
            ):
                raise TypeError(
                    f"The '{name}' parameter of Primitives must be a function shape -> nn.Module"
                    f"{', or None' * optional}, as each node gets one of its own. Got "
                    f"{type(given).__name__}."
                )

    def without(self, *, routers: bool = False, transformers: bool = False) -> Primitives:
        """These primitives without routers or transformers, as in the paper's ablations."""
        return replace(
            self,
            router=None if routers else self.router,
            transformer=None if transformers else self.transformer,
        )

    def make_transformer(self, shape: Shape, index: int) -> tuple[nn.Module, Shape]:
        """A transformer for samples of a shape, and the shape of its output.

        If the map has become too small for the module, the transformer is an identity.

        Args:
            shape: shape of one sample.
            index: number of transformers above it on the path.

        Raises:
            TypeError: the function does not return a module.
            ValueError: the module does not run on such samples, for a reason other than their size.
        """
        try:
            module, after = make("transformer", self.transformer, shape)
        except TooSmallError:
            return nn.Identity(), shape
        pools = self.pool_every and index % self.pool_every == 0
        if pools and len(after) == 3 and min(after[1:]) >= 2:
            module = nn.Sequential(module, nn.MaxPool2d(2))
            after = shape_after(module, shape)
        return module, after

    def make_router(self, shape: Shape) -> nn.Module:
        """A router for samples of a shape.

        Raises:
            TooSmallError: the maps are too small for it.
            TypeError: the function does not return a module.
            ValueError: the module does not run on such samples, does not give one number for each,
                or ends in a sigmoid or softmax.
        """
        module, after = make("router", self.router, shape)
        if after not in ((), (1,)):
            raise ValueError(
                f"the router for samples of shape {list(shape)} gives {list(after)} for each; "
                "expected one logit each"
            )
        last = module
        while isinstance(last, nn.Sequential) and len(last):
            last = last[-1]
        if isinstance(last, nn.Sigmoid | nn.LogSigmoid | nn.Softmax | nn.LogSoftmax):
            raise ValueError(
                f"the router ends in {type(last).__name__}; expected a logit, to which the tree "
                "applies a sigmoid itself"
            )
        return module

    def make_solver(self, shape: Shape) -> tuple[nn.Module, int]:
        """A solver for samples of a shape, and the number of its outputs.

        Raises:
            TooSmallError: the maps are too small for it.
            TypeError: the function does not return a module.
            ValueError: the module does not run on such samples, or its output is not a vector.
        """
        module, after = make("solver", self.solver, shape)
        if len(after) != 1:
            raise ValueError(
                f"the solver for samples of shape {list(shape)} gives {list(after)} for each; "
                "expected a vector each"
            )
        return module, after[0]


def make(kind: str, function: Make | None, shape: Shape) -> tuple[nn.Module, Shape]:
    """The module that a function makes for samples of a shape, and the shape of its output.

    Raises:
        TypeError: the function does not return a module.
        TooSmallError: the maps are too small for it.
        ValueError: the module does not run on such samples, whatever their size.
    """
    module = None if function is None else function(shape)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"the function that makes a {kind} must return an nn.Module. Got "
            f"{type(module).__name__} for samples of shape {list(shape)}."
        )
    name = f"the {kind}"
    try:
        return module, shape_after(module, shape, name)
    except ValueError as error:
        if _runs_on_a_larger_map(module, shape):
            raise TooSmallError(
                f"{name} for samples of shape {list(shape)} does not run on them, as their map is "
                "too small; expected one that does"
            ) from error
        raise


def _runs_on_a_larger_map(module: nn.Module, shape: Shape) -> bool:
    if len(shape) in LARGE:
        with suppress(ValueError):
            shape_after(module, (shape[0], *[LARGE[len(shape)]] * (len(shape) - 1)))
            return True
    return False


def shape_after(module: nn.Module, shape: Shape, name: str = "the module") -> Shape:
    """The shape of a module's output for one sample, found by running it in evaluation mode.

    Args:
        shape: shape of one sample.
        name: name of the module in error messages.

    Raises:
        TypeError: its output is not a tensor.
        ValueError: it does not run on such samples, or its output has no entry for each.
    """
    weights = next(module.parameters(), torch.zeros(()))
    zeros = torch.zeros((2, *shape), dtype=weights.dtype, device=weights.device)
    try:
        with evaluating(module):
            found = module(zeros)
        if not isinstance(found, Tensor):
            raise TypeError(
                f"{type(module).__name__} must give a tensor. Got {type(found).__name__} for "
                f"samples of shape {list(shape)}."
            )
        if found.shape[:1] != (2,):
            raise ValueError(
                f"its output for 2 samples has the shape {list(found.shape)}; expected the first "
                "size to be 2"
            )
    except (IndexError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{name} does not run on samples of shape {list(shape)}: {reason}"
        ) from error
    return tuple(found.shape[1:])
