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
+ {top}/photo/#recycle/a.jpg
- {top}/photo/#recycle/desktop.ini
- {top}/photo/recycle/a.jpg
- {top}/photo/#recycle.txt
qnap.thumbnails
+ {top}/photo/.@__thumb/defaulta.jpg
- {top}/photo/@__thumb.txt
- {top}/photo/.@__thumbs/defaulta.jpg
qnap.bin
+ {top}/Public/@Recycle/a.jpg
- {top}/Public/@Recycle/desktop.ini
- {top}/Public/Recycle/a.jpg
wd.thumbnails
+ {top}/photo/.wdmc/a.jpg
- {top}/photo/wdmc/a.jpg
- {top}/photo/.wdmc2/a.jpg
samba.bin
+ {top}/share/.recycle/user/a.doc
- {top}/share/recycle/user/a.doc
- {top}/share/.recycle.txt
";
