//! The properties of the machine of a race. They suffice for comparisons and do not identify the
//! owner.

use std::fs;
use std::path::Path;

use crate::Failure;
use crate::record::Fact;
use crate::store::Store;
use crate::system::tool;

/// Returns today's date as `YYYY-MM-DD`.
///
/// # Errors
///
/// The program `date` is missing.
pub fn today() -> Result<String, Failure> {
    tool(&["date", "-u", "+%Y-%m-%d"], &[]).map(|date| date.trim().to_owned())
}

/// Returns the processor, the memory, the kernel, and the disk of the store.
pub(super) fn facts(store: &Store, ssd: bool) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let word = |command: &[&str]| match tool(command, &[]) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => "unknown".into(),
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory: u64 =
        field("/proc/meminfo", "MemTotal:").trim_end_matches(" kB").parse().unwrap_or(0);
    vec![
        fact("processor", field("/proc/cpuinfo", "model name")),
        fact("cores", cores.to_string()),
        fact("memory", format!("{} GiB", memory >> 20)),
        fact("kernel", format!("Linux {}", word(&["uname", "-r"]).split('-').next().unwrap_or(""))),
        fact("system", field_quoted("/etc/os-release", "PRETTY_NAME=")),
        fact("own disk", format!("{}, {}", file_system(store.path()), disk(store, ssd))),
    ]
}

/// Returns the text that follows a name and an optional colon on a line of a file.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']).trim()).to_owned()
}

fn field_quoted(path: &str, name: &str) -> String {
    field(path, name).trim_matches('"').to_owned()
}

fn file_system(store: &Path) -> String {
    let found = tool(&["stat", "-f", "-c", "%T"], &[store]);
    found.map_or_else(|_| "unknown".into(), |kind| kind.trim().replace("ext2/ext3", "ext4"))
}

/// Returns the kind of disk that the kernel reports. The kernel is often wrong about virtual disks.
fn disk(store: &Store, ssd: bool) -> &'static str {
    let said = store.rotational().and_then(|setting| fs::read_to_string(setting).ok());
    match said.as_deref().map(str::trim) {
        Some("0") => "an SSD",
        Some(_) if ssd => "an SSD that says it rotates, corrected for the races",
        Some(_) => "says it rotates",
        None => "of a kind that is not known",
    }
}
