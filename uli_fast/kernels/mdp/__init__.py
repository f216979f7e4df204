"""Episodes of tabular MDPs, and how a policy is chosen."""
