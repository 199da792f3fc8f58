//! Which of equal files stays: an ordered list of rules.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

/// A wish about the file that stays. The first rule that tells files apart decides.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The one modified last.
    Newest,
    /// The one modified first.
    Oldest,
    /// The one with the shortest path.
    ShortestPath,
    /// The one with the longest path.
    LongestPath,
    /// The one with the fewest directories above it.
    Shallowest,
    /// The one with the most directories above it.
    Deepest,
    /// The one below the path that was named first.
    FirstRoot,
    /// One whose path matches.
    Path(String, GlobMatcher),
    /// One on this device.
    Device(String, u64),
}

/// Why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// It is none.
    #[error(
        "not a rule: {0} (newest, oldest, shortest-path, longest-path, shallowest, deepest, \
         first-root, path:GLOB, device:DIR)"
    )]
    Unknown(String),
    /// Its pattern is none.
    #[error("not a pattern: {0}")]
    Pattern(#[from] globset::Error),
    /// Its directory cannot be looked at.
    #[error("{0}: {1}")]
    Device(String, std::io::Error),
}

impl Rule {
    /// Reads a rule; `device:DIR` is looked at now.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        if let Some(glob) = text.strip_prefix("path:") {
            let matcher = GlobBuilder::new(glob).literal_separator(true).build()?;
            return Ok(Rule::Path(text.into(), matcher.compile_matcher()));
        }
        if let Some(dir) = text.strip_prefix("device:") {
            let found = fsops::Dir::open(std::path::Path::new(dir)).and_then(|dir| dir.stat());
            let stat = found.map_err(|e| RuleError::Device(dir.into(), e))?;
            return Ok(Rule::Device(text.into(), stat.device));
        }
        Ok(match text {
            "newest" => Rule::Newest,
            "oldest" => Rule::Oldest,
            "shortest-path" => Rule::ShortestPath,
            "longest-path" => Rule::LongestPath,
            "shallowest" => Rule::Shallowest,
            "deepest" => Rule::Deepest,
            "first-root" => Rule::FirstRoot,
            _ => return Err(RuleError::Unknown(text.into())),
        })
    }

    /// Returns a number for a file; the lowest wins.
    fn rank(&self, file: &File<'_>) -> i64 {
        let least = |of: fn(&[u8]) -> i64| file.paths.iter().map(|p| of(p)).min().unwrap_or(0);
        let most = |of: fn(&[u8]) -> i64| -file.paths.iter().map(|p| of(p)).max().unwrap_or(0);
        match self {
            Rule::Newest => file.mtime_ns.saturating_neg(),
            Rule::Oldest => file.mtime_ns,
            Rule::ShortestPath => least(length),
            Rule::LongestPath => most(length),
            Rule::Shallowest => least(depth),
            Rule::Deepest => most(depth),
            Rule::FirstRoot => i64::try_from(file.root).unwrap_or(i64::MAX),
            Rule::Path(_, glob) => i64::from(!file.paths.iter().any(|p| glob.is_match(as_path(p)))),
            Rule::Device(_, device) => i64::from(file.device != *device),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Newest => "newest",
            Rule::Oldest => "oldest",
            Rule::ShortestPath => "shortest path",
            Rule::LongestPath => "longest path",
            Rule::Shallowest => "shallowest",
            Rule::Deepest => "deepest",
            Rule::FirstRoot => "in the first root",
            Rule::Path(text, _) | Rule::Device(text, _) => text,
        })
    }
}

/// A file as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// All its known names; never empty.
    pub paths: &'a [&'a [u8]],
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Device number.
    pub device: u64,
    /// Number of the first named path that it is below.
    pub root: usize,
}

/// Returns which of some files stays, and the rule that decided; none did if that was left to the order
/// of paths.
pub fn choose<'r>(files: &[File<'_>], rules: &'r [Rule]) -> (usize, Option<&'r Rule>) {
    let mut left: Vec<usize> = (0..files.len()).collect();
    for rule in rules {
        let best = left.iter().map(|&at| rule.rank(&files[at])).min();
        let before = left.len();
        left.retain(|&at| Some(rule.rank(&files[at])) == best);
        if left.len() == 1 && before > 1 {
            return (left[0], Some(rule));
        }
    }
    let first = left.into_iter().min_by_key(|&at| files[at].paths.iter().min());
    (first.unwrap_or(0), None)
}

fn length(path: &[u8]) -> i64 {
    i64::try_from(path.len()).unwrap_or(i64::MAX)
}

fn depth(path: &[u8]) -> i64 {
    i64::try_from(path.split(|&b| b == b'/').count()).unwrap_or(i64::MAX)
}

fn as_path(path: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::{File, Rule, choose};

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| Rule::parse(text).expect("a rule")).collect()
    }

    fn chosen(files: &[(&str, i64)], texts: &[&str]) -> (usize, Option<String>) {
        let paths: Vec<[&[u8]; 1]> = files.iter().map(|(path, _)| [path.as_bytes()]).collect();
        let files: Vec<File<'_>> = files
            .iter()
            .zip(&paths)
            .map(|(&(_, mtime_ns), paths)| File { paths, mtime_ns, device: 1, root: 0 })
            .collect();
        let rules = rules(texts);
        let (at, rule) = choose(&files, &rules);
        (at, rule.map(ToString::to_string))
    }

    #[test]
    fn the_first_rule_that_tells_files_apart_decides() {
        let files = [("/a/long", 2), ("/b", 2), ("/c", 1), ("/d/e/f", 3)];
        assert_eq!(chosen(&files, &["oldest"]), (2, Some("oldest".into())));
        assert_eq!(chosen(&files, &["newest"]), (3, Some("newest".into())));
        assert_eq!(chosen(&files, &["shortest-path", "newest"]), (1, Some("newest".into())));
        assert_eq!(chosen(&files, &["deepest"]), (3, Some("deepest".into())));
        assert_eq!(chosen(&files, &["path:/a/**"]), (0, Some("path:/a/**".into())));
        assert_eq!(chosen(&files, &["path:/x/**", "oldest"]), (2, Some("oldest".into())));
        assert_eq!(chosen(&files, &["shallowest"]), (1, None), "then the order of paths");
        assert_eq!(chosen(&files, &[]), (0, None));
    }

    #[test]
    fn what_is_no_rule_is_said() {
        for text in ["", "best", "path:[", "device:/no such directory"] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn any_name_of_a_file_counts() {
        let (one, two): ([&[u8]; 2], [&[u8]; 1]) = ([b"/long/path/x", b"/x"], [b"/yy"]);
        let file = |paths| File { paths, mtime_ns: 0, device: 1, root: 0 };
        let (at, _) = choose(&[file(&two), file(&one)], &rules(&["shortest-path"]));
        assert_eq!(at, 1);
    }
}
