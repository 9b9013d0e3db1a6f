"""The primitive modules of the paper's experiments, and general ones for vectors and images.

==========  ============================  ===================  ================  ==============
preset      router                        transformer          solver            2x2 pooling
==========  ============================  ===================  ================  ==============
sarcos      1 FC                          1 FC + tanh          linear            never
mnist_a     conv5-40 + GAP + 2 FC         conv5-40 + ReLU      linear            every 2nd
mnist_b     conv3-40 + GAP + 2 FC         conv3-40 + ReLU      linear            every 2nd
mnist_c     conv5-5 + GAP + 2 FC          conv5-5 + ReLU       linear            every 2nd
cifar10_a   2 x conv3-128 + GAP + 1 FC    2 x conv3-128, ReLU  linear            after each
cifar10_b   2 x conv3-96 + GAP + 1 FC     2 x conv3-96, ReLU   linear            after each
cifar10_c   2 x conv3-72 + GAP + 1 FC     2 x conv3-72, ReLU   GAP + linear      after each
==========  ============================  ===================  ================  ==============

Routers end in a logit; the tree applies the sigmoid. For MNIST, convolutions are not padded,
pooling follows the 1st, 3rd, ... transformer of a path, and a router's kernel is cut to the size of
the map. The latter two reproduce the paper's parameter counts, though its table says to pool after
each transformer.

Reference:
    Tanno et al., "Adaptive Neural Trees", ICML 2019, Table 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from structnet.checks import check_one_of
from structnet.neural_tree.clipped import Clipped
from structnet.neural_tree.primitives import Primitives, Shape


def linear(shape: Shape, num_outputs: int) -> nn.Module:
    """A linear map of a flattened sample."""
    layer = nn.Linear(math.prod(shape), num_outputs)
    return layer if len(shape) == 1 else nn.Sequential(nn.Flatten(), layer)


def perceptron(shape: Shape, hidden: int, num_outputs: int) -> nn.Module:
    """Two linear maps with tanh between them."""
    return nn.Sequential(linear(shape, hidden), nn.Tanh(), nn.Linear(hidden, num_outputs))


def mlp(num_outputs: int, width: int = 128, router_width: int | None = None) -> Primitives:
    """Fully connected modules, for vectors or flattened images.

    Args:
        num_outputs: number of outputs of a solver.
        width: width of a transformer.
        router_width: hidden units of a router; None makes it linear.
    """
    router = partial(linear, num_outputs=1)
    if router_width is not None:
        router = partial(perceptron, hidden=router_width, num_outputs=1)
    solver = partial(linear, num_outputs=num_outputs)
    return Primitives(router, partial(_dense, width=width), solver)


def table(num_outputs: int, width: int = 128, router_width: int | None = None) -> Primitives:
    """The modules of :func:`mlp` for a tree that starts as a linear model, with ReLU for tanh.

    A sum of units that are odd functions, as tanh is, hardly learns what is alike on both sides of
    a center, such as a sum of squares.

    Args:
        num_outputs, width, router_width: see :func:`mlp`.
    """
    found = mlp(num_outputs, width, router_width)
    return replace(found, plain_root=True, transformer=partial(_rectified, width=width))


def conv(
    num_outputs: int,
    width: int,
    kernel: int,
    *,
    layers: int = 1,
    padding: int = 0,
    router_layers: int = 2,
    pool_every: int = 2,
    pooled_solver: bool = False,
    batch_norm: bool = False,
) -> Primitives:
    """Convolutional modules, for images ``(channels, height, width)``.

    Args:
        num_outputs: number of outputs of a solver.
        width: channels of transformers and routers.
        kernel: side of the kernels of the convolutions.
        layers: number of convolutions in a transformer and in a router.
        padding: padding of the convolutions in transformers.
        router_layers: number of fully connected layers at the end of a router, 1 or 2.
        pool_every: see :class:`Primitives`.
        pooled_solver: average each channel before the linear solver.
        batch_norm: normalise each channel after every convolution (Ioffe and Szegedy, ICML 2015).
    """
    own: dict[str, Any] = {
        "width": width,
        "kernel": kernel,
        "layers": layers,
        "batch_norm": batch_norm,
    }
    return Primitives(
        partial(_conv_router, ends=router_layers, **own),
        partial(_conv_transformer, padding=padding, **own),
        partial(_pooled_linear if pooled_solver else linear, num_outputs=num_outputs),
        pool_every,
    )


def sarcos(num_outputs: int = 7, width: int = 128, router_width: int | None = None) -> Primitives:
    """Table 2, ANT-SARCOS; the paper's text says 256 units, but its parameter counts imply 128."""
    return mlp(num_outputs, width, router_width)


def mnist_a(num_outputs: int = 10, pool_every: int = 2) -> Primitives:
    """Table 2, ANT-MNIST-A."""
    return conv(num_outputs, 40, 5, pool_every=pool_every)


def mnist_b(num_outputs: int = 10, pool_every: int = 2) -> Primitives:
    """Table 2, ANT-MNIST-B."""
    return conv(num_outputs, 40, 3, pool_every=pool_every)


def mnist_c(num_outputs: int = 10, pool_every: int = 2) -> Primitives:
    """Table 2, ANT-MNIST-C."""
    return conv(num_outputs, 5, 5, pool_every=pool_every)


_cifar10 = partial(conv, kernel=3, layers=2, padding=1, router_layers=1, pool_every=1)


def cifar10_a(num_outputs: int = 10, batch_norm: bool = False) -> Primitives:
    """Table 2, ANT-CIFAR10-A."""
    return _cifar10(num_outputs, width=128, batch_norm=batch_norm)


def cifar10_b(num_outputs: int = 10, batch_norm: bool = False) -> Primitives:
    """Table 2, ANT-CIFAR10-B."""
    return _cifar10(num_outputs, width=96, batch_norm=batch_norm)


def cifar10_c(num_outputs: int = 10, batch_norm: bool = False) -> Primitives:
    """Table 2, ANT-CIFAR10-C."""
    return _cifar10(num_outputs, width=72, pooled_solver=True, batch_norm=batch_norm)


TABLE_2 = (sarcos, mnist_a, mnist_b, mnist_c, cifar10_a, cifar10_b, cifar10_c)
PRESETS = {preset.__name__: preset for preset in TABLE_2}
# Presets that need nothing but the number of outputs.
NAMED: dict[str, Callable[[int], Primitives]] = {"table": table, "mlp": mlp, **PRESETS}


def made_of(chosen: str | Primitives | Callable[[int], Primitives], num_outputs: int) -> Primitives:
    """The primitives that a user chose.

    Args:
        chosen: name of a preset, primitives, or a function of the number of outputs.
        num_outputs: number of outputs of a solver.

    Raises:
        ValueError: there is no preset with that name.
        TypeError: the choice, or what the function returns, is something else.

    Example:
        >>> made_of("mlp", 3).make_solver((4,))[0]
        Linear(in_features=4, out_features=3, bias=True)
    """
    if isinstance(chosen, str):
        check_one_of("primitives", chosen, NAMED)
        chosen = NAMED[chosen]
    if callable(chosen) and not isinstance(chosen, nn.Module):  # calling a module would run it
        chosen = chosen(num_outputs)
    if not isinstance(chosen, Primitives):
        raise TypeError(
            "The 'primitives' parameter must be the name of a preset, Primitives, or a function "
            f"num_outputs -> Primitives. Got {type(chosen).__name__}."
        )
    return chosen


def described(chosen: Any) -> Any:
    """The choice of a user as JSON, from which :func:`restored` rebuilds it.

    Args:
        chosen: name of a preset or None; a preset, also with keyword arguments in a
            ``functools.partial``; or the primitives that a preset has made.

    Raises:
        TypeError: the choice contains a function that is not from this module.

    Example:
        >>> described(partial(mlp, width=7))
        ['mlp', {'width': 7}]
        >>> restored(described(mlp(2, width=7))).make_transformer((4,), 0)[1]
        (7,)
    """
    if chosen is None or isinstance(chosen, str):
        return chosen
    if isinstance(chosen, Primitives):
        parts = {name: described(getattr(chosen, name)) for name in PARTS}
        return parts | {"pool_every": chosen.pool_every, "plain_root": chosen.plain_root}
    function, given = chosen, {}
    if isinstance(chosen, partial) and not chosen.args:
        function, given = chosen.func, chosen.keywords
    name = getattr(function, "__name__", "")
    plain = all(isinstance(value, bool | int | float | None) for value in given.values())
    if FUNCTIONS.get(name) is not function or not plain:
        raise TypeError(
            "To be saved, the 'primitives' parameter must consist of presets and their arguments, "
            f"such as partial(presets.mlp, width=32). Got {chosen!r}; use pickle for your own "
            "functions."
        )
    return [name, dict(given)]


def restored(config: Any) -> Any:
    """The choice that :func:`described` was called with.

    Raises:
        ValueError: a function is not from this module, or has more than 1000 layers.
    """
    if isinstance(config, dict):
        return Primitives(**config | {name: restored(config[name]) for name in PARTS})
    if not isinstance(config, list):
        return config
    name, given = config
    if name not in FUNCTIONS or not 0 <= given.get("layers", 1) <= MOST_LAYERS:
        raise ValueError(f"there is no preset {name!r} with {given}")
    return partial(FUNCTIONS[name], **given)


def _dense(shape: Shape, width: int) -> nn.Module:
    return nn.Sequential(linear(shape, width), nn.Tanh())


def _rectified(shape: Shape, width: int) -> nn.Module:
    return nn.Sequential(linear(shape, width), Clipped(width))


LAST: dict[str, Any] = {"memory_format": torch.channels_last}  # not in torch's type hints


def _convolutions(
    channels: int, width: int, kernel: int, layers: int, padding: int, batch_norm: bool = False
) -> list:
    found: list[nn.Module] = []
    for layer in range(layers):
        convolution = nn.Conv2d(width if layer else channels, width, kernel, padding=padding)
        # With channels last in memory, mnist_a trains 1.6 times as fast on a CPU.
        found += [convolution.to(**LAST), *[nn.BatchNorm2d(width)] * batch_norm, nn.ReLU()]
    return found


def _conv_transformer(
    shape: Shape, width: int, kernel: int, layers: int, padding: int, batch_norm: bool = False
) -> nn.Module:
    return nn.Sequential(*_convolutions(shape[0], width, kernel, layers, padding, batch_norm))


def _conv_router(
    shape: Shape, width: int, kernel: int, layers: int, ends: int, batch_norm: bool = False
) -> nn.Module:
    padding = kernel // 2
    if layers == 1:  # the kernel is cut to a smaller map
        kernel, padding = min([kernel, *shape[1:]]), 0
    parts = _convolutions(shape[0], width, kernel, layers, padding, batch_norm)
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    if ends == 1:
        return nn.Sequential(*parts, nn.Linear(width, 1))
    hidden = width // 2 + 1
    return nn.Sequential(*parts, nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def _pooled_linear(shape: Shape, num_outputs: int) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(shape[0], num_outputs))


MOST_LAYERS = 1000  # largest number that a file may ask for
PARTS = ("router", "transformer", "solver")
MODULES = (linear, perceptron, _dense, _rectified, _conv_transformer, _conv_router, _pooled_linear)
FUNCTIONS = {each.__name__: each for each in (table, mlp, conv, *TABLE_2, *MODULES)}
