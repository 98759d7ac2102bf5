/* transport_ssh_key.c: the host key an SSH host offers: checked, or learnt with somebody's word. */
#include "orchestrator/hostkey.h"
#include "orchestrator/out.h"
#include "orchestrator/transport_ssh.h"
#include "orchestrator/transport_ssh_parts.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_HOSTS_MAX (16u << 20)

/* Type, base64 and fingerprint of the key offered. The caller frees with offer_free. */
struct offer {
	struct fm_hostkey key;
	char *base64, *print;
	const char *type;
};

static char *fingerprint_of(ssh_key key)
{
	unsigned char *hash = NULL;
	size_t len = 0;
	char *text = NULL;

	if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) == 0)
		text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
	ssh_clean_pubkey_hash(&hash);
	return text;
}

static void offer_free(struct offer *o)
{
	ssh_string_free_char(o->base64);
	ssh_string_free_char(o->print);
}

static int read_offer(struct fm_transport *t, struct offer *o)
{
	ssh_key key = NULL;

	memset(o, 0, sizeof *o);
	if (ssh_get_server_publickey(t->s, &key) != SSH_OK)
		return fm_ssh_failed(t, "host key");
	o->type = ssh_key_type_to_char(ssh_key_type(key));
	if (ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P256 ||
	        ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P384 ||
	        ssh_key_type(key) == SSH_KEYTYPE_ECDSA_P521)
		o->type = ssh_pki_key_ecdsa_name(key);
	o->print = fingerprint_of(key);
	if (ssh_pki_export_pubkey_base64(key, &o->base64) != SSH_OK)
		o->base64 = NULL;
	ssh_key_free(key);
	if (o->print == NULL || o->base64 == NULL)
		return fm_fail(FM_ERR_MEMORY, "host key");
	o->key = (struct fm_hostkey){.system = t->system->name,
	        .host = t->target.host_key_alias != NULL ? t->target.host_key_alias
	                                                 : t->target.hostname,
	        .port = t->target.host_key_alias != NULL ? 22 : t->target.port,
	        .type = o->type,
	        .base64 = o->base64,
	        .fingerprint = o->print};
	snprintf(t->fingerprint, sizeof t->fingerprint, "%s", o->print);
	return FM_OK;
}

/* What libssh says about a known_hosts file. */
static enum fm_hostkey_verdict ask_library(struct fm_transport *t, const char *file)
{
	enum ssh_known_hosts_e said;

	if (ssh_options_set(t->s, SSH_OPTIONS_KNOWNHOSTS, file) != SSH_OK)
		return FM_HOSTKEY_IS_UNKNOWN;
	said = ssh_session_is_known_server(t->s);
	switch (said) {
	case SSH_KNOWN_HOSTS_OK:
		return FM_HOSTKEY_OK;
	case SSH_KNOWN_HOSTS_CHANGED:
		return FM_HOSTKEY_IS_CHANGED;
	case SSH_KNOWN_HOSTS_OTHER:
		return FM_HOSTKEY_IS_OTHER;
	default:
		return FM_HOSTKEY_IS_UNKNOWN;
	}
}

/* One known_hosts file decides, or the pin (NULL: none). */
static int judge(struct fm_transport *t, const char *file, const char *pin, struct offer *o)
{
	struct fm_buf text = FM_BUF_INIT(KNOWN_HOSTS_MAX);
	bool there = access(file, F_OK) == 0;
	char warn[400];
	int rc = there ? fm_fs_read(AT_FDCWD, file, KNOWN_HOSTS_MAX, &text) : FM_OK;

	if (rc == FM_OK)
		rc = fm_hostkey_decide(&o->key, pin, ask_library(t, file), file,
		        there ? &text : NULL, warn, sizeof warn);
	if (rc == FM_OK && warn[0] != '\0')
		fm_say("%s: warning: %s", t->system->name, warn);
	fm_buf_free(&text);
	return rc;
}

int fm_ssh_check_key(struct fm_transport *t, const struct fm_home *home)
{
	char *store = fm_ssh_known_hosts(home);
	struct offer o;
	int rc = read_offer(t, &o);

	t->pinned = t->system->hostkey != NULL;
	if (rc == FM_OK)
		rc = store == NULL ? FM_ERR_MEMORY : judge(t, store, t->system->hostkey, &o);
	offer_free(&o);
	free(store);
	return rc;
}

int fm_ssh_learn(const struct fm_system *system, const struct fm_home *home,
        const char *fingerprint, uint64_t deadline, char offered[64], bool *added)
{
	struct fm_transport *t = NULL;
	struct offer o = {0};
	char *store = fm_ssh_known_hosts(home);
	int rc = fm_ssh_new(&t, system, -1);
	bool vouched = false;

	*added = false;
	offered[0] = '\0';
	if (rc == FM_OK && store == NULL)
		rc = FM_ERR_MEMORY;
	if (rc == FM_OK)
		rc = fm_ssh_reach(t, home, deadline);
	if (rc == FM_OK)
		rc = read_offer(t, &o);
	if (rc != FM_OK)
		goto out;
	snprintf(offered, 64, "%s", o.print);
	rc = judge(t, store, system->hostkey, &o);
	if (rc == FM_OK || rc == FM_ERR_HOSTKEY_PIN || rc == FM_ERR_HOSTKEY_REVOKED)
		goto out;
	if (fingerprint != NULL) {
		vouched = strcmp(fingerprint, o.print) == 0;
		if (!vouched)
			rc = fm_fail(FM_ERR_HOSTKEY_PIN, "%s port %d offers host key %s, not %s",
			        o.key.host, o.key.port, o.print, fingerprint);
	}
	for (size_t i = 0; fingerprint == NULL && rc == FM_ERR_HOSTKEY_UNKNOWN && !vouched &&
	                   i < t->target.known_hosts_count;
	        i++) {
		int user = judge(t, t->target.known_hosts[i], NULL, &o);

		vouched = user == FM_OK;
		if (user == FM_ERR_HOSTKEY_REVOKED || user == FM_ERR_HOSTKEY_CHANGED)
			rc = user; /* the user's own file speaks against it */
	}
	if (vouched) {
		rc = fm_hostkey_add(home->dirfd, &o.key);
		*added = rc == FM_OK;
	} else if (rc == FM_ERR_HOSTKEY_UNKNOWN) {
		rc = judge(t, store, NULL, &o); /* its words again */
	}
out:
	offer_free(&o);
	free(store);
	fm_ssh_free(t);
	return rc;
}
