//! The sizes of the processor's data caches, as the kernel reports them.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The directory that describes the caches of the first processor.
pub const OF_FIRST_PROCESSOR: &str = "/sys/devices/system/cpu/cpu0/cache";

/// A cache that holds data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Its name, such as `L1d` or `L2`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Returns the data caches that a directory of the kernel describes, nearest to the processor
/// first. Returns none if the kernel does not describe its caches, as in some virtual machines.
pub fn read(dir: &Path) -> Vec<Cache> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| one(&entry.path())).collect();
    caches.sort_by(|a, b| a.name.cmp(&b.name));
    caches
}

/// Returns the cache that a directory `indexN` describes, unless it holds only instructions.
fn one(index: &Path) -> Option<Cache> {
    let attribute =
        |name: &str| fs::read_to_string(index.join(name)).ok().map(|text| text.trim().to_owned());
    let suffix = match attribute("type")?.as_str() {
        "Data" => "d",
        "Unified" => "",
        _ => return None,
    };
    let kib: u64 = attribute("size")?.strip_suffix('K')?.parse().ok()?;
    Some(Cache { name: format!("L{}{suffix}", attribute("level")?), bytes: kib * 1024 })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use testkit::TempTree;

    use super::{Cache, read};

    #[test]
    fn caches_of_data_are_read_from_the_description_of_the_kernel() {
        let temp = TempTree::new();
        let caches =
            [("3", "Unified", "266240K"), ("1", "Data", "48K"), ("1", "Instruction", "32K")];
        for (nth, (level, kind, size)) in caches.into_iter().enumerate() {
            let index = temp.join(format!("index{nth}"));
            fs::create_dir(&index).expect("a new directory");
            for (name, value) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(index.join(name), format!("{value}\n")).expect("an attribute");
            }
        }
        fs::write(temp.join("uevent"), "").expect("a file");
        let cache = |name: &str, bytes| Cache { name: name.into(), bytes };
        assert_eq!(read(temp.path()), [cache("L1d", 49_152), cache("L3", 272_629_760)]);
        assert_eq!(read(&temp.join("missing")), []);
    }
}
