# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_lop_global_optspecs
    string join \n catalog= q/quiet v/verbose progress= color= json h/help V/version
end

function __fish_lop_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_lop_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_lop_using_subcommand
    set -l cmd (__fish_lop_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c lop -n "__fish_lop_needs_command" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_needs_command" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_needs_command" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_needs_command" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_needs_command" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_needs_command" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_needs_command" -s V -l version -d 'Print version'
complete -c lop -n "__fish_lop_needs_command" -f -a "scan" -d 'Find duplicates and remember them'
complete -c lop -n "__fish_lop_needs_command" -f -a "report" -d 'Show the groups of duplicates'
complete -c lop -n "__fish_lop_needs_command" -f -a "file" -d 'Show the duplicates of a file'
complete -c lop -n "__fish_lop_needs_command" -f -a "ls" -d 'List a directory: its files with their duplicates, its directories with their sizes'
complete -c lop -n "__fish_lop_needs_command" -f -a "dups" -d 'Show the files below a directory that have a duplicate anywhere'
complete -c lop -n "__fish_lop_needs_command" -f -a "uniques" -d 'Show the files below a directory that have no copy outside it'
complete -c lop -n "__fish_lop_needs_command" -f -a "contains" -d 'Tell whether everything in one directory is also in another one'
complete -c lop -n "__fish_lop_needs_command" -f -a "dedupe" -d 'Act on duplicates'
complete -c lop -n "__fish_lop_needs_command" -f -a "separate" -d 'Replace hard links by independent copies'
complete -c lop -n "__fish_lop_needs_command" -f -a "undo" -d 'Restore what a run changed'
complete -c lop -n "__fish_lop_needs_command" -f -a "history" -d 'List the runs that changed files, or what one run did with each file'
complete -c lop -n "__fish_lop_needs_command" -f -a "quarantine" -d 'List, restore or remove files in quarantine'
complete -c lop -n "__fish_lop_needs_command" -f -a "mirror" -d 'Make one directory tree like another, including all hard links'
complete -c lop -n "__fish_lop_needs_command" -f -a "purge" -d 'Remove directory trees for good, fast'
complete -c lop -n "__fish_lop_needs_command" -f -a "status" -d 'Show what the catalog knows: paths, disks, runs'
complete -c lop -n "__fish_lop_needs_command" -f -a "validate" -d 'Read remembered files again and compare them with their digests'
complete -c lop -n "__fish_lop_needs_command" -f -a "refresh" -d 'Forget files that no longer exist'
complete -c lop -n "__fish_lop_needs_command" -f -a "forget" -d 'Forget what the catalog knows below paths'
complete -c lop -n "__fish_lop_needs_command" -f -a "man" -d 'Show a man page'
complete -c lop -n "__fish_lop_needs_command" -f -a "completions" -d 'Print the completion script for a shell'
complete -c lop -n "__fish_lop_needs_command" -f -a "mirror-server" -d 'Run the side of a mirror that another host starts'
complete -c lop -n "__fish_lop_needs_command" -f -a "generate" -d 'Print the generated man pages, completions and reference as one JSON object'
complete -c lop -n "__fish_lop_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand scan" -l format -d 'Print the groups in this format, also with a catalog' -r -f -a "text\t'A heading for each group, for people'
fdupes\t'One path per line, a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and one more after each group'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l min-size -d 'Skip smaller files' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l max-size -d 'Skip larger files' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l include -d 'Scan only files that match one of these patterns' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l exclude -d 'Skip files and directories that match this pattern' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l files-from -d 'Scan the files named in FILE; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand scan" -l save-every -d 'Save the results so far every MS milliseconds' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l io -d 'The kind of storage, instead of measuring it: auto, hdd, ssd or cached' -r -f -a "auto\t'Measured while reading'
hdd\t'A hard disk: read in the order of positions'
ssd\t'An SSD: many reads at once'
cached\t'Everything is in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l threads -d 'Work with N threads on each device [default: one per processor, more where they wait]' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l memory -d 'Use at most SIZE of memory [default: a quarter of the available memory]' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand scan" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l no-catalog -d 'Do not use the catalog, and print the groups'
complete -c lop -n "__fish_lop_using_subcommand scan" -l ignore-case -d 'Ignore the case of letters in patterns'
complete -c lop -n "__fish_lop_using_subcommand scan" -s x -l one-file-system -d 'Stay on the file system of each PATH'
complete -c lop -n "__fish_lop_using_subcommand scan" -l no-hidden -d 'Skip names that start with a dot'
complete -c lop -n "__fish_lop_using_subcommand scan" -l system-dirs -d 'Enter system folders too: snapshots, trash, @eaDir'
complete -c lop -n "__fish_lop_using_subcommand scan" -l empty -d 'Scan empty files too, which are all equal'
complete -c lop -n "__fish_lop_using_subcommand scan" -l hardlinks -d 'Count hard links to one file as duplicates of each other'
complete -c lop -n "__fish_lop_using_subcommand scan" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand scan" -l reread -d 'Read all files again, even if they are in the catalog and unchanged'
complete -c lop -n "__fish_lop_using_subcommand scan" -l hash-all -d 'Give every file a digest, even if no other file has its size or first block'
complete -c lop -n "__fish_lop_using_subcommand scan" -l stats -d 'Print statistics of the run on standard error, as JSON'
complete -c lop -n "__fish_lop_using_subcommand scan" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand scan" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand scan" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand report" -l format -d 'Print in this format [default: text]' -r -f -a "text\t'A heading for each group, for people'
fdupes\t'One path per line, a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and one more after each group'"
complete -c lop -n "__fish_lop_using_subcommand report" -l limit -d 'Print at most N groups; 0 for all [default: 20 as text, otherwise all]' -r
complete -c lop -n "__fish_lop_using_subcommand report" -l sort -d 'Order of the groups' -r -f -a "reclaimable\t'Most reclaimable bytes first'
size\t'Largest files first'
count\t'Most files first'
path\t'By the first path'"
complete -c lop -n "__fish_lop_using_subcommand report" -l min-size -d 'Skip groups of smaller files; sizes such as 4096, 10k, 1.5GiB' -r
complete -c lop -n "__fish_lop_using_subcommand report" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand report" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand report" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand report" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand report" -l dirs -d 'Show equal, contained and overlapping directories instead'
complete -c lop -n "__fish_lop_using_subcommand report" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand report" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand report" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand file" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand file" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand file" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand file" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand file" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand file" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand file" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand file" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand ls" -l sort -d 'Order in each directory' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand ls" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand ls" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand ls" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand ls" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand ls" -s R -l recursive -d 'List all directories below it too'
complete -c lop -n "__fish_lop_using_subcommand ls" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand ls" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand ls" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand dups" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading for each group, for people'
fdupes\t'One path per line, a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and one more after each group'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l limit -d 'Print at most N files; 0 for all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand dups" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dups" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand dups" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dups" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand dups" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand dups" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand dups" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading for each group, for people'
fdupes\t'One path per line, a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and one more after each group'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l limit -d 'Print at most N files; 0 for all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand uniques" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand uniques" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l anywhere -d 'Count copies inside DIR too'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l verify -d 'Read each file and its copy now, and count only copies that are equal byte by byte'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand contains" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading for each group, for people'
fdupes\t'One path per line, a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and one more after each group'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l limit -d 'Print at most N files; 0 for all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand contains" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand contains" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand contains" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l verify -d 'Read each file and its copy now, and count only copies that are equal byte by byte'
complete -c lop -n "__fish_lop_using_subcommand contains" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand contains" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand contains" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand contains" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l by -d 'The action on each redundant file' -r -f -a "delete\t'Delete it'
hardlink\t'Replace it by a hard link to the kept file'
reflink\t'Let it share the disk space of the kept file; it remains a separate file'
symlink\t'Replace it by a relative symbolic link to the kept file'
quarantine\t'Move it aside, on the same file system, until it is purged or restored'
script\t'Print a shell script that compares the files again and then acts'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l keep -d 'Which file of a group to keep' -r -f -a "local\t'One on a file system of this machine'
tidy\t'The one that looks least like a copy'
newest\t'The one modified last'
oldest\t'The one modified first'
shortest-path\t'The one with the shortest path'
longest-path\t'The one with the longest path'
shallowest\t'The one below the fewest directories'
deepest\t'The one below the most directories'
first-root\t'One below the PATH that was named first'
path:\t'One whose path matches GLOB'
device:\t'One on the device of DIR'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l protect -d 'Never touch files below DIR; they are kept in preference to all others' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l min-size -d 'Skip smaller files' -r
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l report -d 'Take the groups from a JSON report instead of the catalog' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l files-from -d 'Take the files named in FILE instead of the catalog; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l distinct -d 'Treat files below DIR, on a network or FUSE file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l save-plan -d 'Write the plan to FILE, one JSON object per line' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l plan -d 'Read the plan from FILE' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l all -d 'Act on everything in the catalog'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l apply -d 'Carry out the plan'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s y -l yes -d 'Do not ask before deleting many files'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s i -l interactive -d 'Go through the groups on the terminal and choose which files to keep'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l system-dirs -d 'Act on files that programs keep for themselves too: .git, snapshots, trash, @eaDir'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l preserve-dir-times -d 'Restore the times of directories after names in them have changed'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand separate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand separate" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand separate" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand separate" -l apply -d 'Carry out the plan'
complete -c lop -n "__fish_lop_using_subcommand separate" -l preserve-dir-times -d 'Restore the times of directories after names in them have changed'
complete -c lop -n "__fish_lop_using_subcommand separate" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand separate" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand separate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand separate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand undo" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand undo" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand undo" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand undo" -s n -l dry-run -d 'Show how each file would be restored, without changing anything'
complete -c lop -n "__fish_lop_using_subcommand undo" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand undo" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand undo" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand history" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand history" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand history" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand history" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand history" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand history" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "purge" -d 'Remove files from quarantine for good'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l older-than -d 'Remove files that were moved there at least this long ago: 12h, 30d, 2w, 6mo, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "purge" -d 'Remove files from quarantine for good'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l max-delete -d 'Remove nothing if more than N entries would be removed, including those in directories' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l link-dest -d 'Hard-link files to equal files in DIR instead of copying them' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l include -d 'Mirror only files that match' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l exclude -d 'Neither mirror nor remove what matches, or anything in a directory that matches' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l bwlimit -d 'Copy at most RATE bytes per second: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l rsh -d 'Connect to the other host with COMMAND' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l remote-lop -d 'The name or path of lop on the other host' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l io -d 'The kind of storage of SRC, instead of measuring it: auto, hdd, ssd or cached' -r -f -a "auto\t'Measured while reading'
hdd\t'A hard disk: read in the order of positions'
ssd\t'An SSD: many reads at once'
cached\t'Everything is in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l threads -d 'Work with N threads [default: one per processor, more where they wait]' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand mirror" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -s n -l dry-run -d 'Change nothing; list what would be changed'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s i -l itemize -d 'List each change'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l delete -d 'Remove extraneous entries: what is in DST but not in SRC'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s y -l yes -d 'Do not ask before --delete removes many entries'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l allow-empty-source -d 'Let --delete empty DST if SRC is empty or has only directories'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s c -l checksum -d 'Compare contents even if size and modification time are equal'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l verify -d 'Read every copy back from the disk and compare it'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l fsync -d 'Wait until each file is on disk before it gets its name'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l reuse -d 'Reuse content that DST already has: renamed files, and files that SRC has twice'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s x -l one-file-system -d 'Do not enter other file systems that are mounted in SRC'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l ignore-case -d 'Ignore the case of letters in patterns'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l stats -d 'Print statistics of the run on standard error, as JSON'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand purge" -l background -d 'Run as the background process that removes what run RUN moved out of the way' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l files-from -d 'Remove what is named in FILE; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand purge" -l include -d 'Remove only what matches, and everything in directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l exclude -d 'Keep what matches, and everything in directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l older-than -d 'Remove only what was last modified at least this long ago: 12h, 30d, 2w, 6mo, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l rate -d 'Remove at most N entries per second' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l io -d 'The kind of storage, instead of measuring it: auto, hdd, ssd or cached' -r -f -a "auto\t'Measured while reading'
hdd\t'A hard disk: read in the order of positions'
ssd\t'An SSD: many reads at once'
cached\t'Everything is in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand purge" -l threads -d 'Work with N threads [default: one per processor, more where they wait]' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand purge" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand purge" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand purge" -s n -l dry-run -d 'Remove nothing; show how much would be removed and freed'
complete -c lop -n "__fish_lop_using_subcommand purge" -s y -l yes -d 'Do not ask before removing many entries'
complete -c lop -n "__fish_lop_using_subcommand purge" -l instant -d 'Move the PATHs out of the way and return; remove them in the background'
complete -c lop -n "__fish_lop_using_subcommand purge" -l resume -d 'Remove the rest of PATHs that were moved out of the way, if no process does'
complete -c lop -n "__fish_lop_using_subcommand purge" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand purge" -l keep-root -d 'Empty the PATHs but keep them'
complete -c lop -n "__fish_lop_using_subcommand purge" -l ignore-case -d 'Ignore the case of letters in patterns'
complete -c lop -n "__fish_lop_using_subcommand purge" -l cross-mounts -d 'Empty file systems that are mounted below the PATHs too'
complete -c lop -n "__fish_lop_using_subcommand purge" -l idle -d 'Let all other processes use the disk first (idle I/O class)'
complete -c lop -n "__fish_lop_using_subcommand purge" -l stats -d 'Print statistics of the run on standard error, as JSON'
complete -c lop -n "__fish_lop_using_subcommand purge" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand purge" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand purge" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand purge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand status" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand status" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand status" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand status" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand status" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand status" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand validate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand validate" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand validate" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand validate" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand validate" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand validate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand refresh" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand refresh" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand refresh" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand refresh" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand refresh" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand refresh" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand refresh" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand forget" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand forget" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand forget" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand forget" -l offline -d 'Forget only files on disks that are not mounted'
complete -c lop -n "__fish_lop_using_subcommand forget" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand forget" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand forget" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand man" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand man" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand man" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand man" -l list -d 'List the names of all pages'
complete -c lop -n "__fish_lop_using_subcommand man" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand man" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand man" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand completions" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand completions" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand completions" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand completions" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand completions" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand completions" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand generate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand generate" -l progress -d 'Show progress: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand generate" -l color -d 'Use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand generate" -s q -l quiet -d 'Print no summary and no progress'
complete -c lop -n "__fish_lop_using_subcommand generate" -s v -l verbose -d 'Print more than the first 20 problems, and what was measured of the devices'
complete -c lop -n "__fish_lop_using_subcommand generate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "scan" -d 'Find duplicates and remember them'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "report" -d 'Show the groups of duplicates'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "file" -d 'Show the duplicates of a file'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "ls" -d 'List a directory: its files with their duplicates, its directories with their sizes'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "dups" -d 'Show the files below a directory that have a duplicate anywhere'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "uniques" -d 'Show the files below a directory that have no copy outside it'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "contains" -d 'Tell whether everything in one directory is also in another one'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "dedupe" -d 'Act on duplicates'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "separate" -d 'Replace hard links by independent copies'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "undo" -d 'Restore what a run changed'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "history" -d 'List the runs that changed files, or what one run did with each file'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "quarantine" -d 'List, restore or remove files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "mirror" -d 'Make one directory tree like another, including all hard links'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "purge" -d 'Remove directory trees for good, fast'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "status" -d 'Show what the catalog knows: paths, disks, runs'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "validate" -d 'Read remembered files again and compare them with their digests'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "refresh" -d 'Forget files that no longer exist'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "forget" -d 'Forget what the catalog knows below paths'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "man" -d 'Show a man page'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "completions" -d 'Print the completion script for a shell'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "mirror-server" -d 'Run the side of a mirror that another host starts'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "generate" -d 'Print the generated man pages, completions and reference as one JSON object'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan report file ls dups uniques contains dedupe separate undo history quarantine mirror purge status validate refresh forget man completions mirror-server generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "purge" -d 'Remove files from quarantine for good'
