/* trust.c: who may sign from when to when: a key is added, follows another, is retired or revoked.
 */
#include "orchestrator/trust_parts.h"
#include "protocol/fs.h"
#include "protocol/sshsig.h"
#include <stdio.h>
#include <string.h>

static long long compact_seconds(const char *c)
{
	char stamp[40];

	snprintf(stamp, sizeof stamp, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", c, c + 4, c + 6, c + 8,
	        c + 10, c + 12);
	return fm_stamp_seconds(stamp);
}

static void compact_at(long long seconds, char out[16])
{
	char stamp[21];

	fm_stamp_at(seconds, stamp);
	fm_trust_compact(stamp, out);
}

/* Adds the key to the list, ending an older one of the system; false in *changed if it is there
 * already. */
static int add_key(
        struct fm_trust *t, const char *system, const struct fm_public *key, bool *changed)
{
	struct fm_trust_key *old = NULL, *slot;
	long long begins;
	char now[21];

	*changed = true;
	if (fm_trust_revoked(t, key))
		return fm_fail(FM_ERR_REVOKED,
		        "the key of %s was revoked; make a new one on the host", system);
	for (size_t i = 0; i < t->count; i++) {
		struct fm_trust_key *k = &t->keys[i];

		if (fm_public_equal(&k->key, key) && strcmp(k->system, system) != 0)
			return fm_fail(FM_ERR_IDENTITY,
			        "the key of %s is that of system %s: one machine under two names, "
			        "or a copied "
			        "key",
			        system, k->system);
		if (fm_public_equal(&k->key, key) && k->before[0] != '\0')
			return fm_fail(FM_ERR_IDENTITY,
			        "the key of %s was retired; make a new one on the host", system);
		if (fm_public_equal(&k->key, key)) {
			*changed = false;
			return FM_OK;
		}
		if (strcmp(k->system, system) == 0 &&
		        (old == NULL || strcmp(old->after, k->after) < 0))
			old = k;
	}
	fm_stamp_now(now);
	begins = fm_stamp_seconds(now);
	if (old != NULL) {
		const char *least = old->before[0] == '\0' ? old->after : old->before;

		if (begins <= compact_seconds(least))
			begins = compact_seconds(least) + 1;
		if (old->before[0] == '\0')
			compact_at(begins - 1, old->before);
	}
	if ((slot = fm_grow(&t->keys, &t->count, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	snprintf(slot->system, sizeof slot->system, "%s", system);
	slot->key = *key;
	compact_at(begins, slot->after);
	return FM_OK;
}

/* The system's last key, whether it still counts or not; NULL if it never had one. */
static struct fm_trust_key *last_key(struct fm_trust *t, const char *system)
{
	struct fm_trust_key *last = NULL;

	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->keys[i].system, system) == 0 &&
		        (last == NULL || strcmp(last->after, t->keys[i].after) < 0))
			last = &t->keys[i];
	return last;
}

const struct fm_trust_key *fm_trust_last(const struct fm_trust *t, const char *system)
{
	return last_key((struct fm_trust *)(uintptr_t)t, system);
}

/* The statement is that of this system and key, made for us; one that follows a key is signed by
 * that key too, and that key is the system's last. */
static int check_statement(
        const struct fm_trust *t, const struct fm_trust_statement *s, const struct fm_public *key)
{
	const struct fm_trust_key *last = fm_trust_last(t, s->system);
	struct fm_statement told;
	int rc = fm_statement_check(s->text, s->text_len, s->sig, s->sig_len, &told);

	if (rc != FM_OK)
		return rc;
	if (strcmp(s->system, "controller") == 0 || strcmp(told.system, s->system) != 0 ||
	        !fm_public_equal(&told.key, key) ||
	        !fm_public_equal(&told.controller, &t->controller))
		return fm_fail(FM_ERR_IDENTITY,
		        "the enrolment statement is for another system, key or controller");
	if (!told.has_previous)
		return s->prev_len == 0
		               ? FM_OK
		               : fm_fail(FM_ERR_FORM, "a second signature, but no previous key");
	if (last == NULL || !fm_public_equal(&told.previous, &last->key))
		return fm_fail(FM_ERR_IDENTITY,
		        "the key that the statement follows is not the last one of %s", s->system);
	rc = fm_sshsig_verify(&told.previous, "enrol.v1@fleetmark", s->text, s->text_len,
	        s->prev == NULL ? "" : s->prev, s->prev_len);
	return rc == FM_OK ? rc : fm_wrap(rc, "signature of the previous key of %s", s->system);
}

int fm_trust_follow(
        struct fm_home *h, const struct fm_trust_statement *s, const struct fm_public *key)
{
	struct fm_trust_edit e;
	bool changed = true;
	int rc;

	if ((rc = fm_name_check("system", s->system)) != FM_OK ||
	        (rc = fm_trust_edit_begin(&e, h)) != FM_OK)
		return rc;
	if ((rc = check_statement(&e.trust, s, key)) == FM_OK &&
	        (rc = add_key(&e.trust, s->system, key, &changed)) == FM_OK && changed)
		rc = fm_trust_edit_commit(&e, s);
	fm_trust_edit_end(&e);
	return rc;
}

int fm_trust_add(struct fm_home *h, const char *system, const struct fm_public *key,
        const char *statement, size_t statement_len, const char *signature, size_t signature_len)
{
	return fm_trust_follow(h,
	        &(struct fm_trust_statement){.system = system,
	                .text = statement,
	                .text_len = statement_len,
	                .sig = signature,
	                .sig_len = signature_len},
	        key);
}

/* ---- revoking ---- */

/* The key with this fingerprint, or the system's last. */
static int choose_key(
        struct fm_trust *t, const char *system, const char *print, struct fm_trust_key **out)
{
	char shown[FM_FINGERPRINT];

	*out = print == NULL ? last_key(t, system) : NULL;
	for (size_t i = 0; print != NULL && i < t->count; i++) {
		fm_public_fingerprint(&t->keys[i].key, shown);
		if (strcmp(t->keys[i].system, system) == 0 && strcmp(shown, print) == 0)
			*out = &t->keys[i];
	}
	if (*out != NULL)
		return FM_OK;
	if (strcmp(system, "controller") == 0)
		return fm_fail(FM_ERR_USAGE, "the controller's own key cannot be revoked from "
		                             "inside: say so where its fingerprint was published");
	return fm_fail(FM_ERR_USAGE, "%s has no %s; fleetmark trust list shows what there is",
	        system, print == NULL ? "key" : print);
}

/* The window ends at this second, unless it ended earlier. */
static int end_window(struct fm_trust_key *k, const char *at, bool *changed)
{
	if (strcmp(at, k->after) < 0)
		return fm_fail(FM_ERR_USAGE,
		        "%s: that is before the key counted (from %s); a key that was never good: "
		        "--stolen",
		        k->system, k->after);
	*changed = k->before[0] == '\0' || strcmp(at, k->before) < 0;
	if (*changed)
		snprintf(k->before, sizeof k->before, "%s", at);
	return FM_OK;
}

static int apply(struct fm_trust *t, struct fm_trust_key *k, enum fm_revocation kind,
        const char *since, bool *changed)
{
	char now[21], at[16];
	struct fm_public *slot;
	int rc;

	fm_stamp_now(now);
	if (kind == FM_STOLEN_SINCE && strcmp(since, now) > 0)
		return fm_fail(FM_ERR_USAGE, "--stolen-since %s lies in the future", since);
	fm_trust_compact(kind == FM_STOLEN_SINCE ? since : now, at);
	if (kind == FM_STOLEN && strcmp(at, k->after) < 0)
		snprintf(at, sizeof at, "%s", k->after);
	if ((rc = end_window(k, at, changed)) != FM_OK || kind != FM_STOLEN)
		return rc;
	if (fm_trust_revoked(t, &k->key))
		return FM_OK;
	*changed = true;
	if ((slot = fm_grow(&t->revoked, &t->revoked_count, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	*slot = k->key;
	return FM_OK;
}

int fm_trust_revoke(struct fm_home *h, const char *system, const char *fingerprint,
        enum fm_revocation kind, const char *since, struct fm_trust_key *which, bool *changed)
{
	struct fm_trust_edit e;
	struct fm_trust_key *k = NULL;
	int rc;

	*changed = false;
	if ((rc = fm_trust_edit_begin(&e, h)) != FM_OK)
		return rc;
	if ((rc = choose_key(&e.trust, system, fingerprint, &k)) == FM_OK &&
	        (rc = apply(&e.trust, k, kind, since, changed)) == FM_OK) {
		*which = *k;
		if (*changed)
			rc = fm_trust_edit_commit(&e, NULL);
	}
	fm_trust_edit_end(&e);
	return rc;
}
