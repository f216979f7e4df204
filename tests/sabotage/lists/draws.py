"""Streams of replications and what is drawn from them."""

from tests.sabotage.anchors import Sabotage

STREAMS = "tests/kernels/test_streams.py"
NORMAL = "tests/kernels/test_normal.py"
GAMMA = "tests/kernels/test_gamma.py"
BINOMIAL = "tests/kernels/test_binomial.py"

SABOTAGES = (
    Sabotage(
        "the first stream is the start of the counters",
        "uli_fast._support.streams:_outputs",
        "(first + 1) % 2**64",
        "first % 2**64",
        f"{STREAMS}::test_words_are_outputs_of_splitmix",
    ),
    Sabotage(
        "equal counters may all be zero",
        "uli_fast._support.streams:_outputs",
        "starts[..., 3] ^= equal.astype(np.uint64)",
        "starts[..., 3] ^= np.uint64(0)",
        f"{STREAMS}::test_the_forbidden_state_never_occurs",
    ),
    Sabotage(
        "the sums of xoshiro256++ are not scrambled",
        "uli_fast.kernels.draws.stream:bits",
        "return ((total << np.uint64(23)) | (total >> np.uint64(41))) + a",
        "return total",
        f"{STREAMS}::test_bits_are_those_of_the_reference",
    ),
    Sabotage(
        "the sign of a normal draw is a bit of its layer",
        "uli_fast.kernels.draws.normal:_on_words",
        "np.uint64(8)",
        "np.uint64(7)",
        f"{NORMAL}::test_every_layer_edge_has_its_probability",
    ),
    Sabotage(
        "all wedges of the ziggurat are kept",
        "uli_fast.kernels.draws.normal:_beyond",
        "if low + uniform(words) * (high - low) < math.exp(-0.5 * x * x):",
        "if low < high:",
        f"{NORMAL}::test_draws_are_normal",
    ),
    Sabotage(
        "the tail of normal draws is exponential",
        "uli_fast.kernels.draws.normal:_tail",
        "if -2.0 * math.log1p(-uniform(words)) >= x * x:",
        "if x >= 0.0:",
        f"{NORMAL}::test_tail_is_exact",
    ),
    Sabotage(
        "gamma draws of large shapes lose digits",
        "uli_fast.kernels.draws.gamma:gamma",
        "d * (1.0 - v + math.log(v))",
        "(d - d * v + d * math.log(v))",
        f"{GAMMA}::test_rounding_refuses_no_outer_draw_of_a_large_shape",
    ),
    Sabotage(
        "beta draws of tiny parameters are ratios all the same",
        "uli_fast.kernels.draws.gamma:beta",
        "if a + b < COIN:",
        "if a + b < 0.0:",
        f"{GAMMA}::test_moments_of_betas",
    ),
    Sabotage(
        "the chance of no success is a power of a rounded number",
        "uli_fast.kernels.draws.binomial:_counted",
        "math.exp(trials * math.log1p(-p))",
        "(1.0 - p) ** trials",
        f"{BINOMIAL}::test_rare_ones_among_many_trials_are_poisson",
    ),
)
