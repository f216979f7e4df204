"""What suites measure: cases, oracle calls, MDPs, C, other libraries."""
