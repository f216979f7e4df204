"""What happened, and what it says: runs, metrics, comparisons."""
