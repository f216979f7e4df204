"""Logs of past outcomes, and what a learner would have made of them."""
