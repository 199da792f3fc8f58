//! The pages of `lop share` in a real browser.

use browser::{Browser, Options};
use testkit::TreeBuilder;

use crate::lop::Lop;
use crate::serve_pages::assert_accessible;
use crate::serving::Server;

/// Names that a page must show without becoming part of it.
const HOSTILE: [&[u8]; 7] = [
    b"<script>document.title='owned'<\xe2\x81\x84script>",
    b"\"><img src=x onerror=document.title='owned'>",
    b"javascript:document.title='owned'",
    b"line\nbreak.txt",
    b"not \xff UTF-8",
    "right\u{202e}gpj.exe".as_bytes(),
    b"100%25 #1?.txt",
];

/// Returns a sound of this many seconds, as a WAV file with 16 bits, 44.1 kHz, two channels.
fn sound(seconds: u32) -> Vec<u8> {
    const BYTES_PER_SECOND: u32 = 44_100 * 4;
    let length = seconds * BYTES_PER_SECOND;
    let mut wav = [b"RIFF", &(length + 36).to_le_bytes()[..], b"WAVEfmt "].concat();
    for number in [16, 1 | 2 << 16, 44_100, BYTES_PER_SECOND, 4 | 16 << 16] {
        wav.extend(number.to_le_bytes());
    }
    wav.extend([b"data", &length.to_le_bytes()[..]].concat());
    wav.extend((0..length).map(|n| (n / 100 % 7) as u8));
    wav
}

#[test]
fn a_person_finds_files_of_any_name() {
    let mut tree = TreeBuilder::new().file("d/sub/f", "below");
    for (n, name) in (1..).zip(HOSTILE) {
        tree = tree.seeded([b"d/", name].concat(), n, 1000 * n);
    }
    let lop = Lop::with(&tree);
    lop.remember(["d"]);
    let options = Options { viewport: (360, 740), ..Options::default() };
    let Some(mut browser) = Browser::start(options) else { return };
    let server = Server::share(&lop, &["--stats", "d"]);
    browser.open(&server.url());
    assert_eq!(browser.url(), server.page("/"), "without the token");
    assert_accessible(&mut browser);
    assert_eq!(browser.count("tbody tr"), HOSTILE.len() + 1);
    assert_eq!(browser.run("return document.title"), "d");
    let is_wider = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.run(is_wider), false, "the page fits a phone");

    browser.click("[name=sort][value=size]");
    browser.wait_for("th[aria-sort=descending] [value=size]");
    let sizes = browser.texts("tbody td:nth-child(2)");
    assert_eq!((&*sizes[0], &*sizes[HOSTILE.len()]), ("6.8 KiB", "5 B"), "{sizes:?}");
    let links = browser.run("return [...document.querySelectorAll('tbody a')].map(a => a.href)");
    let bearer = format!("Authorization: Bearer {}", server.token());
    let mut lengths: Vec<usize> = Vec::new();
    for link in links.as_array().expect("links") {
        let path = link.as_str().and_then(|link| link.strip_prefix(&server.page(""))).expect("a path");
        let response = server.send(&[&format!("GET {path} HTTP/1.1"), "Host: localhost", &bearer]);
        assert_eq!(response.status, 200, "{path}");
        if !path.ends_with('/') {
            lengths.push(response.body.len());
        }
    }
    assert_eq!(lengths, [7000, 6000, 5000, 4000, 3000, 2000, 1000], "of the files, largest first");
    browser.click("tbody .d a");
    browser.wait_for_text("h1", "sub");
    browser.click(".crumbs a");
    browser.wait_for_text("h1", "d");
    browser.open(&server.page("/?stats"));
    assert_accessible(&mut browser);
    browser.expect("404");
    browser.open(&server.page("/none"));
    browser.wait_for_text("h1", "Not found");
    assert_accessible(&mut browser);
    browser.finish();
}

#[test]
fn a_browser_plays_a_sound_and_seeks() {
    let lop = Lop::with(&TreeBuilder::new().file("d/a.wav", sound(120)));
    let Some(browser) = Browser::start(Options::default()) else { return };
    // At this rate, the end of the file would arrive after 10 seconds if the browser could not seek.
    let server = Server::share(&lop, &["--limit-rate", "2M", "--stats", "d"]);
    browser.open(&server.url());
    browser.open(&server.page("/a.wav"));
    browser.wait_until("document.querySelector('video')?.readyState >= 2");
    browser.run("document.querySelector('video').currentTime = 110");
    browser.wait_until("!document.querySelector('video').seeking");
    browser.wait_until("document.querySelector('video').readyState >= 2");
    let buffered = "const b = document.querySelector('video').buffered;
                    return [...Array(b.length).keys()].some(n => b.start(n) <= 110 && b.end(n) > 110)";
    assert_eq!(browser.run(buffered), true);
    browser.finish();
}
