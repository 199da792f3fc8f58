//! Shows how the folders of a group differ.
//!
//! Copies often lie in long paths that begin and end alike: `/nas/data/Photos/2015/05` and
//! `/nas/data/Backup/Photos/2015/05`. A row has no space for both, so it shows `Photos/…` and
//! `Backup/Photos/…`.

/// Stands for the components at the end that all folders have in common.
const COMMON_END: &[u8] = "/…".as_bytes();

/// Returns each folder without the components that all of them have in common at the beginning and at the end.
/// At least one component of each folder stays.
///
/// `dirs` are different absolute paths.
pub(super) fn differing(dirs: &[&[u8]]) -> Vec<Vec<u8>> {
    let parts: Vec<Vec<&[u8]>> = dirs.iter().map(|dir| components(dir)).collect();
    // The last component of the shortest folder stays.
    let most = parts.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1);
    let start = (0..most).take_while(|&n| is_common(parts.iter().map(|dir| dir[n])));
    let start = start.count();
    let end = (0..most - start)
        .take_while(|&n| is_common(parts.iter().map(|dir| dir[dir.len() - 1 - n])));
    let end = end.count();
    parts.iter().map(|dir| joined(&dir[start..dir.len() - end], start == 0, end > 0)).collect()
}

/// Returns the names in an absolute path. Those of the root directory are empty.
fn components(dir: &[u8]) -> Vec<&[u8]> {
    dir.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect()
}

fn is_common<'n>(mut names: impl Iterator<Item = &'n [u8]>) -> bool {
    let first = names.next();
    names.all(|name| Some(name) == first)
}

fn joined(names: &[&[u8]], is_absolute: bool, has_more: bool) -> Vec<u8> {
    let mut path = if is_absolute { b"/".to_vec() } else { Vec::new() };
    path.extend_from_slice(&names.join(&b'/'));
    if has_more {
        path.extend_from_slice(COMMON_END);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::differing;

    fn shown(dirs: &[&str]) -> Vec<String> {
        let dirs: Vec<&[u8]> = dirs.iter().map(|dir| dir.as_bytes()).collect();
        differing(&dirs).into_iter().map(|dir| String::from_utf8(dir).expect("UTF-8")).collect()
    }

    #[test]
    fn common_beginnings_and_ends_are_left_out() {
        let photos = ["/nas/data/Photos/2015/05", "/nas/data/Backup/Photos/2015/05"];
        assert_eq!(shown(&photos), ["Photos/…", "Backup/Photos/…"]);
        assert_eq!(shown(&["/nas/a/x", "/nas/b/x", "/nas/c"]), ["a/x", "b/x", "c"]);
        assert_eq!(shown(&["/nas/a/x", "/nas/b/x", "/nas/c/x"]), ["a/…", "b/…", "c/…"]);
    }

    #[test]
    fn folders_that_have_nothing_in_common_are_absolute() {
        assert_eq!(shown(&["/mnt/a", "/home/b"]), ["/mnt/a", "/home/b"]);
        assert_eq!(shown(&["/mnt/a", "/home/a"]), ["/mnt/…", "/home/…"]);
    }

    #[test]
    fn no_folder_loses_all_its_names() {
        assert_eq!(shown(&["/d", "/d/sub"]), ["/d", "/d/sub"]);
        assert_eq!(shown(&["/x/d", "/x/d/sub/d"]), ["d", "d/sub/d"]);
        assert_eq!(shown(&["/", "/d"]), ["/", "/d"]);
        assert_eq!(shown(&["/a/b/c", "/c"]), ["/a/b/c", "/c"]);
    }
}
