/* agent_source.h: how many files the agent's own source has, for the host that unpacks it. */
#ifndef FM_AGENT_SOURCE_H
#define FM_AGENT_SOURCE_H

#include "orchestrator/session.h"

/* Lines of SOURCES.sha256. */
size_t fm_agent_source_count(const struct fm_agent_source *a);

#endif
