"""What every estimator of the library keeps, whatever its family."""

from __future__ import annotations

import copy
import pickle
import random
from functools import cache, partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from alike import untimed
from expressions import data
from interruptions import run_until
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from structnet import (
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
    LabelTreeLanguageModel,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    RoutedLanguageModel,
    SoftmaxTreeClassifier,
    TreeLSTMClassifier,
    TreeLSTMNodeClassifier,
    TreeLSTMRegressor,
)
from structnet.estimators.next_words import NextWordEstimator
from structnet.label_tree.language_settings import LanguageModelSettings
from structnet.label_tree.settings import LabelTreeSettings
from structnet.naru.settings import NaruSettings
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.softmax_tree.estimator_base import SoftmaxTreeEstimator
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.training.checkpoint import CheckpointError


class Case(NamedTuple):
    """An estimator, data for it, and a value of each parameter that is a number.

    Attributes:
        estimator: estimator that learns the data in a moment.
        numbers: values of its parameters that are numbers or booleans.
        X, y: samples and targets.
        settings: classes that have the defaults of its parameters.
        names: what it has besides the methods and attributes of all estimators.
    """

    estimator: Any
    numbers: dict[str, Any]
    X: Any
    y: Any
    settings: tuple[type, ...]
    names: str


OF_ALL = "fit predict score summary history_ seed_ save load"
OF_CLASSES = "predict_proba predict_log_proba predict_top"
OF_ROUTED = "tree_ trained_ explain plot export_text read samples apply decision_path to_networkx"
OF_TREES = "model_ explain settings_ trained_"

ANY = {"random_state": 0, "verbose": False}
HELD = ANY | {"epochs": 1, "patience": 1, "batch_size": 8, "learning_rate": 0.01}
HELD |= {"validation_fraction": 0.3}
TREES = {"hidden_size": 3, "min_count": 1, "dropout": 0.1, "label_dropout": 0.1, "bag": True}
TREES |= HELD | {"weight_decay": 0.1, "train_vectors": True, "words": True, "numbers": True}
GROWN = HELD | {"refine_epochs": 1, "stop_refinement": True, "weight_decay": 0.1, "n_init": 1}
GROWN |= {"max_depth": 2, "max_leaves": 2, "max_transformers": 1}
GROWN |= {"min_gain": 0.01, "gain_errors": 2.0, "min_samples": 2.0, "prune": 0.01, "lookahead": 2}
GROWN |= {"cache_bytes": 1e6, "n_members": 2, "standardize": True, "warm_start": False}
GROWN |= {"strength": 0.1}
GROWN |= dict.fromkeys(("routers", "transformers", "prefer_split", "balance_routers"), True)
SOFT = ANY | {"decision_penalty": 0.1, "leaf_penalty": 0.1, "missing_loss": 2.0, "tol": 0.01}
SOFT |= {"max_iter": 1, "solver_steps": 2, "n_jobs": 1, "standardize": True, "n_members": 2}
ADAPTED = {"alpha": 0.9, "rho": 0.9, "start_k": 1, "step": 1, "max_depth": 2, "max_leaves": 4}
ADAPTED |= {"start_depth": 1, "max_rounds": 1, "min_samples": 5, "validation_fraction": 0.3}
LABELS = ANY | {"arity": 2, "vector_size": 2, "epochs": 1, "learning_rate": 0.1, "rebuilds": 1}
LABELS |= {"prior_weight": 1.0, "bias": True, "max_depth": 3, "memory": 0.5, "n_jobs": 1}
LABELS |= {"standardize": True}
WORDS = HELD | {"max_cone": 2, "vector_size": 3, "min_count": 1, "max_words": 9, "max_length": 9}
WORDS |= {"clip_norm": 1.0, "lazy": True, "balance": 0.1, "gate_noise": 0.1}
PASTS = ANY | {"context": 2, "vector_size": 3, "arity": 2, "max_depth": 4, "ngrams": True}
PASTS |= {"min_count": 1, "max_words": 9, "epochs": 1, "batch_size": 8, "learning_rate": 0.01}
PASTS |= {"rebuilds_per_epoch": 2, "prior_weight": 2.0, "memory": 0.5, "dropout": 0.1}
PASTS |= {"validation_fraction": 0.3}

PARSES, CLASSES = data(40)
ROWS = np.random.default_rng(0).normal(size=(40, 3))
NODES = [[node.label for node in tree.preorder()] for tree in PARSES]
TOKENS = [[int(node.label) for node in tree.leaves()] for tree in PARSES]
TEXT = ["the cat sees the dog .", "the dog sees the cat ."] * 10
OF_SOFT = f"{OF_CLASSES} {OF_ROUTED} settings_ measure"
CASES = [
    Case(
        NeuralTreeClassifier(), GROWN, ROWS, CLASSES, (NeuralTreeSettings,),
        f"{OF_CLASSES} {OF_ROUTED}",
    ),
    Case(NeuralTreeRegressor(), GROWN, ROWS, ROWS[:, 0], (NeuralTreeSettings,), OF_ROUTED),
    Case(
        SoftmaxTreeClassifier(start="random"), SOFT | {"depth": 1, "k": 2}, ROWS, CLASSES,
        (SoftmaxTreeSettings,), OF_SOFT,
    ),
    Case(
        AdaptiveSoftmaxTreeClassifier(start="random"), SOFT | ADAPTED, ROWS, CLASSES,
        (SoftmaxTreeSettings, GrowthSettings), OF_SOFT,
    ),
    Case(
        LabelTreeClassifier(start="huffman"), LABELS, ROWS, CLASSES, (LabelTreeSettings,),
        f"{OF_CLASSES} {OF_ROUTED} settings_",
    ),
    Case(
        LabelTreeClassifier(start="huffman", tokens=True), LABELS, TOKENS, CLASSES,
        (LabelTreeSettings,), f"{OF_CLASSES} {OF_ROUTED} settings_",
    ),
    Case(
        TreeLSTMClassifier(), TREES, PARSES, CLASSES, (TreeLSTMSettings,),
        f"{OF_CLASSES} {OF_TREES}",
    ),
    Case(
        TreeLSTMClassifier(cell="tucker"), HELD | {"rank": 2, "hidden_size": 3}, PARSES, CLASSES,
        (TreeLSTMSettings,), f"{OF_CLASSES} {OF_TREES}",
    ),
    Case(TreeLSTMRegressor(), TREES, PARSES, ROWS[:, 0], (TreeLSTMSettings,), OF_TREES),
    Case(
        TreeLSTMNodeClassifier(), TREES | {"top_down": True}, PARSES, NODES, (TreeLSTMSettings,),
        f"predict_proba predict_log_proba {OF_TREES}",
    ),
    Case(
        RoutedLanguageModel(sizes=(1, 2, 1), dims=(4,)), WORDS, TEXT, None, (NaruSettings,),
        f"{OF_CLASSES} measure",
    ),
    Case(
        LabelTreeLanguageModel(), PASTS, TEXT, None, (LanguageModelSettings,),
        f"{OF_CLASSES} measure",
    ),
    Case(
        LabelTreeLanguageModel(tree="adaptive"), PASTS | {"vector_size": 32}, TEXT, None,
        (LanguageModelSettings,), f"{OF_CLASSES} measure",
    ),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.estimator).__name__)


def model_of(case: Case, **others: Any) -> Any:
    return clone(case.estimator).set_params(**case.numbers, **others)


@cache
def fitted_at(place: int) -> Any:
    return model_of(CASES[place]).fit(CASES[place].X, CASES[place].y)


def fitted(case: Case) -> Any:
    """The fitted estimator, which no test changes."""
    return fitted_at(next(i for i, other in enumerate(CASES) if other is case))


def answers(model: Any, X: Any) -> np.ndarray:
    """All that a model says of samples, in one array."""
    found = getattr(model, "predict_proba", model.predict)(X)
    return np.concatenate([np.ravel(part) for part in found])


def same(one: Any, other: Any, X: Any) -> None:
    np.testing.assert_array_equal(answers(one, X), answers(other, X))
    assert np.array_equal(np.hstack(one.predict(X)), np.hstack(other.predict(X)))


@each
def test_it_has_what_a_user_of_another_family_expects(case: Case) -> None:
    kind, model = type(case.estimator), fitted(case)
    assert [name for name in f"{OF_ALL} {case.names}".split() if not hasattr(model, name)] == []
    parameters = signature(kind.fit).parameters
    assert parameters["X_val"].kind is Parameter.KEYWORD_ONLY
    assert isinstance(model.seed_, int) and len(model.history_) and str(model.summary())
    assert np.isfinite(model.score(case.X, case.y))


@each
def test_parameters_are_kept_and_have_the_defaults_of_the_settings(case: Case) -> None:
    kind = type(case.estimator)
    changed = {name: object() for name in kind().get_params()}
    assert kind(**changed).get_params(deep=False) == changed
    known = {name: value for each in case.settings for name, value in vars(each()).items()}
    lacking = {
        AdaptiveSoftmaxTreeClassifier: {"depth", "k"},
        LabelTreeClassifier: {"gain", "prior", "method"},
    }
    for name in known.keys() - {"seed"} - lacking.get(kind, set()):
        assert kind().get_params()[name] == known[name], name


@each
def test_what_is_not_fitted_says_so(case: Case, tmp_path: Path) -> None:
    model = model_of(case)
    node = (0,) if isinstance(model, TreeLSTMNodeClassifier) else ()
    given = dict.fromkeys(f"predict {OF_CLASSES} apply decision_path".split(), (case.X,))
    given |= {"explain": (case.X[0], *node), "save": (tmp_path / "model",)}
    given |= dict.fromkeys(("predict_one", "predict_proba_one"), (case.X[0],))
    of_itself = ("summary", "export_text", "read", "plot", "to_networkx", "get_depth")
    for name, told in (given | dict.fromkeys((*of_itself, "get_n_leaves"), ())).items():
        if hasattr(type(model), name):
            with pytest.raises(NotFittedError):
                getattr(model, name)(*told)
    assert not any(hasattr(model, name) for name in ("history_", "seed_", "tree_", "model_"))


@each
def test_a_seed_decides_and_nothing_else_is_touched(case: Case) -> None:
    before = copy.deepcopy((case.X, case.y))
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    same(model_of(case).fit(case.X, case.y), fitted(case), case.X)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states[:2]
    assert torch.equal(torch.get_rng_state(), states[2])
    other = model_of(case).set_params(random_state=1).fit(case.X, case.y)
    assert untimed(other.history_) != untimed(fitted(case).history_)
    for now, then in zip((case.X, case.y), before, strict=True):
        assert np.array_equal(now, then) if isinstance(now, np.ndarray) else now == then


@each
def test_a_fit_forgets_the_one_before_and_answers_do_not_depend_on_the_batch(case: Case) -> None:
    again = model_of(case).fit(case.X[::-1], None if case.y is None else case.y[::-1])
    assert again.fit(case.X, case.y) is again
    same(again, fitted(case), case.X)
    alone = [answers(again, case.X[i : i + 1]) for i in range(6)]
    np.testing.assert_allclose(np.concatenate(alone), answers(again, case.X[:6]), atol=1e-6)


@each
def test_weights_of_samples(case: Case) -> None:
    if case.y is None:
        pytest.skip("a text has none")
    same(model_of(case).fit(case.X, case.y, np.ones(40)), fitted(case), case.X)
    if not isinstance(case.estimator, SoftmaxTreeEstimator):  # whose penalties are of a sum
        heavy = model_of(case).fit(case.X, case.y, np.full(40, 2.5))
        np.testing.assert_allclose(answers(heavy, case.X), answers(fitted(case), case.X), atol=1e-5)
    weighed = model_of(case).fit(case.X, case.y, 1.0 * (np.arange(40) < 30))
    same(weighed, model_of(case).fit(case.X[:30], case.y[:30]), case.X)


@each
def test_no_samples_are_refused(case: Case) -> None:
    nothing = None if case.y is None else case.y[:0]
    for ask in (fitted(case).predict, lambda X: model_of(case).fit(X, nothing)):
        with pytest.raises(ValueError, match=r"0 sample|there are no sentences"):
            ask(case.X[:0])


@each
def test_it_is_the_same_on_disk_and_in_copies(case: Case, tmp_path: Path) -> None:
    model, path = fitted(case), tmp_path / "model"
    model.save(path)
    again = type(model).load(path)
    for other in (again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        same(other, model, case.X)
        assert other.get_params() == model.get_params() and other.seed_ == model.seed_
        assert list(other.history_) == list(model.history_)
        assert str(other.summary()) == str(model.summary())
    others = (TreeLSTMRegressor, TreeLSTMClassifier)
    wrong = next(kind for kind in others if not isinstance(model, kind))
    message = f"holds {type(model).__name__}; expected {wrong.__name__}"
    with pytest.raises(CheckpointError, match=message):
        wrong.load(path)
    path.write_text("no model")
    with pytest.raises(CheckpointError):
        type(model).load(path)


@each
def test_a_file_has_the_seed_that_was_drawn(case: Case, tmp_path: Path) -> None:
    for source in (np.random.RandomState(3), np.random, None):
        model = model_of(case).set_params(random_state=source).fit(case.X, case.y)
        model.save(tmp_path / "model")
        again = type(model).load(tmp_path / "model")
        assert again.seed_ == model.seed_ != fitted(case).seed_
        assert again.random_state == (None if source is None else model.seed_)
        same(again, model, case.X)


@each
def test_parameters_may_be_numbers_of_numpy(case: Case, tmp_path: Path) -> None:
    numbers = {name: np.array(value)[()] for name, value in case.numbers.items()}
    model = clone(case.estimator).set_params(**numbers).fit(case.X, case.y)
    model.save(tmp_path / "model")
    same(type(model).load(tmp_path / "model"), fitted(case), case.X)


@each
def test_probabilities_and_the_likeliest_go_together(case: Case) -> None:
    if "predict_top" not in case.names:
        pytest.skip("it has one answer only, or one for each node")
    model, X = fitted(case), case.X[:9]
    prob = model.predict_proba(X)
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), prob, rtol=1e-5)
    known = getattr(model, "classes_", None)
    known = np.array(model.words_.words) if known is None else known
    assert prob.shape == (9, len(known))
    # The word for unknown ones is never predicted.
    most = len(known) if hasattr(model, "classes_") else int((prob > 0).any(axis=0).sum())
    for k in (1, 2, 99):
        names, top = model.predict_top(X, k)
        assert names.shape == top.shape == (9, min(k, most))
        np.testing.assert_allclose(top, -np.sort(-prob)[:, :k][:, : top.shape[1]], rtol=1e-5)
        assert list(names[:, 0]) == list(model.predict(X))
        places = np.array([[known.tolist().index(name) for name in row] for row in names])
        np.testing.assert_allclose(np.take_along_axis(prob, places, axis=1), top, rtol=1e-5)
    assert model.predict_top(X)[0].shape[1] == min(5, names.shape[1])
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="'k' parameter of predict_top must be an int in the"):
            model.predict_top(X, wrong)


@each
def test_nothing_is_printed_unless_it_is_to_be(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    model_of(case).fit(case.X, case.y)
    assert not any(capsys.readouterr())
    told = clone(fitted(case)).set_params(verbose=True).fit(case.X, case.y)
    out, err = capsys.readouterr()
    assert not out and err
    same(told, fitted(case), case.X)


@each
def test_the_users_validation_samples_are_those_that_are_measured(case: Case) -> None:
    held, measured = {}, []
    for start in (0, 1):
        given = {"X_val": case.X[start::2], "y_val": None if case.y is None else case.y[start::2]}
        held = {name: part for name, part in given.items() if part is not None}
        history = model_of(case).fit(case.X, case.y, **held).history_
        records = [value for each in history for value in each.items()]
        measured.append([value for name, value in records if name.startswith("validation_")])
    assert measured[0] != measured[1] and all(measured)
    with pytest.raises(ValueError, match=r"X_val has 0 samples|there are no sentences"):
        model_of(case).fit(case.X, case.y, **{name: of[:0] for name, of in held.items()})
    if case.y is not None:
        with pytest.raises(ValueError, match=r"given together\. Got X_val without y_val"):
            model_of(case).fit(case.X, case.y, X_val=case.X)


# Where in a fit it fails, as a share of its calls, and by which error.
FAILURES = ((0.01, KeyboardInterrupt), (0.4, MemoryError), (0.95, KeyboardInterrupt))


@each
def test_a_fit_that_fails_at_any_moment_leaves_no_trace(case: Case) -> None:
    once, others = fitted(case), (case.X[::-1], None if case.y is None else case.y[::-1])
    works = [(model_of(case), "fit"), (copy.deepcopy(once), "fit")]
    if "warm_start" in case.numbers:
        works.append((copy.deepcopy(once).set_params(warm_start=True), "fit"))
    if hasattr(once, "partial_fit"):
        works.append((copy.deepcopy(once), "partial_fit"))
    for model, name in works:
        number = run_until(partial(getattr(copy.deepcopy(model), name), *others))
        before = dict(vars(model))
        for share, error in FAILURES:
            with pytest.raises(error):
                run_until(partial(getattr(model, name), *others), int(share * number) or 1, error)
            assert vars(model).keys() == before.keys()
            assert all(value is before[each] for each, value in vars(model).items())
        if model is not works[0][0]:
            same(model, once, case.X)


@each
def test_torch_may_compute_in_double_precision_by_default(case: Case, tmp_path: Path) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model = model_of(case).fit(case.X, case.y)
        model.save(tmp_path / "model")
        same(type(model).load(tmp_path / "model"), model, case.X)
    finally:
        torch.set_default_dtype(before)


@each
def test_a_folder_needs_a_seed_and_a_device_must_exist(case: Case, tmp_path: Path) -> None:
    known = case.estimator.get_params()
    for name, own, message in (
        ("folder", {"folder": tmp_path, "random_state": None}, "'random_state' .* if there is a"),
        ("device", {"device": "gpu"}, "'device' parameter must name a device of this"),
        ("device", {"device": None}, "'device' parameter must name a device of this"),
    ):
        if name in known:
            with pytest.raises(ValueError, match=message):
                model_of(case).set_params(**own).fit(case.X, case.y)
    assert "folder" in known or not isinstance(case.estimator, NextWordEstimator)
