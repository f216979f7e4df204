"""How an oracle kernel ends."""

# With the maximum; with proof that the constraints leave nothing; not within the steps
# allowed; without a bound; with active rows that are not independent.
FOUND, EMPTY, ENDLESS, UNBOUNDED, SINGULAR = 0, 1, 2, 3, 4
