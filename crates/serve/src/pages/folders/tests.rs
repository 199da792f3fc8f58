//! Tests of the page with related folders.

use axum::http::StatusCode;
use testkit::TreeBuilder;

use super::shown::{self, Choices};
use crate::app::folders::Progress;
use crate::app::folders::report::Report;
use crate::testing::TestServer;

const EMPTY: &str =
    r#"{"format_version":1,"related":[],"summary":{"reclaimable_bytes":0,"problems":0}}"#;

#[test]
fn relations_are_shown_as_sentences() {
    let folder = |path: &str| format!(r#"{{"path":"{path}","files":2,"bytes":7000,"unknown":1}}"#);
    let relation = |kind: &str, percent: u32, dirs: &[&str]| {
        let dirs: Vec<String> = dirs.iter().map(|path| folder(path)).collect();
        format!(
            r#"{{"relation":"{kind}","percent":{percent},"files":2,"bytes":7000,"reclaimable_bytes":8192,"dirs":[{}]}}"#,
            dirs.join(",")
        )
    };
    let document = format!(
        r#"{{"format_version":1,"related":[{},{},{},{}],"summary":{{"reclaimable_bytes":8192,"problems":1}}}}"#,
        relation("contained", 100, &["/<a>", "/b"]),
        relation("overlapping", 98, &["/c", "/d"]),
        relation("equal", 100, &["/e", "/f"]),
        relation("equal", 100, &["/g", "/h", "/i"]),
    );
    let report = Report::read(document.as_bytes()).expect("read");
    let page = shown::main(&Progress::Done(report.into()), &Choices::default()).into_string();
    for part in [
        "<bdi>/&lt;a&gt;</bdi> is contained in <bdi>/b</bdi>",
        "98 % of <bdi>/c</bdi> is also in <bdi>/d</bdi>",
        "<bdi>/e</bdi> and <bdi>/f</bdi> are equal",
        "2 folders are equal to <bdi>/g</bdi>",
        "8.0 KiB</b> reclaimable",
        "1 not compared",
        "could not examine 1 entry",
        r#"href="/groups?filter=path%3A%22/c%22%20path%3A%22/d%22""#,
    ] {
        assert!(page.contains(part), "without {part}: {page}");
    }
}

#[test]
fn looking_at_the_page_compares_nothing() {
    let served = TestServer::scanned(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    let page = served.get("/folders");
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text().contains("Compare the folders"));
    assert_eq!(served.get("/folders/state").text(), r#"{"state":"idle"}"#);
}

#[test]
fn a_failure_is_shown_until_a_comparison_succeeds() {
    let server = TestServer::new(false);
    server.make_catalog();
    server.put("stderr", "{\"error\":{\"code\":1,\"message\":\"the disk is on fire\"}}\n");
    server.put("exit", "1");
    server.run("/api/folders", "");
    for visit in 0..2 {
        let page = server.page("/folders");
        assert!(page.contains("The folders were not compared: the disk is on fire"), "{visit}");
        assert!(page.contains("Try again"), "{visit}");
        let state = server.page("/folders/state");
        assert_eq!(state, r#"{"state":"failed","text":"the disk is on fire"}"#);
    }
    server.put("stderr", "");
    server.put("exit", "0");
    server.put("stdout", "nonsense");
    server.run("/api/folders", "");
    for visit in 0..2 {
        let page = server.page("/folders");
        assert!(page.contains("lop printed an unexpected result"), "{visit}: {page}");
    }
    server.put("stdout", EMPTY);
    server.run("/api/folders", "");
    assert!(server.page("/folders").contains("No folders have much in common"));
}

#[test]
fn an_answer_that_was_dropped_from_memory_is_read_again() {
    let server = TestServer::new(false);
    server.make_catalog();
    server.put("stdout", EMPTY);
    server.run("/api/folders", "");
    assert!(server.page("/folders").contains("No folders have much in common"));
    server.app.drop_all();
    assert_eq!(server.page("/folders/state"), r#"{"state":"done"}"#);
    assert!(server.page("/folders").contains("No folders have much in common"));
}

#[test]
fn folders_that_are_a_set_can_be_decided_at_once() {
    let mut tree = TreeBuilder::new();
    for folder in ["x", "y"] {
        tree = tree.file(format!("{folder}/1"), "one").file(format!("{folder}/2"), "two");
    }
    let served = TestServer::scanned(&tree.file("z/2", "twofold"));
    let path = |name: &str| served.tree.join(name).to_string_lossy().into_owned();
    let relation = |first: &str, second: &str| {
        format!(
            r#"{{"relation":"equal","percent":100,"files":2,"bytes":6,"reclaimable_bytes":8192,"dirs":[{{"path":"{}","files":2,"bytes":6}},{{"path":"{}","files":2,"bytes":6}}]}}"#,
            path(first),
            path(second)
        )
    };
    let document = format!(
        r#"{{"format_version":1,"related":[{},{}],"summary":{{"reclaimable_bytes":8192,"problems":0}}}}"#,
        relation("y", "x"),
        relation("x", "z")
    );
    let report = Report::read(document.as_bytes()).expect("read");
    let page = served.with_groups(|loaded| {
        let choices = Choices::find(&report, loaded.review, loaded.revision, 0);
        shown::main(&Progress::Done(report.into()), &choices).into_string()
    });
    let keeps = |number: u32, name: &str| {
        format!(
            r#"data-set="0" data-keep="{number}" data-revision="1">Keep the files in <bdi>{}</bdi>"#,
            path(name)
        )
    };
    assert!(page.contains(&keeps(1, "y")) && page.contains(&keeps(0, "x")), "{page}");
    assert_eq!(page.matches("Decide by folders").count(), 1, "x and z are not a set: {page}");
}

#[test]
fn a_decision_of_another_window_differs_from_a_change_of_the_catalog() {
    let served = TestServer::scanned(&TreeBuilder::new().file("x/1", "one").file("y/1", "one"));
    let revision = served.json("/same-folders/view")["revision"].as_u64().expect("a number");
    let decide = |keep: u32, revision: u64| {
        let choice = format!(r#"{{"folders":[{keep}]}}"#);
        let body =
            format!(r#"{{"scope":{{"set":0}},"choice":{choice},"revision":{revision},"seen":0}}"#);
        served.post("/api/decide", &body)
    };
    assert_eq!(decide(0, revision).0, StatusCode::OK);
    let (status, answer) = decide(1, revision);
    assert_eq!((status, &answer["overtaken"]), (StatusCode::CONFLICT, &true.into()));
    let (status, answer) = decide(1, revision + 1);
    assert_eq!((status, &answer["overtaken"]), (StatusCode::CONFLICT, &false.into()));
}
