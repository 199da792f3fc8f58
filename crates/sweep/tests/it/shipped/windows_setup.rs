//! Cases of the rule set `windows-setup`. The parent module describes the notation.

pub(super) const CASES: &str = r"
windows.old
+ {drive}/Windows.old/Program Files/App/app.exe
+ {drive}/Windows.old.000/Windows/win.ini
- {drive}/Windows.older/app.exe
- {drive}/sub/Windows.old/app.exe
windows.upgrade
+ {drive}/$Windows.~BT/Sources/setup.exe
+ {drive}/ESD/Windows/install.esd
- {drive}/$Windows.~XY/Sources/setup.exe
- {drive}/sub/ESD/install.esd
windows.update-downloads
+ {windows}/SoftwareDistribution/Download/0a1b/update.cab
- {windows}/SoftwareDistribution/DataStore/DataStore.edb
- {windows}/Download/0a1b/update.cab
windows.delivery-optimization
+ {windows}/ServiceProfiles/NetworkService/AppData/Local/Microsoft/Windows/DeliveryOptimization/Cache/0a/1b
- {windows}/ServiceProfiles/NetworkService/AppData/Local/Microsoft/Windows/DeliveryOptimization/Logs/a.etl
- {windows}/ServiceProfiles/NetworkService/ntuser.ini
windows.office-setup
+ {drive}/MSOCache/All Users/{90150000-0011-0000-0000-0000000FF1CE}-C/setup.exe
- {drive}/MSOCache/setup.exe
- {drive}/MSOCache/Mine/setup.exe
windows.hotfix-uninstall
+ {windows}/$NtUninstallKB123456$/spuninst/spuninst.txt
- {windows}/$NtUninstallKB123456/spuninst/spuninst.txt
- {windows}/$hf_mig$/KB123456/update.inf
windows.installer-rollback
+ {drive}/Config.Msi/0a1b.rbf
- {drive}/Config.Msi/notes.txt
- {drive}/Config.Msi/sub/0a1b.rbf
- {drive}/0a1b.rbf
windows.driver-installers
+ {drive}/NVIDIA/DisplayDriver/123.45/setup.cfg
- {drive}/NVIDIA.bak/setup.cfg
- {drive}/sub/NVIDIA/setup.cfg
";
