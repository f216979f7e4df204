"""Learners: an algorithm's parameters, its guarantee, and how a run is set up."""
