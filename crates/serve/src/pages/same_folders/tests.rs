//! Tests what the page says about folder sets.

use serde_json::json;
use testkit::TreeBuilder;

use crate::testing::TestServer;

fn detail(served: &TestServer) -> String {
    let revision = served.json("/same-folders/view")["revision"].clone();
    served.page(&format!("/same-folders/detail?id=0&revision={revision}"))
}

#[test]
fn the_place_of_the_copies_is_named_only_if_they_share_one() {
    let tree = TreeBuilder::new().file("data/Photos/2019/a", "same");
    let nested = TestServer::scanned(&tree.file("data/Backup/Photos/2019/a", "same"));
    let page = detail(&nested);
    assert!(page.contains("the copies are below <bdi>Photos/2019</bdi>"), "{page}");
    assert!(page.contains("outside <bdi>") && page.contains("/data/Backup</bdi></span>"), "{page}");

    let tree = TreeBuilder::new().file("Videos/holiday.mp4", "same");
    let page = detail(&TestServer::scanned(&tree.file("Phone/holiday-copy.mp4", "same")));
    assert!(!page.contains("the copies are below") && !page.contains("same places"), "{page}");
    assert!(!page.contains("outside"), "{page}");
}

#[test]
fn a_decision_for_a_folder_names_the_folders_below_it_whose_files_go() {
    let tree = TreeBuilder::new().file("data/a", "same").file("data/backup/a", "same");
    let served = TestServer::scanned(&tree);
    let revision = served.json("/same-folders/view")["revision"].clone();
    let body = json!({
        "scope": { "set": 0 }, "choice": { "folders": [0] }, "revision": revision, "seen": 0,
    });
    served.post("/api/decide", &body);
    let page = detail(&served);
    let data = served.tree.join("data").display().to_string();
    let expected =
        format!("keep the files in <bdi>{data}</bdi>, outside <bdi>{data}/backup</bdi>.");
    assert!(page.contains(&expected), "{page}");
}
