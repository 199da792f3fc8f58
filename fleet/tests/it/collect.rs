//! Tests of `lop-fleet collect` with hosts behind ssh servers on this machine.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{Output, Sandbox, Sshd, TempTree, TreeBuilder};

use crate::json;

/// The hosts, and the numbers of their files that differ at the end.
const HOSTS: [(&str, u64); 3] = [("laptop", 1), ("nas", 2), ("desktop", 1)];

/// Three hosts, each with an ssh server and a home directory of its own, and a fourth one that cannot be reached.
struct World {
    /// The server of each host. Dropping them ends them.
    _servers: Vec<Sshd>,
    dir: TempTree,
    lop: PathBuf,
}

/// Returns the program lop that the main workspace has built. It is beside the target folder of this
/// workspace; `cargo xtask test` builds it first.
pub(crate) fn lop() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_lop-fleet")).ancestors().nth(3).expect("target");
    let lop = target.join("debug/lop");
    let found = lop.canonicalize();
    assert!(
        found.is_ok() || env::var_os("LOP_TEST_PYTHON").is_none(),
        "the suite builds lop first"
    );
    found.map_err(|_| testkit::skipped(format!("{} is not built", lop.display()))).ok()
}

impl World {
    /// Starts the servers, and scans the files of each host. Returns `None` if a tool is missing.
    fn new() -> Option<World> {
        let lop = lop()?;
        let servers: Vec<Sshd> = HOSTS.map(|_| Sshd::start()).into_iter().collect::<Option<_>>()?;
        let dir = TempTree::new();
        let cases = HOSTS.iter().zip(&servers);
        let cases = cases.map(|((host, _), server)| format!("{host}) rsh='{}' ;;", server.rsh()));
        let cases = cases.collect::<Vec<_>>().join("\n");
        let script = format!(
            "#!/bin/sh\nhost=${{1#*@}}; shift\n\
             case \"$host\" in\n{cases}\n*) echo 'no route to host' >&2; exit 255 ;;\nesac\n\
             exec $rsh localhost \"export HOME={}/$host; cd; $*\"\n",
            dir.join("homes").display()
        );
        let world = World { _servers: servers, dir, lop };
        fs::write(world.dir.join("connect"), script).expect("written");
        fs::set_permissions(world.dir.join("connect"), Permissions::from_mode(0o755)).expect("set");
        for (host, last) in HOSTS {
            world.fill(host, last);
        }
        Some(world)
    }

    /// Makes the files of a host: one that all hosts have, one with the size and head of another, and one
    /// with a size of its own.
    fn fill(&self, host: &str, number: u64) {
        let home = self.dir.join("homes").join(host);
        let own_size = 200_000 + host.len() as u64;
        TreeBuilder::new()
            .seeded("data/shared", 1, 300_000)
            .differing("data/differs at the end", 2, 250_000, 249_000 + number, 1)
            .seeded("data/alone", 3, own_size)
            .make(&home);
        self.scan(host);
    }

    /// Scans the files of a host into the catalog that lop uses there.
    fn scan(&self, host: &str) {
        let home = self.dir.join("homes").join(host);
        let catalog = home.join(".local/state/lop/catalog.db");
        let sandbox = Sandbox::new(&self.lop);
        let scan = sandbox.command().args(["scan", "--catalog"]).arg(catalog);
        scan.arg(home.join("data")).run().success();
    }

    fn collect(&self, args: &[&str]) -> Output {
        let path = env::var("PATH").unwrap_or_default();
        let lop_dir = self.lop.parent().expect("a folder").display();
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
        sandbox
            .command()
            .args(["collect", "--min-size", "1", "--rsh"])
            .arg(self.dir.join("connect"))
            .arg("--remote-lop")
            .arg(&self.lop)
            .args(args.iter().filter(|arg| arg.starts_with('-')))
            .arg(self.dir.join("collection"))
            .args(args.iter().filter(|arg| !arg.starts_with('-')))
            .env("PATH", format!("{lop_dir}:{path}"))
            .run()
    }

    fn report(&self) -> serde_json::Value {
        json(&crate::run(&["report", "--json"], &self.dir.join("collection")))
    }
}

#[test]
fn hosts_read_what_others_may_have_and_export_it() {
    let Some(world) = World::new() else { return };
    let output = world.collect(&["--json", "laptop", "me@nas", "box=desktop", "away"]);
    output.code(3);
    let document = json(&output);
    let hosts = document["hosts"].as_array().expect("a list");
    let names: Vec<&str> =
        hosts.iter().map(|host| host["host"].as_str().expect("a name")).collect();
    assert_eq!(names, ["laptop", "nas", "box", "away"]);
    for host in &hosts[..3] {
        // The heads of the first two files were read, or were read by the scan; both files were read whole.
        assert_eq!((&host["files_read"], &host["unread"]), (&2.into(), &0.into()), "{host}");
        assert_eq!((&host["files"], &host["error"]), (&3.into(), &serde_json::Value::Null));
        let bytes = host["bytes_read"].as_u64().expect("a number");
        assert!((550_000..=550_000 + 2 * 8192).contains(&bytes), "{host}");
    }
    assert!(hosts[3]["error"].as_str().expect("a reason").contains("no route to host"));
    let report = world.report();
    for host in report["hosts"].as_array().expect("a list") {
        let elsewhere = if host["host"] == "nas" { 1 } else { 2 };
        assert_eq!(host["elsewhere"]["files"], elsewhere, "{host}");
        assert_eq!(host["unknown"]["files"], 0, "{host}");
    }
    // No file has changed, so the hosts read none. Each host keeps one export, and the collection keeps both.
    let again = world.collect(&["laptop", "me@nas", "box=desktop"]);
    again.success();
    assert!(!again.stderr_str().contains("read"), "{again:?}");
    let exports = |dir: &str| {
        let entries = fs::read_dir(world.dir.join(dir)).expect("a folder");
        let names = entries.map(|entry| entry.expect("readable").file_name());
        names.filter(|name| name.to_string_lossy().ends_with('Z')).count()
    };
    assert_eq!(exports("homes/nas/.local/share/lop/fleet/nas"), 1);
    assert_eq!(exports("collection/nas"), 2);
}

#[test]
fn a_new_file_is_compared_in_the_next_collection() {
    let Some(world) = World::new() else { return };
    world.collect(&["laptop", "nas"]).success();
    let home = world.dir.join("homes/laptop");
    TreeBuilder::new().seeded("data/alone on the nas", 3, 200_003).make(&home);
    world.scan("laptop");
    let output = world.collect(&["--json", "laptop", "nas"]);
    output.success();
    for host in json(&output)["hosts"].as_array().expect("a list") {
        assert_eq!(host["files_read"], 1, "{host}");
    }
    assert_eq!(world.report()["shared_groups"], 2);
}

#[test]
fn without_a_survey_nothing_is_read() {
    let Some(world) = World::new() else { return };
    let output = world.collect(&["--no-survey", "--json", "laptop", "nas"]);
    output.success();
    assert!(!world.dir.join("collection/nas/_survey").exists());
    for host in world.report()["hosts"].as_array().expect("a list") {
        assert_eq!(host["elsewhere"]["files"], 0, "{host}");
    }
}

#[test]
fn hosts_that_cannot_be_used_are_named() {
    let Some(world) = World::new() else { return };
    let output = world.collect(&["away"]);
    output.code(1);
    assert!(output.stderr_str().contains("away: no route to host"), "{output:?}");
    // This host has no catalog.
    testkit::remove_tree(&world.dir.join("homes/nas/.local")).expect("removed");
    let output = world.collect(&["nas", "laptop"]);
    output.code(3);
    assert!(output.stderr_str().contains("nas: "), "{output:?}");
    for (hosts, message) in [
        (["nas", "me@nas"], "two hosts have the name nas"),
        (["nas", "a b"], "cannot be the name of a host"),
        (["nas", "x=-oProxyCommand=x"], "is not a host"),
    ] {
        let output = world.collect(&hosts);
        output.code(1);
        assert!(output.stderr_str().contains(message), "{output:?}");
    }
}
