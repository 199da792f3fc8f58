//! Stores that cannot be used: each is an error in one line, without secrets.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use testkit::{Output, S3, Sandbox};

use super::{World, path};
use crate::two_hosts;

/// Asserts that a run failed with one line that contains `reason`.
#[track_caller]
fn assert_one_line(output: &Output, reason: &str) {
    output.code(1);
    let line = output.stderr_str();
    assert_eq!(line.lines().count(), 1, "{output:?}");
    assert!(line.contains(reason), "{output:?}");
    assert!(line.len() < 300 && !line.contains("Generic"), "{output:?}");
    assert!(!line.contains("secret"), "{output:?}");
}

/// Runs an upload to `url` with some variables.
fn upload(url: &str, variables: &[(&str, &str)]) -> Output {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let command =
        sandbox.command().args(["upload", "--host", "nas", path(hosts.dir.as_ref()), url]);
    variables.iter().fold(command, |command, (name, value)| command.env(name, *value)).run()
}

#[test]
fn a_missing_bucket_is_named() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    let url = "s3://no-such-bucket/fleet";
    let args = ["upload", "--host", "nas", path(hosts.dir.as_ref()), url];
    assert_one_line(&world.fleet(&args), "(NoSuchBucket)");
    let output = world.fleet(&["collect", path(&world.collection()), url]);
    assert_one_line(&output, "s3://no-such-bucket/fleet: The specified bucket does not exist");
    let output = world.fleet(&["collect", path(&world.collection()), "s3://bucket/empty"]);
    assert_one_line(&output, "s3://bucket/empty: no exports");
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let began = Instant::now();
    let at = |endpoint: &str| {
        upload("s3://bucket/x", &[keys[0], keys[1], ("AWS_ENDPOINT_URL", endpoint)])
    };
    let output = at(&format!("http://127.0.0.1:{port}"));
    assert_one_line(&output, &format!("cannot reach 127.0.0.1:{port}: Connection refused"));
    assert_one_line(&at("http://store.invalid:9000"), "cannot reach store.invalid:9000: ");
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}

#[test]
fn a_server_is_used_only_if_its_certificate_is_trusted() {
    let Some(s3) = S3::start_with_tls() else { return };
    let variables = s3.variables();
    let mut variables: Vec<_> = variables.iter().map(|(name, value)| (*name, &**value)).collect();
    let output = upload("s3://bucket/x", &variables);
    assert_one_line(&output, "is not trusted; set SSL_CERT_FILE to the certificate of its CA");
    let certificate = s3.certificate();
    variables.push(("SSL_CERT_FILE", path(&certificate)));
    upload("s3://bucket/x", &variables).success();
    let list = "print(len(s3.list_objects_v2(Bucket='bucket', Prefix='x/nas/')['Contents']))";
    assert_eq!(s3.script(list, &[]).stdout_str(), "5\n");
    // The server closes connections that do not use TLS.
    let plain = variables[0].1.replace("https", "http");
    variables[0].1 = &plain;
    assert_one_line(&upload("s3://bucket/x", &variables), "cannot reach 127.0.0.1:");
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    // The kernel accepts connections, and nobody reads from them.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let endpoint = format!("http://{}", silent.local_addr().expect("an address"));
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let output = upload("s3://bucket/x", &[keys[0], keys[1], ("AWS_ENDPOINT_URL_S3", &endpoint)]);
    assert_one_line(&output, "has not answered within 30 s");
}

#[test]
fn invalid_urls_and_variables_are_explained() {
    for (url, reason) in [
        ("gs://bucket/x", "gs://bucket/x: only s3:// URLs are supported"),
        ("bucket", "only s3:// URLs are supported"),
        ("s3://id:secret@bucket/x", "not the URL of a bucket"),
        ("s3://bucket/a/../b", "s3://bucket/a/../b: "),
    ] {
        assert_one_line(&upload(url, &[]), reason);
    }
    for (name, value, reason) in [
        (
            "AWS_ENDPOINT_URL",
            "localhost:9000",
            "AWS_ENDPOINT_URL is not an http:// or https:// URL",
        ),
        ("AWS_ENDPOINT_URL", "http://id:secret@host", "AWS_ENDPOINT_URL must contain only"),
        ("AWS_REGION", "a b", "AWS_REGION is not the name of a region"),
        ("AWS_SECRET_ACCESS_KEY", "secret\n", "AWS_SECRET_ACCESS_KEY has a character that"),
    ] {
        assert_one_line(&upload("s3://bucket/x", &[(name, value)]), reason);
    }
}

#[test]
fn missing_credentials_are_explained() {
    // Outside of a cloud, nobody answers the question for credentials of the instance.
    let refused = ("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    let output = upload("s3://bucket/x", &[refused]);
    assert_one_line(&output, "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}
