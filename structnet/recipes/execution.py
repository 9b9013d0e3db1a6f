"""Finds the recipe of a run, and carries out a recipe: one run, or those of a paper's table."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.estimators.failed_fit import interruptible
from structnet.recipes import RECIPES, recipe_for
from structnet.recipes.paper import Member, Members
from structnet.recipes.protocol import Recipe, sizes_of
from structnet.recipes.recipe import Place, Say, result_of, values_of
from structnet.recipes.run import Run, save
from structnet.recipes.words import metrics
from structnet.training import set_threads
from structnet.training.checkpoint import CheckpointError
from structnet.training.files import locked
from structnet.training.processes import is_first_process, own_device, process_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a disk, or a share of it, that has no room left
SIZES = ("train_size", "learn_size")  # settings of the number of training examples


def carry_out(recipe: Recipe, run: Run, settings: Any, say: Say) -> dict[str, Any]:
    """Trains, tests and draws one run, and fills its folder; an existing run is resumed.

    Args:
        recipe: the recipe that the run follows.
        run: the run's folder.
        settings: all settings, resolved.
        say: function that prints a line for the user.

    Returns:
        The result; under ``torchrun`` it is empty in all processes but the first.

    Raises:
        ValueError: the device does not exist, the recipe trains in one process only, or the data or
            settings are wrong.
        CheckpointError: the run in the folder was trained on other data.
        FolderInUseError: another process is using the folder.
        OSError: the folder cannot be written to; of a full disk, the message says how to continue.
        KeyboardInterrupt: the training was interrupted; the message says how to continue.
    """
    refuse_processes(recipe)
    use(recipe, settings.place)
    # Locked before the data are read or generated, which may take long.
    with locked(run.folder) if is_first_process() else nullcontext():
        return _carried_out(recipe, run, settings, say)


def _carried_out(recipe: Recipe, run: Run, settings: Any, say: Say) -> dict[str, Any]:
    data = recipe.work.load(settings, say)
    described = data.describe()
    first = is_first_process()
    before = {path.name for path in run.folder.iterdir()} if first else set()
    if run.started:
        run.check_same_data(described)
    if first:
        config = {"model": recipe.name, "settings": values_of(settings), "data": described}
        run.write_config(config)
    try:
        with interruptible():
            outcome = recipe.work.train(settings, data, run, say)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"continue with: structnet train --resume {run}") from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        then = f"with more room, continue with: structnet train --resume {run}"
        raise OSError(error.errno, f"{error.strerror}; {then}", error.filename) from error
    except ValueError:
        if first:
            run.forget(before)  # so that the same folder can be used with other settings
        raise
    if not first:
        return {}
    say("testing ...")
    model = recipe.work.open(run, settings.place)
    tested = recipe.work.measure(model, data.test, recipe.Ask(place=settings.place))
    for line in metrics(tested):
        say(line)
    result = result_of(
        recipe.name, settings.data, run.config["settings"], sizes_of(data), tested, outcome.seconds
    )
    result |= {"run": str(run), "details": outcome.details}
    run.write("result.json", result)
    for name, draw in recipe.work.pictures(run, data, (), None).items():
        _draw(run, name, draw)
    return result


def recipe_of(run: Run) -> Recipe:
    """The recipe that a run follows.

    Raises:
        CheckpointError: there is no run, no such recipe, or the run's model is not stored.
    """
    name = run.config["model"]
    if isinstance(run.config["data"], str):  # of a table's baseline
        raise CheckpointError(
            f"{run} belongs to a table, and its model {name!r} is not stored, only its figures in "
            "result.json; expected a run of structnet train"
        )
    if name not in RECIPES:
        raise CheckpointError(f"{run} is a run of {name!r}; expected one of {', '.join(RECIPES)}")
    return recipe_for(name, run.config["settings"].get("data"))


def speaker() -> Say:
    """The function that prints a line for the user; of several processes only the first prints."""
    if is_first_process():
        return lambda line: print(line, flush=True)
    return lambda line: None


def use(recipe: Recipe, place: Place) -> None:
    """Checks the device, and sets the number of threads if it is given.

    Raises:
        ValueError: there is no such device, or the recipe does not use it.
    """
    if "device" in recipe.refused and place.device != "cpu":
        raise ValueError(
            f"{recipe.name} is always computed on the CPU; got --device {place.device}"
        )
    if place.threads is not None:
        set_threads(place.threads)
    try:
        own_device(place.device)
    except ValueError as error:  # said again without torch's list of all device types
        message = re.sub(r" \(Expected one of [^)]*\)", "", str(error))
        raise ValueError(message.replace("The 'device' parameter", "--device")) from None


def refuse_processes(recipe: Recipe) -> None:
    """Refuses several processes for a recipe that trains in one process.

    Raises:
        ValueError: there are several processes.
    """
    if not recipe.parallel and process_rank()[1] > 1:
        raise ValueError(f"{recipe.name} trains in one process; leave out torchrun")


def _draw(run: Run, name: str, draw: Callable[[], Axes]) -> None:
    try:
        save(draw(), run.folder / name)
    except Exception as error:  # a warning is enough: the training may have taken days
        print(
            f"structnet: warning: {name} was not drawn: {type(error).__name__}: {error}; "
            f"try again with: structnet plot {run}",
            file=sys.stderr,
        )


def trained(recipe: Recipe, members: Sequence[Member], folder: Path, say: Say) -> Members:
    """Trains all runs that have not been trained yet, and returns them by the models compared.

    Args:
        recipe: the recipe that the runs follow.
        members: the runs, in the order in which they are trained.
        folder: parent of the runs' folders.
        say: function that prints a line for the user.

    Raises:
        ValueError: an existing run has other settings or other data, there is no such device, or
            the recipe trains in one process only.
        KeyboardInterrupt: the training was interrupted; the message says how to continue.
    """
    refuse_processes(recipe)
    use(recipe, members[0].settings.place)  # a wrong device is an error before anything begins
    runs = [Run(folder / member.folder) for member in members]
    pairs = list(zip(members, runs, strict=True))
    for member, run in pairs:
        run.refuse_other(member.settings)
    _check_data(runs)
    for number, (member, run) in enumerate(pairs, 1):
        say(f"\n{number} of {len(members)}: {run}")
        _train(recipe, member, run, say)
    _check_data(runs)
    keys = dict.fromkeys(member.key for member in members)
    return {key: [run for member, run in pairs if member.key == key] for key in keys}


def _check_data(runs: Sequence[Run]) -> None:
    """Raises ValueError if existing runs of the recipe with the same seed have different data.

    With another seed, data may be drawn or split anew. The number of training examples may differ
    if their settings do, as for a learning curve.
    """
    firsts: dict[Any, Run] = {}
    for run in (run for run in runs if run.started and isinstance(run.config["data"], dict)):
        begun = firsts.setdefault(run.config["settings"].get("seed"), run)
        first, other = begun.config, run.config
        curve = any(first["settings"].get(name) != other["settings"].get(name) for name in SIZES)
        free = {"train": 0} if curve else {}
        if first["data"] | free != other["data"] | free:
            raise ValueError(
                f"{run} was trained on other data than {begun}; choose another folder with --out"
            )


def _train(recipe: Recipe, member: Member, run: Run, say: Say) -> None:
    if run.result is not None:
        say("done already")
        return
    try:
        if member.train is None:
            carry_out(recipe, run, member.settings, say)
            return
        more = [] if member.after is None else [Run(run.folder.parent / member.after)]
        with interruptible():
            result = member.train(member.settings, say, *more)
        run.write_config(result)
        run.write("result.json", {**result, "run": str(run)})
    except KeyboardInterrupt:
        raise KeyboardInterrupt("give the same command again to continue") from None
