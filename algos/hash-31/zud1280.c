/* ZuD with 1280 bits: five planes of four columns (hash-31 ZC-DMC, permutation). */
#include "zud.h"
#include "zud_round.h"

/* Where a plane starts in the lane array. */
enum { PLANE0 = 0, PLANE1 = 4, PLANE2 = 8, PLANE3 = 12, PLANE4 = 16 };

/* rho for one column: its five lanes go to the column and rotation of their plane. */
static inline void rho_column(uint64_t out[ZUD_LANES], unsigned x, uint64_t a0, uint64_t a1,
        uint64_t a2, uint64_t a3, uint64_t a4)
{
	out[PLANE0 + x] = a0;
	out[PLANE1 + (x + 1) % 4] = rotl(a1, 5);
	out[PLANE2 + (x + 3) % 4] = rotl(a2, 24);
	out[PLANE3 + x] = rotl(a3, 1);
	out[PLANE4 + (x + 2) % 4] = rotl(a4, 3);
}

/* chi, then rho, for column x of in. */
static inline void chi_rho(uint64_t out[ZUD_LANES], const uint64_t in[ZUD_LANES], unsigned x)
{
	uint64_t a0 = in[PLANE0 + x], a1 = in[PLANE1 + x], a2 = in[PLANE2 + x];
	uint64_t a3 = in[PLANE3 + x], a4 = in[PLANE4 + x];

	rho_column(out, x, chi(a0, a1, a2), chi(a1, a2, a3), chi(a2, a3, a4), chi(a3, a4, a0),
	        chi(a4, a0, a1));
}

/* P[x] of theta: the parity of column x. */
static inline uint64_t parity(const uint64_t in[ZUD_LANES], unsigned x)
{
	return in[PLANE0 + x] ^ in[PLANE1 + x] ^ in[PLANE2 + x] ^ in[PLANE3 + x] ^ in[PLANE4 + x];
}

/* theta, then rho, for column x of in; p is the parity of the column before it. */
static inline void theta_rho(
        uint64_t out[ZUD_LANES], const uint64_t in[ZUD_LANES], unsigned x, uint64_t p)
{
	uint64_t e = rotl(p, 5) ^ rotl(p, 14);

	rho_column(out, x, in[PLANE0 + x] ^ e, in[PLANE1 + x] ^ e, in[PLANE2 + x] ^ e,
	        in[PLANE3 + x] ^ e, in[PLANE4 + x] ^ e);
}

void zud_permute(uint64_t lane[ZUD_LANES])
{
	uint64_t mid[ZUD_LANES];

	for (unsigned t = 0; t < ZUD_ROUNDS; t++) {
		lane[0] ^= ZUD_RC[t];

		chi_rho(mid, lane, 0);
		chi_rho(mid, lane, 1);
		chi_rho(mid, lane, 2);
		chi_rho(mid, lane, 3);

		theta_rho(lane, mid, 0, parity(mid, 3));
		theta_rho(lane, mid, 1, parity(mid, 0));
		theta_rho(lane, mid, 2, parity(mid, 1));
		theta_rho(lane, mid, 3, parity(mid, 2));
	}
}
