//! Cases of the rule set `macos-caches`. The parent module describes the notation.

pub(super) const CASES: &str = r"
macos.app-caches
+ {library}/Caches/com.example.app/Cache.db
- {library}/Caches.bak/com.example.app/Cache.db
- {library}/Application Support/com.example.app/Cache.db
- {library}/Caches/CloudKit/a
macos.container-caches
+ {library}/Containers/com.example.app/Data/Library/Caches/a
- {library}/Containers/com.example.app/Data/Library/Application Support/a
- {library}/Containers/com.example.app/Data/Caches/a
macos.app-logs
+ {library}/Logs/com.example.app/app.log
- {library}/Logs/DiagnosticReports/a.crash
- {library}/Log/app.log
xcode.derived-data
+ {library}/Developer/Xcode/DerivedData/App-0a1b/Build/a.o
- {library}/Developer/Xcode/UserData/a
- {library}/Developer/DerivedData/a
xcode.device-support
+ {library}/Developer/Xcode/iOS DeviceSupport/17.0/Symbols/a
- {library}/Developer/Xcode/iOS Device Logs/a
- {library}/Developer/Xcode/DeviceSupport/a
xcode.archives
+ {library}/Developer/Xcode/Archives/2024-01-01/App.xcarchive/Info.plist
- {library}/Developer/Xcode/Archives.txt
- {library}/Developer/Archives/a
xcode.simulator-caches
+ {library}/Developer/CoreSimulator/Caches/dyld/a
- {library}/Developer/CoreSimulator/Devices/0A1B/data/a
- {library}/Developer/Caches/a
";
