#!/bin/bash
# Regression checks for the ways in which lop lost, mixed up or misreported data. Each check states
# a claim that must hold: first for actions on duplicates and their undo (s...), then for mirrors
# (d...). See lib.sh for how to run them; findings.sh has wrong answers and traps.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Succeeds if the bytes of a file that must survive are still somewhere on the file system.
precious() { echo "precious: $(grep -rl precious "$M" 2>/dev/null | tr '\n' ' ')"; grep -rqs precious "$M"; }
two() { echo same > a; cp --reflink=never a b; lop scan -q .; }

# == Acting on duplicates ============================================================================

s1_report() {
    echo 'line 1' > a; cp a b; lop scan -q .; lop report -q --format json > "$W/report"
    echo 'line 2, precious' >> b
    lop dedupe --report "$W/report" --by delete --apply; precious
}
s1_catalog() {
    need sqlite3
    echo 'line 1' > a; (cat a; echo precious) > b; cp a a2; cp b b2; lop scan -q .
    sqlite3 "$W/home/lop/catalog.db" 'UPDATE file SET content=1'
    lop dedupe --by delete --apply .; precious
}
check s1_report 'a file that grew since the report is not removed as a copy of its beginning'
check s1_catalog 'nor is one that the catalog wrongly calls equal'

s2() {
    need sshfs socat
    mkdir "$M/view"; echo precious > f
    socat EXEC:/usr/lib/openssh/sftp-server "EXEC:sshfs \\:$T $M/view -o passive -f" &
    local tunnel=$!
    for _ in $(seq 50); do mountpoint -q "$M/view" && break; sleep 0.1; done
    mountpoint -q "$M/view" || skip 'sshfs does not mount here'
    lop scan -q "$T" "$M/view"; lop dedupe --by delete --keep "path:$M/view/**" --apply "$T" "$M/view"
    umount -l "$M/view"; kill $tunnel
    grep -qs precious f
}
check s2 'the only file is not removed because its view through sshfs looks like a copy'

# Simulates a power failure of the file system at $M, which loses everything that was not written
# yet, and mounts it again.
power_fails() {
    cd /
    # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are the same number; 2 means "without writing the
    # journal".
    python3 -c 'import fcntl, os, sys; fcntl.ioctl(os.open(sys.argv[1], 0), 0x8004587d, (2).to_bytes(4, "little"))' "$M"
    umount "$M" && mount -o loop "$W/image" "$M"
}
undo_survives() {
    need python3 "mkfs.$2"
    [ "$2" = ext4 ] || fresh "$2" 400M
    for i in 1 2 3; do echo same > f$i; done
    lop scan -q .; lop dedupe --by "$1" --apply .; sync -f "$M"; lop undo
    power_fails; lop undo
    find "$T" -type f -links 1; [ "$(find "$T" -type f -links 1 | wc -l)" = 3 ]
}
s3_quarantine() { undo_survives quarantine ext4; }
s3_delete() { undo_survives delete ext4; }
s3_hardlink() { undo_survives hardlink ext4; }
s3_xfs() { undo_survives quarantine xfs; }
check s3_quarantine 'undo of quarantine: done is done, also if the power fails right after'
check s3_delete 'undo of delete: the same'
check s3_hardlink 'undo of hardlink: the same'
check s3_xfs 'undo of quarantine on XFS: the same'

s4() {
    mkdir "$M"/{lower,upper,work,view}
    echo same > "$M/lower/a"; ln "$M/lower/a" "$M/lower/a2"; echo same > "$M/lower/b"; chmod 600 "$M/lower/b"
    mount -t overlay x -o "lowerdir=$M/lower,upperdir=$M/upper,workdir=$M/work" "$M/view" || skip 'no overlayfs here'
    lop scan -q "$M/view"; lop dedupe --by hardlink --apply "$M/view"; lop undo
    ls -lA "$M/view"; [ "$(stat -c %a "$M/view/b")" = 600 ] && [ "$(ls -A "$M/view")" = $'a\na2\nb' ]
}
check s4 'overlayfs: a file is linked and taken back, though copying up changes inodes'

# Widens the window between the lease and the exchange to two seconds.
s5() {
    need strace
    two
    strace -f -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:delay_enter=2000000 \
        "$LOP" dedupe --by "${1:-hardlink}" --apply . &
    sleep 1; echo precious >> b; wait
    precious
}
s5_delete() { s5 delete; }
check s5 'what a program appends in the last moment is not written to a file without a name'
check s5_delete 'nor is it removed with the file'

# Makes an exFAT file system through FUSE, which has neither RENAME_NOREPLACE nor hard links.
s6() {
    need mkfs.exfat mount.exfat-fuse
    truncate -s 60M "$M/exfat"; mkfs.exfat "$M/exfat" > /dev/null; mkdir "$M/view"
    local device; device=$(losetup -f --show "$M/exfat")
    mount.exfat-fuse -o umask=077 "$device" "$M/view"
    losetup -d "$device" # goes with the mount
    mountpoint -q "$M/view" || skip 'exfat-fuse does not mount here'
    mkdir "$M/view/t"; echo same > "$M/view/t/a"; echo same > "$M/view/t/b"
    lop scan -q "$M/view/t"; lop dedupe --by quarantine --apply "$M/view/t"; lop undo
    ls -AR "$M/view"; [ -f "$M/view/t/a" ] && [ -f "$M/view/t/b" ]
}
check s6 'exFAT through FUSE: what was moved aside can be brought back, or is not moved'

s7() {
    need strace
    for i in 1 2 3; do echo same > f$i; done
    lop scan -q .; lop dedupe --by quarantine --apply .
    strace -f -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:signal=SIGKILL:when=2 "$LOP" undo
    lop undo; says 'nothing to undo' lop undo && [ "$(find . -type f | wc -l)" = 3 ]
}
check s7 'an undo that was killed can be run again to its end'

s8() {
    echo 'content 1' > a; cp a b; printf '%s\n' "$T/a" "$T/b" > "$W/list"
    lop dedupe --files-from "$W/list" --by delete --apply
    touch -r a "$W/time"; echo 'content 2' > a; touch -r "$W/time" a
    lop undo; ls; ! grep -qs 'content 2' b
}
check s8 'undo does not take other content of the same size and time for the file'

s9() {
    need mergerfs
    mkdir "$M/disk" "$M/view"; mergerfs -o minfreespace=1M "$M/disk" "$M/view" || skip 'mergerfs does not mount here'
    echo same > "$M/view/a"; echo same > "$M/view/b"
    lop scan -q "$M/view"; lop dedupe --by hardlink --apply "$M/view" && ends 0 lop undo
}
check s9 'mergerfs: hard links can be undone, though each name has an inode number of its own'

s10() {
    need sqlite3
    mkdir x; echo same > a; cp a x/b; lop scan -q .
    sqlite3 "$W/home/lop/catalog.db" 'UPDATE dir SET parent=1 WHERE id=1'
    (ulimit -v 2000000; TIME=20 lop report -q); local code=$?
    echo "ends with $code"; [ $code -lt 100 ]
}
check s10 'a catalog whose directories go in a circle is no endless loop'

s11() {
    two; lop dedupe --by delete --apply .
    sed -i "s#$T/b#$M/tt/x/b#" "$W"/home/lop/catalog.db.runs/1.jsonl
    lop undo; [ ! -e "$M/tt" ]
}
check s11 'a changed path in a journal does not have undo make files elsewhere'

s12() {
    need python3 mkfs.xfs
    fresh xfs 800M; echo x > c; echo x > f0
    python3 -c "
import os
for i in range(1, 100000): os.link('f0', 'f%d' % i)"
    lop scan -q .; TIME=20 ends 0 lop dedupe --by delete --keep "path:$T/c" --apply .
}
check s12 '100,000 names of one file are acted on in seconds'

s13() {
    need mergerfs
    mkdir "$M/disk" "$M/view"; mergerfs -o minfreespace=1M,use_ino "$M/disk" "$M/view" || skip 'mergerfs does not mount here'
    mkdir -p "$M/view/u/x"; echo 1 > "$M/view/u/x/f"
    lop purge --instant "$M/view/u"; sleep 1; lop purge --resume
    find "$M/view"; [ -e "$M/view/u/x/f" ] || [ "$(ls -A "$M/view")" = '' ]
}
check s13 'mergerfs with use_ino: purge --instant removes the tree, or gives it back'

s_links() { echo one > a; ln a b; lop scan -q .; says "$T/b" lop file a; }
check s_links 'file names hard links without another copy too'

# == Mirrors =========================================================================================

remote() {
    printf '#!/bin/bash\nshift\nexec "$@"\n' > "$W/rsh"; chmod 755 "$W/rsh"
    lop mirror --rsh "$W/rsh" --remote-lop "$LOP" "$@"
}

# Two names with the same 64-bit FNV-1a hash.
twins() {
    mkdir -p s/{8yn0iYCKYHlIj4-BwPqk,GReLUrM4wMqfg9yzV3KQ}
    for i in $(seq 50); do echo a > s/8yn0iYCKYHlIj4-BwPqk/f"$i"; echo b > s/GReLUrM4wMqfg9yzV3KQ/g"$i"; done
}
d1_push() { twins; ends 0 remote s "host:$T/d" && diff -r s d; }
d1_pull() { twins; ends 0 remote "host:$T/s" d && diff -r s d; }
d1_local() { twins; for i in 1 2 3 4 5 6; do ends 0 lop mirror --threads 2 s "d$i" && diff -r s "d$i" || return; done; }
d1_nested() {
    need strace
    mkdir -p s/5 other d/5; head -c 3000000 /dev/urandom > s/5/big; head -c 3000000 /dev/urandom > other/big
    local slow=pwrite64,write,copy_file_range,sendfile tries=0
    strace -f -qq -o /dev/null -e trace=$slow -e inject=$slow:delay_enter=1000000 "$LOP" mirror s d &
    local first=$! second
    until compgen -G 'd/5/.lop-part-*' > /dev/null; do
        sleep 0.05; [ $((tries += 1)) -lt 200 ] || { echo 'the first run made no temporary file'; return 1; }
    done
    timeout 30 "$LOP" mirror other d/5; second=$?
    kill -0 $first || { echo 'the first run was too fast'; return 1; }
    wait $first; echo "the runs ended with $? and $second"
    [ $second != 0 ] && diff -r s d
}
check d1_push 'push: names whose hashes collide are not mixed'
check d1_pull 'pull: names whose hashes collide are not mixed'
check d1_local 'local: names whose hashes collide are not mixed'
check d1_nested 'of two runs whose destinations lie in each other, the second is refused'

# A destination that ignores letter case.
ignores_case() {
    need mkfs.ntfs lowntfs-3g
    truncate -s 60M "$M/ntfs"; mkfs.ntfs -QFq "$M/ntfs" > /dev/null 2>&1; mkdir "$M/view"
    lowntfs-3g -o ignore_case "$M/ntfs" "$M/view" || skip 'lowntfs-3g does not mount here'
    mkdir s "$M/view/d"; echo one > s/README; echo two > s/Readme
}
d2_first() { ignores_case; ends 3 lop mirror s "$M/view/d"; }
d2_again() {
    ignores_case; lop mirror s "$M/view/d"
    for _ in 1 2; do ends 3 lop mirror --delete s "$M/view/d"; ls "$M/view/d"; [ -n "$(ls "$M/view/d")" ] || return; done
}
check d2_first 'two spellings that the destination takes for one are reported'
check d2_again 'and --delete removes neither'

d3() { mkdir -p s d/mod; echo 1 > s/f; echo 1 > d/mod/f; chmod 555 d/mod; chown -R $NOBODY:$NOBODY .; lop_as_user mirror --delete s d; [ ! -e d/mod ]; }
check d3 'mirror --delete removes a directory without write permission of its own'

d4() { mkdir -p s/.lop-quarantine-1; echo 1 > s/.lop-quarantine-1/f; lop mirror -i s d > "$W/said" 2>&1; cat "$W/said"; [ -e d/.lop-quarantine-1/f ] || grep -q quarantine "$W/said"; }
check d4 'a .lop-quarantine-* of the source is mirrored, or said to be left out'

d5_attribute() {
    need mkfs.xfs python3
    mkdir s; head -c 100000 /dev/urandom > s/a; ln s/a s/b; mkdir "$M/x"; truncate -s 400M "$M/xfs"
    mkfs.xfs -q "$M/xfs"; mount -o loop "$M/xfs" "$M/x"; cp -a s "$M/x/s"
    python3 -c "import os; os.setxattr('$M/x/s/a', 'user.big', b'x' * 20000)"
    lop mirror "$M/x/s" d; lop mirror -i "$M/x/s" d > "$W/said" 2>&1; cat "$W/said"
    ! grep -q '^ *\(new\|replace\)' "$W/said" && ! grep -q 'copied (' "$W/said"
}
d5_time() {
    need mkfs.xfs
    truncate -s 400M "$M/xfs"; mkfs.xfs -q -m bigtime=1 "$M/xfs"; mkdir "$M/x"; mount -o loop "$M/xfs" "$M/x"
    mkdir s; head -c 100000 /dev/urandom > "$M/x/f"; touch -d 2480-01-01 "$M/x/f"
    lop mirror "$M/x" d > "$W/first" 2>&1; lop mirror "$M/x" d > "$W/said" 2>&1; cat "$W/first" "$W/said"
    ! grep -q 'copied (' "$W/said" && grep -qi 'time' "$W/first"
}
check d5_attribute 'an attribute that the destination refuses does not have a file copied again'
check d5_time 'nor does a time that it cannot keep, which is said'

d6() {
    mkdir -p s d/f/mounted; echo precious > s/f; mount -t tmpfs none d/f/mounted
    lop mirror --delete s d > "$W/said" 2>&1; cat "$W/said"; find d -name '.lop-part*'
    [ -z "$(find d -name '.lop-part*')" ] && ! grep -q '1 file copied' "$W/said"
}
check d6 'a file that cannot take its place leaves nothing behind, and is not counted as copied'

d7_directory() { mkdir -p s/secret d; chown -R $NOBODY:$NOBODY .; chmod 300 s/secret; ends 3 lop_as_user mirror s d && [ "$(stat -c %a d/secret)" = 300 ]; }
d7_attributes() {
    need python3 mkfs.xfs
    truncate -s 400M "$M/xfs"; mkfs.xfs -q "$M/xfs"; mkdir "$M/x"; mount -o loop "$M/xfs" "$M/x"; echo precious > "$M/x/f"
    python3 -c "
import os
for i in range(400): os.setxattr('$M/x/f', 'user.' + '%0200d' % i, b'')"
    lop mirror "$M/x" d; grep -q precious d/f
}
check d7_directory 'a directory that cannot be read is made, with its mode'
check d7_attributes 'a file with more attributes than can be listed is copied'

d8_removals() { mkdir -p s d/gone/mounted; mount -t tmpfs none d/gone/mounted; echo 1 > s/f; cp -p s/f d/f; touch -r s d; ends 3 lop mirror --delete s d; }
d8_listed() { mkdir -p s d/gone/mounted; mount -t tmpfs none d/gone/mounted; echo 1 > s/f; lop mirror --delete -i s d > "$W/said" 2>&1; cat "$W/said"; ! grep -q '^ *remove *gone/\?$' "$W/said"; }
d8_terminated() {
    mkdir s; for i in $(seq 200); do head -c 40000 /dev/zero > "s/$i"; done
    printf '#!/bin/bash\nshift\nexec 3<&0\n"$@" <&3 &\nsleep 0.2\nkill -TERM $!\nwait $!\n' > "$W/rsh"; chmod 755 "$W/rsh"
    local code codes=
    for i in 1 2 3 4; do timeout 30 "$LOP" mirror --bwlimit 5M --rsh "$W/rsh" --remote-lop "$LOP" s "host:$T/d$i"; codes+=" $?"; done
    echo "codes:$codes"; [ "$codes" = ' 1 1 1 1' ] || [ "$codes" = ' 3 3 3 3' ]
}
check d8_removals 'a run in which only removals failed is done in part'
check d8_listed '-i does not list as removed what could not be'
check d8_terminated 'a far side that is terminated always ends the run with one code'

conclude
