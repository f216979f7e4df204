/* UCB and Exp3.P in C: how fast a plain loop can be on this machine, and how fast lanes.

   The same loops as plain.ucb and plain.exp3p, with xoshiro256++ (Blackman and Vigna)
   for uniforms; and Exp3.P in sixteen lanes by gcc's vector extensions. */

#include <math.h>
#include <stdint.h>

static inline uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline double uniform(uint64_t s[4])
{
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return (double)(result >> 11) * 0x1p-53;
}

enum { MOST_ARMS = 128, RESCALED = 256 };

/* p: (K,) means, K at most MOST_ARMS; seed: (4,); n: (K,) receives the pulls. */
void ucb(const double *p, int64_t K, int64_t T, double delta, const uint64_t *seed, double *n)
{
    double total[MOST_ARMS], mean[MOST_ARMS], inverse_root[MOST_ARMS], index[MOST_ARMS];
    uint64_t s[4] = {seed[0], seed[1], seed[2], seed[3]};
    for (int64_t a = 0; a < K; a++) {
        total[a] = mean[a] = uniform(s) < p[a];
        n[a] = inverse_root[a] = 1.0;
    }
    double log_term = log(2.0 / delta);
    for (int64_t t = K + 1; t <= T; t++) {
        double root = sqrt(log_term + 2.0 * log((double)t));
        double best = -INFINITY;
        for (int64_t a = 0; a < K; a++) {
            double value = mean[a] + root * inverse_root[a];
            index[a] = value;
            best = value > best ? value : best;
        }
        int64_t arm = 0;
        while (index[arm] != best)
            arm++;
        total[arm] += uniform(s) < p[arm];
        n[arm] += 1.0;
        mean[arm] = total[arm] / n[arm];
        inverse_root[arm] = 1.0 / sqrt(n[arm]);
    }
}

/* The power of two that brings W into [1, 2). */
static inline double rescaling(double W) { return exp2(-floor(log2(W))); }

/* p: (K,) means, K at most MOST_ARMS; seed: (4,); n: (K,) receives the pulls. */
void exp3p(const double *p, int64_t K, int64_t T, double delta, const uint64_t *seed, double *n)
{
    double w[MOST_ARMS], probability[MOST_ARMS], bonus[MOST_ARMS];
    uint64_t s[4] = {seed[0], seed[1], seed[2], seed[3]};
    double gamma = fmin(0.5, sqrt(K * log(10.0 * K / delta) / T));
    double eta = gamma / K, c = 2.0 * eta * eta, W = K;
    for (int64_t a = 0; a < K; a++) {
        w[a] = 1.0;
        n[a] = 0.0;
    }
    for (int64_t t = 1; t <= T; t++) {
        double inverse = (1.0 - gamma) / W;
        for (int64_t a = 0; a < K; a++) {
            probability[a] = w[a] * inverse + gamma / K;
            bonus[a] = c / probability[a];
        }
        double u = uniform(s), cum = 0.0;
        int64_t arm = -1;
        for (int64_t a = 0; a < K; a++) {
            arm += u >= cum;
            cum += probability[a];
        }
        n[arm] += 1.0;
        int loss = uniform(s) >= p[arm];
        W = 0.0;
        for (int64_t a = 0; a < K; a++) {
            w[a] *= exp(bonus[a]);
            W += w[a];
        }
        if (loss) {
            double old = w[arm];
            w[arm] *= exp(-eta / probability[arm]);
            W += w[arm] - old;
        }
        if (t % RESCALED == 0) {
            double factor = rescaling(W);
            for (int64_t a = 0; a < K; a++)
                w[a] *= factor;
            W *= factor;
        }
    }
}

/* Lanes: the arithmetic of uli_fast/kernels/exp3p.py, but that gcc fuses multiplications
   with additions and that polynomials are summed in pairs. */
#ifdef __AVX512F__
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
enum { LANES = 16, VECTORS = LANES / WIDTH };

typedef double V __attribute__((vector_size(8 * WIDTH)));
typedef int64_t I __attribute__((vector_size(8 * WIDTH)));
typedef uint64_t U __attribute__((vector_size(8 * WIDTH)));

/* What a lane carries through the arms of a round. */
typedef struct {
    V u, inverse, cum, sum, below, p;
    I arm;
} Pass;

static inline U rotl_lanes(U x, int k) { return (x << k) | (x >> (64 - k)); }

static inline V uniform_lanes(U *s)
{
    U s0 = s[0], s1 = s[VECTORS], s2 = s[2 * VECTORS], s3 = s[3 * VECTORS];
    U z = rotl_lanes(s0 + s3, 23) + s0, shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s[VECTORS] = s1 ^ s2;
    s[0] = s0 ^ s3;
    s[2 * VECTORS] = s2 ^ shifted;
    s[3 * VECTORS] = rotl_lanes(s3, 45);
    /* (z >> 11) 2^-53: 52 bits as the mantissa of a number in [1, 2), and the last one. */
    V high = (V)(z >> 12 | 0x3FF0000000000000) - 1.0;
    return high + (V)(-(z >> 11 & 1) & 0x3CA0000000000000);
}

static inline V select_lanes(I which, V yes, V no) { return (V)((which & (I)yes) | (~which & (I)no)); }

/* w exp(y), 0 <= y <= .0058. */
static inline V grown(V w, V y)
{
    V y2 = y * y;
    V e = (1 / 2.0 + y * (1 / 6.0)) + y2 * (1 / 24.0 + y * (1 / 120.0));
    return w + w * (y + y2 * e);
}

/* exp(-y), 0 <= y <= 1. */
static inline V decay(V y)
{
    V x = y * -0.25, x2 = x * x, x4 = x2 * x2;
    V e = (1.0 + x) + x2 * (1 / 2.0 + x * (1 / 6.0));
    V f = (1 / 24.0 + x * (1 / 120.0)) + x2 * (1 / 720.0 + x * (1 / 5040.0));
    V g = (1 / 40320.0 + x * (1 / 362880.0)) + x2 * (1 / 3628800.0 + x * (1 / 39916800.0));
    e += x4 * (f + x4 * g);
    e *= e;
    return e * e;
}

static inline void pass(Pass *b, V p)
{
    I reached = b->u >= b->cum;
    b->arm -= reached;
    b->below = select_lanes(reached, b->cum, b->below);
    b->p = select_lanes(reached, p, b->p);
    b->cum += p;
}

/* Arm a of lane r is entry 16 a + r, word i of its generator 16 i + r; all arrays begin on a
   cache line. q: probabilities of loss 1; w, L, n, last: all 0, receive weights, summed loss
   estimates, pulls and last plays. */
void exp3p_lanes(const double *restrict q, int64_t K, int64_t T, double gamma,
                 uint64_t *restrict words, double *restrict w, double *restrict L,
                 int64_t *restrict n, int64_t *restrict last)
{
    double floor_ = gamma / K, rest = 1.0 - gamma, eta = gamma / K, c = 2.0 * eta * eta;
    double left[LANES] __attribute__((aligned(64))), p[LANES] __attribute__((aligned(64)));
    double over[LANES] __attribute__((aligned(64))), e[LANES] __attribute__((aligned(64)));
    double W[LANES] __attribute__((aligned(64)));
    int64_t at[LANES] __attribute__((aligned(64)));
    for (int64_t i = 0; i < K * LANES; i++)
        w[i] = 1.0;
    for (int r = 0; r < LANES; r++)
        W[r] = K;
    for (int64_t t = 1; t <= T; t++) {
        Pass b[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            V u = uniform_lanes((U *)words + v);
            b[v] = (Pass){.u = u, .inverse = rest / ((V *)W)[v], .arm = (I){} - 1};
        }
        int64_t a = 0;
        for (; a + 1 < K; a += 2) {
            V *w0 = (V *)w + a * VECTORS, *w1 = w0 + VECTORS;
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                V p0 = w0[v] * b[v].inverse + floor_, p1 = w1[v] * b[v].inverse + floor_;
                V both = c / (p0 * p1);
                w0[v] = grown(w0[v], both * p1);
                w1[v] = grown(w1[v], both * p0);
                b[v].sum = (b[v].sum + w0[v]) + w1[v];
                pass(&b[v], p0);
                pass(&b[v], p1);
            }
        }
        if (a < K) {
            V *w0 = (V *)w + a * VECTORS;
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                V p0 = w0[v] * b[v].inverse + floor_;
                w0[v] = grown(w0[v], c / p0);
                b[v].sum += w0[v];
                pass(&b[v], p0);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            V inverse = 1.0 / b[v].p;
            ((V *)over)[v] = inverse;
            ((V *)e)[v] = decay(eta * inverse);
            ((V *)p)[v] = b[v].p;
            ((V *)left)[v] = b[v].u - b[v].below;
            ((I *)at)[v] = b[v].arm * LANES;
            ((V *)W)[v] = b[v].sum;
        }
        for (int r = 0; r < LANES; r++) {
            int64_t i = at[r] + r;
            double loss = left[r] < p[r] * q[i] ? 1.0 : 0.0;
            n[i]++;
            last[i] = t;
            L[i] += loss * over[r];
            double old = w[i];
            w[i] = old + loss * (old * e[r] - old);
            W[r] += w[i] - old;
        }
        if (t % RESCALED == 0)
            for (int r = 0; r < LANES; r++) {
                double factor = rescaling(W[r]);
                for (int64_t i = r; i < K * LANES; i += LANES)
                    w[i] *= factor;
                W[r] *= factor;
            }
    }
}
