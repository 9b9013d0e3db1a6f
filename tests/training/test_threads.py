"""How many threads a training takes: by the size of its products, unless the user has said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from alike import assert_same_weights
from fresh_python import python
from growths import make_growth
from torch import Tensor, nn
from train_helpers import Classifier, rows

from structnet.recipes.softmax_tree import baselines
from structnet.routing import Samples
from structnet.training import Progress, fit, set_threads, threads
from structnet.training.history import History

OPTIONS = {"epochs": 2, "batch_size": 4, "progress": False}


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine of three cores, on which nobody has set a number."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    monkeypatch.setattr(threads, "_set_by_user", False)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


class Counting(Classifier):
    """Writes down the number of threads of each step."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []

    def loss(self, batch: object) -> Tensor:
        self.numbers.append(torch.get_num_threads())
        return super().loss(batch)


def numbers(**options: object) -> list[int]:
    model = Counting()
    fit(model, rows(8), **OPTIONS | options)
    return model.numbers


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All products are large."""
    monkeypatch.setattr(threads, "LARGE", 1)


def test_small_products_take_one_thread() -> None:
    assert numbers() == [1, 1, 1, 1]
    assert torch.get_num_threads() == 3


def test_large_products_take_all_after_the_first_step(large: None) -> None:
    assert numbers() == [1, 3, 3, 3]
    assert torch.get_num_threads() == 3


def test_the_average_product_decides() -> None:
    with threads.Products() as products:
        layer = nn.Linear(1024, 1024)
        layer(torch.zeros(64, 1024)).sum().backward()
        torch.ones(3) + torch.ones(3)
    assert products.sizes == [2 * 64 * 1024**2] * 2 and products.are_large
    products.sizes.append(10)
    assert not products.are_large
    products.sizes.clear()
    assert not products.are_large


def test_convolutions_and_products_in_place_count() -> None:
    with threads.Products() as products:
        nn.Conv2d(2, 3, 5)(torch.zeros(4, 2, 8, 8))
        torch.mm(torch.ones(2, 3), torch.ones(3, 4), out=torch.empty(2, 4))
    assert products.sizes == [2 * 4 * (4 * 4) * (2 * 5 * 5) * 3, 48]


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(2)
    assert numbers() == [2] * 4
    set_threads(3)
    assert numbers() == [3] * 4
    monkeypatch.setattr(threads, "_set_by_user", False)
    assert numbers() == [1] * 4
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        with monkeypatch.context() as environment:
            environment.setenv(name, "3")
            assert numbers() == [3] * 4
    with pytest.raises(ValueError, match=r"'number' parameter of set_threads .* Got 0 instead"):
        set_threads(0)


@pytest.mark.parametrize(("shared", "expected"), [(False, 2), (True, 1), (None, 1)])
def test_half_the_hardware_threads_are_a_default_only_where_two_share_a_core(
    shared: bool | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)
    monkeypatch.setattr(threads, "SIBLINGS", f"{tmp_path}/{{}}")
    threads._cores.cache_clear()
    for number in range(4) if shared is not None else ():
        (tmp_path / str(number)).write_text(f"{number // 2 if shared else number}\n")
    torch.set_num_threads(2)
    assert numbers() == [expected] * 4
    threads._cores.cache_clear()


@pytest.mark.parametrize(("least", "chosen"), [(2**40, 1), (1, 3)])
def test_trainings_within_a_larger_one_choose_for_what_is_between(
    monkeypatch: pytest.MonkeyPatch, least: int, chosen: int
) -> None:
    monkeypatch.setattr(threads, "LARGE", least)
    with threads.Threads(torch.device("cpu")).kept():
        assert torch.get_num_threads() == 1
        for _ in range(2):
            assert numbers() == [1, chosen, chosen, chosen]
            assert torch.get_num_threads() == chosen
    assert torch.get_num_threads() == 3
    assert numbers() == [1, chosen, chosen, chosen]
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("chosen", [1, 3])
def test_a_training_within_one_that_has_chosen_leaves_its_number(
    monkeypatch: pytest.MonkeyPatch, chosen: int
) -> None:
    monkeypatch.setattr(threads, "LARGE", 1 if chosen == 1 else 2**40)  # the inner one's is other
    around = threads.Threads(torch.device("cpu"))
    with around.kept():
        around.choose(chosen)
        assert numbers() == [1, *[4 - chosen] * 3]
        assert torch.get_num_threads() == chosen
    assert torch.get_num_threads() == 3


def test_long_calls_may_have_the_threads_that_a_training_leaves() -> None:
    assert threads.coarse_threads() == 3
    with threads.Threads(torch.device("cpu")).kept():
        assert (torch.get_num_threads(), threads.coarse_threads()) == (1, 3)
    torch.set_num_threads(2)
    assert threads.coarse_threads() == 2
    with threads.Threads(torch.device("cpu")).kept():
        assert threads.coarse_threads() == 2


def test_what_the_user_has_set_stays_within_a_larger_one() -> None:
    torch.set_num_threads(2)
    with threads.Threads(torch.device("cpu")).kept():
        assert numbers() == [2] * 4
    assert torch.get_num_threads() == 2


def test_linear_models_beside_softmax_trees_take_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(baselines, "EPOCHS", 1)
    found: list[int] = []

    def loss(scores: Tensor, y: Tensor) -> Tensor:
        found.append(torch.get_num_threads())
        return nn.functional.cross_entropy(scores, y, reduction="none")

    samples = Samples(np.ones((300, 2), np.float32), torch.arange(300) % 3)
    baselines._trained(samples, 3, loss, seed=0)
    assert found == [1, 1] and torch.get_num_threads() == 3


def test_a_growth_of_small_products_takes_one_thread_throughout() -> None:
    found: list[int] = []
    growth = make_growth(callbacks=[lambda *told: found.append(torch.get_num_threads())])
    growth.run()
    assert found == [1] * len(growth.decisions)
    assert torch.get_num_threads() == 3


def test_an_error_gives_the_number_back() -> None:
    def stop(model: nn.Module, history: History) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Classifier(), rows(8), **OPTIONS, callbacks=[stop])
    assert torch.get_num_threads() == 3


def test_a_resumed_training_takes_as_many(
    large: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert numbers(checkpoint=tmp_path) == [1, 3, 3, 3]
    monkeypatch.setattr(threads, "LARGE", 2**40)  # a first step that would choose otherwise
    assert numbers(checkpoint=tmp_path, resume=True, epochs=3) == [3, 3]


def test_the_choice_changes_no_number() -> None:
    chosen, plain = Counting(), Counting()
    fit(chosen, rows(23), rows(9), **OPTIONS)
    torch.set_num_threads(1)
    fit(plain, rows(23), rows(9), **OPTIONS)
    assert_same_weights(chosen, plain)


def test_the_progress_says_what_was_changed(
    large: None, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size, said in ((1, False), (2**40, True)):
        monkeypatch.setattr(threads, "LARGE", size)
        numbers(progress=Progress())
        assert (", 1 thread, " in capsys.readouterr().err) == said


def test_the_library_of_compiled_loops_takes_one_thread_even_if_none_has_run() -> None:
    code = (
        "import threadpoolctl\n"
        "from structnet.training.one_thread import ONE_THREAD\n"
        "with ONE_THREAD:\n"
        "    import scipy.linalg\n"
        "    found = threadpoolctl.threadpool_info()\n"
        "print({each['num_threads'] for each in found if each['internal_api'] == 'openblas'})\n"
    )
    ran = python("-c", code, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert ran.stdout == "{1}\n", ran.stderr
