//! Tests of the pages on which groups are reviewed, on scanned trees.

#![expect(clippy::disallowed_methods, reason = "tests change scanned files")]

use axum::http::StatusCode;
use serde_json::{Value, json};
use testkit::TreeBuilder;

use crate::assets;
use crate::pages::review_parts;
use crate::testing::TestServer;

/// Two equal folders with two photos each, and two equal videos elsewhere.
fn photos() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("photos/2019/one.jpg", 1, 30_000)
        .seeded("photos/2019/two.jpg", 2, 20_000)
        .seeded("copy/2019/one.jpg", 1, 30_000)
        .seeded("copy/2019/two.jpg", 2, 20_000)
        .seeded("videos/long.mp4", 3, 90_000)
        .seeded("videos/long (1).mp4", 3, 90_000)
        .file("alone", "no copy")
}

/// Returns the number of a group of which some name is this, and its page.
fn group(scanned: &TestServer, name: &str) -> (i64, i64, Value) {
    let view = scanned.json("/groups/view");
    let rows = scanned.page(&format!("/groups/rows?view={}&from=0&n=50", view["view"]));
    let row = rows.split("<div class=\"row\"").find(|row| row.contains(name)).expect("a row");
    let number = row.split("data-id=\"").nth(1).and_then(|rest| rest.split('"').next());
    let number = number.and_then(|number| number.parse().ok()).expect("a number");
    (number, view["revision"].as_i64().expect("a revision"), view["view"].clone())
}

fn detail(scanned: &TestServer, number: i64, revision: i64) -> String {
    scanned.page(&format!("/groups/detail?id={number}&revision={revision}"))
}

/// Returns the fates that the details of a group show, in the order of the files.
fn fates(page: &str) -> Vec<&str> {
    let buttons = page.split("data-act=\"toggle\"").skip(1);
    buttons
        .map(|button| {
            let word = button.split('>').nth(1).and_then(|rest| rest.split('<').next());
            word.expect("a word")
        })
        .collect()
}

fn decide(
    scanned: &TestServer,
    scope: &Value,
    choice: &Value,
    revision: i64,
) -> (StatusCode, Value) {
    let seen = scanned.app.changes.last();
    let body = json!({ "scope": scope, "choice": choice, "revision": revision, "seen": seen });
    scanned.post("/api/decide", &body)
}

#[test]
fn a_filter_selects_rows_and_the_totals_follow_it() {
    let scanned = TestServer::scanned(&photos());
    let all = scanned.json("/groups/view");
    assert_eq!(all["count"], 3);
    let some = scanned.json("/groups/view?filter=ext:jpg&sort=path");
    assert_eq!(some["count"], 2);
    let totals = some["totals"].as_str().expect("text");
    assert!(totals.contains("<b>2</b> groups") && totals.contains("52.0 KiB"), "{totals}");
    let rows = scanned.page(&format!("/groups/rows?view={}&from=1&n=50", some["view"]));
    assert_eq!(rows.matches("role=\"row\"").count(), 1);
    assert!(rows.contains("aria-rowindex=\"2\"") && rows.contains("two.jpg"), "{rows}");
}

/// Returns the rows that a page of groups contains.
fn first_rows(page: &str) -> Vec<&str> {
    let list = page.split("id=\"list\"").nth(1).expect("a list");
    list.split("</section>").next().expect("an end").split("<div class=\"row\"").skip(1).collect()
}

#[test]
fn the_page_contains_the_first_rows_also_before_the_groups_are_loaded() {
    let scanned = TestServer::scanned(&photos());
    let before = scanned.page("/groups");
    assert!(
        before.contains("Reading the catalog…") && before.contains("<b>3</b> groups"),
        "{before}"
    );
    let view = scanned.json("/groups/view");
    let after = scanned.page("/groups");
    assert!(!after.contains("Reading the catalog…") && after.contains("3 undecided"), "{after}");
    assert_eq!(first_rows(&before), first_rows(&after));
    let rows = scanned.page(&format!("/groups/rows?view={}&from=0&n=50", view["view"]));
    let rows: Vec<&str> = rows.split("<div class=\"row\"").skip(1).collect();
    assert_eq!(rows.len(), 3);
    for (first, row) in first_rows(&before).iter().zip(&rows) {
        assert!(first.starts_with(row), "{first} is not {row}");
    }
    let filtered = scanned.page("/groups?filter=ext:jpg");
    assert_eq!(first_rows(&filtered).len(), 2);
}

#[test]
fn rows_of_groups_that_are_not_loaded_claim_no_state_if_there_are_decisions() {
    let mut scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "one.jpg");
    let (status, _) =
        decide(&scanned, &json!({ "group": number }), &json!({ "leave": true }), revision);
    assert_eq!(status, StatusCode::OK);
    scanned.restart();
    let page = scanned.page("/groups");
    assert_eq!(first_rows(&page).len(), 3);
    assert!(first_rows(&page).iter().all(|row| row.contains(">…<")), "{page}");
    assert_eq!(
        first_rows(&scanned.page("/groups?filter=ext:jpg")).len(),
        0,
        "a filter needs all groups"
    );
}

#[test]
fn a_wrong_filter_is_explained() {
    let scanned = TestServer::scanned(&photos());
    let answer = scanned.json("/groups/view?filter=size:many");
    assert!(answer["problem"].as_str().expect("text").contains("size:many"), "{answer}");
    assert!(answer["view"].is_null(), "{answer}");
}

#[test]
fn names_from_the_disk_are_escaped_everywhere() {
    let name = "<img src=x onerror=alert(1)>\"'&\n\u{202e}gpj.exe";
    let tree = TreeBuilder::new()
        .file(format!("a<b>/{name}"), "content")
        .file(format!("c\"d/{name}"), "content");
    let scanned = TestServer::scanned(&tree);
    let (number, revision, view) = group(&scanned, "row");
    let sets = scanned.json("/same-folders/view");
    let rules = json!({ "rules": ["path:<b>*"] });
    assert_eq!(decide(&scanned, &json!({ "filter": "" }), &rules, revision).0, StatusCode::OK);
    for page in [
        scanned.page(&format!("/groups/rows?view={view}&from=0&n=50")),
        detail(&scanned, number, revision),
        scanned.page(&format!("/same-folders/rows?view={}&from=0&n=50", sets["view"])),
        scanned.page(&format!("/same-folders/detail?id=0&revision={revision}")),
        scanned.page("/groups?filter=%22%3E%3Cimg%3E"),
        scanned.json("/review/decisions")["html"].as_str().expect("text").to_owned(),
    ] {
        for bad in ["<img src=x", "<img>", "a<b>", "c\"d", "path:<b>", "\u{202e}"] {
            assert!(!page.contains(bad), "{bad} in {page}");
        }
    }
}

#[test]
fn numbers_of_an_earlier_scan_are_refused() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, view) = group(&scanned, "long");
    std::fs::remove_file(scanned.tree.join("videos/long.mp4")).expect("removed");
    scanned.scan();
    let rows = format!("/groups/rows?view={view}&from=0&n=50");
    let detail = format!("/groups/detail?id={number}&revision={revision}");
    for path in [rows, detail] {
        assert_eq!(scanned.get(&path).status, StatusCode::CONFLICT, "{path}");
    }
    let leave = json!({ "leave": true });
    let (status, body) = decide(&scanned, &json!({ "group": number }), &leave, revision);
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    assert_eq!(scanned.json("/groups/view")["count"], 2);
}

#[test]
fn decisions_keep_the_numbers_and_survive_a_restart() {
    let mut scanned = TestServer::scanned(&photos());
    let (number, revision, view) = group(&scanned, "long");
    let scope = json!({ "group": number });
    let body = json!({
        "scope": scope, "choice": { "files": [1] }, "revision": revision, "seen": 0, "view": view,
    });
    let (status, answer) = scanned.post("/api/decide", &body);
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["revision"], revision);
    assert!(answer["totals"].as_str().expect("text").contains("1 decided"), "{answer}");
    assert_eq!(fates(&detail(&scanned, number, revision)), ["remove", "keep"]);
    scanned.restart();
    let (number, revision, _) = group(&scanned, "long");
    assert_eq!(fates(&detail(&scanned, number, revision)), ["remove", "keep"]);
}

#[test]
fn a_decision_of_another_window_is_not_overwritten() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, view) = group(&scanned, "long");
    let (other, ..) = group(&scanned, "one.jpg");
    let send = |path: &str, mut body: Value, seen: u64| {
        body["revision"] = revision.into();
        body["seen"] = seen.into();
        body["view"] = view.clone();
        scanned.post(path, &body)
    };
    let keep = |number: i64, kept: u32, seen: u64| {
        let body = json!({ "scope": { "group": number }, "choice": { "files": [kept] } });
        send("/api/decide", body, seen)
    };
    assert_eq!(keep(number, 0, 0).1["seen"], 1);
    // A page that was loaded before shows this group without a decision.
    let (status, answer) = keep(number, 1, 0);
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    assert!(answer["error"].as_str().expect("text").starts_with("Another window"), "{answer}");
    assert_eq!(fates(&detail(&scanned, number, revision)), ["keep", "remove"]);
    // It shows what is true about the other group.
    assert_eq!(keep(other, 0, 0).0, StatusCode::OK);
    let id = detail(&scanned, number, revision);
    let id = id.split("data-decision=\"").nth(1).and_then(|rest| rest.split('"').next());
    let id: i64 = id.and_then(|id| id.parse().ok()).expect("an id");
    for body in [json!({ "id": id }), json!({ "all": true })] {
        assert_eq!(send("/api/withdraw", body, 0).0, StatusCode::CONFLICT);
    }
    // The page was loaded again.
    assert_eq!(keep(number, 1, 2).0, StatusCode::OK);
    assert_eq!(fates(&detail(&scanned, number, revision)), ["remove", "keep"]);
    assert_eq!(send("/api/withdraw", json!({ "all": true }), 3).0, StatusCode::OK);
    assert_eq!(keep(number, 0, 3).0, StatusCode::CONFLICT);
}

#[test]
fn a_copy_that_is_found_after_files_were_chosen_asks_for_a_new_choice() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "long");
    let only = json!({ "files": [0] });
    assert_eq!(decide(&scanned, &json!({ "group": number }), &only, revision).0, StatusCode::OK);
    let film = std::fs::read(scanned.tree.join("videos/long.mp4")).expect("read");
    std::fs::write(scanned.tree.join("videos/another.mp4"), film).expect("written");
    scanned.scan();
    let view = scanned.json("/groups/view?filter=is:undecided");
    assert_eq!(view["count"], 3);
    let (number, revision, view) = group(&scanned, "another");
    let rows = scanned.page(&format!("/groups/rows?view={view}&from=0&n=50"));
    assert_eq!(rows.matches("changed since").count(), 1, "{rows}");
    let page = detail(&scanned, number, revision);
    assert_eq!(fates(&page), ["stays"; 3]);
    assert!(page.contains("a file was added to the group after the decision"), "{page}");
    assert_eq!(page.matches("found after the decision").count(), 1, "{page}");
    assert_eq!(decide(&scanned, &json!({ "group": number }), &only, revision).0, StatusCode::OK);
    assert_eq!(fates(&detail(&scanned, number, revision)).len(), 3);
    assert_eq!(scanned.json("/groups/view?filter=is:undecided")["count"], 2);
}

#[test]
fn groups_that_were_dropped_keep_their_numbers() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, view) = group(&scanned, "long");
    scanned.app.drop_all();
    detail(&scanned, number, revision);
    let rows = format!("/groups/rows?view={view}&from=0&n=50");
    assert_eq!(scanned.get(&rows).status, StatusCode::CONFLICT, "listings are gone");
}

/// Returns what the details of a group send with a choice that depends on what they show.
fn basis(scanned: &TestServer, number: i64, revision: i64) -> String {
    let page = detail(scanned, number, revision);
    let rest = page.split_once("data-basis=\"").expect("a basis").1;
    rest.split('"').next().expect("an end").to_owned()
}

#[test]
fn a_choice_that_depends_on_what_a_page_shows_is_refused_if_that_has_changed() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "one.jpg");
    let (group, seen) = (json!({ "group": number }), scanned.app.changes.last());
    let old = basis(&scanned, number, revision);
    let filter = json!({ "filter": "jpg" });
    let (status, _) = decide(&scanned, &filter, &json!({ "rules": ["newest"] }), revision);
    assert_eq!(status, StatusCode::OK);
    // Another window has decided about the group through a filter, which is another scope.
    for (scope, choice) in [
        (group.clone(), json!({ "change": { "keep": [], "remove": [0], "basis": old } })),
        (json!({ "set": 0 }), json!({ "like": { "group": number, "basis": old } })),
    ] {
        let body = json!({ "scope": scope, "choice": choice, "revision": revision, "seen": seen });
        let (status, answer) = scanned.post("/api/decide", &body);
        assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    }
    let new = basis(&scanned, number, revision);
    let choice = json!({ "change": { "keep": [0, 1], "remove": [], "basis": new } });
    let mut body = json!({ "scope": group, "choice": choice, "revision": revision, "seen": seen });
    body["group"] = json!(number);
    let (status, answer) = scanned.post("/api/decide", &body);
    assert_eq!((status, &answer["others"]), (StatusCode::OK, &json!(true)), "{answer}");
    let now = basis(&scanned, number, revision);
    assert_ne!(now, new);
    assert_eq!(answer["basis"], now, "a further choice needs no reload");
}

#[test]
fn a_filter_is_the_same_however_it_is_written() {
    let scanned = TestServer::scanned(&photos());
    let revision = scanned.json("/groups/view")["revision"].as_i64().expect("a revision");
    let (first, leave) = (json!({ "filter": "Size:>1 name:*.JPG" }), json!({ "leave": true }));
    let (status, answer) = decide(&scanned, &first, &leave, revision);
    assert_eq!((status, &answer["others"]), (StatusCode::OK, &json!(false)), "{answer}");
    let same = json!({ "filter": "name:*.JPG   size:>1" });
    let body = json!({ "scope": same, "choice": leave, "revision": revision, "seen": 0 });
    assert_eq!(scanned.post("/api/decide", &body).0, StatusCode::CONFLICT);
}

#[test]
fn files_of_a_group_that_is_not_shown_whole_cannot_be_chosen_one_by_one() {
    let files = 0..=review_parts::MOST_FILES;
    let tree = files.fold(TreeBuilder::new(), |tree, n| tree.file(format!("{n}"), "same bytes"));
    let scanned = TestServer::scanned(&tree);
    let (number, revision, _) = group(&scanned, "0");
    let page = detail(&scanned, number, revision);
    assert!(!page.contains("Only this") && !page.contains("data-act=\"toggle\""), "{page}");
    let scope = json!({ "group": number });
    let (status, answer) = decide(&scanned, &scope, &json!({ "files": [0] }), revision);
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let (status, answer) = decide(&scanned, &scope, &json!({ "rules": ["newest"] }), revision);
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[test]
fn one_file_of_a_group_always_stays() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "long");
    let scope = json!({ "group": number });
    let change = |keep: &[u32], remove: &[u32]| {
        let basis = basis(&scanned, number, revision);
        let choice = json!({ "change": { "keep": keep, "remove": remove, "basis": basis } });
        decide(&scanned, &scope, &choice, revision).0
    };
    assert_eq!(change(&[], &[0]), StatusCode::OK);
    assert_eq!(fates(&detail(&scanned, number, revision)), ["remove", "keep"]);
    assert_eq!(change(&[], &[1]), StatusCode::BAD_REQUEST);
    assert_eq!(change(&[0], &[1]), StatusCode::OK);
    assert_eq!(fates(&detail(&scanned, number, revision)), ["keep", "remove"]);
    for missing in [json!([]), json!([7])] {
        let choice = json!({ "files": missing });
        assert!(decide(&scanned, &scope, &choice, revision).0.is_client_error());
    }
}

#[test]
fn all_names_of_a_file_share_its_fate() {
    let tree = TreeBuilder::new()
        .hard_links("same bytes", &["a/one", "a/two"])
        .file("b/three", "same bytes");
    let scanned = TestServer::scanned(&tree);
    let (number, revision, _) = group(&scanned, "one");
    let basis = basis(&scanned, number, revision);
    let choice = json!({ "change": { "keep": [], "remove": [1], "basis": basis } });
    let (status, body) = decide(&scanned, &json!({ "group": number }), &choice, revision);
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(fates(&detail(&scanned, number, revision)), ["remove", "remove", "keep"]);
}

#[test]
fn the_same_choice_settles_all_groups_in_the_same_folders() {
    let scanned = TestServer::scanned(&photos());
    let (one, revision, _) = group(&scanned, "one.jpg");
    let (two, ..) = group(&scanned, "two.jpg");
    let page = detail(&scanned, one, revision);
    let set = page.split("data-set=\"").nth(1).and_then(|rest| rest.split('"').next());
    let scope = json!({ "set": set.and_then(|set| set.parse::<u32>().ok()).expect("a set") });
    let like = || json!({ "like": { "group": one, "basis": basis(&scanned, one, revision) } });
    let (status, body) = decide(&scanned, &scope, &like(), revision);
    assert_eq!(status, StatusCode::BAD_REQUEST, "nothing is decided yet: {body}");
    let only = json!({ "files": [1] });
    assert_eq!(decide(&scanned, &json!({ "group": one }), &only, revision).0, StatusCode::OK);
    assert_eq!(decide(&scanned, &scope, &like(), revision).0, StatusCode::OK);
    for number in [one, two] {
        let page = detail(&scanned, number, revision);
        assert_eq!(fates(&page), ["remove", "keep"]);
        assert!(page.contains("Withdraw decision for these folders"), "{page}");
    }
}

#[test]
fn one_click_settles_a_set_of_folders_and_can_be_withdrawn() {
    let scanned = TestServer::scanned(&photos());
    let view = scanned.json("/same-folders/view?filter=COPY");
    assert_eq!(view["count"], 1);
    let rows = scanned.page(&format!("/same-folders/rows?view={}&from=0&n=9", view["view"]));
    let set: u32 = rows.split("data-id=\"").nth(1).expect("a row")[..1].parse().expect("a number");
    let (scope, revision) = (json!({ "set": set }), view["revision"].as_i64().expect("a revision"));
    let body = json!({
        "scope": scope, "choice": { "folders": [0] }, "revision": revision, "seen": 0,
        "view": view["view"],
    });
    let (status, answer) = scanned.post("/api/decide", &body);
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(answer["totals"].as_str().expect("text").contains("2 decided"), "{answer}");
    let page = scanned.page(&format!("/same-folders/detail?id={set}&revision={revision}"));
    let id = page.split("data-decision=\"").nth(1).and_then(|rest| rest.split('"').next());
    let id: i64 = id.and_then(|id| id.parse().ok()).expect("an id");
    let body = json!({ "id": id, "revision": revision, "seen": 1, "view": view["view"] });
    let (status, answer) = scanned.post("/api/withdraw", &body);
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(answer["totals"].as_str().expect("text").contains("0 decided"), "{answer}");
}

#[test]
fn rules_for_a_filter_do_what_their_preview_says() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "one.jpg");
    let leave = json!({ "leave": true });
    assert_eq!(decide(&scanned, &json!({ "group": number }), &leave, revision).0, StatusCode::OK);
    let view = scanned.json("/groups/view?filter=copies:%3E1");
    let preview = scanned.json(&format!(
        "/review/preview?revision={revision}&view={}&rules=newest%0Apath:videos",
        view["view"]
    ));
    let text = preview["html"].as_str().expect("text");
    assert!(
        text.contains("<b>2 groups</b> would be settled") && text.contains("<b>2 files</b>"),
        "{text}"
    );
    assert!(text.contains("1 group keeps its own decision"), "{text}");
    let rules = json!({ "rules": ["newest", "path:videos"] });
    let scope = json!({ "filter": "copies:>1" });
    assert_eq!(decide(&scanned, &scope, &rules, revision).0, StatusCode::OK);
    let totals = scanned.json("/groups/view")["totals"].to_string();
    assert!(totals.contains("0 undecided, 2 decided, 1 left alone"), "{totals}");
    let wrong = json!({ "rules": ["biggest"] });
    let (status, body) = decide(&scanned, &scope, &wrong, revision);
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body["error"].as_str().expect("text").contains("biggest"), "{body}");
}

#[test]
fn rows_stay_in_place_when_a_decision_ends_their_match() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "long");
    let view = scanned.json("/groups/view?filter=is:undecided");
    let leave = json!({ "leave": true });
    assert_eq!(decide(&scanned, &json!({ "group": number }), &leave, revision).0, StatusCode::OK);
    let rows = scanned.page(&format!("/groups/rows?view={}&from=0&n=50", view["view"]));
    assert_eq!(rows.matches("role=\"row\"").count(), 3);
    assert_eq!(scanned.json("/groups/view?filter=is:undecided")["count"], 2);
}

#[test]
fn empty_lists_say_what_to_do_next() {
    let scanned = TestServer::with(&TreeBuilder::new().file("a", "alone"), true);
    let empty = |path: &str| scanned.json(path)["empty"].as_str().expect("text").to_owned();
    for page in ["/groups/view", "/same-folders/view"] {
        assert!(empty(page).contains("Nothing has been scanned yet"), "{page}");
    }
    scanned.scan();
    assert!(empty("/groups/view").contains("No duplicates"));
    let scanned = TestServer::scanned(&photos());
    let nothing = scanned.json("/groups/view?filter=nowhere")["empty"].to_string();
    assert!(nothing.contains("Nothing matches this filter"), "{nothing}");
    let broken = TestServer::scanned(&photos());
    std::fs::write(broken.app.catalog_path(), "no database").expect("written");
    let text = broken.json("/groups/view")["empty"].to_string();
    assert!(text.contains("cannot be used"), "{text}");
}

#[test]
fn files_that_changed_since_the_scan_are_noticed() {
    let scanned = TestServer::scanned(&photos());
    let (number, revision, _) = group(&scanned, "one.jpg");
    let live = || {
        let live = scanned.json(&format!("/groups/live?id={number}&revision={revision}"));
        let files = live["files"].as_array().expect("files").clone();
        files.iter().map(|file| file["text"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(live(), ["unchanged", "unchanged"]);
    std::fs::write(scanned.tree.join("copy/2019/one.jpg"), "other").expect("written");
    std::fs::remove_file(scanned.tree.join("photos/2019/one.jpg")).expect("removed");
    assert_eq!(live(), ["changed since the scan", "gone"]);
}

#[test]
fn the_pages_stay_small() {
    let scanned = TestServer::scanned(&photos());
    let shared = [
        "app.css",
        "app.js",
        "http.js",
        "icon.svg",
        "keys.js",
        "list.js",
        "news.js",
        "times.js",
        "review.js",
        "rules.js",
    ];
    for (path, own) in [("/groups", "groups.js"), ("/same-folders", "folder-sets.js")] {
        let assets = assets::size(&shared) + assets::size(&[own]);
        let page = scanned.page(path);
        assert!(page.len() + assets <= 40_000, "{path}: {} + {assets} bytes", page.len());
        assert!(!page.contains("style=") && !page.contains("onclick="), "{path}");
    }
}
