"""How sure a tree of sparse rows is of its labels: the temperature of its nodes' scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from texts import texts

from structnet import LabelTreeClassifier
from structnet.label_tree import Examples, Features, LabelTree, LabelTreeSettings, Training
from structnet.label_tree.cooling import temperature_for

SHAPES = [(12, None), (3, None), (12, 4), (3, 4)]  # arity, size of vectors


def drawn(arity: int, vector_size: int | None, number: int = 4000) -> tuple[LabelTree, Examples]:
    """A tree of twelve labels, and examples whose labels have its probabilities."""
    rng = np.random.default_rng(0)
    rows = csr_matrix(rng.poisson(0.5, (number, 10)).astype(np.float32))
    tree = LabelTree(10, 12, vector_size, arity=arity).float()
    for weights in tree.parameters():
        weights.data.copy_(weights.new_tensor(rng.normal(size=weights.shape)))
    x = Features.from_csr(rows)
    y = (tree.log_prob_of_all(x) + rng.gumbel(size=(number, 12))).argmax(1)
    return tree, Examples(x, y)


@pytest.mark.parametrize(("arity", "vector_size"), SHAPES)
def test_scores_of_all_nodes_are_divided(arity: int, vector_size: int | None) -> None:
    tree, examples = drawn(arity, vector_size, 50)
    x = tree.represent(examples.features)
    before = tree.softmax.branch_log_prob(x)  # of each node, scores up to a constant
    tree.cool(2.5)
    expected = (before / 2.5).log_softmax(-1)
    torch.testing.assert_close(tree.softmax.branch_log_prob(x), expected, atol=1e-5, rtol=1e-4)
    np.testing.assert_allclose(np.exp(tree.log_prob_of_all(examples.features)).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize(("arity", "vector_size"), SHAPES)
def test_the_temperature_is_found_by_held_out_examples(arity: int, vector_size: int | None) -> None:
    tree, examples = drawn(arity, vector_size)
    assert temperature_for(tree, examples) == pytest.approx(1, abs=0.1)
    tree.cool(1 / 3)
    assert temperature_for(tree, examples) == pytest.approx(3, rel=0.15)
    tree.cool(9)
    assert temperature_for(tree, examples) == 1  # too few are wrong to say how sure to be


def test_held_out_examples_count_by_weight() -> None:
    tree, examples = drawn(12, None, 1000)
    tree.cool(1 / 3)
    wrong = Examples(examples.features, (examples.labels + 1) % 12)
    both = np.concatenate([examples.labels, wrong.labels])
    rows = examples.features[np.tile(np.arange(1000), 2)]
    shares = np.repeat(np.array([1, 1e-6], np.float32), 1000)
    mixed = temperature_for(tree, Examples(rows, both, shares))
    assert mixed == pytest.approx(temperature_for(tree, examples), rel=1e-2)


def test_dense_rows_are_left_alone() -> None:
    tree, examples = drawn(12, None, 500)
    table = Features.from_table(examples.features.to_csr().toarray())
    tree.cool(1 / 3)
    assert temperature_for(tree, Examples(table, examples.labels)) == 1


def test_few_held_out_examples_tell_too_little() -> None:
    tree, examples = drawn(12, None, 300)
    tree.cool(1 / 3)
    assert temperature_for(tree, examples[:99]) == 1 < temperature_for(tree, examples)


def loss_of(model: LabelTreeClassifier, x: csr_matrix, y: np.ndarray) -> float:
    return float(-np.log(model.predict_proba(x)[np.arange(len(y)), y]).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_predictions_are_as_sure_as_they_are_right(seed: int) -> None:
    x, y = texts(3000, 8, 100, 40, seed=seed)
    y = np.where(np.random.default_rng(seed).random(3000) < 0.3, (y + 1) % 8, y)
    parts = slice(1500), slice(1500, None)
    (learn, new), (known, asked) = (tuple(each[part] for part in parts) for each in (x, y))
    model = LabelTreeClassifier(vector_size=0, epochs=50, learning_rate=0.1, random_state=0)
    cool = model.fit(learn, known)
    assert cool.settings_.temperature > 1.2 and cool.score(new, asked) > 0.35
    assert f"scores divided by {cool.settings_.temperature:.3g}" in str(cool.summary())
    before = LabelTreeClassifier(**{**model.get_params(), "temperature": 1}).fit(learn, known)
    assert before.settings_.temperature == 1 and "divided" not in str(before.summary())
    assert cool.score(new, asked) == pytest.approx(before.score(new, asked), abs=2e-3)  # ties
    assert loss_of(cool, new, asked) < loss_of(before, new, asked) - 0.05


def test_the_end_of_a_training_comes_once() -> None:
    _, examples = drawn(12, None, 600)

    def trained(*untils: int | None, temperature: float = 2.0) -> LabelTree:
        settings = LabelTreeSettings("huffman", 12, 0, 3, 0.1, temperature=temperature)
        training = Training(LabelTree(10, 12, arity=12).float(), settings)
        for until in untils:
            training.run(examples, until=until)
        return training.tree

    warm = trained(None, temperature=1.0)
    warm.cool(2.0)
    expected = warm.log_prob_of_all(examples.features)
    for untils in ((None,), (700, None), (None, None)):
        found = trained(*untils).log_prob_of_all(examples.features)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("value", [0, -1, np.nan, "hot"])
def test_a_temperature_is_a_positive_number(value: object) -> None:
    with pytest.raises(ValueError, match=r"'temperature' parameter must be a number"):
        LabelTreeSettings(temperature=value)  # type: ignore[arg-type]  # which it should refuse
