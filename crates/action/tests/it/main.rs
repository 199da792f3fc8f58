//! Tests of acting on real trees.
