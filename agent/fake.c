/* fake.c: the agent's side of a made-up machine: its orders name the world, its time is the
 * world's. */
#include "agent/fake.h"

#ifdef FLEETMARK_TESTING
#include "protocol/world.h"

static const char *world;
static uint64_t turn, cell_turn, spent_ns;

int fm_fake_use(const char *path)
{
	if (path[0] != '/')
		return fm_fail(FM_ERR_USAGE, "--world: an absolute path is needed");
	world = path;
	return fm_world_use(path);
}

void fm_fake_turn(uint64_t all, uint64_t cell)
{
	turn = all;
	cell_turn = cell;
}

int fm_fake_order(struct fm_buf *order)
{
	int rc;

	if (world == NULL)
		return FM_OK;
	if ((rc = fm_text_put(order, "world", "%s", world)) != FM_OK ||
	        (rc = fm_text_put(order, "world_turn", "%llu", (unsigned long long)turn)) != FM_OK)
		return rc;
	return fm_text_put(order, "world_cell_turn", "%llu", (unsigned long long)cell_turn);
}

void fm_fake_child(const struct fm_run *run, struct fm_child *c)
{
	int64_t own = fm_run_int(run, "elapsed_ns", 0);

	if (world == NULL)
		return;
	c->elapsed_ns = (uint64_t)fm_world_number(
	        fm_world_now(), "fact", "wall_ns", (size_t)turn, own < 0 ? 0 : own);
	spent_ns += c->elapsed_ns;
}

bool fm_fake_clock(uint64_t *ns)
{
	*ns = spent_ns;
	return world != NULL;
}
#else
typedef int fm_fake_agent_is_for_tests; /* ISO C wants a declaration in every file */
#endif
