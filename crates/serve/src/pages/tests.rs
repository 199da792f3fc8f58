//! Tests the pages about jobs and plans through the router.

#![expect(clippy::disallowed_methods, reason = "tests change the catalog and scanned files")]

use std::sync::Arc;

use axum::http::StatusCode;
use testkit::TreeBuilder;

use crate::testing::TestServer;

/// A name that would end an element, an attribute and a shell word.
const HOSTILE: &str = "/x/'\"><img src=x>\n\u{202e}$(id)";

/// A line of a saved plan.
fn line(path: &str, kept: &str, why: &str) -> String {
    let version = serde_json::json!({"device":1,"inode":2,"size":5,"mtime_ns":0,"ctime_ns":0});
    let line = serde_json::json!({
        "format_version": 1, "action": "quarantine", "path": path, "kept": kept, "why": why,
        "was": version, "kept_was": version,
    });
    format!("{line}\n")
}

/// A server whose jobs make a plan of these lines.
fn server_with_plan(lines: &[String], allow_actions: bool) -> TestServer {
    let server = TestServer::new(allow_actions);
    server.make_catalog();
    server.put("plan", lines.concat());
    server.put(
        "stdout",
        r#"{"summary":{"groups":1,"files":2,"reclaimable_bytes":0,"quarantined_bytes":8192,"stale_files":3}}"#,
    );
    let job = server.run("/api/plan", r#"{"action":"quarantine"}"#);
    assert_eq!((job.id.0, job.exit_code), (1, Some(0)));
    server
}

#[test]
fn without_a_catalog_the_start_page_offers_a_scan() {
    let server = TestServer::new(false);
    let page = server.page("/");
    assert!(
        page.contains("A scan changes none of your files") && page.contains("id=\"scan-form\"")
    );
    for path in ["/groups/view", "/same-folders/view", "/folders", "/space", "/plan"] {
        assert!(server.page(path).contains("Nothing has been scanned yet"), "{path}");
    }
    assert!(server.page("/runs").contains("No run yet"));
    assert!(server.page("/quarantine").contains("The quarantine is empty"));
}

#[test]
fn a_catalog_that_cannot_be_used_is_explained_on_every_page() {
    let server = TestServer::new(false);
    std::fs::create_dir(server.path("catalog.db")).expect("created");
    for path in ["/", "/groups/view", "/same-folders/view", "/folders", "/space", "/plan"] {
        let page = server.page(path);
        assert!(page.contains("The catalog cannot be used"), "{path}: {page}");
        assert!(page.contains("catalog.db"), "{path}: {page}");
    }
}

#[test]
fn the_start_page_shows_what_the_catalog_contains() {
    let server = TestServer::new(false);
    server.make_catalog();
    let page = server.page("/");
    for part in ["<b class=\"big\">8.0 KiB</b>", "1 group", "3</b>files remembered", "/pictures"] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

/// Returns the text of the step that the start page marks as the next one.
fn next_step(server: &TestServer) -> String {
    let page = server.page("/");
    let step =
        page.split("aria-current=\"step\">").nth(1).and_then(|rest| rest.split("</li>").next());
    step.expect("a step").to_owned()
}

#[test]
fn a_plan_is_the_next_step_only_if_it_would_contain_files() {
    let others = TreeBuilder::new().file("c", "alike").file("d", "alike");
    let server = TestServer::scanned(&others.file("a", "same").file("b", "same"));
    assert!(next_step(&server).starts_with("Review the "));
    let number = server.number("a");
    for (choice, step) in [(r#"{"leave":true}"#, "Review the "), (r#"{"files":[0]}"#, "Make the ")]
    {
        let revision = &server.json("/groups/view")["revision"];
        let seen = server.app.changes.last();
        let body = format!(
            r#"{{"scope":{{"group":{number}}},"choice":{choice},"revision":{revision},"seen":{seen}}}"#
        );
        assert_eq!(server.post("/api/decide", &body).0, StatusCode::OK);
        assert!(next_step(&server).starts_with(step), "{choice}");
    }
    std::fs::remove_file(server.tree.join("b")).expect("removed");
    server.scan();
    assert!(next_step(&server).starts_with("Make the "), "the groups are not loaded yet");
    server.json("/groups/view");
    assert!(next_step(&server).starts_with("Review the "), "the decision is about no group");
}

#[test]
fn a_scan_starts_for_folders_that_were_scanned_or_typed_even_on_a_read_only_server() {
    let server = TestServer::new(false);
    server.make_catalog();
    let typed = server.path("");
    let typed = typed.to_str().expect("plain").trim_end_matches('/');
    let known = super::jobs::hex(b"/pictures");
    let body = serde_json::json!({ "roots": [known], "path": typed }).to_string();
    assert_eq!(server.run("/api/scan", &body).exit_code, Some(0));
    let calls = server.content("calls");
    assert!(
        calls.ends_with(&format!("--json --progress json scan -- /pictures {typed}\n")),
        "{calls}"
    );
}

#[test]
fn a_folder_that_cannot_be_scanned_is_refused_with_the_reason() {
    let server = TestServer::new(false);
    server.make_catalog();
    for (body, status) in [
        (r#"{"path":"relative"}"#, StatusCode::BAD_REQUEST),
        (r#"{"path":"/no/such/folder"}"#, StatusCode::BAD_REQUEST),
        (r#"{"path":"/etc/passwd"}"#, StatusCode::BAD_REQUEST),
        ("{}", StatusCode::BAD_REQUEST),
        ("not JSON", StatusCode::BAD_REQUEST),
        (r#"{"roots":["2f"]}"#, StatusCode::CONFLICT),
    ] {
        let (answered, answer) = server.post("/api/scan", body);
        assert_eq!(answered, status, "{body}");
        assert!(answer["error"].as_str().is_some_and(|why| !why.is_empty()));
    }
    assert_eq!(server.content("calls"), "");
}

#[test]
fn a_read_only_server_starts_nothing_that_changes_files() {
    let server = server_with_plan(&[line("/b", "/a", "oldest")], false);
    let before = server.content("calls");
    for (path, body) in [
        ("/api/apply", r#"{"plan":1}"#),
        ("/api/undo", r#"{"run":1}"#),
        ("/api/restore", "{}"),
        ("/api/purge", r#"{"days":0}"#),
    ] {
        let (status, answer) = server.post(path, body);
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(answer["error"], "This server is read-only");
    }
    assert_eq!(server.content("calls"), before);
    let page = server.page("/plan");
    assert!(page.contains("This server is read-only") && !page.contains("<dialog"));
}

#[test]
fn only_the_buttons_of_a_deletion_are_marked_as_dangerous() {
    let danger = r#"<button class="primary danger" value="ok">Delete 1 file</button>"#;
    let server = server_with_plan(&[line("/b", "/a", "oldest")], true);
    assert!(!server.page("/plan").contains("danger"));
    server.run("/api/plan", r#"{"action":"delete"}"#);
    assert!(server.page("/plan").contains(danger));
}

#[test]
fn a_plan_is_shown_filtered_and_applied_once() {
    let lines = [line("/b/One", "/a/one", "oldest"), line("/b/two", "/a/two", "chosen")];
    let server = server_with_plan(&lines, true);
    let page = server.page("/plan");
    for part in [
        "Move 2 files to quarantine",
        "3 files changed or gone since the scan",
        "<b class=\"big\">8.0 KiB</b>would be freed when you empty the quarantine",
        "2 files with a total size of 10 B",
        "<dialog",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let all = server.page("/plan/1/lines?from=0&count=50");
    assert!(all.contains("data-path=\"/b/One\"") && all.contains("data-kept=\"/a/two\""));
    assert!(all.contains("data-rank=\"1\"") && all.contains("oldest"));
    let found = server.page("/plan/1/lines?from=0&count=50&filter=ONE");
    assert!(found.contains("/b/One") && !found.contains("/b/two"));
    assert_eq!(server.page("/plan/1/count?filter=two"), r#"{"count":1}"#);
    assert_eq!(server.page("/plan/1/lines?from=2&count=9"), "");

    server
        .put("stdout", r#"{"summary":{"run":7,"done":2,"already":0,"failed":0,"freed_bytes":0}}"#);
    let job = server.run("/api/apply", r#"{"plan":1}"#);
    assert_eq!(server.content("applied"), lines.concat(), "exactly the plan of the page");
    let page = server.page(&format!("/plan?done={}", job.id.0));
    assert!(page.contains("Plan applied") && page.contains("/runs/7"), "{page}");
    assert!(page.contains("2 files moved to quarantine") && page.contains("and undo it"));
    let (status, answer) = server.post("/api/apply", r#"{"plan":1}"#);
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(answer["error"], "This plan was applied as run 7");
}

#[test]
fn a_plan_is_outdated_after_a_decision() {
    let server = server_with_plan(&[line("/b", "/a", "oldest")], true);
    assert!(!server.page("/plan").contains("Make the plan again"));
    let scope = catalog::Scope::Filter(String::new());
    let decided =
        server.app.with_decider(|decider| Ok(decider.decide(scope, catalog::Choice::Leave, 5)?));
    let decision = decided.expect("decided");
    assert!(server.page("/plan").contains("Decisions have changed since this plan was made"));
    assert_eq!(server.post("/api/apply", r#"{"plan":1}"#).0, StatusCode::CONFLICT);
    assert_eq!(server.content("applied"), "");
    let withdrawn = server.app.with_decider(|decider| Ok(decider.withdraw(decision.id)?));
    assert!(withdrawn.expect("withdrawn"));
    assert!(!server.page("/plan").contains("Decisions have changed"), "all is as it was");
}

#[test]
fn a_plan_is_outdated_after_any_change_of_the_catalog_and_is_not_applied() {
    let server = server_with_plan(&[line("/b", "/a", "oldest")], true);
    assert!(server.page("/plan").contains("<dialog"));
    server.page("/groups/view");
    assert!(server.page("/plan").contains("<dialog"), "looking at groups changes nothing");
    let other = rusqlite::Connection::open(server.path("catalog.db")).expect("opens");
    other.execute("UPDATE scan SET problems = 1", []).expect("changes");
    let page = server.page("/plan");
    assert!(page.contains("The catalog has changed since this plan was made"), "{page}");
    assert!(page.contains("href=\"/plan#plan-form\"") && !page.contains("<dialog"), "{page}");
    let (status, answer) = server.post("/api/apply", r#"{"plan":1}"#);
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(answer["error"], "The catalog has changed since this plan was made");
    assert_eq!(answer["link"], "/plan#plan-form");
    assert_eq!(server.content("applied"), "");
    server.run("/api/plan", r#"{"action":"quarantine"}"#);
    assert!(server.page("/plan").contains("<dialog"));
    assert_eq!(server.run("/api/apply", r#"{"plan":2}"#).exit_code, Some(0));
}

#[test]
fn hostile_names_stay_text_in_lists_and_attachments() {
    let lines = [line(HOSTILE, "/a", "=cmd()")];
    let server = server_with_plan(&lines, true);
    let rows = server.page("/plan/1/lines?from=0&count=9");
    assert!(!rows.contains("<img") && !rows.contains('\u{202e}'), "{rows}");
    assert_eq!(server.page("/plan/1/plan.jsonl"), lines.concat());
    let csv = server.page("/plan/1/plan.csv");
    let quoted = HOSTILE.replace('"', "\"\"");
    assert_eq!(csv, format!("action,path,size,kept,why\nquarantine,\"{quoted}\",5,/a,'=cmd()\n"));
    let script = server.page("/plan/1/plan.sh");
    assert!(script.starts_with("#!/bin/sh\n") && script.trim_end().ends_with("exit 3"));
    assert!(script.contains(&format!("file '/a' '{}' ", HOSTILE.replace('\'', "'\\''"))));
    let answer = server.get("/plan/1/plan.sh");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"lop-plan.sh\"");
}

#[test]
fn a_plan_of_many_lines_is_sent_whole() {
    let lines: Vec<String> =
        (0..1201).map(|n| line(&format!("/b/{n}"), &format!("/a/{n}"), "oldest")).collect();
    let server = server_with_plan(&lines, true);
    assert_eq!(server.page("/plan/1/plan.jsonl"), lines.concat());
    assert_eq!(server.page("/plan/1/plan.csv").lines().count(), 1202);
    let steps =
        server.page("/plan/1/plan.sh").lines().filter(|line| line.starts_with("file '")).count();
    assert_eq!(steps, 1201);
    assert!(server.page("/plan/1/lines?from=1200&count=50").contains("/b/1200"));
}

#[test]
fn unknown_plans_jobs_and_runs_do_not_exist() {
    let server = TestServer::new(true);
    for path in ["/plan/9/lines", "/plan/9/plan.csv", "/api/jobs/9", "/runs/9", "/runs/9/files.csv"]
    {
        assert_eq!(server.get(path).status, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(server.post("/api/jobs/9/cancel", "{}").0, StatusCode::NOT_FOUND);
    let (status, answer) = server.post("/api/apply", r#"{"plan":9}"#);
    assert_eq!((status, &answer["link"]), (StatusCode::NOT_FOUND, &"/plan#plan-form".into()));
}

#[test]
fn only_one_run_is_started_and_it_can_be_cancelled() {
    let server = TestServer::new(true);
    server.put("wait", "");
    server.put(
        "stderr",
        "{\"progress\":{\"stage\":\"walk\",\"text\":\"Walking, 3 files\",\"done_percent\":40}}\n",
    );
    let (status, started) = server.post("/api/restore", "{}");
    assert_eq!(status, StatusCode::OK);
    let (status, answer) = server.post("/api/undo", r#"{"run":1}"#);
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(answer["error"], "Restoring from quarantine is still running");
    assert_eq!(answer["link"], "/runs");
    assert!(server.page("/").contains("id=\"running\" href=\"/runs\""));
    assert!(!server.page("/").contains("hidden title=\"Show the running work\""));
    let job = started["job"].as_u64().expect("a number");
    let lists = [server.app.jobs.list(), server.app.jobs.list()];
    assert!(lists[0].len() == 1 && Arc::ptr_eq(&lists[0][0], &lists[1][0]), "shared, not copied");
    while server.app.jobs.job(crate::jobs::JobId(job)).is_some_and(|job| job.progress.is_none()) {
        std::thread::yield_now();
    }
    let (_, cancelled) = server.post(&format!("/api/jobs/{job}/cancel"), "{}");
    assert_eq!(cancelled["cancelled"], true);
    server.wait(job);
    assert!(server.page(&format!("/runs?done={job}")).contains("was cancelled"));
}

#[test]
fn the_stream_of_events_ends_when_no_job_runs() {
    let server = TestServer::new(true);
    let answer = server.get("/events");
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let events = answer.text();
    assert!(events.contains("event: end\n") && events.contains("data: {\"jobs\":[]}"), "{events}");
    assert!(events.contains("retry: 1000\n") && events.contains("id: 0\n"), "{events}");

    server.put(
        "stderr",
        "{\"progress\":{\"stage\":\"walk\",\"text\":\"Walking\",\"done_percent\":40}}\n",
    );
    let (_, started) = server.post("/api/restore", "{}");
    let events = server.page("/events");
    assert!(events.contains("event: end\n"), "{events}");
    server.wait(started["job"].as_u64().expect("a number"));
}

#[test]
fn the_first_messages_of_a_job_are_kept_and_all_are_counted() {
    let server = TestServer::new(true);
    server.put("stderr", format!("{}\n", "too long ".repeat(1000)).repeat(500));
    let (_, started) = server.post("/api/restore", "{}");
    let id = started["job"].as_u64().expect("a number");
    server.wait(id);
    let job = &server.json(&format!("/api/jobs/{id}"))["job"];
    let messages = job["messages"].as_array().expect("a list");
    assert_eq!((messages.len(), job["messages_total"].as_u64()), (200, Some(500)));
    assert!(messages.iter().all(|text| text.as_str().expect("a text").chars().count() == 4096));
}

#[test]
fn the_number_of_streams_is_limited() {
    let server = TestServer::new(true);
    let open: Vec<_> = (0..32).map(|_| server.begin("/events")).collect();
    assert!(open.iter().all(|response| response.status() == StatusCode::OK));
    assert_eq!(server.begin("/events").status(), StatusCode::TOO_MANY_REQUESTS);
    drop(open);
    assert_eq!(server.begin("/events").status(), StatusCode::OK);
}
