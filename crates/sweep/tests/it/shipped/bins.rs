//! Cases of the rule set `bins`. The parent module describes the notation.

pub(super) const CASES: &str = r"
windows.bin
+ {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/$R0A1B2C.doc
+ {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/$R0A1B2D/sub/a.doc
+ {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/$I0A1B2C.doc
- {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/desktop.ini
- {top}/$Recycle.Bin/S-1-5-21-1-2-3-1001/letter.doc
- {top}/sub/$Recycle.Bin/S-1-5-21-1-2-3-1001/$R0A1B2C.doc
- {top}/$Recycle.Bin/notes/$R0A1B2C.doc
windows.old-bin
+ {top}/RECYCLER/S-1-5-21-1-2-3-1001/Dc1.doc
+ {top}/RECYCLER/S-1-5-21-1-2-3-1001/INFO2
- {top}/RECYCLER/S-1-5-21-1-2-3-1001/desktop.ini
- {top}/RECYCLER/Dc1.doc
- {top}/RECYCLER/S-1-5-21-1-2-3-1001/letter.doc
windows.fat-bin
+ {top}/RECYCLED/DC1.DOC
+ {top}/RECYCLED/INFO2
- {top}/RECYCLED/desktop.ini
- {top}/RECYCLED/letter.doc
- {top}/RECYCLE/DC1.DOC
freedesktop.trash
+ {data}/Trash/files/letter.odt
+ {data}/Trash/info/letter.odt.trashinfo
- {data}/Trash/directorysizes
- {data}/Trash.old/files/letter.odt
- {data}/files/letter.odt
freedesktop.volume-trash
+ {top}/.Trash-1000/files/letter.odt
+ {top}/.Trash/1000/files/letter.odt
- {top}/.Trash-1000/letter.odt
- {top}/.Trashes-old/files/letter.odt
- {top}/sub/.Trash-1000/files/letter.odt
macos.trash
+ {home}/.Trash/letter.pages
- {home}/.Trash/.DS_Store
- {home}/Trash/letter.pages
- {home}/sub/.Trash/letter.pages
macos.volume-trash
+ {top}/.Trashes/501/letter.pages
- {top}/.Trashes/letter.pages
- {top}/sub/.Trashes/501/letter.pages
- {top}/.Trashes/501/.DS_Store
";
