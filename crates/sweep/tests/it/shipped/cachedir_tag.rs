//! Cases of the rule set `cachedir-tag`. The parent module describes the notation.

pub(super) const CASES: &str = r"
cachedir-tag
. {home}/.cache/app/CACHEDIR.TAG = tag
+ {home}/.cache/app/blob
+ {home}/.cache/app/deep/blob
- {home}/.cache/app/CACHEDIR.TAG
. {home}/.cache/other/CACHEDIR.TAG = no-tag
- {home}/.cache/other/blob
- {home}/.cache/app.bak/blob
. {profile}/CACHEDIR.TAG = tag
- {profile}/letter.txt
- {profile}/letters/letter.txt
";
