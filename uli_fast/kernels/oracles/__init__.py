"""The maximum of a linear function over a set."""
