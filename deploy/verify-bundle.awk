# verify-bundle.awk - the content of one bundle against the plan and tree.json: cells, builds, known answers, samples.
#
#   awk -v host=SYSTEM -v candidate=C -v dir=FOLDER -v ev=LINES -v cells=LINES -v kat=LINES -v files=LINES -v messages=LINES \
#       -f verify-bundle.awk
#
# ev: what verify-forms.jq printed of its evidence.json; cells: "name status class reason" of its cells in tree.json; kat: the
# plan's lines of the candidate; files: "size path" of the bundle; messages: "bytes sha256" of the prescribed messages. Prints
# "ok<TAB>measured cells" if all holds, else one line "where<TAB>what" for the first thing that does not. Any POSIX awk; LC_ALL=C.

function bad(where, what) { print "bundles/" host "/" candidate "/" where "\t" what; exit }
function wrong(n, what) { bad("evidence.json", ci[n] "/" cv[n] "/" co[n] ": " what) }
function word(s, form) { return length(s) < 24 && s ~ form }

function read_lists(   line, f, n) {
    while ((getline line < ev) > 0) {
        n = split(line, f, "\t")
        if (f[1] == "label") label = f[2]
        else if (f[1] == "cell") { ci[++nc] = f[2]; cv[nc] = f[3]; co[nc] = f[4]; cs[nc] = f[5]; cc[nc] = f[6]; cr[nc] = f[7] }
        else if (f[1] == "build") { bu[++nb] = f[2] "/" f[3]; bs[nb] = f[4]; bl[nb] = f[5]; bf[nb] = f[6] }
        else if (f[1] == "kat") { ku[++nk] = f[2] "/" f[3]; ki[nk] = f[2]; ks[nk] = f[4]; kf[nk] = f[5] }
        else if (f[1] == "memory") memory[++ny] = f[2] "/" f[3] "/hash_" f[4]
        else if (f[1] == "measured") {
            mn[++nm] = f[2] "/" f[3] "/" f[4]; mb[nm] = f[5]; ml[nm] = f[6]; mm[nm] = f[7]; ma[nm] = f[8]; mr[nm] = f[9]
            mi[nm] = f[10]; mc[nm] = f[11]
        }
    }
    while ((getline line < cells) > 0) { split(line, f, "\t"); tn[++nt] = f[1]; ts[nt] = f[2]; tc[nt] = f[3]; tr[nt] = f[4] }
    while ((getline line < files) > 0) { n = index(line, " "); fn[++nf] = substr(line, n + 1); size[fn[nf]] = substr(line, 1, n - 1) + 0 }
    while ((getline line < messages) > 0) { split(line, f, " "); message[f[1]] = f[2] }
    while ((getline line < kat) > 0) {           # <hex> <mode> <candidate>/<instance>/<file>
        split(line, f, " "); split(f[3], n_, "/")
        want[n_[2]] = want[n_[2]] "manifest " f[1] " " f[2] " " n_[3] "\n"
    }
}

# V13, and V15 but for the logs: one walk over all lists, which are in the order of the cells
function enter_unit(n, u) {
    if (b > 0 && bu[b] == u) return
    stem = ci[n] "__" cv[n]
    if (bu[++b] != u || bf[b] != "build/" stem ".log") wrong(n, "builds[" b - 1 "] is not the one of this cell, with its log")
    if ((bs[b] == "ok") != (bl[b] != "-")) wrong(n, "a good build has a library, every other has none")
    good = bs[b] == "ok"
    if (good && (ku[++k] != u || kf[k] != "kat/" stem ".log")) wrong(n, "kat[" k - 1 "] is not the one of this build, with its log")
    known[bf[b]] = known_unit = u
    if (good) known[kf[k]] = u
}
function check_cells(   n, name, u, status) {
    for (n = 1; n <= nt; n++) {
        if (n > nc) bad("evidence.json", "planned cell " tn[n] " is missing")
        u = ci[n] "/" cv[n]; name = u "/" co[n]
        if (host "/" candidate "/" name != tn[n]) bad("evidence.json", "cell " name " where " tn[n] " was planned")
        if (cs[n] == "measured" ? cc[n] != "-" || cr[n] != "-" : !word(cc[n], "^[a-z-]+$") || !word(cr[n], "^[a-z0-9_]+$"))
            wrong(n, "a measured cell has no class and reason, every other has one word each")
        enter_unit(n, u)
        status = cs[n]
        if (status == "measured") {
            status = "accepted"
            if (memory[y + 1] == name) y++
            if (mn[++m] != name) wrong(n, "measured, but measure.cells[" m - 1 "] is not its entry")
            if (co[n] != "hash_" mb[m]) wrong(n, "bytes is " mb[m])
            if (!good || (ks[k] != "PASS" && ks[k] != "NOKAT")) wrong(n, "timed although the known answers say " (good ? ks[k] : "nothing"))
            if (bl[b] != ml[m]) wrong(n, "timed another library than the one that was built and checked")
            entry[n] = m
        }
        if (ts[n] != status || tc[n] != cc[n] || tr[n] != cr[n]) {
            print "tree.json\t" tn[n] " is " ts[n] "/" tc[n] "/" tr[n] ", its bundle says " cs[n] "/" cc[n] "/" cr[n]
            exit
        }
    }
    if (nc > nt) bad("evidence.json", nc " cells, planned were " nt)
    if (b != nb || k != nk || m != nm || y != ny) bad("evidence.json", "an entry of builds, kat, measure.cells or measure.memory is of no cell")
}

# V15: the planned lines of the instance, word for word
function check_logs(   j, line, last, bytes, lines, n, w, have) {
    for (j = 1; j <= nk; j++) {
        if (!(kf[j] in size) || size[kf[j]] > 4194304) bad(kf[j], "missing or too large")
        split("", have); bytes = lines = 0; last = ""
        while ((getline line < (dir "/" kf[j])) > 0) { have[line] = 1; bytes += length(line) + 1; lines++; last = line }
        close(dir "/" kf[j])
        if (bytes != size[kf[j]]) bad(kf[j], "holds a NUL byte, or its last line does not end")
        if (lines < 2 || last != "RESULT " candidate " " ki[j] " " ks[j] " ") bad(kf[j], "its last line is not the RESULT " ks[j] " of evidence.json")
        if (ks[j] == "PASS" && want[ki[j]] == "") bad(kf[j], "PASS without a planned reference")
        if (ks[j] == "NOKAT" && want[ki[j]] != "") bad(kf[j], "NOKAT although the plan has references")
        n = ks[j] == "PASS" ? split(want[ki[j]], w, "\n") - 1 : 0
        for (; n > 0; n--) if (!(w[n] in have)) bad(kf[j], "no line '" w[n] "'")
    }
}

# V14: every name is explained, and what every bundle has is there
function check_names(   n, j, p, columns) {
    split("evidence.json build/SOURCES.sha256 build/commands.txt env/host.txt", p, " ")
    for (j = 1; j <= 4; j++) { known[p[j]] = "plain"; if (!(p[j] in size)) bad(p[j], "missing") }
    for (j = 1; j <= nb; j++) if (!(bf[j] in size)) bad(bf[j], "missing")
    split("process calls ns core_cycles ref_ticks events", columns, " ")
    for (n = 1; n <= nc; n++) {
        stem = ci[n] "__" cv[n] "__" co[n]
        known["env/" stem ".process.tsv"] = owner["env/" stem ".process.tsv"] = n
        for (j = 1; j <= 6; j++) { p[1] = "samples/" stem "." columns[j] ".txt"; known[p[1]] = n; owner[p[1]] = n }
    }
    for (n = 1; n <= nf; n++) {
        if (!(fn[n] in known)) bad(fn[n], "belongs to no cell or build of this bundle")
        if (fn[n] in owner) has_files[owner[fn[n]]] = 1
    }
}

# decimal integers without sign or leading zero; limit: the largest, of the length given
function above(v, limit) { return length(v) > length(limit) || (length(v) == length(limit) && (v "") > (limit "")) }
function decimal(v) { return v == "0" || v ~ /^[1-9][0-9]*$/ }
function ended(f, bytes) { close(dir "/" f); if (bytes != size[f]) bad(f, "holds a NUL byte, or its last line does not end") }

# env/<stem>.process.tsv: pid, state, windows of np processes, count of each state
function read_table(f,   line, n, j, c, bytes) {
    if (!(f in size)) bad(f, "missing")
    np = bytes = 0; split("", count)
    for (n = 1; (getline line < (dir "/" f)) > 0; n++) {
        bytes += length(line) + 1
        if (n == 1) { if (line != header) bad(f, "line 1: not the header of FORMATS.md section 11"); continue }
        if (split(line, c, "\t") != 36) bad(f, "line " n ": must have 36 tab-separated columns")
        for (j = 1; j <= 36; j++)
            if (c[j] != "-1" && (!decimal(c[j]) || above(c[j], "9223372036854775807"))) bad(f, "line " n ": must be a decimal integer, or -1 for unknown")
        if (c[1] == "-1" || (np > 0 && !above(c[1], pid[np]))) bad(f, "line " n ": process numbers must rise")
        if (c[4] !~ /^[0-3]$/) bad(f, "line " n ": state outside 0 to 3")
        if (!(c[6] >= 0 && c[6] <= 18)) bad(f, "line " n ": reason outside 0 to 18")
        pid[++np] = c[1]; state[np] = c[4]; windows[np] = c[10]; count[c[4]]++
        if (np > 10000) bad(f, "more than 10000 processes")
    }
    ended(f, bytes)
    if (n == 1) bad(f, "empty")
}
# one column; kind "process": who the windows belong to; else sums of every process in sum[]. Returns the number of lines.
function read_column(f, kind,   v, n, j, c, bytes) {
    if (!(f in size)) bad(f, "missing")
    for (j = 1; j <= np; j++) sum[j] = 0
    j = 1; c = n = bytes = 0
    while ((getline v < (dir "/" f)) > 0) {
        n++; bytes += length(v) + 1
        if (!decimal(v) || above(v, "18446744073709551615")) bad(f, "line " n ": must be one decimal integer below 2^64")
        if (n > 4000000) bad(f, "more than 4000000 lines")
        if (kind == "process")
            while (j <= np && v != pid[j]) { if (c != windows[j]) bad(f, "process " pid[j] " has " c " windows together, its list says " windows[j]); j++; c = 0 }
        else
            while (j <= np && c == windows[j]) { j++; c = 0 }
        if (j > np) bad(f, kind == "process" ? "line " n ": process " v " is not in its list, or out of order" : "line " n ": one more than samples of processes")
        c++; sum[j] += v
    }
    ended(f, bytes)
    if (kind == "process")
        for (; j <= np; j++) { if (c != windows[j]) bad(f, "process " pid[j] " has " c " windows together, its list says " windows[j]); c = 0 }
    return n
}
function positive(f,   j) {
    for (j = 1; j <= np; j++) {
        if (sum[j] >= 9223372036854775807) bad(f, "sums leave 63 bits")
        if (state[j] == 0 && sum[j] == 0) bad(f, "process " pid[j] " is accepted without calls, time or count")
    }
}
function check_cell(n,   s, rows, calls, j, e) {
    s = "samples/" ci[n] "__" cv[n] "__" co[n]
    read_table("env/" ci[n] "__" cv[n] "__" co[n] ".process.tsv")
    rows = read_column(s ".process.txt", "process")
    if (read_column(s ".calls.txt", "") != rows) bad(s ".calls.txt", "another number of lines than .process.txt")
    positive(s ".calls.txt")
    calls = 0
    for (j = 1; j <= np; j++) if (state[j] == 0) calls += sum[j]
    if (read_column(s ".ns.txt", "") != rows) bad(s ".ns.txt", "another number of lines than .process.txt")
    positive(s ".ns.txt")
    if (read_column(s ".events.txt", "") != rows) bad(s ".events.txt", "another number of lines than .process.txt")
    if (label != "core_cycles" && (s ".core_cycles.txt") in size) bad(s ".core_cycles.txt", "the counter's label is " label)
    if (label != "ref_ticks" && (s ".ref_ticks.txt") in size) bad(s ".ref_ticks.txt", "the counter's label is " label)
    if (label != "ns") {
        if (read_column(s "." label ".txt", "") != rows) bad(s "." label ".txt", "another number of lines than .process.txt")
        positive(s "." label ".txt")
    }
    if (!(n in entry)) return
    e = entry[n]
    if (count[0] + 0 != ma[e] || count[1] + 0 != mr[e] || count[2] + 0 != mi[e])
        bad(s, "processes accepted, replaced, invalid: " count[0] + 0 ", " count[1] + 0 ", " count[2] + 0 "; evidence.json states " ma[e] ", " mr[e] ", " mi[e])
    if (calls > 9007199254740991 || calls != mc[e]) bad(s, calls " calls in accepted processes, evidence.json states " mc[e])
    if (message[mb[e]] != mm[e]) bad(s, "message_sha256 in evidence.json is not the prescribed message's")
}

BEGIN {
    header = "process\tattempt\tround\tstate\treplaced_by\treason\tcpu\tstarted_ns\twall_ns\twindows\tfirst_call_ns\tread_pair_milli\tframe_milli\t" \
        "truth_permille\ttime_enabled_ns\ttime_running_ns\trun_delay_ns\tnvcsw\tnivcsw\tminflt\tmajflt\tthread_cpu_ns\tutime_us\tstime_us\t" \
        "steal_ticks\tthrottle_delta\ttemp_start_mc\ttemp_end_mc\tstack_shift\tmessage_offset\tdigest_offset\tentry_mod64\tentry_mod4096\twidth_low_milli\twidth_milli\twidth_high_milli"
    nc = nb = nk = ny = nm = nt = nf = b = k = m = y = 0
    read_lists()
    check_cells()
    check_logs()
    check_names()
    for (n = 1; n <= nc; n++) if ((n in entry) || (n in has_files)) check_cell(n)
    print "ok\t" nm
}
