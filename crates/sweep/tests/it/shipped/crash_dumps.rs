//! Cases of the rule set `crash-dumps`. The parent module describes the notation.

pub(super) const CASES: &str = r"
windows.user-dumps
+ {local}/CrashDumps/app.exe.1234.dmp
- {local}/CrashDumps/notes.txt
- {local}/CrashDumps/app.exe.1234.dmp.txt
- {local}/CrashDumps/sub/app.exe.1234.dmp
- {local}/app.exe.1234.dmp
windows.error-reports
+ {programdata}/Microsoft/Windows/WER/ReportQueue/AppCrash_a/Report.wer
+ {local}/Microsoft/Windows/WER/ReportArchive/AppCrash_a/Report.wer
- {programdata}/Microsoft/Windows/WER/Settings/a
- {programdata}/Microsoft/Windows/ReportQueue/AppCrash_a/Report.wer
windows.minidumps
+ {windows}/Minidump/010124-1234-01.dmp
- {windows}/Minidump/notes.txt
- {windows}/Minidump/sub/010124-1234-01.dmp
- {windows}/Minidumps/010124-1234-01.dmp
windows.memory-dump
+ {windows}/MEMORY.DMP
- {windows}/sub/MEMORY.DMP
- {windows}/MEMORY.DMP.txt
windows.live-kernel-reports
+ {windows}/LiveKernelReports/WATCHDOG/WATCHDOG-20240101-1234.dmp
+ {windows}/LiveKernelReports/USBHUB3-20240101-1234.dmp
- {windows}/LiveKernelReports/WATCHDOG/notes.txt
- {windows}/LiveKernelReports/WATCHDOG/old/a.dmp
- {windows}/LiveKernelReports/mine/a.dmp
windows.dr-watson
+ {programdata}/Microsoft/Dr Watson/user.dmp
- {programdata}/Microsoft/Dr Watson/notes.txt
- {programdata}/Microsoft/user.dmp
linux.apport
+ {root}/var/crash/_usr_bin_app.1000.crash
- {root}/var/crash/notes.txt
- {root}/var/crash/vmcore.d/_usr_bin_app.1000.crash
- {root}/var/_usr_bin_app.1000.crash
linux.systemd-coredumps
+ {root}/var/lib/systemd/coredump/core.app.1000.0a1b.1234.zst
- {root}/var/lib/systemd/core.app.1000.0a1b.1234.zst
- {root}/var/lib/systemd/coredump/notes.txt
unix.core-files
+ {top}/project/core = elf-core
+ {top}/project/core.1234 = elf-core
- {top}/project/bin/core = elf-program
- {top}/project/core.c
- {top}/project/core.py/x = elf-core
- {top}/project/hardcore = elf-core
macos.diagnostic-reports
+ {library}/Logs/DiagnosticReports/App_2024-01-01-000000_host.crash
+ {library}/Logs/DiagnosticReports/Retired/App-2024-01-01-000000.ips
- {library}/Logs/DiagnosticReports/notes.txt
- {library}/Logs/App.crash
macos.core-files
+ {root}/cores/core.1234 = mach-core
- {root}/cores/core.5678
- {root}/cores/sub/core.1234 = mach-core
";
