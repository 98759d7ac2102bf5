# shellcheck shell=bash
# aa.bash - what aa.sh and the lab's machine of exact counts share: the instances, the order of one process, ratios and their summary.

# NAME|BITS|SOURCES|DEFINES|FOLDER of every instance below ROOT/algos whose sources are there
aa_instances() {   # ROOT
    local ini name bits sources defines dir
    for ini in "$1"/algos/*/candidate.ini; do
        awk -F' = ' -v dir="${ini%/*}" '/^\[instance /{ if (n) print n"|"b"|"s"|"d"|"dir; n=$0; sub(/^\[instance /,"",n); sub(/\]$/,"",n); d=""; s="" }
            /^digest_bits/{b=$2} /^sources =/{s=$2} /^defines/{d=$2} END{ if (n) print n"|"b"|"s"|"d"|"dir }' "$ini"
    done | while IFS='|' read -r name bits sources defines dir; do
        [ -z "$sources" ] || [ ! -e "$dir/${sources%% *}" ] || echo "$name|$bits|$sources|$defines|$dir"
    done
}

aa_order() {   # LIBRARY SHA256 INSTANCE BITS BYTES CPU CALLS WINDOWS MIN_NS SEED COUNTER: one process, as the agent asks for it
    printf '%s\n' 'fleetmark-order 1' 'task time' "library $1" "library_sha256 $2" 'candidate aa' "instance $3" "digest_bits $4" "cpu $6" \
        "bytes $5" "calls $7" "windows $8" "min_ns $9" 'warm 1' 'digest_sha256 none' "seed ${10}" "counter ${11}" end
}

# Ratio inside rounds: t interval of d = ln x - ln a, 95 %, from lines ROUND INSTANCE BYTES WHICH COUNTS CALLS ... behind one
# header line. Columns: instance bytes which n ratio low high half_width
aa_cells() {   # SAMPLES
    awk -F'\t' 'BEGIN { split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093",table," ") }
        function t(f) { return f <= 19 ? table[f] : 1.96 + 2.4 / f }
        NR > 1 { v[$2 FS $3 FS $4 FS $1] = $5 / $6; cell[$2 FS $3] = 1; names[$4] = 1; if ($1 > rounds) rounds = $1 }
        END { for (c in cell) for (w in names) {
            if (w == "a") continue
            n = m = q = 0
            for (r = 1; r <= rounds; r++) {
                x = v[c FS w FS r]; a = v[c FS "a" FS r]
                if (!a || !x) continue
                d = log(x) - log(a); n++; e = d - m; m += e / n; q += e * (d - m)
            }
            if (n < 2) continue
            h = t(n - 1) * sqrt(q / (n - 1) / n)
            printf "%s\t%s\t%d\t%.7f\t%.7f\t%.7f\t%.7f\n", c, w, n, exp(m), exp(m - h), exp(m + h), h
        } }' "$1" | sort -k1,1 -k2,2n -k3,3
}

# The rounds of every cell in which all its processes stand without a mark: what a host without neighbours would have measured.
aa_undisturbed() {   # SAMPLES
    awk -F'\t' 'NR == FNR { if ($10 != "-") bad[$1 FS $2 FS $3] = 1; next } FNR == 1 || !(($1 FS $2 FS $3) in bad)' "$1" "$1"
}

# What disturbed the attempts, how much the core did at once, the spread of ln b/a with and without marks, and the rounds that
# spread would need.
aa_why() {   # ATTEMPTS SAMPLES BEST-WIDTH
    awk -v best="$3" 'function quantile(x, n, p,    i) { i = int(n * p) + 1; return n ? x[i > n ? n : i] : 0 }
        function sort(x, n,    i, j, gap, y) {
            for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
                for (i = gap + 1; i <= n; i++) { y = x[i]; for (j = i; j > gap && x[j - gap] > y; j -= gap) x[j] = x[j - gap]; x[j] = y }
        }
        FNR == 1 { next }
        FNR == NR { n++; why[$8]++; width[n] = $10; if ($8 == "preempted") wait[++k] = $13; next }
        { kept++; mark[$10]++; v[$1 FS $2 FS $3 FS $4] = $5 / $6; m[$1 FS $2 FS $3 FS $4] = $10; if ($4 == "a") key[$1 FS $2 FS $3 FS "a"] = $1 FS $2 FS $3 FS "b" }
        function need(what, q, pairs,    sd) {
            if (!pairs) { print "  pairs " what ": none"; return }
            sd = sqrt(q / pairs)
            printf "  pairs %s: %d, spread of ln(b/a) %.2f %%: rounds for a half-width of 0.5 %%: %.0f, to find 2 %% in 90 of 100: %.0f\n", what, pairs,
                100 * sd, (1.96 * sd / 0.005) ^ 2 + 1, ((1.96 + 1.28) * sd / 0.02) ^ 2 + 1
        }
        END {
            printf "  %d attempts:", n; for (w in why) printf " %s %.1f %%", w == "-" ? "undisturbed" : w, 100 * why[w] / n
            printf "\n  %d processes kept:", kept; for (w in mark) printf " %s %.1f %%", w == "-" ? "undisturbed" : w, 100 * mark[w] / kept
            sort(width, n); sort(wait, k)
            printf "\n  additions at once: best %.2f, median process %.2f, a tenth of the processes below %.2f\n", best / 1000, quantile(width, n, 0.5) / 1000,
                quantile(width, n, 0.1) / 1000
            if (k) printf "  preempted attempts waited: median %.3f ms, a tenth below %.3f ms\n", quantile(wait, k, 0.5) / 1e6, quantile(wait, k, 0.1) / 1e6
            for (a in key) {
                b = key[a]
                if (!(b in v)) continue
                d = log(v[b] / v[a]); all++; qa += d * d
                if (m[a] == "-" && m[b] == "-") { clean++; qc += d * d }
            }
            need("in all", qa, all); need("without a mark", qc, clean)
        }' "$1" FS='\t' "$2"
}

# A share with its 95 % binomial interval (Wilson), and where 0.95 lies: "190 of 200 (0.950, binomial interval 0.910 to 0.973): 0.95 is within it"
aa_share() {   # IN OF
    awk -v k="$1" -v n="$2" 'BEGIN { if (!n) { print "none"; exit }
        p = k / n; z = 1.96; mid = (p + z * z / 2 / n) / (1 + z * z / n); w = z * sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
        printf "%d of %d (%.3f, binomial interval %.3f to %.3f): 0.95 is %s it\n", k, n, p, mid - w, mid + w,
            (mid - w > 0.95 ? "BELOW" : mid + w < 0.95 ? "ABOVE" : "within") }'
}

# The share of cells that hold 1 and whether 0.95 lies in its binomial interval (Wilson); the planted slowdown: found is what lies
# above 1, in all cells and in those of 1 KiB and more.
aa_summary() {   # CELLS WHAT-WAS-PLANTED
    # shellcheck disable=SC2046   # two words
    echo "A/A: cells whose interval holds 1: $(aa_share $(awk -F'\t' '$3 == "b" { n++; k += ($6 <= 1 && $7 >= 1) } END { print k + 0, n + 0 }' "$1"))"
    awk -F'\t' '$3 == "b" { n++; in1 += ($6 <= 1 && $7 >= 1); slow += ($6 > 1); half[n] = $8 }
        $3 == "s" { m++; found += ($6 > 1); ratio[m] = $5; if ($2 >= 1024) { big++; hit += ($6 > 1) } }
        function median(x, k,    i, j, y) {
            for (i = 2; i <= k; i++) { y = x[i]; for (j = i - 1; j > 0 && x[j] > y; j--) x[j + 1] = x[j]; x[j + 1] = y }
            return k % 2 ? x[(k + 1) / 2] : (x[k / 2] + x[k / 2 + 1]) / 2
        }
        END {
            if (n) {
                printf "median half-width of the ratio: %.3f %%\n", 100 * median(half, n)
                printf "false alarms (a slowdown seen in A/A): %d of %d cells (%.1f %%); not 1 either way: %d (%.1f %%)\n", slow, n, 100 * slow / n,
                    n - in1, 100 * (n - in1) / n
            }
            if (m) printf "planted %s: found in %d of %d cells, %d of %d of 1 KiB and more (%.1f %%); median ratio %.5f\n", planted, found, m, hit,
                big, big ? 100 * hit / big : 0, median(ratio, m)
        }' planted="$2" "$1"
}
