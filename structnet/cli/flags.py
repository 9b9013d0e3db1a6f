"""Flags from a dataclass: its fields are the flags, its docstring is the help.

`tyro <https://brentyi.github.io/tyro/>`_ does the work. This module adds how values are written
(whole numbers may contain commas, several values are separated by commas, ``none`` is None, and a
bool that may be None is ``true`` or ``false``), and makes every error one line.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass, make_dataclass
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from structnet.recipes.recipe import S, did_you_mean, is_several

KINDS = {int: "whole number", float: "number", str: "text", Path: "path"}
LAST_DOT = re.compile(r"(?<!\.)\.(?=\s+\(default:|\n+(?:  -|\S)|$)")  # of a flag's description
MARKUP = re.compile(r":\w+:`[.~]?([^`]+)`|``([^`]+)``")  # of docstrings
NEGATED = re.compile(r"^(  --no-[\w-]+\s+)(?=\S)(?!without)", re.MULTILINE)
NOTHING = re.compile(r"\s*\(default:\s+(none|None|True|False)\)")
NUMBER = re.compile(r" (\S*\d,)\n( +)(?=\d{3}\b)")  # broken at a comma inside it
RULER = re.compile(r"\n +-{5,} *(?=\n)")
TITLE = re.compile(r"^ (.*?)( ?options) *$", re.MULTILINE)
SAID = (  # tyro's words -> ours
    (r"^Missing from .*?: (--\S+) \S+ (.*?) \(required\)", r"\1 is missing: \2"),
    (r"^Missing value for argument '(\S+)'.*", r"\1 needs a value"),
    (r"^Error parsing ((?!-)[\w.]+: )?", ""),
    (r"The '(\w+)' parameter(?: of \w+)? must", lambda of: f"--{of[1].replace('_', '-')} must"),
    (r",? or None(?=\. Got )", ""),  # None is not what a user types
)


def parse(
    cls: type[S],
    words: Sequence[str],
    prog: str,
    *,
    own: type | None = None,
    default: S | None = None,
    about: str = "",
    examples: str = "",
    inputs: bool = False,
    refused: Sequence[str] = (),
) -> tuple[S, Any, list[str]]:
    """The settings given by a command's words, the command's own flags, and words without a flag.

    Args:
        cls: a frozen dataclass; a field that is itself one is a group of flags.
        words: the words after the command's name.
        prog: the command, for the help.
        own: a dataclass of the command's own flags; None for no such flags.
        default: settings whose values are the defaults; None for the defaults of the class.
        about: description in the help; by default the docstring of the class.
        examples: text below the description.
        inputs: True if words without a flag are allowed.
        refused: names of settings that are always refused, whose flags the help leaves out.

    Raises:
        ValueError: a word is wrong.
    """
    import tyro

    _say_repeated(words)
    about = about or re.split(r"\n(?:Args|Raises):", inspect.getdoc(cls) or "")[0].strip()
    extra = [] if own is None else [("run", own)]
    also = {name: kind() for name, kind in extra} if default else {}
    whole = make_dataclass("Flags", extra, bases=(cls,), kw_only=True, frozen=True)
    messages, shown = StringIO(), StringIO()
    try:
        with redirect_stderr(messages), redirect_stdout(shown):
            parsed, rest = tyro.cli(
                whole,
                prog=prog,
                args=list(words),
                default=whole(**vars(default), **also) if default else tyro.MISSING_NONPROP,
                return_unknown_args=True,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
                registry=_registry(),
            )
    except SystemExit as end:
        if end.code:
            raise ValueError(_one_line(messages.getvalue())) from None
        head = f"usage: {prog} [flags]\n\n{about}\n\nexamples:\n{examples}"
        print(f"{head}\n\n{_options(_allowed(shown.getvalue(), refused), _titles(whole))}")
        raise
    for word in rest:
        if re.match(r"-(?!\.?\d).", word):  # a row may begin with a negative number
            near = get_close_matches(word, list(_flags_of(whole)), 1, 0.7)
            more = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown flag {word}{more} (see {prog} --help)")
        if not inputs:
            raise ValueError(f"unexpected argument {word!r} (see {prog} --help)")
    settings = cls(**{each.name: getattr(parsed, each.name) for each in fields(cls)})
    return settings, getattr(parsed, "run", None), rest


def _say_repeated(words: Sequence[str]) -> None:
    """Notes flags that are given several times, of which the last one counts."""
    counts = Counter(word.partition("=")[0].replace("_", "-") for word in words if word[:2] == "--")
    for flag, count in counts.items():
        if count > 1:
            print(f"note: {flag} is given {count} times; the last one counts", file=sys.stderr)


def _flags_of(cls: Any) -> Iterator[str]:
    """All flags of a dataclass and its groups."""
    hints = get_type_hints(cls)
    for each in fields(cls):
        if is_dataclass(hints[each.name]):
            yield from _flags_of(hints[each.name])
        else:
            no = "no-" if hints[each.name] is bool and each.default is True else ""
            yield f"--{no}{each.name.replace('_', '-')}"


def _titles(cls: Any) -> dict[str, str]:
    """The name of each group in the help: the ``TITLE`` of its class, or the name of its field."""
    kinds = get_type_hints(cls)
    return {each.name: getattr(kinds[each.name], "TITLE", each.name) for each in fields(cls)}


def _allowed(page: str, refused: Sequence[str]) -> str:
    """A help page without the flags that are always refused."""
    for name in refused:
        flag = name.replace("_", "-")
        page = re.sub(rf"^  --{flag} .*\n(?:   .*\n)*", "", page, flags=re.MULTILINE)
    return page


def _options(page: str, titles: Mapping[str, str]) -> str:
    """The flags of a help page, without rulers, markup, full stops and defaults such as None.

    The description of a ``--no-`` flag is that of the setting when it is on, so it is preceded by
    "turns off:".
    """
    flags = NOTHING.sub("", page[page.index(" options") :])
    flags = TITLE.sub(lambda of: f"{titles.get(of[1], of[1])}{of[2]}:", flags)
    lines = (line.rstrip() for line in RULER.sub("", flags).strip().splitlines())
    text = MARKUP.sub(r"\1\2", NUMBER.sub(r"\n\2\1", "\n".join(lines)))
    return NEGATED.sub(r"\1turns off: ", LAST_DOT.sub("", text))


def _one_line(message: str) -> str:
    """tyro's error about wrong flags, as one line."""
    text = " ".join(RULER.split(message)[1].split())
    for pattern, words in SAID:
        text = re.sub(pattern, words, text)
    return text


def _registry() -> Any:
    """The rules by which values are written; the help shows no None among the types of a value."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def plain(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
        union = get_origin(info.type) in (Union, UnionType)
        kinds = get_args(info.type) if union else (info.type,)
        optional = NoneType in kinds
        kind = next((each for each in kinds if each is not NoneType), NoneType)
        several = is_several(kind)
        kind = get_args(kind)[0] if several else kind
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        choices = ("true", "false") if kind is bool and optional else choices
        if len(kinds) > 1 + optional or not (choices or kind in KINDS):
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=("{" + ",".join(choices) + "}" if choices else kind.__name__.upper())
            + ",..." * several,
            instance_from_str=lambda words: _value(words[0], kind, choices, optional, several),
            is_instance=lambda value: True,
            str_from_instance=lambda value: [
                "none" if value is None else ",".join(map(str, value)) if several else str(value)
            ],
        )

    return registry


def _value(
    text: str, kind: Any, choices: Sequence[str], optional: bool = False, several: bool = False
) -> Any:
    if optional and text.lower() == "none":
        return None
    if several:
        return tuple(_value(part.strip(), kind, choices) for part in text.split(","))
    text = text.lower() if kind is bool else text
    if choices:
        if text not in choices:
            near = did_you_mean(text, choices)
            raise ValueError(f"must be one of {', '.join(choices)}; got {text!r}{near}")
        return text == "true" if kind is bool else text
    try:
        return kind(text.replace(",", "") if kind in (int, float) else text)
    except ValueError:
        raise ValueError(f"must be a {KINDS[kind]}; got {text!r}") from None
