"""Races: candidates (prompts, models, configurations) compared on common instances.

A candidate is dropped as soon as another is surely better, so that most of the evaluations of
"all on all" are never made. ``uli.race`` runs one; docs/races.md shows how, and
docs/proofs_race.md proves what it promises.
"""
