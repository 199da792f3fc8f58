#!/bin/sh
# A stand-in for lop in the tests of jobs. It answers with the files `stderr`, `stdout` and `exit` beside the
# catalog, and with `plan` for --save-plan. It adds its arguments to `calls` and runs while `wait` exists.
dir=${2%/*}
trap 'exit 130' TERM
echo "$*" >>"$dir/calls"
[ -e "$dir/stderr" ] && cat "$dir/stderr" >&2
case "$*" in
*--save-plan*) cat "$dir/plan" >/proc/self/fd/0 ;;
*--apply*) cat /proc/self/fd/0 >"$dir/applied" ;;
esac
while [ -e "$dir/wait" ]; do sleep 0.02; done
[ -e "$dir/stdout" ] && cat "$dir/stdout"
exit "$(cat "$dir/exit" 2>/dev/null || echo 0)"
