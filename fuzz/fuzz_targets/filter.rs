//! Parses any text as a filter of `lop serve`. The text that a filter displays must parse to an equal
//! filter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use review::Filter;

fuzz_target!(|text: &str| {
    let Ok(filter) = Filter::parse(text) else { return };
    let canonical = filter.to_string();
    assert!(canonical.len() <= text.len(), "{canonical:?}");
    assert_eq!(Filter::parse(&canonical), Ok(filter), "{canonical:?}");
});
