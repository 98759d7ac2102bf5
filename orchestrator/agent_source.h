/* agent_source.h: the agent's own source as it is pushed to hosts: which files, their digest, the
 * tar stream of them. */
#ifndef FM_AGENT_SOURCE_H
#define FM_AGENT_SOURCE_H

#include "orchestrator/session.h"

#define FM_AGENT_TAR_MAX (64u << 20)

/* The stream the bootstrap unpacks (FORMATS.md section 7): SOURCES.sha256 and the files it names.
 * out: FM_BUF_INIT(FM_AGENT_TAR_MAX). */
FM_CHECK int fm_agent_source_tar(const struct fm_agent_source *a, struct fm_buf *out);

/* Lines of SOURCES.sha256. */
size_t fm_agent_source_count(const struct fm_agent_source *a);

#endif
