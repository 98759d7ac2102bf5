# verify-forms.jq - the four JSON files of a Fleetmark tree, field by field (protocol/FORMATS.md section 4).
#
#   jq -n -r -S -f verify-forms.jq FILE...
#
# Prints each document again as `jq -S .` does, so that the caller can compare all bytes (those lines begin with a brace or a
# space); then what verify-tree.sh works with, one tab-separated line each, "-" for an empty text; or, instead of those, one
# line "error <what>". What a file should be follows from its `schema`; the first word of the lines tells the caller what it
# was. Needs jq 1.6 or later.

# ---- forms of values: name hex hex0 seed stamp stamp0 key path str int, int:MIN:MAX, =one|of|these

def text($re): type == "string" and test("\\A(" + $re + ")\\z");
def within($min; $max): type == "number" and . == floor and . >= $min and . <= $max;
def value($form):
  if $form == "str" then type == "string"
  elif $form == "int" then within(-9007199254740991; 9007199254740991)
  elif $form == "name" then text("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
  elif $form == "hex" then text("[0-9a-f]{64}")
  elif $form == "hex0" then text("([0-9a-f]{64})?")
  elif $form == "seed" then text("[0-9a-f]{16}")
  elif $form == "stamp" or $form == "stamp0" then
    ($form == "stamp0" and . == "") or
    (text("(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z") and
     (. as $s | try (($s | fromdateiso8601 | todateiso8601) == $s) catch false))
  elif $form == "key" then text("ssh-ed25519 [A-Za-z0-9+/]{68}")
  elif $form == "path" then
    text("[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}(/[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}){0,11}") and length <= 400
  elif ($form | startswith("int:")) then
    ($form | split(":") | map(tonumber? // .)) as $f | within($f[1]; $f[2])
  else . as $v | $form[1:] | split("|") | index($v) != null end;

# ---- an object is a table of its fields. Field "x?" may be absent; any field of a plain form may be replaced by the text
# "x_why", but not where the table has "!"; an array has the form of its elements.

def check($form; $at):
  if ($form | type) == "string" then
    if value($form) then empty else "\($at): not of its form" end
  elif ($form | type) == "array" then
    if type == "array" then range(length) as $i | .[$i] | check($form[0]; "\($at)[\($i)]")
    else "\($at): must be an array" end
  elif type != "object" then "\($at): must be an object"
  else
    . as $o
    | (keys_unsorted[]
       | . as $k | (if endswith("_why") then .[:-4] else "" end) as $f
       | if ($form | has($k) or has($k + "?")) and $k != "!" then empty
         elif $f == "" or $f == "schema" or $form["!"] or ($form[$f] // $form[$f + "?"] | type) != "string" then
           "\($at).\($k): unknown field"
         elif ($o | has($f)) or ($o[$k] | type) != "string" then "\($at).\($k): must be a text in place of the field"
         else empty end),
      ($form | keys_unsorted[] | select(. != "!")
       | . as $s | rtrimstr("?") as $k
       | if ($o | has($k)) then $o[$k] | check($form[$s]; "\($at).\($k)")
         elif $s != $k or (($form[$s] | type) == "string" and ($o | has($k + "_why"))) then empty
         else "\($at).\($k): missing" end)
  end;

def unit: {instance: "name", version: "name"};
def op: unit + {operation: "name"};
def ints($names): $names | split(" ") | map({(.): "int"}) | add;

def forms: {
  trust: {"!": 1, schema: "=trust/1", issued_at: "stamp", version: "int:1:9007199254740991"},
  tree: {
    "!": 1, schema: "=tree/1", campaign: "name", plan_sha256: "hex", publish: "int", sealed_at: "stamp",
    sequence: "int:1:9007199254740991", previous_tree_sha256: "hex0", trust_version: "int",
    jobs: [{
      "!": 1, system: "name", candidate: "name", attempt: "int:0:99", job_nonce: "hex0", issued_at: "stamp0",
      received_at: "stamp0", manifest_sha256: "hex0", host_key: "str", status: "=accepted|failed|missing|rejected",
      class: "str", reason: "str", text: "str"}],
    cells: [{
      "!": 1, cell: "str", status: "=accepted|failed|missing|rejected", class: "str", reason: "str", text: "str"}]},
  plan: {
    "!": 1, schema: "=plan/1", campaign: "name", nonce: "hex", issued_at: "stamp", expires_at: "stamp",
    profile: "=smoke|guide|rigorous", kat: "=standard|loop|full", publish: "int:0:1", agent_source_sha256: "hex",
    additions: "str", fallback: "str", "test_world?": "hex", known_issues: [{never: "hex"}], cells: ["str"],
    flags: [{"!": 1, arch: "=x86_64|aarch64", version: "=reference|performance|resource", flags: "str", mark: "str"}],
    systems: [{"!": 1, system: "name", arch: "=x86_64|aarch64", key: "key", about: "str", cpu: "int:-1:4095"}],
    candidates: [{
      "!": 1, candidate: "name", name: "str", category: "str", page: "str", origin: "=own|archive",
      source_sha256: "hex", tree_list_sha256: "hex", archive_sha256: "hex0",
      instances: [{
        "!": 1, instance: "name", digest: "=fixed|any", header: "path", kat: "name", digest_bits: "int:8:65536",
        vectors: "int:0:1000000", arch: ["=x86_64|aarch64"], defines: ["str"], include: ["path"], libs: ["str"],
        versions: [{"!": 1, version: "=reference|performance|resource", sources: ["path"], own: "int:0:1"}]}]}]},
  evidence: {
    schema: "=evidence/1", campaign: "name", system: "name", candidate: "name", nonce: "hex", plan_sha256: "hex",
    job_nonce: "hex", attempt: "int", source_sha256: "hex", "test_world?": "hex",
    agent: {version: "str", libsodium: "str", source_sha256: "hex", sha256: "hex", worker_sha256: "hex"},
    host: ({arch: "str", cpu_model: "str", microcode: "str", os: "str", kernel: "str", emulator: "str",
      machine_tag: "hex"} + ints("memory_kib logical_cpus virtual epoch")),
    isolation: ({mode: "=one-user|two-users"} + ints("no_new_privs landlock seccomp")),
    toolchain: [{name: "str", path: "str", version: "str", package: "str", sha256: "hex0"}],
    libraries: [{name: "str", version: "str", build_id: "str", sha256: "hex", static: "int"}],
    builds: [unit + {status: "=ok|failed|missing", reason: "str", flags: "str", flags_kind: "=guide|fallback",
      log: "str", library_sha256: "hex0", load_bytes: "int", elapsed_ns: "int"}],
    kat: [unit + {log: "str", "properties?": ["str"],
      status: "=CRASH|TIMEOUT|OVERFLOW|CRYPTOFAIL|MISMATCH|LOADFAIL|BUILDFAIL|NOKAT|PASS"} +
      ints("passed files vectors elapsed_ns")],
    cells: [op + {status: "=measured|failed|missing", class: "str", reason: "str", text: "str"}],
    measure: ({
      profile: "str", order_seed: "seed", core_type: "str",
      counter: ({label: "=core_cycles|ref_ticks|ns", source: "=perf_rdpmc|perf_user|perf_read|tsc|cntvct|clock",
        scope: "=user|emulated|wall", pmu: "str", rejected: ["str"]} +
        ints("hz resolution read_pair_milli truth_permille")),
      clock: [ints("nominal_khz measured_hz iqr_ppm drift_ppm tick_hz")],
      host_checks: [{check: "str", severity: "=refuse|mark|note", state: "=ok|bad|unknown", value: "str", source: "str"}],
      cells: [op + {stop: "=fixed|target|cap|budget", library_sha256: "hex", message_sha256: "hex",
        digest_sha256: "hex", marks: ["str"]} + ints("bytes planned accepted replaced invalid calls t1_ns")],
      memory: [unit + ints("bytes text_bytes rodata_bytes unwind_bytes data_bytes bss_bytes tls_bytes rom_bytes " +
        "static_ram_bytes pt_load_memsz_bytes io_buffers_bytes rss_baseline_process_kib rss_peak_process_kib " +
        "stack_touched_bytes? heap_peak_requested_bytes? heap_peak_usable_bytes? allocs_per_call? " +
        "leak_bytes_per_call? rom_reachable_bytes? isolated_ram_upper_bytes? unaccounted_mapping_bytes?")]
    } + ints("cpu tuned")),
    clock: {started_at: "stamp", finished_at: "stamp", elapsed_ns: "int"}}
};

# ---- what the script works with

def line($tag; $values): [$tag] + ($values | map(tostring | if . == "" then "-" else . end)) | @tsv;
def lines($kind):
  if $kind == "trust" then line("trust"; [.version])
  elif $kind == "tree" then
    line("tree"; [.campaign, .plan_sha256, .publish, .trust_version, .sequence, .previous_tree_sha256, .sealed_at]),
    (.jobs[] | line("job"; [.system, .candidate, .attempt, .job_nonce, .issued_at, .received_at, .manifest_sha256,
      .status, .class, .reason, .text])),
    (.cells[] | line("cell"; [.cell, .status, .class, .reason, .text]))
  elif $kind == "plan" then
    line("plan"; [.campaign, .nonce, .issued_at, .expires_at, .profile, .publish, .agent_source_sha256, .test_world // ""]),
    (.systems[] | line("system"; [.system, .arch, .key])),
    (.flags[] | line("flags"; [.arch, .version])),
    (.candidates[] | line("candidate"; [.candidate, .source_sha256]),
      (.candidate as $c | .instances[] | line("instance"; [$c, .instance, .vectors]),
        (.instance as $i | .versions[] | line("version"; [$c, $i, .version, (.sources | length)])))),
    (.cells[] | line("cell"; [.]))
  else
    line("evidence"; [.campaign, .system, .candidate, .nonce, .plan_sha256, .job_nonce, .attempt, .measure.profile, .host.arch,
      .agent.source_sha256, .test_world // "", .source_sha256]),
    line("label"; [.measure.counter.label]),
    (.cells[] | line("cell"; [.instance, .version, .operation, .status, .class, .reason])),
    (.builds[] | line("build"; [.instance, .version, .status, .library_sha256, .log])),
    (.kat[] | line("kat"; [.instance, .version, .status, .log])),
    (.measure.cells[] | line("measured"; [.instance, .version, .operation, .bytes, .library_sha256, .message_sha256,
      .accepted, .replaced, .invalid, .calls])),
    (.measure.memory[] | line("memory"; [.instance, .version, .bytes]))
  end;

inputs
| if type != "object" then {}, "error not a JSON object"
  else
    ((.schema? | if type == "string" then split("/")[0] else "" end) // "") as $kind
    | ., (if $kind == "" or (forms | has($kind) | not) then "error schema: none that this script knows"
          else ([limit(1; check(forms[$kind]; $kind))] | first) as $wrong
            | if $wrong then "error " + $wrong else lines($kind) end
          end)
  end
