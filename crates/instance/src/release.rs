//! The release that the database reports.

/// VERSION: the release whose behaviour is promised.
pub const RELEASE: &str = "19.0.0.0.0";

/// The product's name and release, as `v$version` and the shell's greeting have it.
pub const BANNER: &str = concat!("Latchwork Database Release ", env!("CARGO_PKG_VERSION"));
