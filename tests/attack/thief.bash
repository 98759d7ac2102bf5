# thief.bash - what whoever holds a key could repair after changing something. The current folder is the spoiled copy of the
# world: tree/, home/ (the controller's), hosts/<system>/. Sourced by attacks.sh.
# shellcheck shell=bash disable=SC2154,SC2034

# ---- names of the base tree: x86_1 counts core_cycles, arm_1 ref_ticks; x86_1/tiny-2 has a missing cell, arm_1/tiny-2 a
# failed build; the accepted dispatch of x86_1/tiny-1 is its second
X=tree/bundles/x86_1/tiny-1 STEM=Tiny-1-001__reference__hash_32

sha() { sha256sum "$@" | cut -c1-64; }
key_line() { "$B/resign" --public "$1"; }

# a manifest made new: every plain file but the folder's own three
manifest() { # FOLDER
    (cd "$1" && find . \( -path ./incoming -o -path ./rejected \) -prune -o -type f ! -path ./MANIFEST.sha256 \
        ! -path ./MANIFEST.sha256.sig ! -path ./MANIFEST.sha256.tsr -printf '%P\n' | sort | xargs -d '\n' sha256sum) > manifest.new
    mv manifest.new "$1/MANIFEST.sha256"
}
sign() { # FOLDER NAMESPACE KEYFILE
    "$B/resign" "$3" "$2" < "$1/MANIFEST.sha256" > sig.new
    mv sig.new "$1/MANIFEST.sha256.sig"
}

# the controller signs the tree, or the trust or plan folder, and then the tree
seal_tree() { manifest tree; sign tree tree.v1@fleetmark home/key; }
seal_trust() { manifest tree/trust; sign tree/trust trust.v1@fleetmark home/key; seal_tree; }
seal_plan() {
    manifest tree/plan; sign tree/plan plan.v1@fleetmark home/key
    tree_json ".plan_sha256 = \"$(sha tree/plan/MANIFEST.sha256)\""
}

# tree.json names the bundle's manifest as it is now, whatever it named before
name_bundle() { # SYSTEM CANDIDATE
    local d=tree/bundles/$1/$2
    tree_json "(.jobs[] | select(.system == \"$1\" and .candidate == \"$2\" and .status == \"accepted\") | .manifest_sha256) = \"$(sha "$d/MANIFEST.sha256")\""
}
# the host signs its bundle (with its manifest as it is now, or made new), the controller the tree
sign_bundle() { # SYSTEM CANDIDATE [NAMESPACE [KEYFILE]]
    sign "tree/bundles/$1/$2" "${3:-bundle.v1@fleetmark}" "${4:-hosts/$1/key}"
    name_bundle "$1" "$2"
}
seal_bundle() { manifest "tree/bundles/$1/$2"; sign_bundle "$@"; }
# the usual case: the bundle of x86_1, tiny-1
hc() { seal_bundle x86_1 tiny-1; }

# ---- changes in JSON: jq -S writes the fixed form
edit() { # FILE FILTER
    jq -S "$2" "$1" > edit.new && ! cmp -s edit.new "$1" && mv edit.new "$1"
}
tree_json() { edit tree/tree.json "$1"; seal_tree; }
evidence() { edit "$X/evidence.json" "$1"; hc; }
# a change of the text itself, where jq would repair it
evidence_text() { swap "$X/evidence.json" "$1"; hc; }

# a change by sed that must change something
swap() { # FILE SED-SCRIPT
    sed -E "$2" "$1" > edit.new
    if cmp -s edit.new "$1"; then echo "nothing changed in $1 by $2" >&2; return 1; fi
    mv edit.new "$1"
}
