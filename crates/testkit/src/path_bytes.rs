//! Types that a test may pass as a path: text, arbitrary bytes, `OsStr`, and `Path`.
//!
//! File names are bytes. This trait exists because `&[u8]` does not implement `AsRef<OsStr>`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path, or any other argument, as the bytes that the kernel sees.
pub trait PathBytes {
    /// Returns the bytes, unchanged.
    fn path_bytes(&self) -> &[u8];

    /// Returns the bytes as an owned path.
    fn to_path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.path_bytes()))
    }
}

impl<T: PathBytes + ?Sized> PathBytes for &T {
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}

impl PathBytes for [u8] {
    fn path_bytes(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> PathBytes for [u8; N] {
    fn path_bytes(&self) -> &[u8] {
        self
    }
}

impl PathBytes for Vec<u8> {
    fn path_bytes(&self) -> &[u8] {
        self
    }
}

/// Implements [`PathBytes`] for types that convert to `OsStr`.
macro_rules! through_os_str {
    ($($type:ty),*) => {$(
        impl PathBytes for $type {
            fn path_bytes(&self) -> &[u8] {
                AsRef::<OsStr>::as_ref(self).as_bytes()
            }
        }
    )*};
}

through_os_str!(str, String, OsStr, OsString, Path, PathBuf);
