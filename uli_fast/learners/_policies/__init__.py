"""What learners on tabular MDPs share."""
