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
complete -c lop -n "__fish_lop_needs_command" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_needs_command" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_needs_command" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_needs_command" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_needs_command" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_needs_command" -s V -l version -d 'Print version'
complete -c lop -n "__fish_lop_needs_command" -f -a "scan" -d 'Find duplicates and remember them'
complete -c lop -n "__fish_lop_needs_command" -f -a "watch" -d 'Keep the catalog fresh: note changes, and scan only what has changed'
complete -c lop -n "__fish_lop_needs_command" -f -a "report" -d 'Show the groups of duplicates'
complete -c lop -n "__fish_lop_needs_command" -f -a "file" -d 'Show the duplicates of a file'
complete -c lop -n "__fish_lop_needs_command" -f -a "ls" -d 'List a directory, with the duplicates of its files and the sizes of its directories'
complete -c lop -n "__fish_lop_needs_command" -f -a "space" -d 'Show the disk space of directories, what of it is reclaimable, and how they have grown'
complete -c lop -n "__fish_lop_needs_command" -f -a "look" -d 'Look through the catalog on the terminal, decide which duplicates stay, and act on them'
complete -c lop -n "__fish_lop_needs_command" -f -a "dups" -d 'Show the files below a directory that have a duplicate anywhere'
complete -c lop -n "__fish_lop_needs_command" -f -a "uniques" -d 'Show the files below a directory that have no copy outside it'
complete -c lop -n "__fish_lop_needs_command" -f -a "contains" -d 'Check whether everything in one directory is also in another'
complete -c lop -n "__fish_lop_needs_command" -f -a "dedupe" -d 'Act on duplicates'
complete -c lop -n "__fish_lop_needs_command" -f -a "separate" -d 'Replace hard links with independent copies'
complete -c lop -n "__fish_lop_needs_command" -f -a "undo" -d 'Restore what a run changed'
complete -c lop -n "__fish_lop_needs_command" -f -a "history" -d 'List the runs that changed files, or the result of one run for each file'
complete -c lop -n "__fish_lop_needs_command" -f -a "quarantine" -d 'List, restore or remove files in quarantine'
complete -c lop -n "__fish_lop_needs_command" -f -a "mirror" -d 'Make one directory tree like another, including all hard links'
complete -c lop -n "__fish_lop_needs_command" -f -a "purge" -d 'Remove directory trees for good, fast'
complete -c lop -n "__fish_lop_needs_command" -f -a "sweep" -d 'Find junk by rules, and move it to quarantine or remove it'
complete -c lop -n "__fish_lop_needs_command" -f -a "serve" -d 'Review duplicates in a browser, and act on them'
complete -c lop -n "__fish_lop_needs_command" -f -a "share" -d 'Share folders over HTTP, with browsers and download tools'
complete -c lop -n "__fish_lop_needs_command" -f -a "status" -d 'Show what the catalog contains: paths, disks, runs'
complete -c lop -n "__fish_lop_needs_command" -f -a "validate" -d 'Read remembered files again and compare them with their digests'
complete -c lop -n "__fish_lop_needs_command" -f -a "refresh" -d 'Forget files that no longer exist'
complete -c lop -n "__fish_lop_needs_command" -f -a "forget" -d 'Make the catalog forget files and directories'
complete -c lop -n "__fish_lop_needs_command" -f -a "export" -d 'Export the catalog as Parquet files, for queries over many hosts'
complete -c lop -n "__fish_lop_needs_command" -f -a "import" -d 'Make a catalog of an export, so that this host can answer for another one'
complete -c lop -n "__fish_lop_needs_command" -f -a "survey" -d 'Read the files that other hosts may have, so that exports can be compared'
complete -c lop -n "__fish_lop_needs_command" -f -a "config" -d 'Show the settings and where each comes from, or the errors in the configuration'
complete -c lop -n "__fish_lop_needs_command" -f -a "man" -d 'Show a man page'
complete -c lop -n "__fish_lop_needs_command" -f -a "completions" -d 'Print the completion script for a shell'
complete -c lop -n "__fish_lop_needs_command" -f -a "mirror-server" -d 'Run the remote end of a mirror; started by lop on the other host'
complete -c lop -n "__fish_lop_needs_command" -f -a "generate" -d 'Print the generated man pages, completions and reference as one JSON object'
complete -c lop -n "__fish_lop_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand scan" -l format -d 'Print the groups in this format, even with a catalog' -r -f -a "text\t'A heading and the paths of each group, for people'
fdupes\t'One path per line, with a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and another one after each group'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l min-size -d 'Skip files smaller than SIZE' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l max-size -d 'Skip files larger than SIZE' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l include -d 'Scan only files that match' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l exclude -d 'Skip files and directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l files-from -d 'Scan the files listed in FILE; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand scan" -l shard -d 'Scan only a part of each PATH: K/N is part K of N' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l save-every -d 'Save the results so far every MS milliseconds' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l io -d 'Kind of storage: auto (measure it), hdd, ssd or cached' -r -f -a "auto\t'Measure while reading'
hdd\t'Hard disk: read in order of position on the disk'
ssd\t'SSD: read many files at once'
cached\t'Files are already in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l threads -d 'Use N threads per disk [default: one per processor, more while they wait for storage]' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l memory -d 'Use at most SIZE of memory [default: a quarter of the available memory]' -r
complete -c lop -n "__fish_lop_using_subcommand scan" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand scan" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand scan" -l no-catalog -d 'Print the groups instead of using the catalog'
complete -c lop -n "__fish_lop_using_subcommand scan" -l ignore-case -d 'Ignore case in patterns'
complete -c lop -n "__fish_lop_using_subcommand scan" -s x -l one-file-system -d 'Stay on the file system of each PATH'
complete -c lop -n "__fish_lop_using_subcommand scan" -l no-hidden -d 'Skip files and directories whose names start with a dot'
complete -c lop -n "__fish_lop_using_subcommand scan" -l system-dirs -d 'Enter system directories too, such as snapshots, trash and @eaDir'
complete -c lop -n "__fish_lop_using_subcommand scan" -l empty -d 'Also scan empty files, which are all identical'
complete -c lop -n "__fish_lop_using_subcommand scan" -l hardlinks -d 'Count hard links to one file as duplicates of each other'
complete -c lop -n "__fish_lop_using_subcommand scan" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand scan" -l full -d 'Examine all files, even if \'lop watch\' has noted which ones changed'
complete -c lop -n "__fish_lop_using_subcommand scan" -l reread -d 'Read all files again, even if the catalog has them and they have not changed'
complete -c lop -n "__fish_lop_using_subcommand scan" -l paranoid -d 'Do not rely on keyed hashes to compare files of up to 64 KiB'
complete -c lop -n "__fish_lop_using_subcommand scan" -l hash-all -d 'Compute a digest of every file, even if no other file has its size or first block'
complete -c lop -n "__fish_lop_using_subcommand scan" -l stats -d 'Print statistics as JSON to standard error'
complete -c lop -n "__fish_lop_using_subcommand scan" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand scan" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand scan" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand watch" -l scan-every -d 'Scan no later than AGE after a change; \'never\' leaves scans to you' -r
complete -c lop -n "__fish_lop_using_subcommand watch" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand watch" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand watch" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand watch" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand watch" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand watch" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand report" -l format -d 'Print in this format [default: text]' -r -f -a "text\t'A heading and the paths of each group, for people'
fdupes\t'One path per line, with a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and another one after each group'"
complete -c lop -n "__fish_lop_using_subcommand report" -l limit -d 'Print at most N groups; 0 prints all [default: 20 as text, otherwise all]' -r
complete -c lop -n "__fish_lop_using_subcommand report" -l sort -d 'Order of the groups' -r -f -a "reclaimable\t'Most reclaimable bytes first'
size\t'Largest files first'
count\t'Most files first'
path\t'By the path of the first file'"
complete -c lop -n "__fish_lop_using_subcommand report" -l min-size -d 'Skip groups of files smaller than SIZE, such as 4096, 10k, 1.5GiB' -r
complete -c lop -n "__fish_lop_using_subcommand report" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand report" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand report" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand report" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand report" -l dirs -d 'Show equal, contained and overlapping directories instead of groups'
complete -c lop -n "__fish_lop_using_subcommand report" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand report" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand report" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand file" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand file" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand file" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand file" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand file" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand file" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand file" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand file" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand ls" -l sort -d 'Order of the entries in each directory' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand ls" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand ls" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand ls" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand ls" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand ls" -s R -l recursive -d 'List all directories below DIR too'
complete -c lop -n "__fish_lop_using_subcommand ls" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand ls" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand ls" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand space" -l by -d 'Order of the directories' -r -f -a "size\t'Most disk space first'
reclaimable\t'Most reclaimable space first'
grown\t'Largest growth first'
files\t'Most files first'"
complete -c lop -n "__fish_lop_using_subcommand space" -l depth -d 'Show at most N levels of directories below DIR' -r
complete -c lop -n "__fish_lop_using_subcommand space" -l limit -d 'Print at most N directories; 0 prints all [default: 15 as text, otherwise all]' -r
complete -c lop -n "__fish_lop_using_subcommand space" -l since -d 'Show the growth since a scan that is at least AGE old, such as 12h, 30d, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand space" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand space" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand space" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand space" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand space" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand space" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand space" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand look" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand look" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand look" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand look" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand look" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand look" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand look" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand dups" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading and the paths of each group, for people'
fdupes\t'One path per line, with a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and another one after each group'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l limit -d 'Print at most N files; 0 prints all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand dups" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dups" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand dups" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand dups" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dups" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand dups" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand dups" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand dups" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading and the paths of each group, for people'
fdupes\t'One path per line, with a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and another one after each group'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l limit -d 'Print at most N files; 0 prints all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand uniques" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand uniques" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand uniques" -l anywhere -d 'Also count copies inside DIR'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l verify -d 'Read each file and its copy now, and count only copies that are equal byte by byte'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand uniques" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand uniques" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand contains" -l format -d 'Print as text, fdupes, json, csv or nul [default: text]' -r -f -a "text\t'A heading and the paths of each group, for people'
fdupes\t'One path per line, with a blank line between groups'
json\t'One JSON document with the groups and a summary'
csv\t'One row per file: group, size, digest, path'
nul\t'A NUL after each path, and another one after each group'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l sort -d 'Order of the files' -r -f -a "path\t'By path'
size\t'Largest first'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l limit -d 'Print at most N files; 0 prints all, which is the default' -r
complete -c lop -n "__fish_lop_using_subcommand contains" -l distinct -d 'Treat files below DIR, on a network, FUSE or overlay file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand contains" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand contains" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand contains" -l verify -d 'Read each file and its copy now, and count only copies that are equal byte by byte'
complete -c lop -n "__fish_lop_using_subcommand contains" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand contains" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand contains" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand contains" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l by -d 'The action for each redundant file' -r -f -a "delete\t'Delete the file'
hardlink\t'Replace the file with a hard link to the kept file'
reflink\t'Share the disk space of the kept file; the file remains a separate file'
symlink\t'Replace the file with a relative symbolic link to the kept file'
quarantine\t'Move the file aside on the same file system, until it is purged or restored'
script\t'Print a shell script that compares the files again before it acts'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l keep -d 'Keep the file of each group that this rule selects' -r -f -a "local\t'A file on a file system of this machine'
tidy\t'The file that looks least like a copy'
newest\t'The file modified last'
oldest\t'The file modified first'
shortest-path\t'The file with the shortest path'
longest-path\t'The file with the longest path'
shallowest\t'The file below the fewest directories'
deepest\t'The file below the most directories'
first-root\t'A file below the PATH that was given first'
path:\t'A file whose path matches GLOB'
device:\t'A file on the device of DIR'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l protect -d 'Never change files below DIR, and keep them in preference to all others' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l min-size -d 'Skip files smaller than SIZE' -r
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l report -d 'Read the groups from a JSON report instead of the catalog' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l files-from -d 'Read the files from a list in FILE instead of the catalog; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l distinct -d 'Treat files below DIR, on a network or FUSE file system, as separate files' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l save-plan -d 'Write the plan to FILE, one JSON object per line' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l plan -d 'Read the plan from FILE' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l all -d 'Act on all groups in the catalog'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l decided -d 'Act on the groups that were decided in \'lop serve\' or \'lop look\''
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l apply -d 'Carry out the plan'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s y -l yes -d 'Do not ask before deleting many files'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s i -l interactive -d 'Choose interactively which files of each group to keep'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l system-dirs -d 'Also act on files in repositories and system directories'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l preserve-dir-times -d 'Restore the times of directories in which names have changed'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand dedupe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand separate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand separate" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand separate" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand separate" -l apply -d 'Carry out the plan'
complete -c lop -n "__fish_lop_using_subcommand separate" -l preserve-dir-times -d 'Restore the times of directories in which names have changed'
complete -c lop -n "__fish_lop_using_subcommand separate" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand separate" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand separate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand separate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand undo" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand undo" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand undo" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand undo" -s n -l dry-run -d 'Show how each file would be restored, but change nothing'
complete -c lop -n "__fish_lop_using_subcommand undo" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand undo" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand undo" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand history" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand history" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand history" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand history" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand history" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand history" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "purge" -d 'Remove files from quarantine for good'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and not __fish_seen_subcommand_from list restore purge help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l older-than -d 'Remove files that have been in quarantine at least this long: 12h, 30d, 2w, 6mo, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l dir -d 'Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from purge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "purge" -d 'Remove files from quarantine for good'
complete -c lop -n "__fish_lop_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l max-delete -d 'Remove nothing if more than N entries would be removed, including those in directories' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l link-dest -d 'Hard-link files to identical files in DIR instead of copying them' -r -f -a "(__fish_complete_directories)"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l include -d 'Mirror only files that match' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l exclude -d 'Neither mirror nor remove entries that match, or anything in directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l bwlimit -d 'Copy at most RATE bytes per second: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l rsh -d 'Connect to the other host with COMMAND' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l remote-lop -d 'Name or path of lop on the other host' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l io -d 'Kind of storage of SRC: auto (measure it), hdd, ssd or cached' -r -f -a "auto\t'Measure while reading'
hdd\t'Hard disk: read in order of position on the disk'
ssd\t'SSD: read many files at once'
cached\t'Files are already in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l threads -d 'Use N threads [default: one per processor, more while they wait for storage]' -r
complete -c lop -n "__fish_lop_using_subcommand mirror" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand mirror" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror" -s n -l dry-run -d 'List what would be changed, but change nothing'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s i -l itemize -d 'List each change'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l delete -d 'Remove extraneous entries, which are in DST but not in SRC'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s y -l yes -d 'Do not ask before --delete removes many entries'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l allow-empty-source -d 'Let --delete empty DST if SRC is empty or has only directories'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s c -l checksum -d 'Compare contents even if size and modification time are equal'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l verify -d 'Read every copy back from the disk and compare it'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l fsync -d 'Flush each file to disk before it gets its final name'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l reuse -d 'Reuse content that DST already has, for renamed files and duplicates in SRC'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s x -l one-file-system -d 'Do not enter other file systems that are mounted in SRC'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l ignore-case -d 'Ignore case in patterns'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l stats -d 'Print statistics as JSON to standard error'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand mirror" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand mirror" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand purge" -l background -d 'Run as the background process that removes what run RUN moved out of the way' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l files-from -d 'Remove the paths listed in FILE; - is standard input' -r -F
complete -c lop -n "__fish_lop_using_subcommand purge" -l include -d 'Remove only entries that match, and everything in directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l exclude -d 'Keep entries that match, and everything in directories that match' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l older-than -d 'Remove only entries last modified at least this long ago: 12h, 30d, 2w, 6mo, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l rate -d 'Remove at most N entries per second' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l io -d 'Kind of storage: auto (measure it), hdd, ssd or cached' -r -f -a "auto\t'Measure while reading'
hdd\t'Hard disk: read in order of position on the disk'
ssd\t'SSD: read many files at once'
cached\t'Files are already in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand purge" -l threads -d 'Use N threads [default: one per processor, more while they wait for storage]' -r
complete -c lop -n "__fish_lop_using_subcommand purge" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand purge" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand purge" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand purge" -s n -l dry-run -d 'Show how much would be removed and freed, but remove nothing'
complete -c lop -n "__fish_lop_using_subcommand purge" -s y -l yes -d 'Do not ask before removing many entries'
complete -c lop -n "__fish_lop_using_subcommand purge" -l instant -d 'Move the PATHs out of the way, return, and remove them in the background'
complete -c lop -n "__fish_lop_using_subcommand purge" -l resume -d 'Remove trees that were moved out of the way if no process is removing them'
complete -c lop -n "__fish_lop_using_subcommand purge" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand purge" -l keep-root -d 'Empty the PATHs but keep the directories themselves'
complete -c lop -n "__fish_lop_using_subcommand purge" -l ignore-case -d 'Ignore case in patterns'
complete -c lop -n "__fish_lop_using_subcommand purge" -l cross-mounts -d 'Also empty file systems that are mounted below the PATHs'
complete -c lop -n "__fish_lop_using_subcommand purge" -l idle -d 'Give all other processes priority on the disk (idle I/O class)'
complete -c lop -n "__fish_lop_using_subcommand purge" -l stats -d 'Print statistics as JSON to standard error'
complete -c lop -n "__fish_lop_using_subcommand purge" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand purge" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand purge" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand purge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand sweep" -l rules -d 'Use these rules: the name of a shipped set, or a file' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l only -d 'Use only rules that have one of these tags' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l skip -d 'Leave out the rules with these IDs' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l allow -d 'Use the rules with these IDs even if they are off or refused' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l older -d 'Take only entries that are at least this old: 12h, 30d, 2w, 6mo, 1y' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l list -d 'List every match, one path per line; with ID, only those of one rule' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l explain -d 'Show which rules match PATH and why, or why no rule takes it' -r -F
complete -c lop -n "__fish_lop_using_subcommand sweep" -l plan -d 'Write the matches to FILE; with --apply or --delete, take exactly the matches in FILE' -r -F
complete -c lop -n "__fish_lop_using_subcommand sweep" -l io -d 'Kind of storage: auto (measure it), hdd, ssd or cached' -r -f -a "auto\t'Measure while reading'
hdd\t'Hard disk: read in order of position on the disk'
ssd\t'SSD: read many files at once'
cached\t'Files are already in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand sweep" -l threads -d 'Use N threads [default: one per processor, more while they wait for storage]' -r
complete -c lop -n "__fish_lop_using_subcommand sweep" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand sweep" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand sweep" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand sweep" -l strict -d 'Refuse to do anything if a rule was refused or dropped'
complete -c lop -n "__fish_lop_using_subcommand sweep" -s 0 -l null -d 'Paths in the list end with NUL instead of a newline'
complete -c lop -n "__fish_lop_using_subcommand sweep" -l apply -d 'Move the matches to quarantine; \'lop undo\' moves them back'
complete -c lop -n "__fish_lop_using_subcommand sweep" -l delete -d 'Remove the matches for good'
complete -c lop -n "__fish_lop_using_subcommand sweep" -s y -l yes -d 'Do not ask before moving or removing the matches'
complete -c lop -n "__fish_lop_using_subcommand sweep" -l stats -d 'Print statistics as JSON to standard error'
complete -c lop -n "__fish_lop_using_subcommand sweep" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand sweep" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand sweep" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand sweep" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand serve" -l listen -d 'Listen on this address' -r
complete -c lop -n "__fish_lop_using_subcommand serve" -l allow-host -d 'Accept requests for this host name, for example behind a proxy' -r
complete -c lop -n "__fish_lop_using_subcommand serve" -l token-file -d 'Keep the token in FILE, so that the address stays the same' -r -F
complete -c lop -n "__fish_lop_using_subcommand serve" -l limit-rate -d 'Send at most RATE bytes per second on each connection: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand serve" -l limit-rate-total -d 'Send at most RATE bytes per second on all connections together: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand serve" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand serve" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand serve" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand serve" -l allow-actions -d 'Allow runs that change files to be started from the browser'
complete -c lop -n "__fish_lop_using_subcommand serve" -l tls -d 'Encrypt connections with a self-signed certificate'
complete -c lop -n "__fish_lop_using_subcommand serve" -l open -d 'Open the page in a browser on this machine'
complete -c lop -n "__fish_lop_using_subcommand serve" -l qr -d 'Print the address as a QR code'
complete -c lop -n "__fish_lop_using_subcommand serve" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand serve" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand serve" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand share" -l listen -d 'Listen on this address' -r
complete -c lop -n "__fish_lop_using_subcommand share" -l unix -d 'Listen on the Unix socket PATH, for a proxy on this machine' -r -F
complete -c lop -n "__fish_lop_using_subcommand share" -l token-file -d 'Keep the token in FILE, so that the address stays the same' -r -F
complete -c lop -n "__fish_lop_using_subcommand share" -l allow-host -d 'Accept requests for this host name' -r
complete -c lop -n "__fish_lop_using_subcommand share" -l limit-rate -d 'Send at most RATE bytes per second on each connection: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand share" -l limit-rate-total -d 'Send at most RATE bytes per second on all connections together: 500k, 20MiB' -r
complete -c lop -n "__fish_lop_using_subcommand share" -l limit-rate-after -d 'Apply --limit-rate only after the first SIZE bytes of each response' -r
complete -c lop -n "__fish_lop_using_subcommand share" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand share" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand share" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand share" -l token -d 'Require the token in the address (the default)'
complete -c lop -n "__fish_lop_using_subcommand share" -l public -d 'Answer requests without a token'
complete -c lop -n "__fish_lop_using_subcommand share" -l tls -d 'Encrypt connections with a self-signed certificate'
complete -c lop -n "__fish_lop_using_subcommand share" -l qr -d 'Print the address as a QR code'
complete -c lop -n "__fish_lop_using_subcommand share" -l stats -d 'Show statistics at /?stats, and print them when the server stops'
complete -c lop -n "__fish_lop_using_subcommand share" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand share" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand share" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand share" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand status" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand status" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand status" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand status" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand status" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand status" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand validate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand validate" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand validate" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand validate" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand validate" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand validate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand refresh" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand refresh" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand refresh" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand refresh" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand refresh" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand refresh" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand refresh" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand forget" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand forget" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand forget" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand forget" -l offline -d 'Forget only files on disks that are not mounted'
complete -c lop -n "__fish_lop_using_subcommand forget" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand forget" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand forget" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand export" -l host -d 'Name of this host in the export [default: the host name]' -r
complete -c lop -n "__fish_lop_using_subcommand export" -l names -d 'How to export names: plain, keyed (as hashes that need the key) or none [default: plain, or keyed with --key]' -r -f -a "plain\t'As they are'
keyed\t'As hashes that need the key'
none\t'Not at all'"
complete -c lop -n "__fish_lop_using_subcommand export" -l key -d 'Replace digests and heads by hashes that need the secret in FILE' -r -F
complete -c lop -n "__fish_lop_using_subcommand export" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand export" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand export" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand export" -l replace -d 'Remove the older exports of this host when the new one is complete; not with a URL'
complete -c lop -n "__fish_lop_using_subcommand export" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand export" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand export" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand import" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand import" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand import" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand import" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand import" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand import" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand survey" -l host -d 'Name of this host [default: the host name]' -r
complete -c lop -n "__fish_lop_using_subcommand survey" -l min-size -d 'Leave out files smaller than SIZE' -r
complete -c lop -n "__fish_lop_using_subcommand survey" -l key -d 'Replace heads by hashes that need the secret in FILE' -r -F
complete -c lop -n "__fish_lop_using_subcommand survey" -l io -d 'Kind of storage: auto (measure it), hdd, ssd or cached' -r -f -a "auto\t'Measure while reading'
hdd\t'Hard disk: read in order of position on the disk'
ssd\t'SSD: read many files at once'
cached\t'Files are already in the page cache'"
complete -c lop -n "__fish_lop_using_subcommand survey" -l threads -d 'Use N threads [default: one per processor, more while they wait for storage]' -r
complete -c lop -n "__fish_lop_using_subcommand survey" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand survey" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand survey" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand survey" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand survey" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand survey" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand survey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand config" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand config" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand config" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand config" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand config" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand config" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand man" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand man" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand man" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand man" -l list -d 'List the names of all pages'
complete -c lop -n "__fish_lop_using_subcommand man" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand man" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand man" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand completions" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand completions" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand completions" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand completions" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand completions" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand completions" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand mirror-server" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand generate" -l catalog -d 'Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]' -r -F
complete -c lop -n "__fish_lop_using_subcommand generate" -l progress -d 'When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'
json\t'As JSON on standard error'"
complete -c lop -n "__fish_lop_using_subcommand generate" -l color -d 'When to use colours: auto (on a terminal), always or never' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c lop -n "__fish_lop_using_subcommand generate" -s q -l quiet -d 'Suppress the summary and the progress line'
complete -c lop -n "__fish_lop_using_subcommand generate" -s v -l verbose -d 'Print more than the first 20 problems, and what lop measured of each disk'
complete -c lop -n "__fish_lop_using_subcommand generate" -l json -d 'Print results and errors as JSON'
complete -c lop -n "__fish_lop_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "scan" -d 'Find duplicates and remember them'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "watch" -d 'Keep the catalog fresh: note changes, and scan only what has changed'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "report" -d 'Show the groups of duplicates'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "file" -d 'Show the duplicates of a file'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "ls" -d 'List a directory, with the duplicates of its files and the sizes of its directories'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "space" -d 'Show the disk space of directories, what of it is reclaimable, and how they have grown'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "look" -d 'Look through the catalog on the terminal, decide which duplicates stay, and act on them'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "dups" -d 'Show the files below a directory that have a duplicate anywhere'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "uniques" -d 'Show the files below a directory that have no copy outside it'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "contains" -d 'Check whether everything in one directory is also in another'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "dedupe" -d 'Act on duplicates'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "separate" -d 'Replace hard links with independent copies'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "undo" -d 'Restore what a run changed'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "history" -d 'List the runs that changed files, or the result of one run for each file'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "quarantine" -d 'List, restore or remove files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "mirror" -d 'Make one directory tree like another, including all hard links'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "purge" -d 'Remove directory trees for good, fast'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "sweep" -d 'Find junk by rules, and move it to quarantine or remove it'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "serve" -d 'Review duplicates in a browser, and act on them'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "share" -d 'Share folders over HTTP, with browsers and download tools'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "status" -d 'Show what the catalog contains: paths, disks, runs'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "validate" -d 'Read remembered files again and compare them with their digests'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "refresh" -d 'Forget files that no longer exist'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "forget" -d 'Make the catalog forget files and directories'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "export" -d 'Export the catalog as Parquet files, for queries over many hosts'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "import" -d 'Make a catalog of an export, so that this host can answer for another one'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "survey" -d 'Read the files that other hosts may have, so that exports can be compared'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "config" -d 'Show the settings and where each comes from, or the errors in the configuration'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "man" -d 'Show a man page'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "completions" -d 'Print the completion script for a shell'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "mirror-server" -d 'Run the remote end of a mirror; started by lop on the other host'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "generate" -d 'Print the generated man pages, completions and reference as one JSON object'
complete -c lop -n "__fish_lop_using_subcommand help; and not __fish_seen_subcommand_from scan watch report file ls space look dups uniques contains dedupe separate undo history quarantine mirror purge sweep serve share status validate refresh forget export import survey config man completions mirror-server generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "list" -d 'List the files in quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "restore" -d 'Restore files from quarantine'
complete -c lop -n "__fish_lop_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "purge" -d 'Remove files from quarantine for good'
