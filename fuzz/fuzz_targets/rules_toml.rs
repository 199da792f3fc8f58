//! Arbitrary bytes as a rule file in the TOML format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweep::formats::Format;

fuzz_target!(|data: &[u8]| fuzz::rules::check(Format::Toml, data));
