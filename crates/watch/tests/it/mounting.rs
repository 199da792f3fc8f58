//! Mounts that come and go.
