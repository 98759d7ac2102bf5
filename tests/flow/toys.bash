# shellcheck shell=bash
# toys.bash - toy functions whose stack, heap, leak and sections are known, as a candidate of a campaign, and what its evidence
# must say about them. The same figures on both architectures.

toys_root() {   # DIR ROOT [NAME...]: data folders for a campaign of the candidate `toys` (all of them, or these); ROOT: the source tree
    local dir=$1 root=$2 name words
    shift 2
    mkdir -p "$dir/algos/toys" "$dir/kat"
    cp -r "$root/agent" "$root/protocol" "$dir/"
    cp "$root/algos/flags.ini" "$dir/algos/"
    cp "$root"/tests/toys/{toy.h,sizes.c,unused.c,frame.c,heap.c,leak.c,plain.c} "$dir/algos/toys/"
    {
        printf '%s\n' '[candidate]' 'id = toys' 'name = Toys' 'category = hash' 'origin = own'
        while read -r name words; do
            [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
            printf '\n[instance %s]\ndigest_bits = 256\ndigest = fixed\nheader = toy.h\n' "$name"
            printf 'sources = %s\n' "${words%%|*}"
            [ "${words#*|}" = none ] || printf 'defines = %s\n' "${words#*|}"
        done <<'L'
plain plain.c|none
sizes sizes.c|none
sizes-more sizes.c|MORE=8192
sizes-unused sizes.c unused.c|none
frame64 frame.c|FRAME=64
frame256k frame.c|FRAME=262144
heap heap.c|none
leak leak.c|none
L
    } > "$dir/algos/toys/candidate.ini"
}

# toys_weighed EVIDENCE: prints every stated figure beside the measured one; 1 if one is not exact.
toys_weighed() {
    jq -r '
def of($i; $b): first(.measure.memory[] | select(.instance == $i and .bytes == $b));
def is($what; $got; $want): "\(if $got == $want then "ok  " else "BAD " end) \($what): stated \($want), measured \($got)";
def near($what; $got; $want; $by): "\(if $got >= $want and $got <= $want + $by then "ok  " else "BAD " end) \($what): stated \($want), measured \($got)";
def around($what; $got; $want; $by): "\(if $got >= $want - $by and $got <= $want + $by then "ok  " else "BAD " end) \($what): stated \($want), measured \($got)";
of("sizes"; 32) as $s | of("sizes-more"; 32) as $m | of("sizes-unused"; 32) as $u | of("plain"; 32) as $p |
around("frame64 stack_touched_bytes"; of("frame64"; 32).stack_touched_bytes; 64; 16),
around("frame256k stack_touched_bytes"; of("frame256k"; 65536).stack_touched_bytes; 262144; 16),
is("heap heap_peak_requested_bytes"; of("heap"; 32).heap_peak_requested_bytes; 5941),
is("heap allocs_per_call"; of("heap"; 32).allocs_per_call; 6),
is("heap leak_bytes_per_call"; of("heap"; 32).leak_bytes_per_call; 0),
is("leak leak_bytes_per_call, 32 bytes"; of("leak"; 32).leak_bytes_per_call; 232),
is("leak leak_bytes_per_call, 64 KiB"; of("leak"; 65536).leak_bytes_per_call; 65736),
is("leak heap_peak_requested_bytes, 64 KiB"; of("leak"; 65536).heap_peak_requested_bytes; 65736),
near("sizes rodata_bytes (and names, relocations)"; $s.rodata_bytes - $p.rodata_bytes; 5000; 512),
near("sizes data_bytes (and its table of addresses)"; $s.data_bytes - $p.data_bytes; 3000; 256),
near("sizes bss_bytes"; $s.bss_bytes - $p.bss_bytes; 7000; 32),
is("sizes tls_bytes"; $s.tls_bytes; 64),
is("8192 more: rodata_bytes"; $m.rodata_bytes - $s.rodata_bytes; 8192),
is("8192 more: data_bytes"; $m.data_bytes - $s.data_bytes; 8192),
is("8192 more: bss_bytes"; $m.bss_bytes - $s.bss_bytes; 8192),
is("8192 more: static_ram_bytes"; $m.static_ram_bytes - $s.static_ram_bytes; 16384),
is("rom_bytes is text, rodata and what data and tls begin with"; $s.rom_bytes; $s.text_bytes + $s.rodata_bytes + $s.data_bytes + 64),
near("20000 unused: rom_bytes (and its name)"; $u.rom_bytes - $s.rom_bytes; 20000; 128),
is("20000 unused: rom_reachable_bytes"; $u.rom_reachable_bytes; $s.rom_reachable_bytes)' "$1" > "${T:-$WORK}/toys"
    cat "${T:-$WORK}/toys"
    [ "$(grep -c '^ok' "${T:-$WORK}/toys")" = 19 ]
}
