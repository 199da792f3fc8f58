//! Cases of the rule set `droppings`. The parent module describes the notation.

pub(super) const CASES: &str = r"
macos.ds-store
+ {top}/photos/.DS_Store = ds-store
- {top}/notes/.DS_Store
- {top}/photos/.DS_Store.txt = ds-store
- {top}/photos/DS_Store = ds-store
macos.apple-double
+ {top}/photos/._a.jpg = apple-double
- {top}/photos/._notes
- {top}/photos/_a.jpg = apple-double
- {top}/photos/a._b = apple-double
macos.apple-double-dirs
+ {top}/photos/.AppleDouble/a.jpg
- {top}/photos/AppleDouble/a.jpg
- {top}/photos/.AppleDouble.txt
macos.zip-metadata
+ {top}/unpacked/__MACOSX/photos/._a.jpg = apple-double
- {top}/unpacked/__MACOSX/photos/a.jpg
- {top}/unpacked/photos/._a.jpg = apple-double
- {top}/unpacked/__MACOSX/._notes
macos.spotlight
. {top}/.Spotlight-V100/VolumeConfiguration.plist
+ {top}/.Spotlight-V100/Store-V2/0A1B/store.db
- {top}/notes/.Spotlight-V100/store.db
- {top}/.Spotlight-V200/Store-V2/0A1B/store.db
macos.fseventsd
. {top}/.fseventsd/fseventsd-uuid
+ {top}/.fseventsd/0000000000a1b2c3
- {top}/.fseventsd/no_log
- {top}/other/.fseventsd/0000000000a1b2c3
- {top}/fseventsd/fseventsd-uuid
macos.temporary-items
+ {top}/.TemporaryItems/folders.501/x
- {top}/TemporaryItems/folders.501/x
- {top}/.TemporaryItems.txt
macos.apdisk
+ {top}/.apdisk = xml
- {top}/notes/.apdisk
- {top}/apdisk = xml
kde.directory
+ {top}/photos/.directory = dolphin
- {top}/music/.directory = desktop-entry
- {top}/photos/directory = dolphin
libreoffice.locks
+ {top}/letters/.~lock.letter.odt#
- {top}/letters/letter.odt
- {top}/letters/.~lock.letter.odt
- {top}/letters/~lock.letter.odt#
";
