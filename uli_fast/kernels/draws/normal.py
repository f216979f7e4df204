"""Normal draws: the ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5, 2000) in 256 layers.

The area below f(x) = exp(-x^2 / 2), x > 0, is covered by 255 rectangles and a base strip with the
tail, all of the same area. A point of a random layer is below f without further question if it
is below the next layer too, which happens in 99 of 100 draws. The layer, the sign and the position
come from different bits: shared ones leave a pattern (Doornik, 2005). The tail is exact
(Marsaglia, 1964).

Of a np.random.Generator ``normal`` is ``standard_normal()``, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from uli_fast._typing import F64, U64
from uli_fast.kernels._jit import lean_by_type, lean_kernel, lean_step
from uli_fast.kernels.draws.stream import Source, bits, has_words, uniform

LAYERS = 256
TAIL = 3.6541528853610088  # where the tail begins, for 256 layers (Marsaglia and Tsang)


def layers() -> tuple[F64, F64]:
    """Return the right ends of the layers and f at each, from the base up.

    The base is as wide as a rectangle of its height and of the area of strip and tail.
    """
    height = math.exp(-0.5 * TAIL * TAIL)
    area = TAIL * height + math.sqrt(0.5 * math.pi) * math.erfc(TAIL * math.sqrt(0.5))
    x = np.zeros(LAYERS + 1)
    x[0], x[1] = area / height, TAIL
    for i in range(1, LAYERS - 1):
        x[i + 1] = math.sqrt(-2.0 * math.log(area / x[i] + math.exp(-0.5 * x[i] * x[i])))
    return x, np.exp(-0.5 * x * x)


X, F = layers()
# Of a position of 53 bits: below LIMIT it is below the next layer, times UNIT it is x.
LIMIT = np.floor(X[1:] / X[:-1] * 2.0**53).astype(np.uint64)
UNIT = X[:-1] * 2.0**-53
SIGN = np.array([1.0, -1.0])


def normal(source: Source) -> float:
    """Return a standard normal draw (compiled code only)."""
    raise TypeError("normal is called from compiled kernels only")


@lean_by_type(normal)
def _normal(source: Any) -> Callable[..., float]:
    if has_words(source):
        return lambda source: _on_words(source)
    return lambda source: source.standard_normal()


@lean_step
def _on_words(words: U64) -> float:
    drawn = bits(words)
    layer, position = drawn & np.uint64(0xFF), drawn >> np.uint64(11)
    x = float(position) * UNIT[layer]
    if position >= LIMIT[layer]:
        x = _beyond(words, layer, x)
    # A branch would be mispredicted half of the time.
    return float(x * SIGN[(drawn >> np.uint64(8)) & np.uint64(1)])


@lean_kernel
def _beyond(words: U64, layer: Any, x: float) -> float:
    """Return |draw| where x is in the wedge of its layer or beyond the base strip."""
    while True:
        if layer == 0:
            return _tail(words)
        low, high = F[layer], F[layer + np.uint64(1)]
        if low + uniform(words) * (high - low) < math.exp(-0.5 * x * x):
            return x
        drawn = bits(words)  # refused: another point, of the sign that was drawn
        layer, position = drawn & np.uint64(0xFF), drawn >> np.uint64(11)
        x = float(position) * UNIT[layer]
        if position < LIMIT[layer]:
            return x


@lean_kernel
def _tail(words: U64) -> float:
    """Return a draw beyond TAIL: an exponential one, kept with probability exp(-x^2 / 2)."""
    while True:
        x = -math.log1p(-uniform(words)) / TAIL
        if -2.0 * math.log1p(-uniform(words)) >= x * x:
            return TAIL + x
