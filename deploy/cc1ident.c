/* cc1ident.c: stands in front of a compiler proper (cc1, lto1) of a lab host and gives its output
 * the name of another build.
 *
 * The lab compiles for an emulated host with this machine's cross compiler, whose package may be
 * another build of the same source: the code is equal, the line `.ident "GCC: (...)"` is not, and
 * with it the library's digest differs from what the host's own compiler makes. So this runs
 * SELF.cross with the same arguments and replaces that line in the assembler text. SELF.ident holds
 * two lines: the name to be replaced and the one to be written. Anything else passes unchanged.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAIL = 4096, NAME = 512 };

static void fatal(const char *what)
{
	fprintf(stderr, "cc1ident: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The two lines `.ident "NAME"` out of SELF.ident. */
static void read_names(const char *self, char from[NAME], char to[NAME])
{
	char path[PATH_MAX + 16], line[256];
	char *names[2] = {from, to};

	snprintf(path, sizeof path, "%s.ident", self);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		fatal(path);
	for (int i = 0; i < 2; i++) {
		if (fgets(line, sizeof line, f) == NULL)
			fatal(path);
		line[strcspn(line, "\n")] = '\0';
		snprintf(names[i], NAME, "\t.ident\t\"%s\"\n", line);
	}
	fclose(f);
}

/* Copies in to out; the line from becomes to. For -pipe, where the text never is a file. */
static void filter(FILE *in, FILE *out, const char *from, const char *to)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, in)) > 0)
		if (strcmp(line, from) == 0)
			fputs(to, out);
		else
			fwrite(line, 1, (size_t)n, out);
	free(line);
	if (fflush(out) != 0)
		fatal("output");
}

/* The compiler writes the line last but for some directives: only the end of the file is looked at.
 */
static void rewrite_tail(const char *path, const char *from, const char *to)
{
	char tail[TAIL + 1];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (size <= 0) { /* -fsyntax-only and the like write nothing */
		if (fd >= 0)
			close(fd);
		return;
	}
	off_t start = size > TAIL ? size - TAIL : 0;
	ssize_t n = pread(fd, tail, TAIL, start);
	if (n < 0)
		fatal(path);
	tail[n] = '\0';
	char *at = strlen(tail) == (size_t)n ? strstr(tail, from) : NULL;
	if (at != NULL) {
		off_t pos = start + (at - tail);
		size_t rest = strlen(at + strlen(from));
		if (pwrite(fd, to, strlen(to), pos) < 0 ||
		        pwrite(fd, at + strlen(from), rest, pos + (off_t)strlen(to)) < 0 ||
		        ftruncate(fd, pos + (off_t)(strlen(to) + rest)) != 0)
			fatal(path);
	}
	close(fd);
}

static int finish(int status)
{
	if (WIFSIGNALED(status)) { /* the driver says which signal it was */
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], real[PATH_MAX + 16], from[NAME], to[NAME];
	const char *output = NULL;
	int out[2] = {-1, -1}, status = 0;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		fatal("/proc/self/exe");
	self[n] = '\0';
	snprintf(real, sizeof real, "%s.cross", self);
	read_names(self, from, to);
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "-o") == 0)
			output = argv[i + 1];
	int piped = output == NULL || strcmp(output, "-") == 0;

	if (piped && pipe(out) != 0)
		fatal("pipe");
	pid_t pid = fork();
	if (pid < 0)
		fatal("fork");
	if (pid == 0) {
		if (piped) {
			dup2(out[1], STDOUT_FILENO);
			close(out[0]);
			close(out[1]);
		}
		execv(real, argv);
		fatal(real);
	}
	if (piped) {
		close(out[1]);
		FILE *in = fdopen(out[0], "r");
		if (in == NULL)
			fatal("fdopen");
		filter(in, stdout, from, to);
		fclose(in);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fatal("waitpid");
	if (!piped && status == 0)
		rewrite_tail(output, from, to);
	return finish(status);
}
