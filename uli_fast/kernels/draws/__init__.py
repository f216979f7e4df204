"""Random draws on the words of a stream: uniform, normal, gamma, beta, binomial."""
