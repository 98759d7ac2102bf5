/* out_json.c: one event as a line of NDJSON. */
#include "orchestrator/out_parts.h"
#include "protocol/path.h"
#include <stdio.h>
#include <string.h>

static int put_text(struct fm_buf *b, const char *key, const char *text)
{
	char line[FM_OUT_TEXT], quoted[2 * FM_OUT_TEXT], *to = quoted;

	if (text == NULL)
		return FM_OK;
	for (const char *p = fm_out_clean(text, line); *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			*to++ = '\\';
		*to++ = *p;
	}
	*to = '\0';
	return fm_buf_printf(b, ", \"%s\": \"%s\"", key, quoted);
}

static int put_number(struct fm_buf *b, const char *key, uint64_t value)
{
	const char *quote = value <= 9007199254740991ULL ? "" : "\"";

	return fm_buf_printf(b, ", \"%s\": %s%llu%s", key, quote, (unsigned long long)value, quote);
}

static int begin(struct fm_buf *b, uint64_t seq, const char *time)
{
	char stamp[21];
	int rc;

	fm_stamp_now(stamp);
	rc = fm_buf_printf(b, "{\"seq\": %llu, \"t\": \"%s\"", (unsigned long long)seq,
	        time == NULL ? stamp : time);
	return rc == FM_OK ? put_number(b, "mono_ns", fm_out_now()) : rc;
}

int fm_out_json(struct fm_buf *b, const struct fm_event *e, uint64_t seq)
{
	const struct {
		const char *key, *text;
	} texts[] = {{"event", e->event}, {"system", e->system}, {"stage", e->stage},
	        {"candidate", e->candidate}, {"cell", e->cell}, {"where", e->where},
	        {"class", e->klass}, {"reason", e->reason}, {"text", e->text}, {"state", e->state},
	        {"fingerprint", e->fingerprint}, {"key", e->key}, {"after", e->after},
	        {"before", e->before}};
	int rc = begin(b, seq, e->time);

	for (size_t i = 0; rc == FM_OK && i < sizeof texts / sizeof texts[0]; i++)
		rc = put_text(b, texts[i].key, texts[i].text);
	if (rc == FM_OK && e->total > 0)
		rc = put_number(b, "done", e->done);
	if (rc == FM_OK && e->total > 0)
		rc = put_number(b, "total", e->total);
	if (rc == FM_OK && e->has_eta)
		rc = put_number(b, "eta_s", e->eta_s);
	return rc == FM_OK ? fm_buf_put(b, "}\n", 2) : rc;
}

void fm_out_put_json(const struct fm_event *e)
{
	struct fm_buf b = FM_BUF_INIT(32u * FM_OUT_TEXT);

	if (fm_out_json(&b, e, ++fm_out.seq) == FM_OK) {
		(void)!fwrite(b.data, 1, b.len, stdout);
		fflush(stdout);
	}
	fm_buf_free(&b);
}

/* An object printed over several lines, without its outer braces, on one. */
static void json_members(const char *object)
{
	size_t end = strlen(object);

	while (end > 0 && object[end - 1] == '\n')
		end--;
	end -= end > 0; /* the outer brace */
	while (end > 0 && object[end - 1] == '\n')
		end--;
	for (size_t i = strspn(object, "{\n "); i < end; i++) {
		if (object[i] != '\n') {
			putchar(object[i]);
			continue;
		}
		i += strspn(object + i + 1, " ");
		if (i > 0 && i + 1 < end && object[i + 1] != ']' && object[i + 1] != '}')
			putchar(' ');
	}
}

void fm_out_object(const char *event, const char *object)
{
	struct fm_buf b = FM_BUF_INIT(32u * FM_OUT_TEXT);

	pthread_mutex_lock(&fm_out.lock);
	if (fm_out.json && begin(&b, ++fm_out.seq, NULL) == FM_OK &&
	        put_text(&b, "event", event) == FM_OK) {
		(void)!fwrite(b.data, 1, b.len, stdout);
		printf(", ");
		json_members(object);
		printf("}\n");
		fflush(stdout);
	}
	pthread_mutex_unlock(&fm_out.lock);
	fm_buf_free(&b);
}
