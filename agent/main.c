/* main.c: fleetmark-agent: attach (answers the controller on stdin and stdout) and job (the
 * detached part). */
#include "agent/agent.h"
#include "agent/attach.h"
#include "agent/fake.h"
#include "agent/job.h"
#include "agent/spawn.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int usage(void)
{
	fputs("usage: fleetmark-agent attach --workdir DIR --source HEX\n"
	      "       fleetmark-agent --version\n"
	      "Started by fleetmark over SSH; answers frames on stdin and stdout "
	      "(protocol/FORMATS.md, section 7).\n",
	        stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *workdir = NULL, *source = NULL, *campaign = NULL, *world = NULL;
	struct rlimit no_core = {0, 0};
	struct fm_agent agent;
	int rc, i;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("fleetmark-agent %s\n", FM_VERSION);
		return 0;
	}
	if (argc < 2 || (strcmp(argv[1], "attach") != 0 && strcmp(argv[1], "job") != 0))
		return usage();
	for (i = 2; i < argc; i++) {
		if (i + 1 < argc && strcmp(argv[i], "--workdir") == 0)
			workdir = argv[++i];
		else if (i + 1 < argc && strcmp(argv[i], "--source") == 0)
			source = argv[++i];
#ifdef FLEETMARK_TESTING
		else if (i + 1 < argc && strcmp(argv[i], "--world") == 0)
			world = argv[++i];
#endif
		else if (argv[1][0] == 'j' && campaign == NULL && argv[i][0] != '-')
			campaign = argv[i];
		else
			return usage();
	}
	umask(022);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	rc = fm_crypto_init();
	if (rc == FM_OK)
		rc = fm_child_init(argv[1][0] == 'j');
	if (rc == FM_OK)
		rc = fm_agent_open(&agent, workdir, source);
	if (rc != FM_OK) {
		fprintf(stderr, "fleetmark-agent: %s\n", fm_error_text());
		return fm_error_status(rc);
	}
	agent.world = world;
#ifdef FLEETMARK_TESTING
	if (world != NULL && (rc = fm_fake_use(world)) != FM_OK) {
		fprintf(stderr, "fleetmark-agent: %s\n", fm_error_text());
		return fm_error_status(rc);
	}
#endif
	if (argv[1][0] == 'a')
		rc = fm_attach_serve(&agent, 0, 1);
	else
		rc = campaign == NULL || !fm_name_ok(campaign) ? FM_ERR_USAGE
		                                               : fm_job_main(&agent, campaign);
	if (rc != FM_OK)
		fprintf(stderr, "fleetmark-agent: %s\n", fm_error_text());
	fm_agent_close(&agent);
	return fm_error_status(rc);
}
