#!/bin/bash
# Regression checks for defects that users reported: wrong answers, traps, messages, missing
# commands. Each check states a claim that must hold. See lib.sh for how to run them; safety.sh has
# the checks for data loss.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# == Wrong answers ==================================================================================

# Scans two equal files, then changes a block of archive/a.jpg on the disk, below the file system.
damaged_copy() {
    mkdir old archive
    head -c 65536 /dev/urandom > old/a.jpg
    cp old/a.jpg archive/a.jpg
    sleep 2.5 # as long as a change may hide behind its time stamp
    lop scan .
    local block
    sync -f "$M"
    block=$(debugfs -R "blocks /t/archive/a.jpg" "$W/image" 2>/dev/null | tr ' ' '\n' | sed -n 3p)
    cd / && umount "$M"
    printf damage | dd of="$W/image" bs=1 seek=$((block * 4096)) conv=notrunc status=none
    mount -o loop "$W/image" "$M" && cd "$T" && ! cmp -s old/a.jpg archive/a.jpg || return
}
found_damage() { need debugfs; damaged_copy && ends 3 lop validate; }
b1_uniques() { found_damage && ends '6|3' lop uniques old; }
b1_rescan() { found_damage && { lop scan .; ends '6|3' lop uniques old; }; }
b1_contains() { found_damage && ends '6|3' lop contains old archive; }
b1_file() { found_damage && says_not '^old/a.jpg: 1 duplicate' lop file old/a.jpg; }
b1_dirs() { found_damage && says_not 'equal directories' lop report --dirs; }
b1_verify() { need debugfs; damaged_copy && ends '6|3' lop uniques --verify old; }
b1_reread() { need debugfs; damaged_copy && { lop scan --reread .; ends '6|3' lop uniques old; }; }
b1_alone() {
    need debugfs
    echo one > f && lop scan --hash-all . && sync -f "$M"
    local block
    block=$(debugfs -R "blocks /t/f" "$W/image" 2>/dev/null | tr -d ' \n')
    cd / && umount "$M"
    printf two | dd of="$W/image" bs=1 seek=$((block * 4096)) conv=notrunc status=none
    mount -o loop "$W/image" "$M" && cd "$T" && ends 3 lop validate
}
check b1_uniques 'uniques: once validate has named a damaged copy, it no longer counts as one'
check b1_rescan 'uniques: nor does it after another scan'
check b1_contains 'contains: a damaged copy does not count'
check b1_file 'file: a damaged copy is no duplicate'
check b1_dirs 'report --dirs: a directory with a damaged copy is not equal'
check b1_verify 'uniques --verify reads, and finds damage that nothing has named yet'
check b1_reread 'scan --reread finds damage below the file system'
check b1_alone 'scan --hash-all has validate see damage in a file that shares its size with no other'

never_scanned() { pairs 3 100 known/a known/b; pairs 3 100 new/a new/b; lop scan known; }
b2_dups() { never_scanned && ends '3|5' lop dups new && says_not 'none of .* has a duplicate$' lop dups new; }
b2_json() { never_scanned && says '"unknown":6' lop --json dups new; }
stale() { pairs 5 100 d/a d/b; lop scan d; find d -type f -exec touch -d 2001-01-01 {} +; }
b2_report() { stale && ends 3 lop report && says '10 files\? changed\|10 .*changed since' lop report; }
b2_stale() { stale && says '"stale_files":10' lop report --format json; }
b2_dirs() { stale && ends 3 lop report --dirs; }
b2_dedupe() { stale && ends 3 lop dedupe --by delete d; }
b2_undo() {
    pairs 5 100 d/a d/b && lop scan d && lop dedupe --by hardlink --apply d && lop undo &&
        says '5 groups' lop report
}
check b2_dups 'dups does not answer "no" for files it does not know'
check b2_json 'dups --json counts files it does not know as "unknown"'
check b2_report 'report says that files changed since the scan'
check b2_stale 'report --format json counts them as "stale_files"'
check b2_dirs 'report --dirs is not silent about files that changed'
check b2_dedupe 'dedupe is not silent about files that changed'
check b2_undo 'report knows what undo brought back'

b3() {
    local image=$W/small.image small=$W/small
    pairs 400 100 me/a me/b
    truncate -s 16M "$image"; mkfs.ext4 -q "$image"; mkdir "$small"; mount -o loop "$image" "$small"
    lop --catalog "$small/c.db" scan me
    fill "$small" 260k
    lop --catalog "$small/c.db" dedupe --by hardlink --apply me > "$W/said" 2>&1
    local code=$?
    cat "$W/said"
    [ "$(find me -type f -links 2 | wc -l)" = 800 ] || { [ "$code" != 0 ]; return; } # nothing was done
    [ "$code" != 0 ] || return 0 # the catalog had room
    grep -q '400 files' "$W/said" && grep -q 'undo' "$W/said"
}
check b3 'dedupe with a catalog on a full disk first says what it did, and the way back'

b4() {
    mkdir etc k; seq 1000 > etc/passwd; echo 1 > k/f
    lop --catalog etc/passwd scan k
    ls -A etc; [ "$(ls -A etc)" = passwd ] && cmp etc/passwd <(seq 1000)
}
check b4 'a scan with a wrong --catalog leaves no file beside it'

full_disk() {
    fresh ext4 32M -m 0 && mkdir d && pairs 60 20000 d/a d/b && chown -R $NOBODY:$NOBODY "$T" "$M" || return
    lop_as_user scan -q d
    fill "$M" 0 1k
}
# It frees space, or reports in a few lines what it could not create.
acts_when_full() {
    full_disk || return
    lop_as_user dedupe --by "$1" --apply d > "$W/said" 2>&1
    cat "$W/said"
    local left; left=$(find d -type f -links 1 | wc -l)
    echo "$left files with one name left"
    { [ "$1" = hardlink ] && [ "$left" = 0 ]; } || { [ "$1" = delete ] && [ "$left" = 60 ]; } ||
        { [ "$(wc -l < "$W/said")" -lt 5 ] && grep -q lop-quarantine "$W/said"; }
}
b5_delete() { acts_when_full delete; }
b5_hardlink() { acts_when_full hardlink; }
check b5_delete 'dedupe --by delete works on a full disk, or says once what it lacks'
check b5_hardlink 'dedupe --by hardlink works on a full disk, or says once what it lacks'

inline_files() { need mkfs.btrfs; fresh btrfs 200M && pairs 30 500 d/a d/b && sync -f "$M" && lop scan d; }
b6_again() {
    inline_files && lop dedupe --by reflink --apply d
    sync -f "$M"; lop scan d; says_not '[1-9][0-9]* files\? reflinked' lop dedupe --by reflink --apply d
}
b6_agree() {
    inline_files || return
    lop report 2>&1 | tail -n1
    says_not '[1-9][0-9.]* [KM]*i*B to \(gain\|free\)' lop dedupe --by reflink d
}
b6_undo() {
    need mkfs.btrfs
    fresh btrfs 200M && pairs 5 65536 d/a d/b && sync -f "$M" && lop scan d && lop dedupe --by reflink --apply d
    says_not 'what they were\|files restored' lop undo
}
check b6_again 'btrfs: a second reflink run finds nothing to do with inline files'
check b6_agree 'btrfs: the plan promises nothing for inline files'
check b6_undo 'undo of a reflink run does not claim to have restored files'

# A remote shell that runs the command here and kills it after half a second.
breaking_shell() {
    printf '#!/bin/bash\nshift\nexec 3<&0\n"$@" <&3 &\nsleep 0.5\nkill -9 $!\n' > "$W/rsh"; chmod 755 "$W/rsh"
}
remote_tree() {
    local d i
    for d in $(seq 20); do
        mkdir -p "src/$d"
        for i in $(seq 100); do head -c 40000 /dev/zero > "src/$d/$i"; done
    done
    breaking_shell
}
# Something arrived, which must not be reported as nothing.
tells_what_arrived() {
    local arrived; arrived=$(find dst -type f | wc -l)
    cat "$W/said"; echo "$arrived files arrived"
    [ "$arrived" -gt 0 ] && ! grep -q 'nothing to change\|^0 names' "$W/said"
}
b7_push() {
    remote_tree
    lop mirror --bwlimit 50M --rsh "$W/rsh" --remote-lop "$LOP" src "host:$T/dst" > "$W/said" 2>&1
    tells_what_arrived
}
b7_interrupt() {
    remote_tree; printf '#!/bin/bash\nshift\nexec "$@"\n' > "$W/rsh"
    interruptible "$LOP" mirror --bwlimit 20M --rsh "$W/rsh" --remote-lop "$LOP" src "host:$T/dst" > "$W/said" 2>&1 &
    sleep 1; kill -INT $!; wait $!; sleep 0.5
    tells_what_arrived
}
check b7_push 'a push that is cut off does not say "0 names; nothing to change"'
check b7_interrupt 'nor does one that is interrupted'

small_destination() {
    mkdir "$W/small"; truncate -s 16M "$W/small.image"; mkfs.ext4 -q "$W/small.image"
    mount -o loop "$W/small.image" "$W/small"
    for d in $(seq 40); do
        mkdir -p "src/$d/deep"
        for f in $(seq 10); do head -c 60000 /dev/urandom > "src/$d/$f"; done
        echo x > "src/$d/deep/f"
    done
}
b8_words() {
    small_destination
    for _ in 1 2 3; do says_not 'nothing to change' lop mirror src "$W/small" || return; done
}
b8_full() {
    small_destination; fill "$W/small" 0
    for _ in 1 2; do says_not 'nothing to change' lop mirror src "$W/small" || return; done
}
b8_unreadable() {
    mkdir src dst; echo 1 > src/a; echo 2 > src/b; chmod 000 src/*; chown $NOBODY dst
    says_not 'nothing to change' lop_as_user mirror src dst
}
b8_lines() { small_destination; lop mirror src "$W/small" > "$W/said" 2>&1; cat "$W/said"; [ "$(wc -l < "$W/said")" -lt 10 ]; }
b8_count() {
    small_destination
    lop mirror src "$W/small" > "$W/said" 2>&1
    local missing
    missing=$(($(find src | wc -l) - $(find "$W/small" -not -name lost+found | wc -l)))
    cat "$W/said"; echo "$missing entries are missing"
    # The failed entries and those below them make up at least this number, or the message says that
    # there are more.
    tail -1 "$W/said" | tr -d , | grep -o '[0-9]\+ \(failed\|names below\)' |
        awk -v m="$missing" '{ sum += $1 } END { exit sum < m }' || grep -qi 'everything \(in\|below\)\|all below' "$W/said"
}
check b8_words 'mirror to a full disk does not say "nothing to change, N failed"'
check b8_full 'mirror to a disk that is full already does not say it either'
check b8_unreadable 'mirror of files that cannot be read does not say it either'
check b8_lines 'mirror to a full disk gives one line per cause, not one per file'
check b8_count 'mirror to a full disk counts everything that is missing'

b9_listed() {
    mkdir -p src/old dst; echo 1 > src/old/f; echo precious > dst/old
    lop mirror -n -i src dst > "$W/said" 2>&1; cat "$W/said"
    ! grep -q '^ *new *old/\?$' "$W/said" && grep -q 'old' "$W/said"
}
b9_blocked() {
    mkdir -p src dst/empty/x; echo 1 > src/empty
    lop mirror --delete --max-delete 0 -i src dst > "$W/said" 2>&1; cat "$W/said"
    [ -d dst/empty/x ] && ! grep -q 'replace empty\|1 file copied' "$W/said"
}
check b9_listed 'mirror -i shows the loss of a file that gives way to a directory'
check b9_blocked 'mirror --max-delete 0 does not list as replaced what stays'

b10() {
    local image=$W/small.image small=$W/small left command
    pairs 100 100 d/a d/b
    for left in 10k 9k 8k; do
        umount "$small" 2>/dev/null; mkdir -p "$small"
        rm -f "$image"; truncate -s 16M "$image"; mkfs.ext4 -q -b 1024 "$image"; mount -o loop "$image" "$small"
        lop --catalog "$small/c.db" scan -q d
        fill "$small" $left 1k
        for command in report 'dups d' 'file d/a/1' 'ls d/a' 'dedupe --by hardlink d' 'scan d'; do
            # shellcheck disable=SC2086 # words
            lop --catalog "$small/c.db" $command > /dev/null 2>&1
            [ $? -lt 128 ] || { echo "$command with $left free was killed by a signal"; return 1; }
        done
    done
}
check b10 'no command is killed by SIGBUS when the disk of the catalog is full'

no_reflinks() { pairs 30 5000 d/a d/b; lop scan d; }
b11_lines() {
    no_reflinks; lop dedupe --by reflink --apply d > "$W/said" 2>&1; cat "$W/said"
    ! more_lines_than 3 < <(grep -v '^ ' "$W/said") && ! grep -q 'extents of:' "$W/said"
}
b11_plan() { no_reflinks; says 'cannot share\|no reflinks\|not supported' lop dedupe --by reflink d; }
check b11_lines 'reflink where there is none is said once'
check b11_plan 'reflink where there is none is said in the plan already'

b12() {
    local long; long=$(head -c 250 /dev/zero | tr '\0' n)
    echo same > a; echo same > "$long"; lop scan .
    lop dedupe --by script > "$W/act.sh" && sh "$W/act.sh" hardlink
    [ "$(stat -c %h a)" = 2 ]
}
check b12 'a script can link names of 250 bytes'

linked_elsewhere() { mkdir d e; echo 1 > d/1; ln d/1 d/2; ln d/1 e/3; }
b13_twice() {
    linked_elsewhere; lop separate d > "$W/said" 2>&1; cat "$W/said"
    [ "$(grep -c ' [^ ]*/d/1\b' "$W/said")" -le 1 ]
}
b13_error() { says_not 'nothing to do' lop separate nothere; }
check b13_twice 'separate does not list a path both as kept and as separated'
check b13_error 'separate of what is not there does not add "Nothing to do"'

manual() { lop man "$1" 2>/dev/null || cat "${MAN:-$HERE/../docs/man}/lop-$1.1"; }
b14_title() { manual scan | grep '^\.TH'; manual scan | grep -q '^\.TH LOP-SCAN 1 *"\?[^" ]\+[^"]*"\? *"\?lop[^"]*"\? *"User Commands"'; }
b14_synopsis() {
    manual scan | sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' > "$W/said"; cat "$W/said"
    # The values of options are shown, or options are not listed one by one; a PATH may be repeated.
    sed 's/\\f[A-Z]//g; s/\\//g' "$W/said" > "$W/plain"
    ! grep -q 'min-size]' "$W/plain" && grep -q 'PATH\]\?\.\.\.' "$W/plain"
}
b14_sections() {
    local section
    for section in FILES ENVIRONMENT 'EXIT STATUS' 'SEE ALSO'; do
        manual scan | grep -q "^\.SH \"\?$section" || { echo "no $section"; return 1; }
    done
}
b14_docs() { ! { for c in scan report mirror purge; do lop "$c" --help; done; } | grep 'docs/'; }
b14_here() { lop man scan | grep -qi 'lop-scan' && lop completions bash | grep -q complete; }
check b14_title 'man pages have title, section, date, source and manual'
check b14_synopsis 'the SYNOPSIS shows values and that PATH may be repeated'
check b14_sections 'man pages have FILES, ENVIRONMENT, EXIT STATUS and SEE ALSO'
check b14_docs '--help points to no file that cargo install leaves out'
check b14_here 'lop man and lop completions print what cargo install leaves out'

b15_files() { pairs 5 100 d/a d/b; lop scan d; lop report; lop dups d; find "$W/home"; [ -z "$(find "$W/home" -name '*-wal' -o -name '*-shm')" ]; }
b15_mode() { (umask 022; pairs 2 100 d/a d/b; lop scan d); [ "$(find "$W/home" -name catalog.db -printf %m)" = 600 ]; }
check b15_files 'a question leaves no -wal and no -shm behind'
check b15_mode 'the catalog is as private as its journals'

b16() {
    need strace
    pairs 600 4096 d/a d/b; lop scan -q d
    TIME=120 strace -f -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:signal=SIGKILL:when=100 \
        "$LOP" dedupe --by hardlink --apply d
    lop undo 99 2>/dev/null; lop separate --apply nothere 2>/dev/null # any command that looks after the journals
    lop --json history > "$W/said"; cat "$W/said"
    local files bytes; files=$(number done < "$W/said"); bytes=$(number freed_bytes < "$W/said")
    echo "$files files, $bytes bytes, $(find d -type f -links 2 | wc -l) linked names"
    [ "${files:-0}" -gt 0 ] && [ "$((files * 4096))" = "${bytes:-0}" ] && [ "$(find d -type f -links 2 | wc -l)" = $((2 * files)) ]
}
check b16 'history of a run that was killed counts the files that its bytes are of'

b17() {
    mkdir src; echo 1 > $'src/new\nlop: forged line'; echo 1 > src/f; chmod 000 src/*
    lop_as_user scan src > /dev/null 2> "$W/said"; cat "$W/said"
    ! grep -q '^lop: forged' "$W/said" && grep -q 'forged' "$W/said"
}
check b17 'a newline in a name does not make a second line of a message'

# == Traps ==========================================================================================

purge_but() { mkdir -p scratch/keep scratch/go; echo precious > scratch/keep/f; lop purge --exclude "$1" "$2"; [ -f scratch/keep/f ]; }
t1_absolute() { purge_but "$T/scratch/keep" "$T/scratch"; }
t1_completed() { purge_but scratch/keep scratch; }
t1_dot() { mkdir -p pp/keep; echo 1 > pp/keep/f; lop purge --exclude ./pp/keep pp; [ -f pp/keep/f ]; }
t1_mirror() { mkdir -p ms md/keep; echo 1 > ms/f; echo precious > md/keep/f; lop mirror --delete --exclude md/keep ms md; [ -f md/keep/f ]; }
t1_scan() {
    mkdir -p k/photos; echo 1 > k/photos/f; echo 1 > k/g
    lop scan --exclude k/photos k > "$W/said" 2>&1; cat "$W/said"
    grep -q 'photos' "$W/said" || grep -q 'Scanned *1 file' "$W/said"
}
t1_silent() { mkdir -p p; echo 1 > p/f; says 'nowhere' lop purge -n --exclude nowhere/x p; }
check t1_absolute 'purge --exclude with an absolute path does not remove that path'
check t1_completed 'purge --exclude with the path that the shell completes does not remove it'
check t1_dot 'purge --exclude ./PATH does not remove it'
check t1_mirror 'mirror --delete --exclude DST/keep does not remove it'
check t1_scan 'scan --exclude with a completed path leaves it out, or says that it matched nothing'
check t1_silent 'a pattern that matched nothing is reported'

backup() { entries 6003 bkup; }
t2_empty() { backup; mkdir empty; lop mirror --delete empty bkup; more_lines_than 6000 < <(ls bkup); }
t2_terminal() { backup; mkdir photos; echo 1 > photos/f; echo n | on_terminal "$LOP mirror --delete photos bkup"; more_lines_than 6000 < <(ls bkup); }
check t2_empty 'mirror --delete of an empty source does not empty the destination'
check t2_terminal 'mirror --delete on a terminal asks before it removes nearly everything'

t3_purge() { mkdir -p p/sub; echo 1 > p/sub/precious; says 'sub/precious' lop purge -n -v p; }
t3_json() { mkdir -p p/sub; echo 1 > p/sub/precious; says 'sub/precious' lop --json purge -n -v p; }
t3_mirror() { mkdir -p s d/ed/sub; echo 1 > s/f; cp s/f d; echo 1 > d/ed/sub/precious; says 'ed/sub/precious' lop mirror -n -i --delete s d; }
check t3_purge 'purge -n -v lists every name that would go'
check t3_json 'purge -n --json can list them too'
check t3_mirror 'mirror -n -i --delete lists what is in directories that would go'

t4_interrupt() {
    need strace
    pairs 40 1000000 d/a d/b; sync -f "$M"
    local all; all=$(HOME=$W/other XDG_STATE_HOME=$W/other bytes_read d)
    interruptible timeout -k 5 60 strace -f -qq -o /dev/null -e trace=pread64,read,preadv -e inject=pread64,preadv:delay_enter=20000 \
        "$LOP" scan d & # much slower than it would be
    sleep 3; kill -INT "$(child "$(child $!)")"; wait $!
    local rest; rest=$(bytes_read d)
    echo "$all bytes in all, $rest after the interrupted scan"
    [ "$rest" -lt $((all * 9 / 10)) ]
}
t4_size() { pairs 2 300000 k/a k/b; pairs 2 3000 k/c k/d; sleep 0.1; lop scan k; lop scan --min-size 250k k; reads_nothing k; }
t4_exclude() { pairs 3 3000 k/home k/b; sleep 0.1; lop scan k; lop scan --exclude home/ k; reads_nothing k; }
usb() {
    mkdir "$W/usb"; truncate -s 16M "$W/usb.image"; mkfs.ext4 -q "$W/usb.image"
    mount -o loop "$W/usb.image" "$W/usb"; pairs 3 3000 "$W/usb/a" "$W/usb/b"; sleep 0.1
    lop scan "$W/usb"; umount "$W/usb"
}
usb_again() { mount -o loop "$W/usb.image" "$W/usb"; reads_nothing "$W/usb"; }
t4_refresh() { usb; lop refresh; usb_again; }
t4_unmounted() { usb; lop scan "$W/usb"; usb_again; }
t4_offline() { usb; says 'offline\|not mounted' lop report; }
t4_forget() { pairs 3 100 k/a k/b; lop scan k; ends 0 lop forget k && ! lop report 2>&1 | grep -q '3 groups'; }
check t4_interrupt 'a first scan that is interrupted keeps what it has read'
check t4_size 'scan --min-size does not forget the digests of what it leaves out'
check t4_exclude 'scan --exclude does not forget them either'
check t4_refresh 'refresh keeps what is on a disk that is not mounted'
check t4_unmounted 'a scan of an empty mount point keeps what is on its disk'
check t4_offline 'files on a disk that is not mounted are offline, not gone'
check t4_forget 'lop forget PATH forgets'

t5_scope() { pairs 3 100 home backup; lop scan home backup; lop dedupe --by delete --apply; [ "$(find home backup -type f | wc -l)" = 6 ]; }
t5_keep() {
    mkdir -p Downloads photos/2020; echo pic > 'Downloads/IMG_0001 (1).jpg'; sleep 0.02; cp -p Downloads/IMG* photos/2020/IMG_0001.jpg
    lop scan .; lop dedupe --by delete --apply .; [ -f photos/2020/IMG_0001.jpg ]
}
t5_system() { mkdir -p @eaDir a; echo same > @eaDir/f; echo same > a/f; lop scan .; lop dedupe --by delete --keep shortest-path --apply a; [ -f a/f ]; }
t5_git() { mkdir -p a/.git b/.git; echo same > a/.git/f; echo same > b/.git/f; lop scan .; lop dedupe --by delete --apply .; [ -f a/.git/f ] && [ -f b/.git/f ]; }
check t5_scope 'dedupe --by delete --apply without PATH or --all does not empty one side of a backup'
check t5_keep 'by default the file in photos/ is kept and not "IMG_0001 (1).jpg" in Downloads'
check t5_system 'a copy in @eaDir does not have the original deleted'
check t5_git 'dedupe leaves the insides of .git alone by default'

twelve() { for i in $(seq -w 12); do echo same > "f$i"; done; echo other > g1; echo other > g2; lop scan .; }
t6_no_end() {
    twelve; printf '1\n' | on_terminal "$LOP dedupe --by delete -i --apply ." > "$W/said"; cat "$W/said"
    [ "$(find . -type f | wc -l)" = 14 ]
}
t6_line() {
    twelve; printf '12\nskip\nn\n' | on_terminal "$LOP dedupe --by delete -i --apply ." > "$W/said"; cat "$W/said"
    [ "$(find . -type f | wc -l)" = 14 ] && [ -f f12 ]
}
t6_several() {
    twelve; printf '1,12\nskip\ny\n' | on_terminal "$LOP dedupe --by delete -i --apply ." > "$W/said"; cat "$W/said"
    [ "$(echo *)" = 'f01 f12 g1 g2' ]
}
t6_width() { twelve; printf 'x\n?\nquit\nq\n' | on_terminal "$LOP dedupe --by delete -i ." > "$W/said"; cat "$W/said"; ! grep -v "$T" "$W/said" | grep -q '.\{81\}'; }
check t6_no_end 'interactive: the end of the input acts on nothing'
check t6_line 'interactive: "12" is one answer, and nothing goes without a last look'
check t6_several 'interactive: several files can be kept, beyond the ninth too'
check t6_width 'interactive: what it prints fits 80 columns'

t7() { pairs 2 100 photos b; lop scan .; says 'nowhere/photos' lop dedupe --by delete --keep 'path:nowhere/photos' .; }
t7_empty() { pairs 2 100 photos b; lop scan .; lop dedupe --by delete --keep 'path:' . > "$W/said" 2>&1; local code=$?; cat "$W/said"; [ $code != 0 ] || grep -qi 'matched no\|no file' "$W/said"; }
check t7 '--keep path:GLOB that matches no file is reported'
check t7_empty '--keep path: without a pattern is refused or reported'

t8() {
    pairs 20 1000 d/a d/b; lop scan d > "$W/said" 2>&1; lop dedupe --by hardlink d 2>&1 | tail -n1 >> "$W/said"; cat "$W/said"
    local scan plan
    scan=$(grep -o '[0-9.,]* [KMGT]*i*B reclaimable' "$W/said" | sed 's/ recl.*//')
    plan=$(grep -o '[0-9.,]* [KMGT]*i*B to [a-z]*' "$W/said" | sed 's/ to .*//' | tail -n1)
    echo "scan: $scan; plan: $plan"
    [ -n "$plan" ] && [ "$scan" = "$plan" ]
}
check t8 'scan and plan count the same bytes'

t9_terminal() { pairs 300 100 d/a d/b; lop scan d; on_terminal "$LOP report" < /dev/null > "$W/said"; tail -n3 "$W/said"; ! more_lines_than 120 < "$W/said"; }
t9_path() { pairs 3 100 d/a d/b; pairs 4 200 e/a e/b; lop scan .; says '3 groups' lop report d; }
check t9_terminal 'report on a terminal shows the best groups, not all'
check t9_path 'report takes a PATH'

t10() { pairs 3 100 d/a d/b; lop scan d; says '\ba\b' lop ls d; }
check t10 'ls shows directories'

t11() {
    mkdir d e; echo same > d/1; ln d/1 d/2; echo same > e/1; ln e/1 e/2; lop scan .
    lop file d/1 > "$W/said"; cat "$W/said"
    grep 'e/[12]' "$W/said" | grep -q 'link'
}
t11_links() { echo one > a; ln a b; lop scan .; says "$T/b" lop file a; }
check t11 'file marks the names of one inode, also of a duplicate'
check t11_links 'file names hard links also of a file without a duplicate'

# A root directory of its own, because these checks are about quarantines in /.
t12_place() {
    need chroot
    mkdir -p root/{usr,proc,root/x,tmp,home}; ln -s usr/lib root/lib; ln -s usr/lib64 root/lib64; ln -s usr/bin root/bin
    mount --bind /usr root/usr; mount --bind "$T/root" "$T/root"; mount --bind /usr root/usr; cp "$LOP" root/lop
    pairs 3 100 root/root/x/a root/root/x/b
    chroot root /usr/bin/env HOME=/home XDG_STATE_HOME=/home /lop scan /root/x
    chroot root /usr/bin/env HOME=/home XDG_STATE_HOME=/home /lop dedupe --by quarantine --apply /root/x
    ls -A root; [ ! -e root/.lop-quarantine-0 ] && [ "$(find root/root/x -name '[0-9]' -path '*/x/[ab]/*' | wc -l)" = 3 ]
}
t12_names() {
    pairs 3 100 d/a d/b; lop scan d; lop dedupe --by quarantine --apply d
    rm -rf "${W:?}/home"; mkdir "$W/home"
    local store; store=$(find "$M" -maxdepth 3 -name '.lop-quarantine-*' | head -n1)
    says 'd/b/[123]' lop quarantine list --dir "${store:-$M}"
}
check t12_place 'root: files below /root do not go to a store in /'
check t12_names 'what is in quarantine can be named without the catalog'

t13() { mkdir -p sys/proc; echo 1 > sys/f; mount -t proc proc sys/proc; ends 0 lop scan sys; }
check t13 'a scan leaves pseudo file systems out'

t14() { mkdir d; echo 1 > d/f; says 'director' lop scan --files-from - < <(echo d); }
check t14 '--files-from says that it skipped a directory'

# == Progress =======================================================================================

# Prints the progress of a scan on a slow disk, on a terminal of $1 columns, one line per update.
slow_scan() {
    need strace
    pairs 20 400000 d/a d/b
    on_terminal "$1" "strace -f -qq -o /dev/null -e trace=pread64 -e inject=pread64:delay_enter=30000 $LOP scan --threads 1 d" < /dev/null |
        sed 's/\x1b\[K/\n/g' > "$W/said"
    grep -a Compar "$W/said"
}
p1() { slow_scan 50; grep -a 'Compar\|%' "$W/said" | grep -qa 'left\|%.*[0-9]:[0-9][0-9]'; }
p2() { slow_scan 80; ! grep -qa 'Comparing: 0 of .*, 0 B of .*[1-9][0-9.]* [KMG]iB/s' "$W/said"; }
p3() {
    pairs 20 400000 d/a d/b
    timeout 60 strace -f -qq -o /dev/null -e trace=pread64 -e inject=pread64:delay_enter=30000 \
        "$LOP" scan --progress always --threads 1 d 2> "$W/said"
    cat -A "$W/said"; grep -q . "$W/said" && ! grep -q $'\r\|\x1b' "$W/said"
}
# Prints the progress of a program whose system calls $2 take 30 ms, on a terminal of $1 columns.
slow_progress() {
    need strace
    on_terminal "$1" "strace -f -qq -o /dev/null -e trace=$2 -e inject=$2:delay_enter=30000 $LOP ${*:3}" < /dev/null |
        sed 's/\x1b\[K/\n/g' | tee /dev/stderr
}
p4() {
    pairs 20 400000 d/a d/b; lop scan d
    slow_progress 50 pread64 dedupe --by hardlink --apply d | grep -qa 'Changing files: [0-9]*%, .* left' &&
        slow_progress 50 copy_file_range undo | grep -qa 'Restoring files: [0-9]*%, .* left'
}
check p1 'progress: what is left is shown in 50 columns too'
check p2 'progress: not "0 of N at 200 MiB/s"'
check p4 'progress: dedupe and undo show percentage and time left'
check p3 'progress: plain lines where standard error is no terminal'

# == Words ==========================================================================================

# says_no_more NAME CLAIM PHRASE: the program no longer contains the phrase.
gone() { ! grep -aqF -e "$PHRASE" "$LOP"; }
words() { PHRASE=$2 check "$1" "no message says \"$2\""; }
m01() { gone; }; words m01 ' what they were'
m02() { gone; }; words m02 'could not be brought back'
m03() { gone; }; words m03 'its equal has changed or is gone'
m04() { gone; }; words m04 'that the source has not stay'
m05() { gone; }; words m05 '--delete has it replaced'
m06() { gone; }; words m06 'free by that'
m07() { gone; }; words m07 'left as they were not selected'
m09() { gone; }; words m09 'links and special files made'
m10() { gone; }; words m10 'given other metadata'
m11() { gone; }; words m11 ' gained'
m12() { gone; }; words m12 'made files of their own'
m13() { gone; }; words m13 'as they are the destination or what a run left'
m15() { gone; }; words m15 'only in there'
m16() { gone; }; words m16 'could not be answered for'
m17() { gone; }; words m17 'nothing is left to go on with'
m18() { gone; }; words m18 'never read'
m19() { gone; }; words m19 'takes it from there'
m20() { gone; }; words m20 '-v shows more'

m08() {
    mkdir -p p/x/y; chmod 700 p/x; chmod 777 p
    says_not 'could not be removed' lop_as_user purge -n p && says 'could not be' lop_as_user purge -n p
}
m14() {
    mkdir -p src/d; echo 1 > src/d/secret; chmod 000 src/d/secret
    chown $NOBODY "$T"; says 'src/d/secret' lop_as_user mirror src dst
}
m21() { says 'not a plan' lop dedupe --plan /etc/passwd; }
m22() { says_not 'non-zero type' lop scan --threads 0 .; }
m23() { HOME=relative XDG_STATE_HOME='' says 'absolute' lop scan .; }
m24() { echo 1 > f; says 'cp' lop mirror f g; }
m25() { says_not 'cross-mounts' lop purge --rm doc; }
m26() { lop scan --nothing 2>&1 | head -n1 > "$W/a"; lop report 2>&1 | head -n1 > "$W/b"; cat "$W/a" "$W/b"; [ "$(cut -d: -f1 "$W/a")" = "$(cut -d: -f1 "$W/b")" ]; }
m27() { mkdir p; says_not 'invalid' lop purge -n --older-than 1y p && says_not 'invalid' lop purge -n --older-than 6mo p; }
check m08 'a dry run does not speak of what could not be removed'
check m14 'mirror names a file that it cannot read with SRC'
check m21 'a file that is no plan is called that'
check m22 '--threads 0 is refused in plain words'
check m23 'a HOME that is not absolute is called that'
check m24 'mirror of a file points to cp'
check m25 'purge --rm does not suggest --cross-mounts'
check m26 'wrong usage and failures are reported in one style'
check m27 'ages of months and years are understood'

# == Missing ========================================================================================

scanned() { pairs 3 100 d/a d/b; lop scan d; }
f_status() { scanned; says "$T/d" lop status; }
f_history() { scanned; lop dedupe --by hardlink --apply d; says 'd/b/1' lop history 1; }
f_undo() { scanned; lop dedupe --by hardlink --apply d; ends 0 lop undo --dry-run && [ "$(stat -c %h d/a/1)" = 2 ]; }
f_undo_part() {
    scanned; lop dedupe --by hardlink --apply d; ends 0 lop undo 1 d/b/1 &&
        [ "$(stat -c %h d/a/1)" = 1 ] && [ "$(stat -c %h d/a/2)" = 2 ]
}
f_catalog() { pairs 3 100 d/a d/b; LOP_CATALOG=$W/mine.db lop scan d; [ -f "$W/mine.db" ]; }
f_case() { mkdir d; echo 1 > d/A.JPG; echo 1 > d/b.jpg; lop scan --help | grep -qi 'case'; }
f_purge_list() { mkdir d; echo 1 > d/f; echo 1 > d/g; echo d/f | lop purge --files-from -; [ ! -e d/f ] && [ -e d/g ]; }
f_version() { scanned; says '^{"format_version":1,' lop report --format json; }
f_next() { pairs 3 100 d/a d/b; on_terminal "$LOP scan d" < /dev/null > "$W/said"; cat "$W/said"; grep -q 'lop report' "$W/said"; }
f_validate() { scanned; ends 0 lop validate d/a; }
check f_status 'lop status tells what is scanned'
check f_history 'lop history RUN tells which files'
check f_undo 'lop undo --dry-run changes nothing'
check f_undo_part 'lop undo RUN PATH brings back one file'
check f_catalog 'LOP_CATALOG names the catalog'
check f_case 'globs can ignore case'
check f_purge_list 'purge takes a list of files'
check f_version 'JSON documents carry a version'
check f_next 'a scan on a terminal says what to do next'
check f_validate 'validate takes a PATH'

conclude
