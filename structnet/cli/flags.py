"""Flags from a dataclass: its fields are the flags, its docstring is the help.

`tyro <https://brentyi.github.io/tyro/>`_ does the work. Here stand how a value is written (a whole
number may have commas, and ``none`` is None), and that whatever is wrong is said in one line.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import types
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import field, fields, is_dataclass, make_dataclass
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from structnet.recipes.recipe import did_you_mean

S = TypeVar("S")
NONE = type(None)
KINDS = {int: "whole number", float: "number", str: "text", Path: "path"}
NOTHING = re.compile(r"\s*\(default:\s+(none|True|False)\)")
RULER = re.compile(r"\n +-{5,} *(?=\n)")
PARAMETER = re.compile(r"The '(\w+)' parameter(?: of \w+)? must")


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
) -> tuple[S, Any, list[str]]:
    """What the words of a command say.

    Args:
        cls: a frozen dataclass; a field that is one too is a group of flags.
        words: the words behind the command's name.
        prog: the command, for the help.
        own: a dataclass of flags that are the command's own.
        default: settings where no flag is given; the defaults of the class otherwise.
        about: the help's description; the docstring of the class otherwise.
        examples: text below the description.
        inputs: may there be words that are no flags?

    Returns:
        The settings, the command's own flags, and the words that are no flags.

    Raises:
        ValueError: a word is wrong.
        SystemExit: ``--help`` is among the words.
    """
    import tyro

    about = about or (inspect.getdoc(cls) or "").partition("\nArgs:")[0].strip()
    more = [] if own is None else [("run", own, field(default_factory=own))]
    whole = make_dataclass("Flags", more, bases=(cls,), kw_only=True, frozen=True)
    said, shown = StringIO(), StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(shown):
            found, rest = tyro.cli(
                whole,
                prog=prog,
                description=f"{about}\n\nexamples:\n{examples}",
                args=list(words),
                default=whole(**vars(default)) if default else tyro.MISSING_NONPROP,
                return_unknown_args=True,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
                registry=_registry(),
            )
    except SystemExit as end:
        if end.code:
            raise ValueError(_one_line(said.getvalue(), prog)) from None
        print(_tidy(shown.getvalue()))
        raise
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            near = get_close_matches(word, flags_of(whole), 1, cutoff=0.7)
            more = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown flag {word}{more} (see {prog} --help)")
        if not inputs:
            raise ValueError(f"what is {word!r}? (see {prog} --help)")
    settings = cls(**{each.name: getattr(found, each.name) for each in fields(cls)})
    return settings, getattr(found, "run", None), rest


def flags_of(cls: type) -> list[str]:
    """All flags of a dataclass and its groups.

    Example:
        >>> from structnet.recipes.recipe import Ask
        >>> flags_of(Ask)
        ['--batch-size', '--data-dir', '--device', '--threads']
    """
    found, hints = [], get_type_hints(cls)
    for each in fields(cls):
        if is_dataclass(hints[each.name]):
            found += flags_of(hints[each.name])
        else:
            no = "no-" if hints[each.name] is bool and each.default is True else ""
            found.append(f"--{no}{each.name.replace('_', '-')}")
    return found


def _tidy(page: str) -> str:
    """A help page with lines of at most 100 characters, and without defaults that say nothing."""
    head, _, flags = page.partition("\n options")
    lines = [
        line if line.startswith(" ") else textwrap.fill(line, 100) for line in head.splitlines()
    ]
    head = re.sub(r"\n{2,}(?= )", "\n", re.sub(r"\n{3,}", "\n\n", "\n".join(lines)))
    flags = RULER.sub("", NOTHING.sub("", "\n options" + flags))
    flags = re.sub(r"\s+\n", "\n", re.sub(r"(?<=\n) (\w.*) options *\n", r"\n\1:\n", flags))
    flags = flags.replace("\n options", "\noptions:", 1).strip()
    return head.strip() + "\n\n" + re.sub(r"\n(?=[\w ]+:\n)", "\n\n", flags)


def _one_line(said: str, prog: str) -> str:
    """What is said of wrong flags, as one line."""
    text = re.sub(r"\s+", " ", RULER.split(f"{said}\n")[:2][-1]).strip()
    missing = re.match(r"Missing from .*?: (--\S+) \S+ (.*?) \(required\)", text)
    if missing:
        return f"{missing[1]} is missing: {missing[2]} (see {prog} --help)"
    text = re.sub(r"^Missing value for argument '(\S+)'.*", r"\1 needs a value", text)
    text = re.sub(r"^Error parsing (?!-)\w+(\.\w+)*: ", "", text).replace("Error parsing ", "")
    return PARAMETER.sub(lambda found: f"--{found[1].replace('_', '-')} must", text)


def _registry() -> Any:
    """How values are written; one that may be None shows no more than its kind."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    registry = ConstructorRegistry()

    @registry.primitive_rule
    def plain(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
        kinds = get_args(info.type) if isinstance(info.type, types.UnionType) else (info.type,)
        optional, kind = NONE in kinds, next((each for each in kinds if each is not NONE), NONE)
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if len(kinds) > 1 + optional or not (choices or kind in KINDS):
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="{" + ",".join(choices) + "}" if choices else kind.__name__.upper(),
            instance_from_str=lambda words: _value(words[0], kind, choices, optional),
            is_instance=lambda value: True,
            str_from_instance=lambda value: ["none" if value is None else str(value)],
        )

    return registry


def _value(text: str, kind: Callable, choices: Sequence[str], optional: bool) -> Any:
    if optional and text.lower() == "none":
        return None
    if choices:
        if text not in choices:
            near = did_you_mean(text, choices)
            raise ValueError(f"must be one of {', '.join(choices)}; got {text!r}{near}")
        return text
    try:
        return kind(text.replace(",", "") if kind in (int, float) else text)
    except ValueError:
        raise ValueError(f"must be a {KINDS[kind]}; got {text!r}") from None
