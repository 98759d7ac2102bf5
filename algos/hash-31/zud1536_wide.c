/* ZuD with 1536 bits for the performance version: a plane of eight columns is two vectors. What
 * each step is stands in zud1536.c; this file computes the same. */
#include "zud.h"
#include "zud_wide.h"

/* A plane: columns 0 to 3, 4 to 7. */
struct plane {
	wide lo, hi;
};

struct planes {
	struct plane a0, a1, a2;
};

/* v moved up by 1, 3, 4, 5, 6 columns. */
INLINE struct plane move1(struct plane v)
{
	return (struct plane){PICK(v.hi, v.lo, 3, 4, 5, 6), PICK(v.lo, v.hi, 3, 4, 5, 6)};
}

INLINE struct plane move3(struct plane v)
{
	return (struct plane){PICK(v.hi, v.lo, 1, 2, 3, 4), PICK(v.lo, v.hi, 1, 2, 3, 4)};
}

INLINE struct plane move4(struct plane v)
{
	return (struct plane){v.hi, v.lo};
}

INLINE struct plane move5(struct plane v)
{
	return move4(move1(v));
}

INLINE struct plane move6(struct plane v)
{
	return (struct plane){PICK(v.lo, v.hi, 2, 3, 4, 5), PICK(v.hi, v.lo, 2, 3, 4, 5)};
}

INLINE struct plane add(struct plane a, struct plane b)
{
	return (struct plane){a.lo ^ b.lo, a.hi ^ b.hi};
}

INLINE struct plane rotate(struct plane v, unsigned n)
{
	return (struct plane){wide_rotl(v.lo, n), wide_rotl(v.hi, n)};
}

INLINE struct plane chi_plane(struct plane own, struct plane next, struct plane after)
{
	return (struct plane){
	        wide_chi(own.lo, next.lo, after.lo), wide_chi(own.hi, next.hi, after.hi)};
}

INLINE struct planes chi_all(struct planes s)
{
	return (struct planes){chi_plane(s.a0, s.a1, s.a2), chi_plane(s.a1, s.a2, s.a0),
	        chi_plane(s.a2, s.a0, s.a1)};
}

/* The rotation of rho: plane 1 alone has one. */
INLINE struct planes turn(struct planes s)
{
	return (struct planes){s.a0, rotate(s.a1, 3), s.a2};
}

/* The moves of rho. */
INLINE struct planes move(struct planes s)
{
	return (struct planes){s.a0, move3(s.a1), move5(s.a2)};
}

/* The moves of rho, then theta. Its parity, which comes from the column before, is taken of the
 * lanes as they were before the moves: so no move has to wait for another. */
INLINE struct planes move_theta(struct planes s)
{
	struct plane p = add(add(move1(s.a0), move4(s.a1)), move6(s.a2));
	struct plane e = add(rotate(p, 20), rotate(p, 56));

	s = move(s);
	return (struct planes){add(s.a0, e), add(s.a1, e), add(s.a2, e)};
}

INLINE struct plane load(const uint64_t lane[8])
{
	return (struct plane){wide_load(lane), wide_load(lane + 4)};
}

INLINE void store(uint64_t lane[8], struct plane v)
{
	wide_store(lane, v.lo);
	wide_store(lane + 4, v.hi);
}

void zud_permute(uint64_t lane[ZUD_LANES])
{
	struct planes s = {load(lane), load(lane + 8), load(lane + 16)};

	for (unsigned t = 0; t < ZUD_ROUNDS; t++) {
		s.a0.lo ^= (wide){ZUD_RC[t], 0, 0, 0};
		s = move(turn(move_theta(turn(chi_all(s)))));
	}

	store(lane, s.a0);
	store(lane + 8, s.a1);
	store(lane + 16, s.a2);
}
