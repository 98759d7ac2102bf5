/* fuzz_page.c: any text from a host, put into a page as text, as code and into a table, gives HTML
 * with no tag but ours. */
#include "orchestrator/html.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

/* Tags of the body: what our own Markdown makes. */
static const char *const ours[] = {"<h1>", "</h1>", "<p>", "</p>", "<div ", "</div>", "<table>",
        "<table ", "</table>", "<thead>", "</thead>", "<tbody>", "</tbody>", "<tr>", "</tr>",
        "<th ", "</th>", "<td>", "<td ", "</td>", "<code>", "</code>", "</main>", "</body>",
        "</html>"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf html = FM_BUF_INIT(1u << 22);
	struct fm_page p;
	char *text;

	if (size > 5000 || memchr(data, 0, size) != NULL ||
	        (text = strndup((const char *)data, size)) == NULL)
		return 0;
	fm_page_start(&p);
	fm_page(&p, "# T\n\nx ");
	fm_page_text(&p, text);
	fm_page(&p, "\n\n| a | b |\n|---|---|\n");
	fm_page_row(&p);
	fm_page_cell_text(&p, text);
	fm_page_cell_code(&p, text);
	fm_page_row_end(&p);
	must(fm_page_end(&p) == FM_OK);
	must(fm_html(&p, text, false, &html) == FM_OK);
	for (const char *s = strstr(html.data, "<main>") + 6; (s = strchr(s, '<')) != NULL; s++) {
		bool known = false;
		for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
			known = known || strncmp(s, ours[i], strlen(ours[i])) == 0;
		must(known);
	}
	fm_page_free(&p);
	fm_buf_free(&html);
	free(text);
	return 0;
}
