//! Cases of the rule set `windows-backup`. The parent module describes the notation.

pub(super) const CASES: &str = r"
backup.temp
+ {temp}/setup.log
+ {locallow}/Temp/a
+ {local}/Packages/Some.App_8wekyb3d8bbwe/TempState/a
- {root}/tmp/a
- {local}/Packages/Some.App_8wekyb3d8bbwe/LocalState/a
backup.ie-cache
+ {inetcache}/IE/0A1B/page.htm
- {inetcache}/Content.Outlook/0A1B/letter.doc
- {inetcache}/desktop.ini
backup.chromium-caches
+ {local}/Google/Chrome/User Data/Default/Cache/f_000001
+ {local}/Microsoft/Edge/User Data/Profile 1/Code Cache/js/x
+ {local}/Opera Software/Opera Stable/Cache/x
- {local}/Google/Chrome/User Data/Default/Bookmarks
- {local}/Google/Chrome/User Data/Default/Login Data
- {local}/Google/Chrome/User Data/Local State
backup.firefox-caches
+ {local}/Mozilla/Firefox/Profiles/0a1b.default/cache2/entries/x
- {roaming}/Mozilla/Firefox/Profiles/0a1b.default/places.sqlite
- {local}/Mozilla/Firefox/Profiles/0a1b.default/settings/x
backup.app-caches
+ {roaming}/Slack/Cache/x
+ {roaming}/Microsoft/Teams/GPUCache/x
- {roaming}/Slack/Local Storage/leveldb/x
- {roaming}/Code/User/settings.json
backup.thumbcache
+ {local}/Microsoft/Windows/Explorer/thumbcache_96.db
- {local}/Microsoft/Windows/Explorer/notes.db
- {local}/Microsoft/Windows/Explorer/sub/thumbcache_96.db
backup.thumbs-db
+ {top}/photos/Thumbs.db = cfb
- {top}/notes/Thumbs.db
- {top}/photos/Thumbs.db.bak = cfb
backup.shader-caches
+ {local}/D3DSCache/0a1b/x
+ {local}/AMD/DxCache/x
- {local}/AMD/CN/settings.xml
- {local}/NVIDIA/x
backup.prefetch
+ {windows}/Prefetch/NOTEPAD.EXE-1234ABCD.pf
- {windows}/Prefetch/Layout.ini
- {windows}/Prefetch/sub/A.pf
backup.crash-dumps
+ {local}/CrashDumps/app.exe.1234.dmp
+ {windows}/Minidump/a.dmp
+ {windows}/LiveKernelReports/WATCHDOG/a.dmp
- {local}/CrashDumps/notes.txt
- {windows}/a.dmp
backup.memory-dump
+ {windows}/MEMORY.DMP
- {windows}/OTHER.DMP
- {windows}/sub/MEMORY.DMP
backup.error-reports
+ {programdata}/Microsoft/Windows/WER/ReportArchive/a/Report.wer
- {programdata}/Microsoft/Windows/WER/Report.wer
- {programdata}/Microsoft/Windows/ReportArchive/a
backup.update-logs
+ {windows}/Logs/CBS/CbsPersist_1.cab
- {windows}/Logs/CBS/CBS.log
- {windows}/Logs/CbsPersist_1.cab
backup.update-downloads
+ {windows}/SoftwareDistribution/Download/0a1b/update.cab
- {windows}/SoftwareDistribution/DataStore/DataStore.edb
- {windows}/SoftwareDistribution/ReportingEvents.log
backup.package-caches
+ {local}/pip/Cache/wheels/a
+ {profile}/.nuget/packages/a/a.nupkg
+ {profile}/.cargo/registry/cache/a.crate
- {profile}/.cargo/credentials.toml
- {profile}/.gradle/gradle.properties
- {local}/uv/tools/a
backup.java-cache
+ {locallow}/Sun/Java/Deployment/cache/6.0/a.jar
- {locallow}/Sun/Java/Deployment/security/trusted.certs
- {locallow}/Sun/Java/cache/a
backup.adobe-media-cache
+ {roaming}/Adobe/Common/Media Cache Files/a.cfa
- {roaming}/Adobe/Common/Presets/a
- {roaming}/Adobe/Media Cache Files/a.cfa
backup.apple-firmware
+ {roaming}/Apple Computer/iTunes/iPhone Software Updates/a.ipsw
- {roaming}/Apple Computer/MobileSync/Backup/0a1b/Manifest.db
- {roaming}/Apple Computer/iTunes/iPhone Software Updates/notes.txt
backup.search-index
+ {programdata}/Microsoft/Search/Data/Applications/Windows/Windows.edb
- {programdata}/Microsoft/Search/Data/Temp/a
- {programdata}/Microsoft/Windows/Windows.edb
backup.bin
+ {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/$R0A1B2C.doc
+ {top}/RECYCLER/S-1-5-21-1-2-3-1001/Dc1.doc
- {top}/$Recycle.Bin/desktop.ini
- {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/desktop.ini
- {top}/sub/RECYCLER/S-1-5-21-1-2-3-1001/Dc1.doc
backup.windows-old
+ {drive}/Windows.old/Windows/win.ini
- {drive}/Windows.older/win.ini
- {drive}/Windows/win.ini
backup.upgrade
+ {drive}/$GetCurrent/media/a
- {drive}/GetCurrent/a
- {drive}/$WinREAgent/a
backup.office-setup
+ {drive}/MSOCache/All Users/a/setup.exe
- {drive}/MSOCache/a/setup.exe
- {drive}/All Users/a
backup.hotfix-uninstall
+ {windows}/$NtUninstallKB123456$/a.dll
- {windows}/$NtUninstallKB123456.txt
- {windows}/system32/$NtUninstallKB123456$/a.dll
backup.driver-installers
+ {drive}/Dell/drivers/a.exe
- {drive}/Dells/a.exe
- {drive}/Intelligence/a
backup.chkdsk
+ {top}/FOUND.000/FILE0001.CHK
- {top}/FOUND.000/letter.doc
- {top}/FOUND/FILE0001.CHK
";
