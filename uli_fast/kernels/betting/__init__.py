"""Tests by betting: books, wealth, intervals."""
