/* mt.h: whole campaigns on a made-up machine: the agent's side of the tests named MT-nn. */
#ifndef FM_TEST_MT_H
#define FM_TEST_MT_H

#include "tests/unit/agent_client.h"

#include "orchestrator/evidence.h"
#include "orchestrator/samples.h"

#define MT_TOYS FM_TEST_ROOT "/tests/data/toy"

struct mt {
	struct scratch s;
	struct client c;
	struct controller k;
	struct tree t;
	struct campaign p;
	char world[200];
	int bundle; /* folder of the fetched bundle, -1 */
	struct fm_evidence e;
};

/* From an enrolled agent to a plan that it has; world: job text of a made-up machine, NULL for the
 * real one. */
static inline void mt_open(struct mt *m, const char *profile, const char *world,
        const struct instance *instances, size_t count)
{
	struct fm_buf data = FM_BUF_INIT(64u << 20);
	char lines[200], door[80];

	memset(m, 0, sizeof *m);
	m->bundle = -1;
	scratch_open(&m->s);
	snprintf(door, sizeof door, "fleetmark-test.%ld", (long)getpid());
	setenv("FLEETMARK_TEST_DOOR", door, 1);
	snprintf(m->c.home, sizeof m->c.home, "%s/home", m->s.path);
	if (world != NULL) {
		scratch_put(&m->s, "world", world);
		snprintf(m->world, sizeof m->world, "%s/world", m->s.path);
		m->c.world = m->world;
	}
	client_open(&m->c);
	controller_make(&m->k, 7);
	controller_enrol(&m->k, &m->c);
	tree_make(&m->t, MT_TOYS);
	m->p = (struct campaign){.name = "mt", .profile = profile};
	snprintf(m->p.folder, sizeof m->p.folder, "%s/plan", m->s.path);
	campaign_make(&m->p, &m->k, m->k.key, "toy", &m->t, instances, count, NULL);
	push_data(&m->t, MT_TOYS, 0, &data);
	snprintf(lines, sizeof lines, "tree %s %zu\n", m->t.hex, m->t.list.len);
	client_ok(&m->c, "push", lines, data.data, data.len);
	campaign_send(&m->p, &m->c, "toy", false);
	assert_string_equal(m->c.status, "ok");
	fm_buf_free(&data);
}

/* Fetches the bundle of the finished job. */
static inline void mt_collect(struct mt *m)
{
	char folder[100];

	snprintf(folder, sizeof folder, "%s/bundle", m->s.path);
	campaign_fetch(&m->p, &m->c, &m->k, "toy", folder);
	MUST(fm_fs_dir(AT_FDCWD, folder, &m->bundle));
	MUST(fm_evidence_read(m->bundle, &m->e));
}

/* Runs the job to its end and fetches the bundle. */
static inline void mt_run(struct mt *m)
{
	campaign_start(&m->p, &m->c, "toy", 1, CHALLENGE);
	assert_string_equal(m->c.status, "ok");
	assert_string_equal(client_follow(&m->c, m->p.name, NULL, NULL, NULL), "finished");
	mt_collect(m);
}

static inline void mt_close(struct mt *m)
{
	if (m->bundle >= 0) {
		fm_evidence_free(&m->e);
		close(m->bundle);
	}
	assert_int_equal(client_close(&m->c), 0);
	fm_identity_free(m->k.id);
	tree_free(&m->t);
	scratch_close(&m->s);
}

/* The measured cell of the evidence; fails the test if there is none. */
static inline const struct fm_ev_measured *mt_cell(
        const struct mt *m, const char *instance, const char *operation)
{
	for (size_t i = 0; i < m->e.measured_count; i++)
		if (strcmp(m->e.measured[i].instance, instance) == 0 &&
		        strcmp(m->e.measured[i].operation, operation) == 0)
			return &m->e.measured[i];
	fail_msg("no figures of %s %s", instance, operation);
	return NULL;
}

static inline bool mt_marked(const struct fm_ev_measured *cell, const char *mark)
{
	for (size_t i = 0; i < cell->mark_count; i++)
		if (strcmp(cell->marks[i], mark) == 0)
			return true;
	return false;
}

static inline struct fm_samples mt_samples(const struct mt *m, const char *stem)
{
	struct fm_samples s;

	MUST(fm_samples_read(m->bundle, stem, m->e.counter.label, &s));
	return s;
}

/* The n-th process (from 0) that was no planning process. */
static inline const struct fm_proc *mt_process(const struct fm_samples *s, size_t n)
{
	for (size_t i = 0; i < s->process_count; i++)
		if (s->processes[i].column[FM_PROC_STATE] != FM_STATE_PLANNING && n-- == 0)
			return &s->processes[i];
	fail_msg("too few processes");
	return NULL;
}

#define mt_column(p, name) ((p)->column[FM_PROC_##name])

#define mt_main(tests, argc, argv)                                                      \
	(choose_tests(argc, argv),                                                      \
	        fm_crypto_init() != FM_OK ? 1                                           \
	                                  : cmocka_run_group_tests(tests, NULL, NULL))

#endif
