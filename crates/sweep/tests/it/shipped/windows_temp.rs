//! Cases of the rule set `windows-temp`. The parent module describes the notation.

pub(super) const CASES: &str = r"
windows.temp
+ {temp}/setup.log
+ {temp}/unpacked/deep/file.bin
- {top}/temp-notes/file.bin
- {root}/tmp/file
windows.temp-low
+ {locallow}/Temp/file.tmp
- {locallow}/Temporary/file.tmp
- {locallow}/file.tmp
windows.app-temp
+ {local}/Packages/Some.App_8wekyb3d8bbwe/TempState/shot.png
+ {local}/Packages/Some.App_8wekyb3d8bbwe/AC/Temp/x
- {local}/Packages/Some.App_8wekyb3d8bbwe/LocalState/save.dat
- {local}/Packages/Some.App_8wekyb3d8bbwe/RoamingState/x
- {local}/Packages/TempState/x
windows.prefetch
+ {windows}/Prefetch/NOTEPAD.EXE-1234ABCD.pf
- {windows}/Prefetch/Layout.ini
- {windows}/Prefetch/ReadyBoot/Trace1.pf
- {windows}/NOTEPAD.EXE-1234ABCD.pf
windows.servicing-logs
+ {windows}/Logs/CBS/CbsPersist_20240101000000.cab
- {windows}/Logs/CBS/CBS.log
- {windows}/Logs/DISM/CbsPersist_20240101000000.cab
- {windows}/Logs/CBS/old/CbsPersist_20240101000000.cab
windows.shader-caches
+ {local}/NVIDIA/DXCache/0a.nvph
+ {local}/D3DSCache/0a1b/0a.idx
- {local}/NVIDIA/Settings/profile.bin
- {local}/D3DSCache.bak/0a1b/0a.idx
windows.chkdsk
+ {top}/FOUND.000/FILE0001.CHK
- {top}/FOUND.000/letter.doc
- {top}/FOUND.0001/FILE0001.CHK
- {top}/sub/FOUND.000/FILE0001.CHK
- {top}/FILE0001.CHK
";
