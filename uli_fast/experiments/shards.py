"""Shards of an experiment: a share of its replications each, run apart and merged."""

from __future__ import annotations

from typing import NamedTuple

from uli_fast.errors import ArgumentError


class Shard(NamedTuple):
    """Shard number i, from 1 on, of n."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, replications: int) -> tuple[int, int]:
        """Return the first replication of the shard and the one after its last."""
        if self.of > replications:
            raise ArgumentError(
                "shard", f"must be one of at most {replications}, the replications, got {self}"
            )
        n = replications
        return n * (self.number - 1) // self.of, n * self.number // self.of
