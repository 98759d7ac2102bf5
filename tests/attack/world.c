/* world.c: the controller's part of a test campaign: sources, keys, plan, journal, merge, seal. */
#include "tests/attack/world.h"
#include "orchestrator/plan.h"
#include "orchestrator/report.h"
#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/jobtext.h"
#include "protocol/sshsig.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAMPAIGN "attack"

struct world {
	char *folder, *root;
	int fd, tree, incoming;
	struct fm_home home;
	struct fm_plan plan;
	struct fm_journal *journal;
	char plan_sha256[65];
};

/* ---- the source tree: a few lines, never compiled ---- */

static int put(int fd, const char *path, const char *text)
{
	return fm_fs_write_deep(fd, path, text, strlen(text), 0644);
}

static int put_candidate(int fd, unsigned number, unsigned instances)
{
	struct fm_buf ini = FM_BUF_INIT(1 << 20), kat = FM_BUF_INIT(1 << 20),
	              vectors = FM_BUF_INIT(1 << 20);
	char path[100], hex[65];
	int rc;

	if ((rc = fm_buf_printf(&ini,
	             "[candidate]\nid = tiny-%u\nname = Tiny %u\ncategory = hash\n"
	             "page = https://example.org/\norigin = own\n",
	             number, number)) != FM_OK)
		goto out;
	for (unsigned i = 1; i <= instances; i++) {
		char name[40];

		snprintf(name, sizeof name, "Tiny-%u-%03u", number, i);
		fm_sha256_hex(name, strlen(name), hex);
		if ((rc = fm_buf_printf(&ini,
		             "\n[instance %s]\ndigest_bits = 256\ndigest = fixed\n"
		             "header = tiny.h\nsources = tiny.c\n",
		             name)) != FM_OK)
			goto out;
		/* known answers: of files and vectors, of vectors, none */
		if (number % 3 == 1 &&
		        (rc = fm_buf_printf(&kat,
		                 "%s strict %s/KAT_2_12_%s.txt\n%.32s%.32s strict "
		                 "%s/KAT_2_23_%s.txt\n",
		                 hex, name, name, hex + 32, hex, name, name)) != FM_OK)
			goto out;
		if (number % 3 != 0 &&
		        (rc = fm_buf_printf(&vectors, "%s|0|-|%s|empty\n", name, hex)) != FM_OK)
			goto out;
	}
	snprintf(path, sizeof path, "algos/tiny-%u/candidate.ini", number);
	if ((rc = put(fd, path, ini.data)) != FM_OK)
		goto out;
	snprintf(path, sizeof path, "algos/tiny-%u/tiny.h", number);
	if ((rc = put(fd, path, "#define CRYPTO_VERSION \"1\"\n")) != FM_OK)
		goto out;
	snprintf(path, sizeof path, "algos/tiny-%u/tiny.c", number);
	if ((rc = put(fd, path, "#include \"tiny.h\"\n")) != FM_OK)
		goto out;
	snprintf(path, sizeof path, "kat/tiny-%u/kat.sha256", number);
	if (kat.len > 0 && (rc = put(fd, path, kat.data)) != FM_OK)
		goto out;
	snprintf(path, sizeof path, "kat/tiny-%u/vectors.txt", number);
	if (vectors.len > 0)
		rc = put(fd, path, vectors.data);
out:
	fm_buf_free(&ini);
	fm_buf_free(&kat);
	fm_buf_free(&vectors);
	return rc;
}

static int put_root(const struct world *w, const struct world_size *size)
{
	static const char flags[] = "[x86_64 reference]\nflags = -std=c99 -O2\n"
	                            "[x86_64 performance]\nflags = -std=c99 -O3\n"
	                            "[aarch64 reference]\nflags = -std=c99 -O2\n"
	                            "[aarch64 performance]\nflags = -std=c99 -O3\n"
	                            "mark = by analogy\n"
	                            "[additions]\nflags = -fPIC\n"
	                            "[fallback]\nflags = -O2 -fPIC\nmark = harness-default\n";
	int fd = -1, rc = fm_fs_mkdirs(w->fd, "root", 0755, &fd);

	if (rc == FM_OK && (rc = put(fd, "algos/flags.ini", flags)) == FM_OK &&
	        (rc = put(fd, "agent/build.sh", "exit 0\n")) == FM_OK)
		rc = put(fd, "protocol/error.h", "/* none */\n");
	for (unsigned i = 1; rc == FM_OK && i <= size->candidates; i++)
		rc = put_candidate(fd, i, size->instances);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- keys ---- */

static int enrol(struct world *w, struct fm_plan_system *s)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX), sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	char key[FM_PUBLIC_LINE + 1], controller[FM_PUBLIC_LINE + 1], challenge[65], path[100];
	struct fm_identity *id = NULL;
	int fd = -1, rc;

	snprintf(path, sizeof path, "hosts/%s", s->name);
	if ((rc = fm_fs_mkdirs(w->fd, path, 0700, &fd)) != FM_OK ||
	        (rc = fm_identity_create(fd, "key")) != FM_OK ||
	        (rc = fm_identity_load(fd, "key", &id)) != FM_OK)
		goto out;
	s->key = *fm_identity_public(id);
	fm_public_line(&s->key, key);
	fm_public_line(fm_identity_public(w->home.id), controller);
	fm_random_hex(32, challenge);
	if ((rc = fm_text_begin(&text, "enrol")) != FM_OK ||
	        (rc = fm_text_put(&text, "system", "%s", s->name)) != FM_OK ||
	        (rc = fm_text_put(&text, "challenge", "%s", challenge)) != FM_OK ||
	        (rc = fm_text_put(&text, "controller", "%s", controller)) != FM_OK ||
	        (rc = fm_text_put(&text, "key", "%s", key)) != FM_OK ||
	        (rc = fm_text_put(&text, "previous", "none")) != FM_OK ||
	        (rc = fm_text_end(&text)) != FM_OK ||
	        (rc = fm_sshsig_sign(id, "enrol.v1@fleetmark", text.data, text.len, &sig)) != FM_OK)
		goto out;
	rc = fm_trust_add(&w->home, s->name, &s->key, text.data, text.len, sig.data, sig.len);
out:
	if (fd >= 0)
		close(fd);
	fm_identity_free(id);
	fm_buf_free(&text);
	fm_buf_free(&sig);
	return rc;
}

/* ---- plan ---- */

static void name_system(unsigned i, struct fm_system *s)
{
	snprintf(s->name, sizeof s->name, "%s_%u", i % 2 == 0 ? "x86" : "arm", i / 2 + 1);
	snprintf(s->arch, sizeof s->arch, "%s", i % 2 == 0 ? "x86_64" : "aarch64");
	s->cpu = -1;
	s->selected = true;
}

/* Keeps the cells of the first few message lengths. */
static void keep_sizes(struct fm_plan *p, unsigned sizes)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->cell_count; i++) {
		struct fm_cell cell;

		if (fm_cell_parse(p->cells[i], &cell) == FM_OK && cell.bytes <= fm_sizes[sizes - 1])
			p->cells[kept++] = p->cells[i];
		else
			free(p->cells[i]);
	}
	p->cell_count = kept;
}

static int make_plan(struct world *w, const struct world_size *size)
{
	struct fm_options o = {.root = w->root,
	        .profile = size->profile,
	        .kat = "standard",
	        .versions = "reference,performance"};
	struct fm_inventory inv = {.count = size->systems};
	int fd = -1, rc = FM_ERR_MEMORY;

	if ((inv.systems = fm_alloc_array(size->systems, sizeof *inv.systems)) == NULL)
		return rc;
	for (unsigned i = 0; i < size->systems; i++)
		name_system(i, &inv.systems[i]);
	if ((rc = fm_plan_make(&o, &inv, CAMPAIGN, &w->plan)) != FM_OK)
		goto out;
	keep_sizes(&w->plan, size->sizes);
	for (size_t i = 0; i < w->plan.system_count; i++)
		if ((rc = enrol(w, &w->plan.systems[i])) != FM_OK)
			goto out;
	fm_random_hex(32, w->plan.nonce);
	fm_stamp_now(w->plan.issued_at);
	fm_stamp_at(fm_stamp_seconds(w->plan.issued_at) + 90 * 86400, w->plan.expires_at);
	if ((rc = fm_fs_mkdirs(w->tree, "plan", 0755, &fd)) != FM_OK ||
	        (rc = fm_plan_write(&w->plan, fd, w->home.id)) != FM_OK)
		goto out;
	rc = fm_fs_sha256(fd, "MANIFEST.sha256", w->plan_sha256, NULL);
out:
	if (fd >= 0)
		close(fd);
	free(inv.systems);
	return rc;
}

int world_open(const char *folder, const struct world_size *size, struct world **out)
{
	struct world *w = fm_alloc(sizeof *w);
	char *home = NULL;
	int rc = FM_ERR_MEMORY;

	*out = NULL;
	if (w == NULL)
		return rc;
	w->fd = w->tree = w->incoming = w->home.dirfd = -1;
	if ((w->folder = realpath(folder, NULL)) == NULL) {
		rc = fm_fail_errno("%s", folder);
		goto out;
	}
	w->root = fm_sprintf("%s/root", w->folder);
	home = fm_sprintf("%s/home", w->folder);
	if (w->root == NULL || home == NULL || setenv("FLEETMARK_HOME", home, 1) != 0 ||
	        (rc = fm_crypto_init()) != FM_OK ||
	        (rc = fm_fs_dir(AT_FDCWD, w->folder, &w->fd)) != FM_OK ||
	        (rc = put_root(w, size)) != FM_OK || (rc = fm_home_open(&w->home)) != FM_OK ||
	        (rc = fm_home_key(&w->home)) != FM_OK ||
	        (rc = fm_fs_mkdirs(w->fd, "tree", 0755, &w->tree)) != FM_OK ||
	        (rc = make_plan(w, size)) != FM_OK ||
	        (rc = fm_fs_mkdirs(w->tree, "incoming", 0755, &w->incoming)) != FM_OK ||
	        (rc = fm_journal_open(&w->journal, w->incoming, CAMPAIGN, false)) != FM_OK)
		goto out;
	rc = fm_journal_begin(w->journal, w->plan_sha256);
out:
	free(home);
	if (rc == FM_OK)
		*out = w;
	else
		world_close(w);
	return rc;
}

void world_close(struct world *w)
{
	if (w->journal != NULL)
		(void)!fm_journal_close(w->journal);
	fm_plan_free(&w->plan);
	if (w->home.dirfd >= 0)
		fm_home_close(&w->home);
	if (w->incoming >= 0)
		close(w->incoming);
	if (w->tree >= 0)
		close(w->tree);
	if (w->fd >= 0)
		close(w->fd);
	free(w->folder);
	free(w->root);
	free(w);
}

const char *world_system(const struct world *w, unsigned i)
{
	return w->plan.systems[i].name;
}

const char *world_candidate(const struct world *w, unsigned i)
{
	return w->plan.candidates.list[i].id;
}

int world_tree(const struct world *w)
{
	return w->tree;
}

/* ---- dispatches ---- */

int world_silent(struct world *w, unsigned system)
{
	return fm_journal_host(w->journal, world_system(w, system), "failed", "transport",
	        "connect", "no route to host");
}

int world_leave(struct world *w, unsigned system, unsigned candidate)
{
	struct fm_job job;

	return fm_journal_issue(
	        w->journal, world_system(w, system), world_candidate(w, candidate), &job);
}

int world_fail(struct world *w, unsigned system, unsigned candidate)
{
	struct fm_job job;
	int rc = fm_journal_issue(
	        w->journal, world_system(w, system), world_candidate(w, candidate), &job);

	return rc != FM_OK ? rc
	                   : fm_journal_end(w->journal, job.nonce, "transport", "dropped",
	                             "the line dropped");
}

int world_answer(struct world *w, unsigned system, unsigned candidate, enum world_answer answer)
{
	const struct fm_candidate *c = &w->plan.candidates.list[candidate];
	struct world_job want = {.campaign = CAMPAIGN,
	        .system = world_system(w, system),
	        .arch = w->plan.systems[system].arch,
	        .candidate = c->id,
	        .plan_sha256 = w->plan_sha256,
	        .sources = c->sources.data,
	        .answer = answer};
	char *plan = fm_sprintf("%s/tree/plan", w->folder),
	     *host = fm_sprintf("%s/hosts/%s", w->folder, want.system),
	     *path = fm_sprintf("bundles/%s/%s", want.system, want.candidate), manifest[65];
	struct fm_job job;
	bool again;
	int fd = -1, rc = FM_ERR_MEMORY;

	if (plan == NULL || host == NULL || path == NULL)
		goto out;
	want.plan = plan;
	want.host = host;
	if ((rc = fm_journal_host(w->journal, want.system, "up", "", "", "")) != FM_OK ||
	        (rc = fm_journal_issue(w->journal, want.system, want.candidate, &job)) != FM_OK)
		goto out;
	want.nonce = job.nonce;
	want.attempt = job.attempt;
	if ((rc = fm_fs_mkdirs(w->tree, path, 0755, &fd)) != FM_OK ||
	        (rc = world_bundle(&want, fd, manifest)) != FM_OK ||
	        (rc = fm_journal_received(w->journal, job.nonce, "local", manifest)) != FM_OK)
		goto out;
	rc = fm_journal_accept(w->journal, job.nonce, manifest, &again);
out:
	if (fd >= 0)
		close(fd);
	free(plan);
	free(host);
	free(path);
	return rc;
}

int world_seal_late(struct world *w, char sha256[65])
{
	return fm_tree_seal(w->tree, w->journal, &w->home, sha256);
}

int world_seal(struct world *w, bool pages, char sha256[65])
{
	int rc = fm_tree_merge(w->tree, &w->plan, w->journal, &w->home);

	if (rc == FM_OK && pages)
		rc = fm_report_tree(w->tree, NULL, false);
	return rc == FM_OK ? fm_tree_seal(w->tree, w->journal, &w->home, sha256) : rc;
}
