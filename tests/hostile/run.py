"""The long form of the tests in this folder: as many attacks as there is time for.

python tests/hostile/run.py --log FILE [--seed N] [--inputs N] [--bits] [--changes N] [--kills N]
                            [--disks N] [--only TARGET ...]

Each piece of work is a line of JSON in the log, with its seed and what failed; started again with
the same log and seed, it goes on behind the last line. At the end it prints one line of JSON a
target. Each piece runs in a process of its own, so that a crash of the interpreter is one failure
among others.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}  # others would not survive a fork
sys.path[:0] = [str(ROOT), str(Path(__file__).parent), str(ROOT / "tests/support")]

CHUNK = 20_000  # inputs a piece of work
SPARE = 2**29  # bytes that reading texts of 2 kB may take beyond what the process has
LONG = 3600  # seconds after which a piece of work hangs

Failures = Iterator[tuple[int, Any]]


class Piece(NamedTuple):
    """A piece of work.

    Attributes:
        target: what is attacked.
        start, end: numbers of the attacks.
        work: gives the numbers of those that failed, and why, in a new folder.
    """

    target: str
    start: int
    end: int
    work: Callable[[Path, int, int], Failures]


def texts(name: str, seed: int, folder: Path, start: int, end: int) -> Failures:
    from hostile_parsers import TARGETS
    from hostile_texts import failures

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, used + SPARE))
    yield from failures(TARGETS[name], seed, start, end)


def bits(name: str, folder: Path, start: int, end: int) -> Failures:
    from hostile_files import MAKERS, damaged

    yield from damaged(MAKERS[name](folder), start, end)


def changes(name: str, seed: int, folder: Path, start: int, end: int) -> Failures:
    from hostile_files import MAKERS, changed

    yield from changed(MAKERS[name](folder), seed, start, end)


def trainings(what: str, name: str, seed: int, folder: Path, start: int, end: int) -> Failures:
    import hostile_trainings

    training = hostile_trainings.TRAININGS[name](folder)
    yield from getattr(hostile_trainings, what)(training, seed, start, end)


def saves(seed: int, folder: Path, start: int, end: int) -> Failures:
    import hostile_trainings

    yield from hostile_trainings.saves(folder, seed, start, end)


def pieces(wanted: argparse.Namespace) -> Iterator[Piece]:
    """All work; that of the texts in turns, so that no parser waits for another."""
    seed = wanted.seed
    if wanted.bits or wanted.changes:
        from hostile_files import MAKERS

        for name in MAKERS:
            if wanted.bits:
                yield Piece(f"bits of {name}", 0, bits_of(name), partial(bits, name))
            if wanted.changes:
                work = partial(changes, name, seed)
                yield Piece(f"changes of {name}", 0, wanted.changes, work)
    for name in ("fit", "growth", "refinement"):
        for what, count in (("kills", wanted.kills), ("full_disks", wanted.disks)):
            if count:
                yield Piece(f"{what} of {name}", 0, count, partial(trainings, what, name, seed))
    if wanted.kills:
        yield Piece("kills of save_model", 0, wanted.kills, partial(saves, seed))
    if wanted.inputs:
        from hostile_parsers import TARGETS

        for start in range(0, wanted.inputs, CHUNK):
            end = min(start + CHUNK, wanted.inputs)
            for name in TARGETS:
                yield Piece(f"texts of {name}", start, end, partial(texts, name, seed))


def bits_of(name: str) -> int:
    """How many bits a file has."""
    from hostile_files import MAKERS

    with tempfile.TemporaryDirectory() as folder:
        return 8 * MAKERS[name](Path(folder)).path.stat().st_size


def done_apart(piece: Piece) -> list[list]:
    """Does the work in a process of its own; a crash and a hang are failures of it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            try:
                faulthandler.dump_traceback_later(LONG, exit=True)
                found = piece.work(Path(folder), piece.start, piece.end)
                json.dump([[number, _reason(why)] for number, why in found], said)
                said.flush()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        said.seek(0)
        return [[piece.start, f"the process ended with {status}"]] if status else json.load(said)


def _reason(why: Any) -> str:
    return f"{type(why).__name__}: {why}"[:300] if isinstance(why, Exception) else str(why)


def summary(log: Path, seed: int) -> list[dict]:
    """What has been tried and what failed, an entry a target."""
    targets: dict[str, dict] = {}
    for line in log.read_text().splitlines():
        told = json.loads(line)
        if told["seed"] == seed:
            entry = {"target": told["target"], "seed": seed, "tried": 0, "failed": 0}
            entry = targets.setdefault(told["target"], entry)
            entry["tried"] += told["end"] - told["start"]
            entry["failed"] += len(told["failures"])
    return list(targets.values())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, required=True, help="file to write, and go on from")
    parser.add_argument("--seed", type=int, default=0, help="where all chance comes from")
    parser.add_argument("--inputs", type=int, default=0, help="texts a parser")
    parser.add_argument("--bits", action="store_true", help="flip every bit of every kind of file")
    parser.add_argument("--changes", type=int, default=0, help="changes on purpose a kind of file")
    parser.add_argument("--kills", type=int, default=0, help="kills a kind of training")
    parser.add_argument("--only", nargs="*", help="names of the targets to attack; all by default")
    parser.add_argument("--disks", type=int, default=0, help="full disks a kind of training")
    wanted = parser.parse_args(argv)
    wanted.log.touch()
    told = map(json.loads, wanted.log.read_text().splitlines())
    done = {(each["seed"], each["target"], each["start"]) for each in told}
    for piece in pieces(wanted):
        if wanted.only and piece.target not in wanted.only:
            continue
        if (wanted.seed, piece.target, piece.start) in done:
            continue
        record = {"seed": wanted.seed, "target": piece.target, "start": piece.start}
        record |= {"end": piece.end, "failures": done_apart(piece)}
        with wanted.log.open("a") as file:
            file.write(json.dumps(record) + "\n")
    for entry in summary(wanted.log, wanted.seed):
        print(json.dumps(entry))


if __name__ == "__main__":
    main()
