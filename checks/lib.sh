# shellcheck shell=bash
# Shared by the scripts in this folder. Each runs a finished binary as a user would, on file systems
# of its own, and judges the results with other tools. It prints one line per check: `ok`, `DEFECT`,
# or `skip` with the reason. The exit code is 1 if there was a defect.
#
#   LOP=path/to/lop checks/findings.sh       the binary to try (default: target/release/lop)
#   ONLY="b2* t1*" checks/findings.sh        run only these checks; names may be patterns
#   VERBOSE=1 checks/findings.sh             show the output of checks that found a defect; 2: of all
#
# Needs root for mounts, which are made in a private mount namespace. All files are below one
# directory of TMPDIR, which is removed at the end.

set -u
HERE=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
LOP=$(realpath "${LOP:-$HERE/../target/release/lop}")
[ -x "$LOP" ] || { echo "no program at $LOP: set LOP" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "skip: needs root, for mounts"; exit 0; }
[ -n "${IN_NAMESPACE:-}" ] || exec env IN_NAMESPACE=1 LOP="$LOP" unshare --mount --propagation private "$HERE/${0##*/}" "$@"

ROOT=$(mktemp -d -t lop-checks.XXXXXX)
W=$ROOT/w  # all that a check makes, removed before the next one
M=$W/m     # where a check has its file system
T=$M/t     # its working directory
SKIP=77
declare -i oks=0 defects=0 skips=0

# Unmounts and removes everything that the last check made.
clear_away() {
    cd /
    local mounts
    mapfile -t mounts < <(awk -v w="$W/" 'index($2, w) == 1 { print $2 }' /proc/mounts | sort -r)
    for mount in "${mounts[@]}"; do umount "$mount" 2>/dev/null || umount -l "$mount"; done
    rm -rf --one-file-system -- "$W"
}
trap 'clear_away; rm -rf --one-file-system -- "$ROOT"' EXIT
trap 'exit 130' INT TERM HUP

# fresh [TYPE [SIZE [MKFS OPTION]...]]: makes an empty file system at $M, an empty home, and the
# working directory $T.
fresh() {
    clear_away
    local type=${1:-ext4} size=${2:-200M}
    mkdir "$W" "$M" "$W/home"
    truncate -s "$size" "$W/image"
    [ "$type $#" != 'ext4 0' ] || set -- ext4 200M -b 4096 -I 256 # as on a large disk
    "mkfs.$type" -q "${@:3}" "$W/image" && mount -o loop "$W/image" "$M" || return
    mkdir "$T"; chmod 777 "$T"; cd "$T" || return
}

# The program, with a time limit.
lop() { timeout -k 5 "${TIME:-60}" "$LOP" "$@"; }

# The program as a user without privileges, who owns $T and the catalog's directory.
NOBODY=65534
lop_as_user() {
    chown -R $NOBODY:$NOBODY "$W/home"; chmod 711 "$ROOT"
    [ -x "$ROOT/lop" ] || cp "$LOP" "$ROOT/lop" # its own place may be closed to others
    timeout -k 5 60 setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups "$ROOT/lop" "$@"
}

# on_terminal [COLUMNS] COMMAND: runs a shell command on a terminal; the standard input of this
# function is typed.
on_terminal() {
    local columns=80
    [ $# = 1 ] || { columns=$1; shift; }
    timeout -k 5 60 script -qec "stty rows 24 cols $columns -echo; $1" /dev/null | tr -d '\r'
}

# A shell makes background programs ignore SIGINT; this command restores the default.
interruptible() { exec env --default-signal=INT "$@"; }
child() { pgrep -P "$1" | head -n1; }

need() { for tool; do command -v "$tool" > /dev/null || skip "$tool is not installed"; done; }
skip() { echo "$*" > "$ROOT/reason"; exit $SKIP; }

# check NAME CLAIM: runs the function NAME in a fresh place; the check passes if it succeeds.
check() {
    local name=$1 claim=$2 code
    if [ -n "${ONLY:-}" ]; then
        local pattern wanted=
        # shellcheck disable=SC2254 # a pattern
        for pattern in $ONLY; do case $name in $pattern) wanted=1 ;; esac; done
        [ -n "$wanted" ] || return 0
    fi
    (
        export HOME=$W/home XDG_STATE_HOME=$W/home LC_ALL=C.UTF-8 TZ=UTC
        unset LOP_CATALOG
        fresh && "$name"
    ) > "$ROOT/log" 2>&1 < /dev/null
    code=$?
    case $code in
        0) oks+=1; printf 'ok      %-12s %s\n' "$name" "$claim"
            [ "${VERBOSE:-0}" -lt 2 ] || sed 's/^/        | /' "$ROOT/log" ;;
        "$SKIP") skips+=1; printf 'skip    %-12s %s: %s\n' "$name" "$claim" "$(cat "$ROOT/reason")" ;;
        *) defects+=1; printf 'DEFECT  %-12s %s\n' "$name" "$claim"
            [ "${VERBOSE:-0}" -lt 1 ] || sed 's/^/        | /' "$ROOT/log" ;;
    esac
}

conclude() {
    printf '%d ok, %d defects, %d skipped\n' "$oks" "$defects" "$skips"
    [ "$defects" = 0 ]
}

# -- Judges -----------------------------------------------------------------------------------------

# says TEXT COMMAND...: the output of the command contains this basic pattern, in any letter case.
says() { local text=$1; shift; "$@" 2>&1 | tee /dev/stderr | grep -qi -e "$text"; }

# says_not TEXT COMMAND...: the output does not contain it, and is not empty unless the command
# succeeded.
says_not() { local text=$1; shift; ! "$@" 2>&1 | tee /dev/stderr | grep -qi -e "$text"; }

# ends CODE COMMAND...: the command exits with one of these codes, such as "3" or "3|5".
ends() {
    local codes=$1 code; shift
    "$@"; code=$?
    echo "ends with $code, wanted $codes"
    [[ "|$codes|" = *"|$code|"* ]]
}

# bytes_read SCAN-ARGUMENT...: prints the bytes of content that a scan reads.
bytes_read() { lop scan --stats "$@" 2>&1 > /dev/null | grep -o '"bytes_read":[0-9]*' | cut -d: -f2; }

# reads_nothing SCAN-ARGUMENT...: a scan answers from the catalog without reading contents.
reads_nothing() { local bytes; bytes=$(bytes_read "$@"); echo "$bytes bytes read"; [ "$bytes" = 0 ]; }

# number KEY: prints the first number of a key in JSON on standard input.
number() { grep -o "\"$1\":[0-9]*" | head -n1 | cut -d: -f2; }

# more_lines_than N: standard input has more than N lines.
more_lines_than() { [ "$(wc -l)" -gt "$1" ]; }

# -- Trees ------------------------------------------------------------------------------------------

# pairs N SIZE DIR DIR: makes N files of SIZE in each of two directories, each equal to one in the
# other.
pairs() {
    mkdir -p "$3" "$4"
    local i
    for ((i = 1; i <= $1; i++)); do
        { echo "$3 $i"; head -c "$2" /dev/zero | tr '\0' x; } | head -c "$2" > "$3/$i"
    done
    cp -r --reflink=never "$3/." "$4"
}

# entries N DIR: makes N empty files.
entries() { mkdir -p "$2"; (cd "$2" && seq "$1" | xargs touch); }

# fill DIR LEFT: leaves LEFT bytes (rounded down to blocks) free on DIR's file system.
fill() {
    dd if=/dev/zero of="$1/fill" bs="${3:-4k}" 2>/dev/null
    [ "$2" = 0 ] || truncate -s "-$2" "$1/fill"
    sync -f "$1"
}
