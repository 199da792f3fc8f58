//! Everything that a test may pass as a path: text, bytes that are no text, `OsStr`, `Path`.
//!
//! File names are bytes. `&[u8]` does not implement `AsRef<OsStr>`, hence this trait.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path, or any other argument, as the bytes the kernel sees.
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

/// Implements [`PathBytes`] through the type's view as `OsStr`.
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
