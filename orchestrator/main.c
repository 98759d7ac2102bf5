/* main.c: the program is this table: a command, what it takes, the function that does it. */
#include "orchestrator/options.h"
#include "orchestrator/out.h"
#include "protocol/digest.h"
#include <string.h>

const struct fm_command fm_commands[] = {
        {"try", "[USER@HOST]", "first contact: measures this machine, or one SSH host",
                "Makes what is needed (key, enrolment), runs the smoke profile over every bundled "
                "candidate, and says what\n"
                "it made and where the pages are. The result is not for publication. An SSH host "
                "must be known: its key in\n"
                "your known_hosts, or given with --fingerprint.",
                "results root kat fingerprint yes", true, fm_cmd_try},
        {"check", "", "reaches every system, names what is missing or unfit",
                "Connects to every chosen system and shows how: address, key, host key, tools, "
                "counters, and what could\n"
                "disturb a measurement. Exit status 0 if all can measure; with --strict only if "
                "nothing at all is marked.\n"
                "--reach stops behind the facts: it costs a host next to nothing and answers while a job runs there too.",
                "strict reach root", true, fm_cmd_check},
        {"run", "[NAME]", "the whole campaign; an unfinished one of that name is resumed",
                "Plans, pushes, builds, checks the known answers, measures, collects, verifies, "
                "merges and reports. Whatever\n"
                "is finished is kept; run it again after any failure or Ctrl-C and it goes on. A "
                "finished campaign of that\n"
                "name gives NAME.2, NAME.3 and so on. NAME defaults to the inventory's stem and "
                "the profile.",
                "campaign versions kat results root base notify", true, fm_cmd_run},
        {"status", "[NAME]", "what a campaign has done and what is left",
                "Reads the campaign's journal on this machine; contacts nobody.",
                "campaign results root", true, fm_cmd_status},
        {"watch", "[NAME]", "shows a running campaign from another terminal",
                "Shows what run shows: the table on a terminal, lines elsewhere, NDJSON with "
                "--json. Reads what the running\n"
                "controller writes below results/; contacts nobody and ends with the run or with "
                "Ctrl-C, which stops only\n"
                "watch. From another machine: ssh -t CONTROLLER fleetmark watch NAME.",
                "campaign results root", true, fm_cmd_watch},
        {"cancel", "[NAME]", "ends a campaign's work on every host",
                "Tells every host of the campaign to stop; what was measured stays there, and run "
                "goes on from it.",
                "campaign results root", true, fm_cmd_cancel},
        {"verify", "TREE", "checks a tree of results, offline",
                "Checks every signature, digest and statement of the tree, then computes the "
                "derived data and pages again.\n"
                "The controller's public line must come from elsewhere than the tree (--key). Exit "
                "status 4 if anything fails.",
                "key trust base root", true, fm_cmd_verify},
        {"compare", "TREE [TREE]", "campaigns, systems or versions against each other",
                "Two trees: cells of the same system, candidate, instance and size (with one system "
                "on each side: these two). One\n"
                "tree: its systems against the first, or --base SYSTEM; with --base reference its "
                "versions against that one. A data\n"
                "set in the published form is taken in place of a tree. Figures come from the raw "
                "samples; ratios are B / A, and\n"
                "their intervals hold together with 95 % however many rows there are. Exit status "
                "0: no difference shown; 1: a\n"
                "difference shown; 2: wrong usage, or counts with unlike labels, which are never "
                "joined; 3: no interval to decide\n"
                "by; 4: a seal does not verify (--key FILE has the seals checked first).",
                "base key", true, fm_cmd_compare},
        {"plan", "[NAME]", "previews a campaign: hosts, cells, bytes, time",
                "Reads inventory, candidates and flags, and shows what run would do and where its "
                "estimate of time comes from.\n"
                "Contacts nobody, writes and seals nothing; equal input gives equal bytes.",
                "campaign versions kat results root", false, fm_cmd_plan},
        {"keygen", "", "makes the controller's key",
                "Makes $FLEETMARK_HOME (default ~/.config/fleetmark) with the key that seals "
                "plans, trust and trees, and shows\n"
                "its public line and fingerprint; shows them again when the key is there. Keep a "
                "copy of the key offline.",
                "", false, fm_cmd_keygen},
        {"enrol", "SYSTEM...", "lets a system's own key sign its results",
                "Connects, has the agent make its key on the host, checks its signed answer to a "
                "challenge, shows the\n"
                "fingerprint and asks. The host from then on obeys only this controller. --yes is "
                "enough where the SSH host\n"
                "key is pinned; --fingerprint pins it.",
                "fingerprint yes lost root", false, fm_cmd_enrol},
        {"trust", "ACTION [SYSTEM]", "lists, changes or ends the keys that may sign results",
                "list: every key, from when to when it counts. rotate SYSTEM: the host makes a new "
                "key, which the old one signs; what\n"
                "the old one signed stays good. rotate controller: the controller itself gets a "
                "new key, which the old one names.\n"
                "revoke SYSTEM with --retired (its last key counts "
                "until now), --stolen-since STAMP\n"
                "(until then) or --stolen (nothing it ever signed counts); --fingerprint names an "
                "earlier key. Where the old key is\n"
                "lost: fleetmark enrol --lost SYSTEM.",
                "fingerprint yes retired stolen stolen-since results root", false, fm_cmd_trust},
        {"fetch", "ID...", "gets official packages and unpacks the sources their recipes name",
                "ID is a candidate of origin = archive, or the one beside it: hash-09 means "
                "hash-09-archive. Downloads over https\n"
                "(proxy as in https_proxy; CURL_CA_BUNDLE for another file of certificates), goes "
                "on where it broke off, and\n"
                "keeps the package only if its SHA-256 is the recipe's; --archive takes a file at "
                "hand instead. Only sources and\n"
                "headers are unpacked and nothing in a package is ever run. Packages and sources "
                "are kept in $FLEETMARK_HOME/cache,\n"
                "else $XDG_CACHE_HOME/fleetmark, else ~/.cache/fleetmark. Then: fleetmark run -c "
                "hash-09-archive",
                "archive root", false, fm_cmd_fetch},
        {"adopt", "PACKAGE", "looks into a package never seen before and proposes a recipe",
                "Lists instances, API headers, KAT files, licences and what will be ignored; "
                "computes kat.sha256 from the KAT files;\n"
                "writes candidate.ini, kat.sha256 and what it could not decide to ./adopt-<name>/ "
                "(-o: elsewhere) for you to read\n"
                "and commit. Nothing in the package is run.",
                "output", false, fm_cmd_adopt},
        {"report", "[TREE]", "writes the pages of a tree, or of a published data set, again",
                "From a sealed tree the same bytes come out again; --check only compares. --data "
                "reads a data set in the\n"
                "published form instead.",
                "data layout output root base check", false, fm_cmd_report},
        {"publish", "TREE URL", "sends a sealed tree to a web server and reads it back",
                "TREE is verified first; incoming/ and rejected/ stay here. Files go to "
                "https://HOST/FOLDER by PUT (folders by MKCOL, as\n"
                "WebDAV wants it), the seal last; what is there with the same bytes is not sent "
                "again, so after any failure run it\n"
                "again. User and password: --netrc FILE with a line `machine HOST login USER "
                "password WORD`, mode 0600; in the URL\n"
                "they would be visible to other users. Proxy as in https_proxy; CURL_CA_BUNDLE for "
                "another file of certificates.",
                "key netrc yes", false, fm_cmd_publish},
        {"redo", "STAGE [NAME]", "does a stage of a campaign again",
                "STAGE is build, kat, measure, collect, verify, merge or report; what comes behind "
                "it follows. Choose with -l and -c.",
                "campaign results root base", false, fm_cmd_redo},
        {"list", "", "every campaign, how far it is and who works on it",
                "Lists the campaigns below results/: profile, time of planning, systems, bundles, "
                "state. Contacts nobody.",
                "results", false, fm_cmd_list},
        {"tune", "", "makes hosts quieter for measuring, or puts back what they had",
                "Lists the settings of each chosen host that disturb measuring (governor, range of "
                "frequencies, turbo, the sibling\n"
                "of the measured core, access to counters), asks, and changes them with the rights "
                "the login has or sudo -n gives;\n"
                "otherwise it prints the commands. Old values are kept on the host before the first "
                "write; --restore puts them\n"
                "back, also after a crash. After a reboot the kernel has its own values again: they "
                "are reported, nothing is written.\n"
                "Exit status 1 if a setting was refused, kept by the kernel or changed by others.",
                "restore yes root", false, fm_cmd_tune},
        {"remove", "SYSTEM...", "takes everything of ours off a host",
                "Deletes agent, sources, jobs and the host's own key below its work folder; a "
                "running job must be cancelled first.\n"
                "Bundles that were not collected are lost, those in results/ stay good. To "
                "measure there again, enrol it again\n"
                "(fleetmark enrol --lost SYSTEM). Asks, unless --yes.",
                "yes root", false, fm_cmd_remove},
        {NULL, NULL, NULL, NULL, NULL, false, NULL},
};

static int run(int argc, char **argv, int *status)
{
	struct fm_command_line line;
	int rc;

	if (argc > 1 && strcmp(argv[1], "help") == 0) {
		const struct fm_command *c =
		        argc > 2 ? fm_command_find(fm_commands, argv[2]) : NULL;

		if (argc == 3 && fm_help_file(fm_commands, argv[2]))
			return FM_OK;
		if (argc > 3 || (argc == 3 && c == NULL))
			return fm_fail(FM_ERR_USAGE,
			        "help: unknown command '%.40s'; fleetmark help lists them",
			        argv[argc - 1]);
		if (c != NULL)
			fm_help_command(c);
		else
			fm_help_all(fm_commands);
		return FM_OK;
	}
	if ((rc = fm_options_parse(argc, argv, fm_commands, &line)) != FM_OK)
		return rc;
	fm_out_init(&line.options);
	if (line.version) {
		fm_result("fleetmark %s (%s; built with %s)", FM_VERSION, fm_crypto_version(),
		        FM_BUILT_WITH);
		return FM_OK;
	}
	if (line.help && line.command != NULL) {
		fm_help_command(line.command);
		return FM_OK;
	}
	if (line.command == NULL) {
		fm_help_all(fm_commands);
		*status = line.help ? 0 : 2;
		return FM_OK;
	}
	if ((rc = fm_options_finish(&line.options)) != FM_OK)
		return rc;
	return line.command->run(&line.options, status);
}

int main(int argc, char **argv)
{
	struct fm_options early = {.json = false};
	int status = 0, rc;

	/* Wrong usage is told in the form that was asked for, too. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		early.json |= strcmp(argv[i], "--json") == 0;
	fm_out_init(&early);
	rc = fm_crypto_init();
	if (rc == FM_OK)
		rc = run(argc, argv, &status);
	fm_out_progress_end();
	if (rc == FM_OK || rc == FM_REPORTED)
		return status;
	fm_out_error(rc, NULL, NULL, NULL);
	return fm_error_status(rc);
}
