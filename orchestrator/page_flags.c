/* page_flags.c: below the figures of a page: what the flags and reasons that stand on it mean. */
#include "orchestrator/report_parts.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word, *meaning;
} words[] = {
        {"outlier", "so many of the processes lie more than a factor of 1.1 above or below the "
                    "median, which is printed bold"},
        {"far", "so many of the processes lie outside three times the interquartile range, and "
                "more than 1 % off the median"},
        {"mean \xe2\x89\xa0 median", "they differ by more than 0.5 %"},
        {"bimodal", "the processes fall into two groups with a gap between them"},
        {"drift", "later processes are slower, or faster, than earlier ones"},
        {"disturbed", "more than a fifth of the processes carry a mark of the machine; not ranked"},
        {"partial", "the time allowed for the cell ended first; not ranked"},
        {"few_calls", "fewer than 100 timed calls"},
        {"emulated", "run by an emulator: the times say nothing of a real machine"},
        {"not validated", "there was no known answer to compare the library with"},
        {"slope_differs", "a window of twice as many calls did not take twice as long within 1 %"},
        {"unsettled", "calls before the timing were still changing when it began"},
        {"frame_spread", "the cost of calling an empty function differed between the processes by "
                         "more than 2 counts"},
        {"overhead_dominated", "calling and reading the counter make 5 % or more of the figure"},
        {"preempted", "the scheduler took the core away, or let the process wait over 0.1 % of "
                      "the time"},
        {"blocked", "the process waited or was stopped"},
        {"quota", "the process group used up its share of the CPU"},
        {"steal", "the hypervisor ran something else"},
        {"thermal", "the processor was throttled by heat"},
        {"majfault", "a page was read from disk"},
        {"shared_core", "another program ran on the other thread of the same core: it did less at "
                        "once than it can"},
        {"kernel_share", "less than 99.5 % of the time was spent in the candidate"},
        {"clock_off", "the clock of the core differed from the one measured before"},
};

/* Is word among the flags, which are joined by "; " and may have a number behind? */
static bool has(const char *flags, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = flags; at != NULL; at = strstr(at, "; ")) {
		at += strncmp(at, "; ", 2) == 0 ? 2 : 0;
		if (strncmp(at, word, n) == 0 && strchr("; ", at[n]) != NULL)
			return true;
	}
	return false;
}

static void look(const char *flags, bool *met)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		met[i] = met[i] || has(flags, words[i].word);
}

void fm_page_flags(struct fm_page *p, const struct fm_cells *cells)
{
	static const char *const heads[] = {"flag or reason", "it says"};
	bool met[sizeof words / sizeof *words] = {false}, begun = false;

	for (size_t i = 0; i < cells->count; i++) {
		const struct fm_cell_fig *c = &cells->list[i];
		char *flags = c->state == FM_CELL_MEASURED ? fm_cell_flags(c) : NULL;

		if (flags != NULL)
			look(flags, met);
		free(flags);
		for (size_t k = 0; k < c->rejected_count; k++)
			look(fm_reason_name[c->rejected[k].reason], met);
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!met[i])
			continue;
		if (!begun)
			fm_page_table(p, heads, 2);
		begun = true;
		fm_page(p, "| %s | %s |\n", words[i].word, words[i].meaning);
	}
	if (begun)
		fm_page(p, "\n");
}
