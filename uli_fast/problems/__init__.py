"""Problems: the truth that a learner does not know, with its exact gaps."""
