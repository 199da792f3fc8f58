//! Cases of the rule set `unix-temp`. The parent module describes the notation.

pub(super) const CASES: &str = r"
unix.tmp
+ {temp}/build-1234/out
+ {temp}/file
- {temp}/.X11-unix/X0
- {temp}/systemd-private-0a1b-ntp.service/tmp/x
- {root}/var/tmp/file
- {drive}/TEMP/file
unix.var-tmp
+ {root}/var/tmp/file
+ {root}/var/tmp/dir/file
- {root}/var/tmpfile
- {root}/var/lib/tmp/file
- {root}/var/tmp/systemd-private-0a1b-ntp.service/tmp/x
macos.user-temp
+ {root}/private/var/folders/zz/abc/T/file
- {root}/private/var/folders/zz/abc/0/file
- {root}/private/var/folders/zz/T/file
";
