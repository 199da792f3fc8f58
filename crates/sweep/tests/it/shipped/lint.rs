//! Cases of the rule set `lint`. The parent module describes the notation.

pub(super) const CASES: &str = r"
lint.empty-dirs
+ {top}/a/empty/
+ {top}/b/nested/empty/
- {top}/c/file
- {top}/repo/.git/refs/tags/
- {top}/lost+found/
lint.empty-files
+ {top}/a/empty = empty
- {top}/a/file
- {top}/package/__init__.py = empty
- {top}/repo/.git/config = empty
lint.broken-links
+ {top}/a/broken = dangling
- {top}/a/fine = link
- {top}/a/file
";
