//! The pictures in `docs/serve.md`, `docs/share.md` and the README: `cargo xtask screenshots` copies them from here.

use std::fs;

use browser::{Browser, Options};
use serde_json::json;
use testkit::{Content, TreeBuilder};

use crate::lop::Lop;
use crate::serve_pages::assert_accessible;
use crate::serving::Server;

/// A photo that browsers can show: a landscape.
const LANDSCAPE: &str = "data:text/html,<body style='margin:0'>\
    <svg width='1200' height='800' viewBox='0 0 1200 800'>\
    <linearGradient id='sky' x2='0' y2='1'><stop stop-color='rgb(74,124,178)'/>\
    <stop offset='.7' stop-color='rgb(240,196,150)'/></linearGradient>\
    <rect width='1200' height='800' fill='url(%23sky)'/>\
    <circle cx='860' cy='330' r='52' fill='rgb(255,238,190)'/>\
    <path d='M0 560 L210 330 L330 450 L520 250 L760 520 L930 400 L1200 590 V800 H0z' fill='rgb(88,103,128)'/>\
    <path d='M520 250 L575 312 L530 300 L490 318 L462 310z' fill='rgb(236,240,245)'/>\
    <path d='M0 640 L260 520 L480 610 L800 500 L1200 660 V800 H0z' fill='rgb(58,82,74)'/>\
    <path d='M0 700 Q600 640 1200 720 V800 H0z' fill='rgb(92,126,140)'/></svg>";

/// The folders of photos, and how many each contains.
const ALBUMS: [(&str, u64); 5] = [
    ("2021/Garden", 7),
    ("2022/Lofoten", 12),
    ("2023/Harz", 6),
    ("2024/Lake", 9),
    ("2025/Attic", 4),
];

/// Other files that are stored twice, with their sizes in kB.
const OTHERS: [(&str, &str, u64); 6] = [
    ("videos/2022 Lofoten ferry.mp4", "downloads/2022 Lofoten ferry.mp4", 9_800),
    ("videos/2024 Lake.mp4", "videos/2024 Lake (1).mp4", 6_200),
    ("documents/Tax 2024.pdf", "downloads/Tax 2024 (1).pdf", 740),
    ("documents/Boiler manual.pdf", "downloads/boiler-manual.pdf", 2_900),
    ("software/debian-12-netinst.iso", "downloads/debian-12-netinst.iso", 7_300),
    ("music/Field recordings/Rain.flac", "backup/laptop/music/Rain.flac", 4_100),
];

/// Files like those on a home server.
fn tree(photo: &[u8]) -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    let mut number = 4100;
    for (album, photos) in ALBUMS {
        for _ in 0..photos {
            number += 7;
            let noise =
                Content::Seeded { seed: number, len: 500_000 + number * 48_271 % 1_900_000 };
            let content = [photo, &noise.bytes()].concat();
            for above in ["photos", "backup/laptop/Pictures"] {
                let path = format!("srv/{above}/{album}/IMG_{number}.jpg");
                tree = tree.file(&path, content.clone()).mtime(&path, 1_650_000_000, 0);
            }
        }
    }
    for (seed, (one, other, kilobytes)) in (0u64..).zip(OTHERS) {
        for path in [one, other] {
            tree = tree.seeded(format!("srv/{path}"), seed, kilobytes * 1000);
        }
    }
    for n in 0..30 {
        tree = tree.seeded(format!("srv/photos/raw/DSC_{n:04}.nef"), 5000 + n, 400_000 + n * 9000);
    }
    tree
}

/// Draws the photo and returns it as a file.
fn photo() -> Option<Vec<u8>> {
    let browser = Browser::start(Options { viewport: (1200, 800), ..Options::default() })?;
    browser.open(LANDSCAPE);
    let photo = fs::read(browser.screenshot("landscape")).expect("a picture");
    browser.finish();
    Some(photo)
}

/// Saves a picture of the page. It shows the paths as if the tree was at the root of the machine.
fn picture(lop: &Lop, browser: &mut Browser, name: &str) {
    assert_accessible(browser);
    browser.run(&format!(
        "for (const step of document.querySelectorAll('.crumbs a')) {{
           if (!{0}.split('/').includes(step.innerText)) continue;
           step.nextElementSibling.remove();
           step.remove();
         }}
         const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
         while (texts.nextNode()) {{
           const text = texts.currentNode;
           const shown = text.data.replaceAll({0}, '').replaceAll({1}, '/home/me/.local/state');
           if (shown !== text.data) text.data = shown;
         }}
         if (document.activeElement !== document.body) document.activeElement.blur();",
        json!(lop.work()),
        json!(lop.state())
    ));
    browser.screenshot(name);
}

#[test]
fn the_pages_of_a_review_are_pictured() {
    let Some(photo) = photo() else { return };
    let lop = Lop::with(&tree(&photo));
    let options = Options { viewport: (1200, 760), ..Options::default() };
    let Some(mut browser) = Browser::start(options) else { return };
    let server = Server::start(&lop, &["--allow-actions"]);
    lop.remember(["srv"]);
    browser.open(&server.url());
    browser.wait_for("ol.steps");
    picture(&lop, &mut browser, "start");

    browser.open(&server.page("/space"));
    browser.wait_for("svg.map");
    picture(&lop, &mut browser, "space");

    browser.open(&server.page("/groups"));
    browser.wait_for("tr[data-ordinal]");
    browser.press("1");
    browser.wait_for_text("#totals", "1 decided");
    browser.press("j");
    browser.wait_for_text("p.outcome", "Undecided");
    browser.press("2");
    browser.wait_for_text("#totals", "2 decided");
    browser.press("j");
    browser.wait_for_text("p.outcome", "Undecided");
    browser.press("x");
    browser.wait_for_text("#totals", "1 left alone");
    browser.type_text("#filter", "Lofoten type:image");
    browser.wait_for_text("#totals", "12 groups");
    browser.wait_for_text("p.outcome", "Undecided");
    browser.click(".row[data-rank=\"0\"]");
    browser.press("2");
    browser.wait_for_text("#totals", "1 decided");
    browser.wait_until("document.querySelector('img.preview')?.complete");
    picture(&lop, &mut browser, "groups");

    browser.open(&server.page("/same-folders"));
    browser.wait_for_text("#detail h2", "38 groups in 2 folders");
    browser.press("2");
    browser.wait_for_text("p.outcome", "keep the files in");
    picture(&lop, &mut browser, "same-folders");

    browser.set_viewport(390, 760);
    browser.set_preferences(true, true);
    browser.open(&server.page("/groups"));
    browser.wait_for(".row");
    picture(&lop, &mut browser, "phone-dark");
    browser.set_viewport(1200, 760);
    browser.set_preferences(false, true);

    browser.open(&server.page("/plan"));
    browser.click("#plan-form button[type=submit]");
    browser.wait_for("button[data-dialog=apply-dialog]");
    browser.wait_for(".row.plan");
    picture(&lop, &mut browser, "plan");
    browser.click("button[data-dialog=apply-dialog]");
    browser.click("#apply-dialog button[value=ok]");
    browser.wait_for_text("#outcome", "files moved to quarantine");
    browser.open(&server.page("/runs/1"));
    browser.wait_for("table.listed");
    picture(&lop, &mut browser, "run");

    browser.finish();
}

#[test]
fn a_listing_is_pictured() {
    let lop = Lop::with(&tree(b""));
    let options = Options { viewport: (900, 420), ..Options::default() };
    let Some(mut browser) = Browser::start(options) else { return };
    lop.remember(["srv"]);
    let server = Server::share(&lop, &["srv"]);
    browser.open(&server.url());
    browser.open(&server.page("/photos/"));
    browser.wait_for("tbody tr");
    picture(&lop, &mut browser, "listing");
    browser.finish();
}
