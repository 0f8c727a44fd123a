"""The form of a row: something that a program reads, and ways in which it changes between calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Something that a program reads and that can change between two calls.

    `$` in the texts stands for a number that is different for each row of a program, so that
    rows can be put together.
    """

    #: Part of the table.
    group: str
    #: What changes, in words.
    what: str
    #: Module-level code that makes what is read.
    setup: str
    #: The expression that reads it; `x` is a tensor of three floats, `a$` the row's argument.
    read: str
    #: Module-level code, each run before one more call.
    changes: tuple[str, ...]
    #: Expressions for the argument `a$`: the first is used until a change comes; with more than
    #: one, the others are used in the calls after it.
    arguments: tuple[str, ...]
    #: Module-level code that puts things outside the program back.
    undo: str
    #: A context in which the changed calls are made.
    inside: tuple[str, ...]
    #: Whether the row may be part of a generated program.
    combine: bool
    #: What differs from eager below AOTAutograd, under torch.compile too; the row is not run there.
    compiled_wrong: str

    @property
    def name(self) -> str:
        """A name for test ids."""
        return f"{self.group}: {self.what}"

    def steps(self) -> list[tuple[str, str, str]]:
        """Each change as code to run before the call, the argument, and the context."""
        first = self.arguments[0] if self.arguments else ""
        return [
            *((change, first, "") for change in self.changes),
            *(("", argument, "") for argument in self.arguments[1:]),
            *(("", first, context) for context in self.inside),
        ]


class Group:
    """Collects the rows of one part of the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[Row] = []

    def row(
        self,
        what: str,
        setup: str,
        read: str,
        *changes: str,
        arguments: Sequence[str] = (),
        undo: str = "",
        inside: Sequence[str] = (),
        combine: bool = True,
        compiled_wrong: str = "",
    ) -> None:
        """Add a row; see :class:`Row`."""
        self.rows.append(
            Row(
                self.name,
                what,
                setup,
                read,
                changes,
                tuple(arguments),
                undo,
                tuple(inside),
                combine,
                compiled_wrong,
            )
        )
