//! Boots a bare system, in which systemd runs as the first process.

use std::fs;
use std::process::{Command, Stdio};

use super::system::System;

/// A unit that runs the script after the system has booted, and then powers the system off.
const UNIT: &str = "\
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '/script > /printed 2>&1; echo $? > /status'
ExecStopPost=/bin/systemctl poweroff
[Install]
WantedBy=graphical.target
";

/// Boots the system, runs a script in it and returns its output. The script must succeed. If this machine cannot boot
/// systems, prints the reason and returns `None`.
#[expect(clippy::disallowed_methods, reason = "writes to a system of its own")]
pub(super) fn boot(system: &System, script: &str) -> Option<String> {
    fs::write(system.path("/etc/systemd/system/script.service"), UNIT).expect("written");
    fs::write(system.path("/script"), format!("#!/bin/sh -eux\n{script}")).expect("written");
    system.run("chmod 755 /script; systemctl enable script.service");
    let mut nspawn = Command::new("timeout");
    nspawn.args([
        "--kill-after=30",
        "1200",
        "systemd-nspawn",
        "--quiet",
        "--register=no",
        "--keep-unit",
        "--private-network",
    ]);
    nspawn.arg("--boot").arg("--directory").arg(system.path("/")).stdin(Stdio::null());
    let booted = nspawn.output().expect("timeout");
    let Ok(printed) = fs::read_to_string(system.path("/printed")) else {
        let reason = String::from_utf8_lossy(&booted.stderr);
        testkit::skipped(format!("systemd-nspawn boots no system: {reason}"));
        return None;
    };
    let status = fs::read_to_string(system.path("/status")).unwrap_or("did not end".into());
    assert_eq!(status.trim(), "0", "{printed}");
    Some(printed)
}
