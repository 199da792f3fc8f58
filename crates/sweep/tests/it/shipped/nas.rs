//! Cases of the rule set `nas`. The parent module describes the notation.

pub(super) const CASES: &str = r"
synology.thumbnails
+ {top}/photo/@eaDir/a.jpg/SYNOPHOTO_THUMB_XL.jpg
+ {top}/photo/@eaDir/a.jpg/SYNOINDEX_MEDIA_INFO
- {top}/photo/@eaDir/a.jpg@SynoEAStream
- {top}/photo/a.jpg/SYNOPHOTO_THUMB_XL.jpg
- {top}/photo/@eaDir/SYNOPHOTO_THUMB_XL.jpg
synology.metadata
+ {top}/photo/@eaDir/a.jpg@SynoEAStream
- {top}/photo/eaDir/a.jpg@SynoEAStream
- {top}/photo/a.jpg@SynoEAStream
synology.bin
+ {top}/#recycle/photos/a.jpg
- {top}/#recycle/desktop.ini
- {top}/photos/#recycle/a.jpg
- {top}/recycle/a.jpg
- {top}/#recycle.txt
qnap.thumbnails
+ {top}/photo/.@__thumb/defaulta.jpg
- {top}/photo/@__thumb.txt
- {top}/photo/.@__thumbs/defaulta.jpg
qnap.bin
+ {top}/@Recycle/photos/a.jpg
- {top}/@Recycle/desktop.ini
- {top}/photos/@Recycle/a.jpg
- {top}/@Recycled/a.jpg
wd.thumbnails
+ {top}/photo/.wdmc/a.jpg
- {top}/photo/wdmc/a.jpg
- {top}/photo/.wdmc2/a.jpg
samba.bin
+ {top}/.recycle/user/a.doc
- {top}/share/.recycle/user/a.doc
- {top}/recycle/user/a.doc
- {top}/.recycle.txt
";
