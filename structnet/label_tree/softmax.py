"""A tree of softmaxes instead of one softmax over very many classes, for any torch model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from structnet.checks import check_bool, check_integer, check_number, check_one_of
from structnet.label_tree._kernels import EMPTY
from structnet.label_tree.arrays import TreeArrays
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.features import Features
from structnet.label_tree.reassignment import (
    NodeReport,
    Reassigned,
    Statistics,
    change_shares,
    node_report,
    reassign,
    take_over,
)
from structnet.label_tree.recorded import Recorded
from structnet.label_tree.rows import path_log_prob
from structnet.label_tree.saved import check_parameters, codes_in, take_sizes
from structnet.label_tree.settings import GAINS, METHODS, PRIORS
from structnet.label_tree.shapes import beginning, frequencies, log_shares, usual_arity
from structnet.routing.path_log_prob import leaf_log_prob


class TreeSoftmaxOutput(NamedTuple):
    """The output of the loss, as of :class:`torch.nn.AdaptiveLogSoftmaxWithLoss`.

    Attributes:
        output: log-probability of each target.
        loss: mean of their negatives.
    """

    output: Tensor
    loss: Tensor


class TreeSoftmaxLoss(Recorded):
    """A replacement for :class:`torch.nn.AdaptiveLogSoftmaxWithLoss` that can learn its tree.

    ``log p(label | r) = sum over (n, j) of its code of log softmax(W_n r + b_n)_j``

    Give it the ``counts`` of the classes: by them, each begins as likely as it is frequent, and
    frequent ones are reached by fewer decisions. In training mode it records statistics of each
    label's examples at the nodes on their way, by which :meth:`reassign` moves labels. For some
    hundred classes, a flat softmax is better; the guide has figures.

    Args:
        in_features: size of the representation r.
        n_classes: number of labels.
        arity: number of children of a node, by default the square root of the number of labels, but
            from 20 to 128.
        tree: initial tree: "huffman" or "complete" by the counts, "random", or
            :class:`.LabelCodes`, whose arity is then used.
        counts: frequency of each label, as ``torch.bincount(targets, minlength=n_classes)``; one
            that never occurs counts as one that occurs as rarely as any. By default all are equal.
        max_depth: largest number of decisions on a path after a reassignment.
        bias: learn a bias for each child?
        gain, prior, prior_weight, method: rules of the reassignment; see :func:`.reassign`.
        memory: share of the statistics that is kept after a reassignment.
        sparse: sparse gradients, only for nodes that occur in a batch, as ``nn.Embedding`` has
            them; for SGD and Adagrad, of which :class:`.SparseAdagrad` is the faster form.
        ignore_index: target that does not count; its output is 0, and so is the loss of a batch in
            which nothing counts.
        seed: seed of a random tree.
        device, dtype: device and floating-point type of the weights.

    Shapes:
        input ``[..., in_features]``; target ``[...]``, int64, with the same leading axes.

    Raises:
        ValueError: an argument is out of its range, or the labels do not fit.

    Example:
        >>> target = torch.randint(1000, (500,)).square() // 1000  # low numbers are frequent
        >>> counts = torch.bincount(target, minlength=1000)
        >>> loss = TreeSoftmaxLoss(8, n_classes=1000, counts=counts)
        >>> x, optimizer = torch.randn(500, 8), torch.optim.Adam(loss.parameters())
        >>> loss(x, target).loss.backward()
        >>> optimizer.step()
        >>> loss.predict(x[:3]).shape, loss.log_prob(x[:3]).shape
        (torch.Size([3]), torch.Size([3, 1000]))
    """

    layout: Tensor  # the children of each node, as in LabelCodes
    mask: Tensor  # whether a slot is empty; not a part of the state

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        arity: int | None = None,
        *,
        tree: str | LabelCodes = "huffman",
        counts: Any = None,
        max_depth: int | None = None,
        bias: bool = True,
        gain: str = "margin",
        prior: str = "anchored",
        prior_weight: float = 1.0,
        method: str = "greedy",
        memory: float = 0.5,
        sparse: bool = False,
        ignore_index: int = -100,
        seed: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        check_integer("in_features", in_features, 1, owner="TreeSoftmaxLoss")
        check_integer("n_classes", n_classes, 1, owner="TreeSoftmaxLoss")
        check_integer("max_depth", max_depth, 1, optional=True, owner="TreeSoftmaxLoss")
        check_number("memory", memory, 0, 1, owner="TreeSoftmaxLoss")
        check_bool("sparse", sparse, "TreeSoftmaxLoss")
        check_bool("bias", bias, "TreeSoftmaxLoss")
        check_one_of("gain", gain, GAINS, "TreeSoftmaxLoss")
        check_one_of("prior", prior, PRIORS, "TreeSoftmaxLoss")
        check_one_of("method", method, METHODS, "TreeSoftmaxLoss")
        counts = frequencies(counts, n_classes)
        arity = usual_arity(n_classes, max_depth) if arity is None else arity
        codes = beginning(tree, counts, arity, seed, max_depth)
        self.in_features, self.n_classes, self.max_depth = in_features, n_classes, max_depth
        check_number("prior_weight", prior_weight, 0, open=True, owner="TreeSoftmaxLoss")
        self.rules = {"gain": gain, "prior": prior, "prior_weight": prior_weight, "method": method}
        self.memory, self.sparse, self.ignore_index = memory, sparse, ignore_index
        shape = codes.children.shape
        self._biased = bool(bias)
        self.weight = nn.Parameter(torch.empty(*shape, in_features))
        self.bias = nn.Parameter(torch.zeros(shape), requires_grad=bool(bias))
        self.register_buffer("counts", torch.from_numpy(counts.copy()))
        self.register_buffer("layout", torch.from_numpy(codes.children.copy()))
        for name, rows in vars(Statistics.of(codes)).items():
            self.register_buffer(name, torch.from_numpy(rows))
        self.register_buffer("mask", torch.zeros(shape, dtype=torch.bool), persistent=False)
        self._take(codes)
        self.reset_parameters()
        self.to(device=device, dtype=dtype)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Begins anew, with the present tree: each class is as likely as it is frequent."""
        self.weight.zero_()
        self.bias.copy_(self._first_bias(self._codes))

    def _first_bias(self, codes: LabelCodes) -> Tensor:
        """The biases by which each class is as likely as it is frequent, ``[nodes, arity]``."""
        shares = log_shares(codes, self.counts.cpu().numpy()) * self._biased
        return torch.from_numpy(shares).to(self.bias)

    @property
    def codes(self) -> LabelCodes:
        """The present tree."""
        return self._codes

    @property
    def arity(self) -> int:
        """The number of children of a node."""
        return self._codes.arity

    def node_report(self) -> NodeReport:
        """The quality of the decision at each inner node; see :class:`.NodeReport`."""
        return node_report(self._codes, self.statistics, self.counts.cpu().numpy())

    @torch.no_grad()
    def reassign(self, *optimizers: torch.optim.Optimizer | None) -> Reassigned:
        """Moves labels to the children that their examples prefer; see :func:`.reassign`.

        Labels take their weights along, but no gradients. Call it a few times in the first half of
        a training only: moves raise the loss at first. For next words do not; see the guide.

        Of several processes that train it together, by ``DistributedDataParallel`` or :func:`.fit`,
        all must call it after the same step: they decide by the sum of what they have recorded, and
        keep the same tree. The state of one process has what that process has recorded.

        Args:
            optimizers: optimizers of this module's parameters, whose state moves with the labels.

        Raises:
            ValueError, TypeError: see :func:`.reassign`; what is given is no optimizer.
            RuntimeError: the processes have different trees, or the weights are parametrized.
        """
        if self._own is not None:
            self.sum_statistics()
        check_parameters(self, *optimizers)
        reassigned = reassign(
            self._codes,
            self.statistics,
            self.counts.cpu().numpy(),
            max_depth=self.max_depth,
            **self.rules,  # type: ignore[arg-type]  # checked words
        )
        self.layout = torch.from_numpy(reassigned.codes.children).to(self.weight.device)
        self._keep(reassigned.statistics, self.memory)
        for parameter in (self.weight, self.bias):
            take_over(parameter, optimizers, reassigned.source)
        shares = [self._first_bias(codes) for codes in (self._codes, reassigned.codes)]
        change_shares(self.bias, reassigned.source, *shares)
        self._take(reassigned.codes)
        return reassigned

    @torch.no_grad()
    def replant(self, codes: LabelCodes) -> None:
        """Replaces the tree by another one of the same labels, whose nodes start anew.

        Raises:
            ValueError: it has other numbers of labels or nodes, or another arity.
            RuntimeError: the weights are parametrized.
        """
        check_parameters(self)
        sizes = [(each.num_labels, each.num_nodes, each.arity) for each in (codes, self._codes)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"labels, nodes and arity must be {sizes[1]}. Got {sizes[0]}.")
        self.layout = torch.from_numpy(codes.children.copy()).to(self.weight.device)
        self._keep(Statistics.of(codes))
        self._take(codes)
        self.reset_parameters()

    @torch.no_grad()
    def _take(self, codes: LabelCodes) -> None:
        """Sets the tree of this module."""
        self._codes = codes
        # Not in the bias, as weight decay would turn -inf into NaN.
        self.mask = self.layout == EMPTY
        self.bias[self.mask] = 0
        self._rows: dict[str, Tensor] = {}

    def _masked_bias(self) -> Tensor:
        """The biases; -inf in empty slots. ``[nodes, arity]``"""
        return self.bias.masked_fill(self.mask, -torch.inf)

    def _row(self, name: str) -> Tensor:
        """Part of the codes on the module's device; made when it is first needed."""
        if name not in self._rows or self._rows[name].device != self.weight.device:
            plain = torch.from_numpy(getattr(self._codes, name))
            self._rows[name] = plain.to(self.weight.device, torch.int64)
        return self._rows[name]

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        codes, faults = codes_in(self, state_dict, prefix, self.in_features, self.n_classes)
        if codes is None:
            args[-1].extend(faults)  # of which torch makes one error, at the end
            return
        take_sizes(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._begin_anew()
        self._take(codes)

    def forward(self, input: Tensor, target: Tensor) -> TreeSoftmaxOutput:
        """The log-probabilities of targets, and their mean loss.

        Raises:
            ValueError: the shapes do not fit, or a target is not a label, or not a whole number.
        """
        if target.is_floating_point() or target.is_complex() or target.dtype == torch.bool:
            raise ValueError(f"target must be whole numbers, as int64. Got {target.dtype}.")
        batch = self._batch(input).to(self.weight.dtype)  # also under autocast
        labels = target.reshape(-1).long()  # bytes would be taken for a mask
        if input.shape[:-1] != target.shape:
            raise ValueError(
                f"input must be [..., {self.in_features}] and target [...], with the same leading "
                f"axes. Got {list(input.shape)} and {list(target.shape)}."
            )
        counts = labels != self.ignore_index
        outside = counts & ((labels < 0) | (labels >= self.n_classes))
        if outside.any():
            raise ValueError(
                f"target must be from 0 to {self.n_classes - 1}. Got {int(labels[outside][0])}."
            )
        kept = counts.nonzero().squeeze(1)
        output = batch.new_zeros(len(batch))
        if len(kept) or torch.is_grad_enabled():  # a loss of 0 can be differentiated, too
            with torch.autocast(batch.device.type, enabled=False):
                output = output.index_put((kept,), self._log_prob_of(batch[kept], labels[kept]))
        loss = -output.sum() / len(kept) if len(kept) else output.sum()
        return TreeSoftmaxOutput(output.reshape(target.shape), loss)

    def _batch(self, input: Tensor) -> Tensor:
        """``[..., in_features] -> [n, in_features]``"""
        if not input.dim() or input.shape[-1] != self.in_features:
            raise ValueError(f"input must be [..., {self.in_features}]. Got {list(input.shape)}.")
        return input.reshape(-1, self.in_features)

    def _log_prob_of(self, batch: Tensor, labels: Tensor) -> Tensor:
        """``[n, in_features], [n] -> [n]``."""
        plain = batch.device.type == "cpu" and batch.dtype == torch.float32
        if plain and not (self.training or torch.is_grad_enabled()):
            # Without gradients and statistics, the compiled loop is enough.
            log_probs = self.arrays().scored(Features.from_table(batch.numpy()), labels.numpy())
            return torch.from_numpy(log_probs).to(batch)
        offsets = self._row("offsets")
        first, length = offsets[labels], offsets[labels + 1] - offsets[labels]
        example = torch.arange(len(labels), device=labels.device).repeat_interleave(length)
        starts = length.cumsum(0) - length
        row = first[example] + torch.arange(len(example), device=labels.device) - starts[example]
        node, slot = self._row("nodes")[row], self._row("slots")[row]
        log_p, p = path_log_prob(
            batch, self.weight, self._masked_bias(), example, node, slot, self.sparse
        )
        if self.training and len(self.seen):
            self._record(row, p)
        return batch.new_zeros(len(labels)).index_add(0, example, log_p)

    def branch_log_prob(self, input: Tensor) -> Tensor:
        """The log-probability of each node's children; -inf in empty slots.

        Shapes:
            input ``[n, in_features]`` -> ``[n, nodes, arity]``.
        """
        with torch.autocast(input.device.type, enabled=False):
            products = torch.einsum("nd,vjd->nvj", input.to(self.weight.dtype), self.weight)
        return (products + self._masked_bias()).log_softmax(-1)

    def log_prob(self, input: Tensor, backend: str = "arrays") -> Tensor:
        """The log-probabilities of all labels; they sum to 1.

        Args:
            backend: "arrays", or "dgl" for the reference, with messages from parent to child.

        Shapes:
            input ``[..., in_features]`` -> ``[..., n_classes]``.

        Raises:
            ValueError: the last axis of the input has another length.
        """
        numbering, batch = self._codes.numbering, self._batch(input)
        if not self._codes.num_nodes:
            return batch.new_zeros(*input.shape[:-1], 1)
        branch = self.branch_log_prob(batch).flatten(1)  # [n, slots of all nodes]
        chosen = torch.from_numpy(self._codes.ways).to(input.device)
        at_nodes = torch.cat([branch.new_zeros(len(batch), 1), branch[:, chosen]], 1)
        log_p = leaf_log_prob(numbering.topology, at_nodes, backend)
        labels = numbering.label[numbering.topology.leaves]
        log_p = log_p[:, torch.from_numpy(np.argsort(labels)).to(input.device)]
        return log_p.reshape(*input.shape[:-1], self.n_classes)

    @torch.no_grad()
    def predict(self, input: Tensor) -> Tensor:
        """The likeliest label of each input, by search. ``[..., in_features] -> [...]``"""
        return self.top_k(input, 1)[1].squeeze(-1)

    @torch.no_grad()
    def top_k(
        self, input: Tensor, k: int, beam: int | None = None, threshold: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """The k likeliest labels, best first; among equal ones the lowest.

        Args:
            k: number of labels.
            beam: largest number of nodes kept at each depth; None keeps all that can matter.
            threshold: smallest probability; less likely labels are left out.

        Shapes:
            input ``[..., in_features]`` -> log-probabilities, of the input's type, and labels, both
            ``[..., k]``; -inf and -1 where there are fewer.

        Raises:
            ValueError: an argument is out of its range, or the last axis of the input has another
                length.
        """
        features = Features.from_table(self._batch(input).detach().float().cpu().numpy())
        values, labels, _ = self.arrays().searched(features, k, beam, threshold)
        of_input, absent = (*input.shape[:-1], k), (0, k - values.shape[1])
        log_p = F.pad(torch.from_numpy(values).to(input), absent, value=-torch.inf)
        numbers = F.pad(torch.from_numpy(labels).to(input.device), absent, value=-1)
        return log_p.reshape(of_input), numbers.reshape(of_input)

    def arrays(
        self, embedding: np.ndarray | None = None, by_feature: bool = False, lay: bool = False
    ) -> TreeArrays:
        """The arrays for the compiled loops; on a CPU, they share weights whose layout fits.

        Args:
            embedding: vectors of features, ``[features, in_features]``; None if examples are rows.
            by_feature: put the weights of each feature next to each other, for sparse rows?
            lay: keep the weights in that layout from now on? Not by default, as the states of fused
                optimizers would not follow.
        """
        axes = (0, 2, 1) if by_feature else (0, 1, 2)
        weight = self.weight.detach().permute(axes).contiguous()
        if lay:
            self.weight.data = weight.permute(axes)
        w, b = (x.float().cpu().numpy() for x in (weight, self._masked_bias().detach()))
        return TreeArrays(embedding, w, b, self._codes)

    def take_bias(self, bias: np.ndarray) -> None:
        """Stores biases from the arrays of :meth:`arrays`, ``[nodes, arity]``."""
        with torch.no_grad():
            self.bias.copy_(torch.from_numpy(bias).masked_fill(self.mask.cpu(), 0))

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_features}, {self.n_classes}, arity={self.arity}"
