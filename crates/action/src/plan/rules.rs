//! The rules of `--keep`: an ordered list of preferences that select the file to keep in each
//! group.
//!
//! The first rule that distinguishes between files decides. Rules see only paths and metadata
//! ([`Candidate`]).

use crate::plan::copy_marks::CopyMarks;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use walk::{FilterError, Globs, PatternUse, TopDir};

/// A preference for the file to keep.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Prefers a file on a file system whose metadata this machine's kernel maintains, instead of a
    /// server or a FUSE program ([`fsops::Volume::is_local`]).
    Local,
    /// Prefers the file that looks least like a copy. Directories for downloads, backups or trash
    /// count against a file, and so does a name with "(1)", "copy" or a similar mark.
    Tidy,
    /// Prefers the most recently modified file.
    Newest,
    /// Prefers the least recently modified file.
    Oldest,
    /// Prefers the shortest path.
    ShortestPath,
    /// Prefers the longest path.
    LongestPath,
    /// Prefers the file with the fewest directories above it.
    Shallowest,
    /// Prefers the file with the most directories above it.
    Deepest,
    /// Prefers the file below the path that was named first.
    FirstRoot,
    /// Prefers a file that matches a pattern or is in a directory that matches it.
    Path(Arc<PathPattern>),
    /// Prefers a file on this device. Contains the rule as typed and the device number.
    Device(String, u64),
}

/// A pattern for the file to keep.
#[derive(Debug)]
pub struct PathPattern {
    text: String,
    /// The pattern, compiled once for each directory that paths may be relative to. Each directory
    /// ends with a slash.
    globs: Vec<(Vec<u8>, Globs)>,
    /// Whether the pattern was tested on a file, and whether it matched one.
    was_evaluated: AtomicBool,
    is_met: AtomicBool,
}

/// The reason why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// There is no such rule.
    #[error(
        "not a rule: {0} (local, tidy, newest, oldest, shortest-path, longest-path, shallowest, deepest, \
         first-root, path:GLOB, device:DIR)"
    )]
    Unknown(String),
    /// The pattern of the rule is invalid.
    #[error(transparent)]
    Pattern(#[from] FilterError),
    /// The rule lacks its pattern.
    #[error("path: needs a pattern, as in path:photos/")]
    NoPattern,
    /// The directory of the rule cannot be read.
    #[error("{0}: {1}")]
    Device(String, std::io::Error),
}

impl Rule {
    /// Returns the default rules, which apply after the user's rules.
    pub fn usual() -> [Rule; 4] {
        [Rule::Local, Rule::Tidy, Rule::Oldest, Rule::ShortestPath]
    }

    /// Parses a rule. For `device:DIR`, reads the device number of the directory. Patterns are
    /// relative to each of `tops` and to the root directory.
    ///
    /// # Errors
    ///
    /// See [`RuleError`]. Nothing on disk changes.
    pub fn parse(text: &str, tops: &[PathBuf]) -> Result<Rule, RuleError> {
        if let Some(glob) = text.strip_prefix("path:") {
            return Ok(Rule::Path(Arc::new(PathPattern::new(text, glob, tops)?)));
        }
        if let Some(dir) = text.strip_prefix("device:") {
            let found = fsops::Dir::open(std::path::Path::new(dir)).and_then(|dir| dir.stat());
            let stat = found.map_err(|e| RuleError::Device(dir.into(), e))?;
            return Ok(Rule::Device(text.into(), stat.device));
        }
        Ok(match text {
            "local" => Rule::Local,
            "tidy" => Rule::Tidy,
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

    /// Returns the rank of a file. The file with the lowest rank is kept.
    fn rank(&self, file: &Candidate<'_>) -> i64 {
        let least = |of: fn(&[u8]) -> i64| file.paths.iter().map(|p| of(p)).min().unwrap_or(0);
        let most = |of: fn(&[u8]) -> i64| -file.paths.iter().map(|p| of(p)).max().unwrap_or(0);
        match self {
            Rule::Local => i64::from(!file.is_local),
            Rule::Tidy => marks(file).rank(),
            Rule::Newest => file.mtime_ns.saturating_neg(),
            Rule::Oldest => file.mtime_ns,
            Rule::ShortestPath => least(length),
            Rule::LongestPath => most(length),
            Rule::Shallowest => least(depth),
            Rule::Deepest => most(depth),
            Rule::FirstRoot => i64::try_from(file.root).unwrap_or(i64::MAX),
            Rule::Path(path) => i64::from(!path.matches(file.paths)),
            Rule::Device(_, device) => i64::from(file.device != *device),
        }
    }

    /// Returns true if the rule has a pattern that was tested on files and matched none of them.
    pub fn matched_nothing(&self) -> bool {
        let Rule::Path(path) = self else { return false };
        path.was_evaluated.load(Relaxed) && !path.is_met.load(Relaxed)
    }

    /// Returns the reason why the rule prefers `file` to `other`.
    fn reason(&self, file: &Candidate<'_>, other: &Candidate<'_>) -> String {
        match self {
            Rule::Tidy => marks(file).advantage_over(&marks(other)),
            rule => rule.to_string(),
        }
    }
}

/// Returns the copy marks of whichever name of a file looks least like a copy.
fn marks(file: &Candidate<'_>) -> CopyMarks {
    let all = file.paths.iter().map(|path| CopyMarks::of(path));
    all.min_by_key(CopyMarks::rank).unwrap_or_default()
}

impl PathPattern {
    fn new(text: &str, glob: &str, tops: &[PathBuf]) -> Result<PathPattern, RuleError> {
        if glob.trim_matches('/').is_empty() {
            return Err(RuleError::NoPattern);
        }
        let globs = Globs::new(&[glob.to_string()])?;
        let root = PathBuf::from("/");
        let below = |top: &PathBuf| {
            let mut prefix = top.as_os_str().as_encoded_bytes().to_vec();
            if !prefix.ends_with(b"/") {
                prefix.push(b'/');
            }
            (prefix, globs.below(&[TopDir::new(top)], PatternUse::Exclude))
        };
        let globs = tops.iter().chain([&root]).map(below).collect();
        let (was_evaluated, is_met) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(PathPattern { text: text.into(), globs, was_evaluated, is_met })
    }

    fn matches(&self, paths: &[&[u8]]) -> bool {
        self.was_evaluated.store(true, Relaxed);
        let is_match = self.globs.iter().any(|(prefix, globs)| {
            let mut below = paths.iter().filter_map(|path| path.strip_prefix(prefix.as_slice()));
            below.any(|path| matches_below(globs, path))
        });
        if is_match {
            self.is_met.store(true, Relaxed);
        }
        is_match
    }
}

/// Returns whether a file or one of the directories above it matches.
fn matches_below(globs: &Globs, path: &[u8]) -> bool {
    let ends = path.iter().enumerate().filter(|&(_, &b)| b == b'/').map(|(end, _)| end);
    let mut start = 0;
    ends.chain([path.len()]).any(|end| {
        let name = &path[start..end];
        start = end + 1;
        globs.matches(name, Some(&path[..end]), end < path.len())
    })
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Local => "on a local file system",
            Rule::Tidy => "tidy",
            Rule::Newest => "newest",
            Rule::Oldest => "oldest",
            Rule::ShortestPath => "shortest path",
            Rule::LongestPath => "longest path",
            Rule::Shallowest => "shallowest",
            Rule::Deepest => "deepest",
            Rule::FirstRoot => "in the first root",
            Rule::Path(path) => &path.text,
            Rule::Device(text, _) => text,
        })
    }
}

/// A file as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// All known names of the file. Never empty.
    pub paths: &'a [&'a [u8]],
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Device number.
    pub device: u64,
    /// Whether the kernel of this machine maintains the file system's metadata
    /// ([`fsops::Volume::is_local`]).
    pub is_local: bool,
    /// The index of the first named path that contains the file.
    pub root: usize,
}

/// Chooses the file to keep. Returns its index and a description of the rule that decided. The
/// description is `None` if the order of the paths decided.
pub fn choose(files: &[Candidate<'_>], rules: &[Rule]) -> (usize, Option<String>) {
    let mut left: Vec<usize> = (0..files.len()).collect();
    for rule in rules {
        if left.len() < 2 {
            break;
        }
        let ranks: Vec<i64> = left.iter().map(|&at| rule.rank(&files[at])).collect();
        let best = ranks.iter().copied().min().unwrap_or_default();
        let worse = ranks.iter().position(|&rank| rank > best).map(|at| left[at]);
        let mut ranks = ranks.into_iter();
        left.retain(|_| ranks.next() == Some(best));
        if let ([at], Some(worse)) = (&left[..], worse) {
            return (*at, Some(rule.reason(&files[*at], &files[worse])));
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

#[cfg(test)]
mod tests {
    use super::{Candidate, Rule, choose};

    fn rules(texts: &[&str]) -> Vec<Rule> {
        let tops = [std::path::PathBuf::from("/top")];
        texts.iter().map(|text| Rule::parse(text, &tops).expect("a rule")).collect()
    }

    fn chosen(files: &[(&str, i64)], texts: &[&str]) -> (usize, Option<String>) {
        let paths: Vec<[&[u8]; 1]> = files.iter().map(|(path, _)| [path.as_bytes()]).collect();
        let files: Vec<Candidate<'_>> = files
            .iter()
            .zip(&paths)
            .map(|(&(path, mtime_ns), paths)| {
                let is_local = !path.starts_with("/net/");
                Candidate { paths, mtime_ns, device: 1, is_local, root: 0 }
            })
            .collect();
        let rules = rules(texts);
        choose(&files, &rules)
    }

    #[test]
    fn the_first_rule_that_distinguishes_files_decides() {
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
    fn invalid_rules_are_rejected() {
        for text in ["", "best", "path:[", "path:", "path:/", "device:/no such directory"] {
            assert!(Rule::parse(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_rules_choose_as_a_person_would() {
        let texts = ["local", "tidy", "oldest", "shortest-path"];
        let usual = |files: &[(&str, i64)]| chosen(files, &texts);
        let why = |text: &str| Some(text.to_string());
        assert_eq!(usual(&[("/d/a (1)", 1), ("/d/a", 2)]), (1, why("name without \"(1)\"")));
        assert_eq!(usual(&[("/Downloads/a", 1), ("/d/a", 2)]), (1, why("not in Downloads")));
        assert_eq!(usual(&[("/a", 2), ("/d/a", 1), ("/tmp/a", 0)]), (1, why("oldest")));
        assert_eq!(usual(&[("/e/a", 1), ("/a", 1)]), (1, why("shortest path")));
        assert_eq!(usual(&[("/c", 1), ("/b", 1)]), (1, None));
        let far = [("/net/a", 1), ("/Downloads/a (1)", 2), ("/net/b", 0)];
        assert_eq!(usual(&far), (1, why("on a local file system")));
        assert_eq!(usual(&[far[0], far[2]]), (1, why("oldest")), "neither is");
        let rules = Rule::usual();
        let parsed = texts.map(|text| Rule::parse(text, &[]).expect("a rule"));
        assert_eq!(rules.map(|rule| rule.to_string()), parsed.map(|rule| rule.to_string()));
    }

    #[test]
    fn patterns_match_as_in_all_commands() {
        let files = [("/a/x/f", 1), ("/top/photos/2020/f", 1), ("/b/[c]/f.JPG", 1)];
        for (pattern, at) in [
            ("photos", 1),
            ("photos/", 1),
            ("2020", 1),
            ("/top/photos", 1),
            ("/photos/20*", 1),
            ("photos/**", 1),
            ("*.JPG", 2),
            ("/a/*/f", 0),
            ("**/x", 0),
        ] {
            let rule = format!("path:{pattern}");
            assert_eq!(chosen(&files, &[&rule]), (at, Some(rule.clone())), "{pattern}");
        }
        for pattern in ["phot", "f/", "/photos/f", "*.jpg", "/x/f"] {
            assert_eq!(chosen(&files, &[&format!("path:{pattern}")]).1, None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_no_file_matches_is_reported() {
        let paths: [[&[u8]; 1]; 2] = [[b"/a/f"], [b"/b/f"]];
        let file = |paths| Candidate { paths, mtime_ns: 0, device: 1, is_local: true, root: 0 };
        let files = [file(&paths[0]), file(&paths[1])];
        let rules = rules(&["path:c", "path:a", "path:never evaluated"]);
        assert!(rules.iter().all(|rule| !rule.matched_nothing()), "none was evaluated");
        choose(&files, &rules);
        let idle: Vec<bool> = rules.iter().map(Rule::matched_nothing).collect();
        assert_eq!(idle, [true, false, false]);
    }

    #[test]
    fn any_name_of_a_file_counts() {
        let (one, two): ([&[u8]; 2], [&[u8]; 1]) = ([b"/long/path/x", b"/x"], [b"/yy"]);
        let file = |paths| Candidate { paths, mtime_ns: 0, device: 1, is_local: true, root: 0 };
        let (at, _) = choose(&[file(&two), file(&one)], &rules(&["shortest-path"]));
        assert_eq!(at, 1);
    }
}
