//! Arguments and conditions under which `lop serve` does not start, or says what will not work.

use std::net::TcpListener;

use testkit::{Invocation, Signal, TreeBuilder, When, is_root, skipped};

use crate::lop::Lop;

#[test]
fn a_server_that_cannot_start_says_why_and_what_to_do() {
    let lop = Lop::with(&TreeBuilder::new());
    let taken = TcpListener::bind("127.0.0.1:0").expect("binds");
    let taken = taken.local_addr().expect("an address");
    let refused = |args: &[&str], message: &str, hint: &str| {
        let output = lop.command().arg("serve").args(args).run();
        output.code(1);
        let expected = format!("lop: {message}\nhint: {hint}\n");
        assert_eq!(output.stderr_str(), expected, "{args:?}");
    };
    refused(
        &["--listen", &taken.to_string()],
        &format!("cannot listen on {taken}: Address already in use"),
        "another program uses the port; choose another one with --listen PORT, or any free one with --listen 0",
    );
    refused(
        &["--listen", "192.0.2.1:8420"],
        "cannot listen on 192.0.2.1:8420: Cannot assign requested address",
        "this machine does not have the address; --listen 0.0.0.0:PORT listens on all that it has",
    );
    refused(
        &["--listen", "0", "--token-file", "none/token"],
        "cannot use the token in none/token: No such file or directory",
        "lop creates the file, but not its directory",
    );
}

#[test]
fn an_ordinary_user_cannot_use_a_reserved_port() {
    if is_root() {
        return skipped("root may use all ports");
    }
    let output = Lop::with(&TreeBuilder::new()).run(["serve", "--listen", "1"]);
    output.code(1);
    assert!(output.stderr_str().contains("ports below 1024 are reserved"), "{output:?}");
}

#[test]
fn arguments_that_cannot_work_are_refused() {
    let lop = Lop::with(&TreeBuilder::new().dir("folder"));
    let output = lop.run(["serve", "--allow-host", "http://x/"]);
    output.code(2);
    assert!(output.stderr_str().contains("expected a host name"), "{output:?}");
    for option in ["--limit-rate", "--limit-rate-total"] {
        let output = lop.run(["serve", option, "0"]);
        output.code(2);
        assert!(output.stderr_str().contains("must not be zero"), "{output:?}");
    }
    let folder = lop.path("folder").display().to_string();
    let output = lop.run(["--catalog", &folder, "serve", "--listen", "0"]);
    output.code(5);
    let expected = format!("lop: the catalog {folder} is a directory\n");
    assert!(output.stderr_str().starts_with(&expected), "{output:?}");
}

/// Starts a server, and returns what it printed to standard error until `text` or the end of its start.
fn said_until(text: &str, command: Invocation<'_>, args: &[&str]) -> String {
    let mut server = command.arg("serve").args(args).spawn();
    server.wait_for(&When::Stderr(text.into()));
    server.signal(Signal::INT);
    server.wait().stderr_str().to_owned()
}

#[test]
fn a_qr_code_for_this_machine_only_is_explained() {
    let lop = Lop::with(&TreeBuilder::new());
    let said =
        |listen: &str| said_until("press Ctrl-C", lop.command(), &["--qr", "--listen", listen]);
    let note = "the QR code works only on this machine; for other devices, use --listen 0.0.0.0:";
    assert!(said("127.0.0.1:0").contains(note));
    assert!(!said("0.0.0.0:0").contains(note));
}

#[test]
fn a_browser_that_cannot_be_opened_is_reported() {
    let tree =
        TreeBuilder::new().file("bin/xdg-open", "#!/bin/sh\nexit 3\n").mode("bin/xdg-open", 0o755);
    let lop = Lop::with(&tree.dir("empty"));
    let open = |path: &str| {
        let command = lop.command().env("PATH", lop.path(path));
        said_until("no browser", command, &["--listen", "0", "--open"])
    };
    let message = "no browser was found; open the address yourself";
    assert!(open("bin").contains(message));
    assert!(open("empty").contains(&format!("{message} (xdg-open: No such file or directory)")));
}
