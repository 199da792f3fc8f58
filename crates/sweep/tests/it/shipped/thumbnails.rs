//! Cases of the rule set `thumbnails`. The parent module describes the notation.

pub(super) const CASES: &str = r"
windows.thumbs-db
+ {top}/photos/2008/Thumbs.db = cfb
+ {top}/tv/ehthumbs_vista.db = cfb
- {top}/photos/2009/Thumbs.db
- {top}/photos/Thumbs.db.txt = cfb
- {top}/photos/MyThumbs.db = cfb
windows.thumbs-db-stream
+ {top}/photos/Thumbs.db:encryptable = empty
- {top}/photos/Thumbs.db:encryptable.txt
- {top}/photos/Thumbs.db = empty
windows.thumbcache
+ {local}/Microsoft/Windows/Explorer/thumbcache_256.db
+ {local}/Microsoft/Windows/Explorer/iconcache_idx.db
- {local}/Microsoft/Windows/Explorer/ExplorerStartupLog.etl
- {local}/Microsoft/Windows/Explorer/sub/thumbcache_256.db
- {local}/Microsoft/Windows/thumbcache_256.db
- {local}/Microsoft/Windows/Explorer/thumbcache_256.db.bak
windows.iconcache
+ {local}/IconCache.db
- {local}/IconCache.db.old
- {local}/sub/IconCache.db
freedesktop.thumbnails
+ {cache}/thumbnails/large/0a1b.png
+ {cache}/thumbnails/fail/gnome-thumbnail-factory/0a1b.png
- {cache}/thumbnails/0a1b.png
- {cache}/thumbnails/custom/0a1b.png
- {cache}/thumbnails.bak/large/0a1b.png
freedesktop.old-thumbnails
+ {home}/.thumbnails/normal/0a1b.png
- {home}/.thumbnails/mine/0a1b.png
- {home}/thumbnails/normal/0a1b.png
macos.quicklook
+ {root}/private/var/folders/zz/abc/C/com.apple.QuickLook.thumbnailcache/index.sqlite
- {root}/private/var/folders/zz/abc/0/com.apple.QuickLook.thumbnailcache/index.sqlite
- {root}/private/var/folders/zz/abc/C/com.apple.QuickLook/index.sqlite
- {root}/private/var/folders/zz/C/com.apple.QuickLook.thumbnailcache/index.sqlite
android.thumbnails
. {top}/DCIM/.thumbnails/.thumbdata3--1967290299
+ {top}/DCIM/.thumbnails/1234.jpg
- {top}/DCIM/Camera/1234.jpg
- {top}/DCIM/.thumbnails/sub/1234.jpg
- {top}/other/.thumbnails/1234.jpg
- {top}/DCIM/.thumbnails/.nomedia
";
