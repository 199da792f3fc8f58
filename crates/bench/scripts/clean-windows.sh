#!/bin/bash
# Lists what a list of rules would remove from a Windows disk. It removes nothing.
#
#   clean-windows.sh STAGE RULES DIR
#
# A rule is a path glob below DIR, in the spelling of Windows XP. The script rewrites each rule for
# the later generations by text substitution, and adds the places where Windows Vista and later
# redirect writes to (VirtualStore). Guards check each rewritten path, so that no rule becomes a
# path such as /*. Every path that exists is printed.
#
# This is a new script, written after the description of such a script in an article. The stages
# differ only in how a text is checked and rewritten, as in the article:
#
#   1  grep and sed, a process for each check and each rewriting
#   2  checks with =~ of bash, rewriting with sed
#   3  checks with =~ and rewriting with ${text//from/to}, without any process

stage=$1
rules=$2
dir=${3%/}
case $stage in 1 | 2 | 3) ;; *) echo 'usage: clean-windows.sh STAGE RULES DIR' >&2; exit 2 ;; esac
cd "$dir" || exit 1
shopt -s nullglob globstar dotglob
# Paths contain spaces. Without separators, bash expands globs but does not split words.
IFS=

# Whether a text matches a regular expression.
matches() {
    if [ "$stage" = 1 ]; then
        grep -qE -e "$2" <<<"$1"
    else
        [[ $1 =~ $2 ]]
    fi
}

# Sets `text` to the first argument with each occurrence of the second replaced by the third.
substitute() {
    if [ "$stage" = 3 ]; then
        text=${1//"$2"/"$3"}
    else
        text=$(sed "s|$2|$3|g" <<<"$1")
    fi
}

# Whether a path is safe. A path that fails a check is reported, and nothing of it is listed.
is_safe() {
    if ! matches "$1" '^[A-Za-z][A-Za-z0-9 ()-]*/' ||
        matches "$1" '(^|/)\.\.?(/|$)' ||
        matches "$1" '//|^ |^[^/]*/[*?/.]*$' ||
        matches "$1" '^(Users|Documents and Settings)/[^/]*/[*?/.]*$' ||
        matches "$1" '^Users/[^/]*/AppData/[A-Za-z]*(/[*?/.]*)?$' ||
        matches "$1" '/(Local Settings|Application Data)(/Application Data)?(/[*?/.]*)?$'; then
        printf 'refused: %s\n' "$1" >&2
        return 1
    fi
}

# Prints what exists of a path. Fails if the path is not safe.
list() {
    is_safe "$1" || return
    local found
    for found in $1; do
        if [ -e "$found" ]; then
            printf '%s/%s\n' "$dir" "$found"
        fi
    done
}

# Prints what exists of a path and of the place where Windows redirects writes to it.
list_with_mirror() {
    list "$1" || return
    if matches "$1" '^(Program Files|ProgramData|Windows)'; then
        list "Users/*/AppData/Local/VirtualStore/$1"
    fi
}

while read -r rule; do
    list "$rule"
    # The generations from Vista on. The path of all users comes first, because it contains the
    # path of a single user.
    substitute "$rule" 'Documents and Settings/All Users/Application Data' 'ProgramData'
    substitute "$text" 'Local Settings/Application Data' 'AppData/Local'
    substitute "$text" 'Application Data' 'AppData/Roaming'
    substitute "$text" 'My Documents' 'Documents'
    substitute "$text" 'Documents and Settings' 'Users'
    substitute "$text" 'WINDOWS' 'Windows'
    newer=$text
    list_with_mirror "$newer"
    if matches "$newer" '^Program Files/'; then
        substitute "$newer" 'Program Files' 'Program Files (x86)'
        list_with_mirror "$text"
    fi
done <"$rules"
