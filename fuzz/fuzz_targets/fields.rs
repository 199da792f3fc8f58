//! Parses any bytes as the fields and paths that the web server looks at: escapes, ranges, entity tags, dates
//! and hosts.

#![no_main]

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use httpd::conditions::{Conditions, Outcome, Validators, http_date};
use httpd::entity_tag::EntityTag;
use httpd::hosts::Hosts;
use httpd::range::{Wanted, wanted};
use httpd::{media_type, percent};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u64, i64, &[u8])| {
    let (size, seconds, bytes) = data;
    escapes(bytes);
    ranges(bytes, size);
    tags(bytes);
    dates(bytes, seconds);
    hosts(bytes);
    assert!(media_type::of_name(bytes).contains('/'));
});

fn escapes(bytes: &[u8]) {
    for (encoded, plain) in
        [(percent::encode_segment(bytes), &b"-._~"[..]), (percent::encode_path(bytes), b"-._~/")]
    {
        assert!(
            encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'%' || plain.contains(&b))
        );
        assert_eq!(percent::decode(encoded.as_bytes()).as_deref(), Some(bytes));
    }
    if let Some(decoded) = percent::decode(bytes) {
        let escapes = bytes.iter().filter(|&&byte| byte == b'%').count();
        assert_eq!(decoded.len() + 2 * escapes, bytes.len());
    }
}

fn ranges(bytes: &[u8], size: u64) {
    for field in [bytes, &[b"bytes=", bytes].concat()] {
        let Wanted::Ranges(ranges) = wanted(field, size) else { continue };
        assert!(!ranges.is_empty() && ranges.len() <= 64);
        assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
        let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert!(total <= size);
    }
}

fn tags(bytes: &[u8]) {
    // Fields of a request contain no other control characters.
    let bytes =
        &bytes.iter().copied().filter(|byte| !byte.is_ascii_control()).collect::<Vec<_>>()[..];
    let text: String = bytes.iter().copied().filter(u8::is_ascii_graphic).map(char::from).collect();
    let opaque = text.replace('"', "");
    for tag in [EntityTag::strong(opaque.clone()), EntityTag::weak(opaque)] {
        let own = tag.to_string();
        assert!(tag.is_in(own.as_bytes()) && tag.is_in(b"*"));
        assert_eq!(tag.is_strongly(own.as_bytes()), !tag.is_weak);
        assert!(tag.is_in(format!("\"another,\" , {own}, {text}").as_bytes()));
        assert!(!tag.is_strongly_in(bytes) || tag.is_in(bytes));
        assert!(!tag.is_strongly(bytes) || tag.is_strongly_in(bytes));
    }
}

fn dates(bytes: &[u8], seconds: i64) {
    let now = UNIX_EPOCH + Duration::from_secs(1 << 40);
    let current = Validators { tag: None, modified: Some(seconds) };
    let of = |date| Conditions { if_modified_since: Some(date), ..Conditions::default() };
    let outcome = of(bytes).evaluate(&current, 1, now);
    assert!(matches!(outcome, Outcome::Whole | Outcome::NotModified));
    let Some(date) = http_date(seconds) else { return };
    assert_eq!(of(date.as_bytes()).evaluate(&current, 1, now), Outcome::NotModified);
    let mut resumed = Conditions { range: Some(b"bytes=0-"), ..Conditions::default() };
    resumed.if_range = Some(date.as_bytes());
    assert!(matches!(resumed.evaluate(&current, 1, now), Outcome::Ranges(_)));
    resumed.if_range = Some(bytes);
    assert!(matches!(resumed.evaluate(&current, 1, now), Outcome::Ranges(_) | Outcome::Whole));
}

/// Checks that a host of a local server is a loopback address, `localhost`, or a name that was given.
fn hosts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let hosts = Hosts::new([127, 0, 0, 1].into(), &["nas".to_owned()]);
    if !hosts.contain(text) {
        return;
    }
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => text,
    };
    let host = host.trim_matches(['[', ']']);
    let name = host.to_ascii_lowercase();
    let is_loopback = |address: IpAddr| address.is_loopback();
    let is_ours = matches!(name.trim_end_matches('.'), "localhost" | "nas")
        || host.parse().is_ok_and(is_loopback);
    assert!(is_ours, "{text:?}");
}
