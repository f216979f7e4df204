/* UCB round by round in C: how fast a plain loop can be on this machine.

   The same loop as plain.ucb, with xoshiro256++ (Blackman and Vigna) for uniforms. */

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

enum { MOST_ARMS = 64 };

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
