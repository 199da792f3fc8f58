//! Tests of the catalog through its public interface: what is remembered, and what is not.

mod modules;
