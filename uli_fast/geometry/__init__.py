"""Geometry of arms, useful on its own: designs, spanners, hulls."""
