//! `lop serve` with 120,000 groups: the browser holds only the rows near the visible ones.

use browser::Browser;
use testkit::TreeBuilder;

use crate::lop::Lop;
use crate::serve_pages::{assert_accessible, start};

const GROUPS: u64 = 120_000;

/// Number of folders below `photos`, and below `backup`.
const FOLDERS: u64 = 400;

/// Adds the groups to a catalog. Each has a file below `photos` and one below `backup`. The files do not exist.
const ROWS: &str = "
    BEGIN;
    CREATE TEMP TABLE n AS
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119999) SELECT i FROM n;
    CREATE TEMP TABLE folder AS
        SELECT sub.id, CAST(CAST(sub.name AS TEXT) AS INTEGER) AS number FROM dir sub JOIN dir above ON sub.parent = above.id
        WHERE above.name IN (CAST('photos' AS BLOB), CAST('backup' AS BLOB));
    INSERT INTO content (id, size, digest, inodes, reclaimable)
        SELECT 1000 + i, 4096 + i, CAST(format('%032d', i) AS BLOB), 2, 4096 + i FROM n;
    INSERT INTO file (dir, name, volume, inode, size, mtime_ns, ctime_ns, content)
        SELECT folder.id, CAST(format('IMG_%06d.jpg', i) AS BLOB), (SELECT min(id) FROM volume),
            folder.id * 1000000 + i, 4096 + i, 0, 0, 1000 + i
        FROM n JOIN folder ON folder.number = i / 300;
    COMMIT;";

/// Scrolls from the top to the bottom in steps, and waits at each for the row in the middle. Returns the largest number
/// of rows in the document.
const PASS: &str = "
    const list = document.getElementById('list');
    const rows = () => list.querySelectorAll('.row').length;
    const rowHeight = list.querySelector('.row').getBoundingClientRect().height;
    const steps = 40;
    let most = 0;
    const frame = () => new Promise(requestAnimationFrame);
    for (let step = 0; step <= steps; step++) {
      list.scrollTop = (list.scrollHeight - list.clientHeight) * step / steps;
      const rank = Math.floor((list.scrollTop + list.clientHeight / 2) / rowHeight);
      do { await frame(); most = Math.max(most, rows()); }
      while (!list.querySelector(`.row[data-rank=\"${rank}\"]`));
    }
    list.scrollTop = 0;
    do await frame(); while (!list.querySelector('.row[data-rank=\"0\"]'));
    return most;";

fn pass(browser: &Browser) -> u64 {
    let most = browser.run(&format!("return (async () => {{ {PASS} }})()"));
    most.as_u64().expect("a number")
}

/// Returns the catalog of the groups.
fn lop() -> Lop {
    let folders = (0..FOLDERS).fold(TreeBuilder::new(), |tree, n| {
        tree.dir(format!("photos/{n:03}")).dir(format!("backup/{n:03}"))
    });
    let lop = Lop::with(&folders.file("single", "like no other"));
    lop.remember(["."]);
    lop.database().execute_batch(ROWS).expect("written");
    lop
}

#[test]
fn any_row_of_120_000_is_shown_and_the_page_stays_small() {
    let lop = lop();
    let Some((server, mut browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for(".row[data-rank=\"0\"]");
    browser.wait_for_text("#totals", "120,000 groups");
    browser.wait_for_text("h2", "IMG_119999.jpg");
    browser.press("End");
    browser.wait_for(&format!(".row.active[data-rank=\"{}\"]", GROUPS - 1));
    browser.wait_for_text("#detail h2", "IMG_000000.jpg");
    browser.press("Home");
    browser.wait_for(".row.active[data-rank=\"0\"]");

    let mut heaps = Vec::new();
    for _ in 0..3 {
        let most = pass(&browser);
        assert!(most > 0 && most <= 500, "{most} rows are in the document");
        heaps.push(browser.heap_bytes());
    }
    assert!(heaps[2] < heaps[0] + (8 << 20), "the heap grows: {heaps:?}");
    assert_accessible(&mut browser);
    browser.finish();
}

#[test]
fn a_filter_selects_among_120_000_groups_and_its_groups_are_decided_at_once() {
    let lop = lop();
    let Some((server, browser)) = start(&lop) else { return };
    browser.open(&server.url());
    browser.open(&server.page("/groups"));
    browser.wait_for_text("#totals", "120,000 groups");
    browser.press("/");
    browser.type_text("#filter", "img_0");
    browser.wait_for_text("#totals", "100,000 groups");
    browser.type_text("#filter", "5");
    browser.wait_for_text("#totals", "10,000 groups");
    browser.click("#decide-all");
    browser.wait_for("#rules[open]");
    let keeps_photos = "const kind = document.getElementById('rule-add');
        kind.value = 'path:'; kind.dispatchEvent(new Event('change'));";
    browser.run(keeps_photos);
    browser.click("[aria-label='Remove tidy']");
    browser.type_text("#rule-text", "**/photos/**");
    browser.click("#rule-plus");
    browser.wait_for_text("#rule-list", "path:**/photos/**");
    browser.wait_for("#rule-save:not(:disabled)");
    browser.wait_for_text("#rule-preview", "10,000 groups would be settled: 10,000 files removed");
    browser.click("#rule-save");
    browser.wait_for_text("#totals", "10,000 decided");
    browser.wait_for_no("#rules[open]");
    browser.open(&server.page("/groups"));
    browser.wait_for_text("#totals", "110,000 undecided, 10,000 decided");
    browser.wait_for(".row[data-rank=\"0\"]");

    // The other groups lie in the same two folders, so that one key decides all of them.
    browser.open(&server.page("/same-folders"));
    browser.wait_for_text("#detail h2", "120,000 groups in 2 folders");
    browser.press("1");
    browser.wait_for_text("#totals", "120,000 decided");
    browser.finish();
}
