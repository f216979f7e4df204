"""What kernels on K arms share: state, events, indices."""
