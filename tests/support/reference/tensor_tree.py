"""The papers in slow recursive Python: one node at a time, float64, straight from the equations.

Nothing here knows of forests, levels or schedules; only parameters are shared with the library,
so that gradients can be compared too.

Castellana and Bacciu, IJCNN 2020
=================================  ============================================================
Eq. (4), full tensor               :func:`contract`, of ``to_full()`` or of the parameter
Eq. (5), weighted sum              :func:`weighted_sum`
Eq. (10), Tucker                   :func:`tucker`
beyond it: CP, tensor train        :func:`canonical`, :func:`tensor_train`
Eq. (11), gates and states         :func:`tree_lstm`
=================================  ============================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from structnet.tensor_tree import CP, FullTensor, TensorTrain, TreeLSTM, Tucker, WeightedSum
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

# Of one gate of one type: y from the input (None if nodes carry none) and, place by place, the
# children's h (None where there is no child and no bottom state either).
Aggregate = Callable[[object, int, int, Tensor | None, Sequence[Tensor | None]], Tensor]


def bar(h: Tensor) -> Tensor:
    """``[h; 1]``."""
    return torch.cat([h, h.new_ones(1)])


def contract(tensor: Tensor, vectors: Sequence[Tensor]) -> Tensor:
    """``sum T(i_1, .., i_M, k) v_1(i_1) .. v_M(i_M)``, one mode after the other."""
    for vector in vectors:
        tensor = sum(vector[i] * tensor[i] for i in range(len(vector)))
    return tensor


def columns(parameter: Tensor, gate: int, size: int) -> Tensor:
    """The columns of one gate where those of all stand side by side."""
    return parameter[..., gate * size : (gate + 1) * size]


def modes_of(aggregator: object, x: Tensor | None, h: Sequence[Tensor | None]) -> list[Tensor]:
    """The vectors that are multiplied: x, if nodes carry one, and every place's h."""
    return ([x] if aggregator.input_size else []) + list(h)


def weighted_sum(
    a: WeightedSum, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]
) -> Tensor:
    """``W x + sum_j U_j h_j + b``; one U for all places where they are not told apart."""
    c = a.hidden_size
    y = columns(a.bias[t], g, c)
    if a.input_size:
        y = y + x @ columns(a.input_weight[t], g, c)
    for j, h_j in enumerate(h):
        if h_j is not None:
            u_j = a.weight[t * a.arity + j] if a.positional else a.weight[t]
            y = y + h_j @ columns(u_j, g, c)
    return y


def full_tensor(
    a: FullTensor, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]
) -> Tensor:
    """``sum T(i, j_1, .., j_L, k) xbar(i) hbar_1(j_1) .. hbar_L(j_L)``."""
    return contract(columns(a.tensor[t], g, a.hidden_size), [bar(v) for v in modes_of(a, x, h)])


def factors_of(a: CP | TensorTrain | Tucker, name: str, t: int, g: int, size: int) -> list[Tensor]:
    """One parameter a mode, of one type and gate: the input's first, then each place's."""
    own = [getattr(a, "input_" + name)[t]] if a.input_size else []
    places = [getattr(a, name)[t * a.arity + j] for j in range(a.arity)]
    return [columns(parameter, g, size) for parameter in own + places]


def tucker(a: Tucker, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]) -> Tensor:
    """``q(sum G(i_1, .., i_M, :) zbar_1(i_1) .. zbar_M(i_M)) + b`` with ``z_j = U_j h_j``."""
    u = factors_of(a, "modes", t, g, a.rank)
    z = [v @ u_m for v, u_m in zip(modes_of(a, x, h), u, strict=True)]
    y = contract(a.core[t, g], [bar(z_m) for z_m in z])
    return y @ a.output[t, g] + a.bias[t, g]


def canonical(a: CP, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]) -> Tensor:
    """``Q (z_1 * .. * z_M) + b`` with ``z_j = A_j hbar_j``."""
    factors = factors_of(a, "factors", t, g, a.rank)
    ones = factors_of(a, "ones", t, g, a.rank)
    z = a.output.new_ones(a.rank)
    for v, factor, one in zip(modes_of(a, x, h), factors, ones, strict=True):
        z = z * (v @ factor + one)
    return z @ a.output[t, g] + a.bias[t, g]


def tensor_train(
    a: TensorTrain, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]
) -> Tensor:
    """``Q (v M_1 .. M_M) + b`` with the matrix ``M_j = A_j(hbar_j)``."""
    r = a.rank
    cores = factors_of(a, "cores", t, g, r * r)
    ones = factors_of(a, "ones", t, g, r * r)
    y = a.start[t, g]
    for v, core, one in zip(modes_of(a, x, h), cores, ones, strict=True):
        y = y @ (v @ core + one).reshape(r, r)
    return y @ a.output[t, g] + a.bias[t, g]


def by_full(a: object, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]) -> Tensor:
    """Any aggregator, spelt out: Eq. (4) with its ``to_full()``; a missing h is zero."""
    zero = torch.zeros(a.hidden_size, dtype=torch.float64)
    present = [zero if h_j is None else h_j for h_j in h]
    present += [zero] * (a.arity - len(present))
    return contract(a.to_full()[t, g], [bar(v) for v in modes_of(a, x, present)])


def aggregate(a: object, t: int, g: int, x: Tensor | None, h: Sequence[Tensor | None]) -> Tensor:
    """Gate g of type t by the aggregator's own equation."""
    for kind, equation in (
        (WeightedSum, weighted_sum),
        (FullTensor, full_tensor),
        (Tucker, tucker),
        (CP, canonical),
        (TensorTrain, tensor_train),
    ):
        if isinstance(a, kind):
            return equation(a, t, g, x, h)
    raise TypeError(f"no equation for {type(a).__name__}")


def leaf(model: TreeLSTM, x: Tensor) -> tuple[Tensor, Tensor]:
    """``i, o, u`` of ``W x + b``, ``c = i * u``, ``h = o * tanh(c)``."""
    size = model.hidden_size
    i, o, u = (
        x @ columns(model.leaf_weight, g, size) + columns(model.leaf_bias, g, size)
        for g in range(3)
    )
    c = torch.sigmoid(i) * torch.tanh(u)
    return torch.sigmoid(o) * torch.tanh(c), c


def forget_gate(model: TreeLSTM, t: int, j: int, h_j: Tensor, x: Tensor | None) -> Tensor:
    """``f_j = sigmoid(W x + U_j h_j + b)``, or b_j."""
    a = model.aggregator
    u_j = model.forget_weight[t * a.arity + j if a.positional else t]
    b = model.forget_bias.view(a.num_types, -1, model.hidden_size)[t]
    f = h_j @ u_j + (b[j] if len(b) > 1 else b[0])
    if model.inner_inputs:
        f = f + x @ model.forget_input[t]
    return torch.sigmoid(f)


def node(
    model: TreeLSTM,
    t: int,
    x: Tensor | None,
    children: dict[int, tuple[Tensor, Tensor]],
    equation: Aggregate = aggregate,
) -> tuple[Tensor, Tensor]:
    """Eq. (11): h and c of a node of type t from those of its children, by place."""
    a = model.aggregator
    children = dict(children)
    if a.positional:  # every place has a child, or the bottom
        bottom_h, bottom_c = model.bottom_state[0, 0], model.bottom_state[1, 0]
        for j in range(a.arity):
            children.setdefault(j, (bottom_h, bottom_c))
    h = [children[j][0] for j in sorted(children)]
    i = torch.sigmoid(equation(a, t, 0, x, h))
    o = torch.sigmoid(equation(a, t, 1, x, h))
    u = torch.tanh(equation(a, t, 2, x, h))
    c = i * u
    for j, (h_j, c_j) in children.items():
        if model.forget == "child":
            f_j = forget_gate(model, t, j, h_j, x)
        else:
            f_j = torch.sigmoid(equation(a, t, 3 + j, x, h))
        c = c + f_j * c_j
    return o * torch.tanh(c), c


def tree_lstm(
    model: TreeLSTM, tree: Tree, vocabulary: Vocabulary, equation: Aggregate = aggregate
) -> tuple[Tensor, Tensor]:
    """h and c of the root of a tree; every subtree is computed as often as it occurs."""
    t, token = vocabulary.encode(tree)
    table = model.embedding.weight if model.learned_inputs else model.inputs
    x = table[token] if token >= 0 else torch.zeros_like(table[0])
    if t < 0:
        return leaf(model, x)
    children = {
        j: tree_lstm(model, child, vocabulary, equation) for j, child in enumerate(tree.children)
    }
    return node(model, t, x if model.inner_inputs else None, children, equation)


def hidden_states(
    model: TreeLSTM, trees: Sequence[Tree], vocabulary: Vocabulary, equation: Aggregate = aggregate
) -> Tensor:
    """h of every tree's root, ``[len(trees), hidden_size]``."""
    return torch.stack([tree_lstm(model, tree, vocabulary, equation)[0] for tree in trees])
