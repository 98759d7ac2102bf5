/* ZuD with 1280 bits for the performance version: a plane of four columns is one vector. What each
 * step is stands in zud1280.c; this file computes the same. */
#include "zud.h"
#include "zud_wide.h"

/* v moved up by 1, 2, 3 columns. */
INLINE wide move1(wide v)
{
	return PICK(HALVES(v), v, 1, 4, 3, 6);
}

INLINE wide move2(wide v)
{
	return HALVES(v);
}

INLINE wide move3(wide v)
{
	return PICK(v, HALVES(v), 1, 4, 3, 6);
}

struct planes {
	wide a0, a1, a2, a3, a4;
};

INLINE struct planes chi_all(struct planes s)
{
	return (struct planes){wide_chi(s.a0, s.a1, s.a2), wide_chi(s.a1, s.a2, s.a3),
	        wide_chi(s.a2, s.a3, s.a4), wide_chi(s.a3, s.a4, s.a0), wide_chi(s.a4, s.a0, s.a1)};
}

/* The rotations of rho. */
INLINE struct planes turn(struct planes s)
{
	return (struct planes){s.a0, wide_rotl(s.a1, 5), wide_rotl(s.a2, 24), wide_rotl(s.a3, 1),
	        wide_rotl(s.a4, 3)};
}

/* The moves of rho. */
INLINE struct planes move(struct planes s)
{
	return (struct planes){s.a0, move1(s.a1), move3(s.a2), s.a3, move2(s.a4)};
}

/* The moves of rho, then theta. Its parity, which comes from the column before, is taken of the
 * lanes as they were before the moves: so no move has to wait for another. */
INLINE struct planes move_theta(struct planes s)
{
	wide p = move1(s.a0 ^ s.a3) ^ move2(s.a1) ^ s.a2 ^ move3(s.a4);
	wide e = wide_rotl(p, 5) ^ wide_rotl(p, 14);

	s = move(s);
	return (struct planes){s.a0 ^ e, s.a1 ^ e, s.a2 ^ e, s.a3 ^ e, s.a4 ^ e};
}

void zud_permute(uint64_t lane[ZUD_LANES])
{
	struct planes s = {wide_load(lane), wide_load(lane + 4), wide_load(lane + 8),
	        wide_load(lane + 12), wide_load(lane + 16)};

	for (unsigned t = 0; t < ZUD_ROUNDS; t++) {
		s.a0 ^= (wide){ZUD_RC[t], 0, 0, 0};
		s = move(turn(move_theta(turn(chi_all(s)))));
	}

	wide_store(lane, s.a0);
	wide_store(lane + 4, s.a1);
	wide_store(lane + 8, s.a2);
	wide_store(lane + 12, s.a3);
	wide_store(lane + 16, s.a4);
}
