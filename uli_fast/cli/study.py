"""``uli study``: look at a live study, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from uli_fast import _check

if TYPE_CHECKING:
    from uli_fast.study.audit import Audit
    from uli_fast.study.overview import Overview

FILE = click.argument("file", type=click.Path())  # a string: paths have no two slashes in a row
NAME = click.option("--name", help="Of the study, if FILE is the address of a database.")


@click.group()
def study() -> None:
    """Look at a live study, in a file or a database; neither command changes it."""


@study.command()
@FILE
@NAME
def show(file: str, name: str | None) -> None:
    """Show where the study in FILE stands."""
    from uli_fast.study.study import Study

    found = Study.audit(file, name=name)
    click.echo(_heading(found))
    _echo_arms(found)
    click.echo(f"recommended: {_safe(found.recommended)}")
    _echo_certificate(found)
    _echo_pending(found)


@study.command()
@FILE
@NAME
@click.option("--html", type=click.Path(path_type=Path), help="Also write the audit as a page.")
def audit(file: str, name: str | None, html: Path | None) -> None:
    """Check every event and decision of the study in FILE; exit with 1 if anything is wrong."""
    from uli_fast.study.study import Study

    if html is not None:
        _check.not_the_study("--html", html, None if name else Path(file))
    found = Study.audit(file, name=name)
    click.echo(_heading(found))
    click.echo(
        f"chain: {found.events} events, none altered, none missing; last hash {found.head}\n"
        f"decisions: all {len(found.history)} come out the same when made again\n"
        f"begun {found.begun}, last event {found.last}\n"
        f"begun with {', '.join(_safe(f'{k} {v}') for k, v in found.versions.items())}"
    )
    _echo_arms(found)
    for drop in found.drops:
        names = ", ".join(_safe(str(arm)) for arm in drop.arms)
        click.echo(f"{drop.time}  event {drop.sequence}: dropped {names}; {drop.left} left")
    for reason, times in found.reasons.most_common(10):
        click.echo(f"missing {times} times: {_safe(reason)}")
    _echo_certificate(found)
    _echo_pending(found)
    if html is not None:
        from uli_fast.report.live import write_audit

        write_audit(found, html)
        click.echo(f"page: {html}")


def _heading(found: Audit) -> str:
    count = found.statuses
    blocks = f"\n{found.block_words}" if found.blocks else ""
    return (
        f"{_safe(str(found.path))}: {_safe(repr(found.learner), 200)}\n"
        f"{len(found.history)} decisions: {count['reward']} with a reward, "
        f"{count['missing']} missing, {count['pending']} pending{blocks}{_window(found.overview)}"
    )


def _window(overview: Overview) -> str:
    from uli_fast.report.watch.words import plain, window

    said = plain(window(overview))
    return f"\nwindow: {said[:1].lower()}{said[1:]}" if said else ""


def _echo_arms(found: Audit) -> None:
    if not found.arms:
        return
    names = [_safe(str(line.arm), 40) for line in found.arms]
    width = max(map(len, (*names, "arm")))
    heads = ("in play", "rewards", "missing", "pending", "mean", "interval")
    click.echo(f"{'arm':{width}}" + "".join(f"{head:>10}" for head in heads))
    for name, line in zip(names, found.arms, strict=True):
        mean = "-" if line.mean is None else f"{line.mean:.4g}"
        numbers = ("yes" if line.active else "no", line.rewards, line.missing, line.pending, mean)
        click.echo(
            f"{name:{width}}"
            + "".join(f"{x:>10}" for x in numbers)
            + f"  [{line.low:.4g}, {line.high:.4g}]"
        )
    if found.held:
        click.echo("means and intervals are of outcomes that were learned from: the others wait")


def _echo_certificate(found: Audit) -> None:
    click.echo(f"certificate: {_safe(found.certificate)}")
    if found.held:
        click.echo(f"held up: {_safe(found.held)}")
    for sentence in found.assumes:
        click.echo(f"assumed: {_safe(sentence)}")


def _echo_pending(found: Audit) -> None:
    waiting = found.pending
    for record in waiting[:10]:
        key = "" if record.request_id is None else f", {_safe(record.request_id)}"
        click.echo(f"pending: decision {record.id}{key}, asked {_safe(record.asked)}")
    if len(waiting) > 10:
        click.echo(f"pending: and {len(waiting) - 10} more")


def _safe(text: str, most: int = 300) -> str:
    """Show what a file says as plain text: no escape sequences, no turning of the line."""
    from uli_fast.report.words import label

    return label(text, most)
