/* notify.c: composes the message of a notification. */
#include "orchestrator/notify.h"
#include "orchestrator/https.h"
#include "orchestrator/out.h"
#include "protocol/path.h"
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX 8192

int fm_notify_check(const struct fm_options *o)
{
	return o->notify == NULL ? FM_OK : fm_https_post_check(o->notify);
}

static int put(struct fm_buf *b, const char *key, const char *text)
{
	char shown[1200], quoted[2400], *to = quoted;

	if (text == NULL)
		return FM_OK;
	fm_escape(text, strlen(text), shown, sizeof shown);
	for (const char *p = shown; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			*to++ = '\\';
		*to++ = *p;
	}
	*to = '\0';
	return fm_buf_printf(b, "%s\"%s\": \"%s\"", b->len > 1 ? ", " : "", key, quoted);
}

void fm_notify(const struct fm_campaign *c, const char *event, const char *system,
        const char *klass, const char *text, int status)
{
	struct fm_buf b = FM_BUF_INIT(MESSAGE_MAX);
	char now[21];
	int rc;

	if (c->options->notify == NULL)
		return;
	fm_stamp_now(now);
	rc = fm_buf_printf(&b, "{");
	if (rc == FM_OK)
		rc = put(&b, "event", event);
	if (rc == FM_OK)
		rc = put(&b, "campaign", c->name);
	if (rc == FM_OK)
		rc = put(&b, "system", system);
	if (rc == FM_OK)
		rc = put(&b, "class", klass);
	if (rc == FM_OK)
		rc = put(&b, "text", text);
	if (rc == FM_OK && status >= 0)
		rc = fm_buf_printf(&b, ", \"status\": %d", status);
	if (rc == FM_OK)
		rc = put(&b, "time", now);
	if (rc == FM_OK)
		rc = fm_buf_printf(&b, "}\n");
	if (rc == FM_OK)
		rc = fm_https_post(c->options->notify, b.data);
	if (rc != FM_OK)
		fm_say("the notification was not delivered: %s", fm_error_text());
	fm_buf_free(&b);
}
