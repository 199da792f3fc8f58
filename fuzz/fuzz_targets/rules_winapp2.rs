//! Arbitrary bytes as a rule file in winapp2.ini.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweep::formats::Format;

fuzz_target!(|data: &[u8]| fuzz::rules::check(Format::Winapp2, data));
