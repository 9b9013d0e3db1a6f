"""The guide's table of what each estimator has is true, and lacks no method."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from fresh_python import ROOT
from sklearn.base import BaseEstimator

import structnet

GUIDE = (ROOT / "tutorials" / "guides" / "estimators.md").read_text(encoding="utf-8")
YES, OF_CLASSES, NO = "yes", "classifiers", ""
COLUMNS = {  # the names of classes begin with
    "neural trees": ("NeuralTree",),
    "softmax trees": ("SoftmaxTree", "AdaptiveSoftmaxTree"),
    "label tree": ("LabelTreeClassifier",),
    "its language model": ("LabelTreeLanguageModel",),
    "routed network": ("RoutedLanguageModel",),
    "Tree-LSTMs": ("TreeLSTM",),
}
ESTIMATORS = {
    name: value
    for name in structnet.__all__
    if isinstance(value := getattr(structnet, name), type) and issubclass(value, BaseEstimator)
}


def methods(of: type) -> set[str]:
    """The public methods but those that scikit-learn adds for its own routing."""
    names = {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}
    return {name for name in names if not name.endswith(("_request", "_routing"))}


def fit_arguments(of: type) -> set[str]:
    return set(inspect.signature(of.fit).parameters)


def settings(of: type) -> set[str]:
    return set(inspect.signature(of).parameters)


def table(title: str) -> dict[str, list[str]]:
    """The cells of the guide's table below a title, by the name that begins a row."""
    lines = GUIDE.split(f"\n## {title}\n")[1].partition("\n## ")[0].splitlines()
    head, _, *rows = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    assert [cell.strip() for cell in head][2:] == [*COLUMNS]
    return {name.strip(" `"): [cell.strip() for cell in cells] for name, _, *cells in rows}


def cells(name: str, of: Callable[[type], set[str]]) -> list[str]:
    """What stands in the row of a name."""
    found = []
    for begins in COLUMNS.values():
        family = [each for each in ESTIMATORS if each.startswith(begins)]
        having = [each for each in family if name in of(ESTIMATORS[each])]
        some = ", ".join(f"`{each}`" for each in having)
        if having == [each for each in family if each.endswith("Classifier")]:
            some = OF_CLASSES
        found.append(YES if having == family else some if having else NO)
    return found


def test_every_estimator_is_in_one_column() -> None:
    for name in ESTIMATORS:
        assert sum(name.startswith(begins) for begins in COLUMNS.values()) == 1, name


@pytest.mark.parametrize(
    ("title", "of"), [("Methods", methods), ("Of `fit`", fit_arguments), ("Settings", settings)]
)
def test_the_table_is_true(title: str, of: Callable[[type], set[str]]) -> None:
    told = table(title)
    assert told == {name: cells(name, of) for name in told}
    for found in told.values():
        assert any(found)


@pytest.mark.parametrize(("title", "of"), [("Methods", methods), ("Of `fit`", fit_arguments)])
def test_nothing_is_missing(title: str, of: Callable[[type], set[str]]) -> None:
    each = [of(estimator) for estimator in ESTIMATORS.values()]
    of_all = set.intersection(*each)
    assert table(title).keys() == set.union(*each) - of_all
    said = GUIDE.partition("\n## Methods")[0]
    for name in of_all - {"self", "X", "y"}:
        assert f"`{name}`" in said
