//! Tests of mirroring.
