//! The data dictionary of Latchwork.
#![forbid(unsafe_code)]

pub mod audit;
pub mod base;
mod cached;
mod catalog;
mod catalog_views;
mod change;
pub mod column_use;
pub mod connection_pool;
mod create;
mod defs;
mod dropped;
mod empty_views;
mod fixed;
mod hist_views;
pub mod image;
pub mod logons;
mod moment;
pub mod monitoring;
mod names;
mod object_views;
mod packages;
mod privilege;
pub mod profile;
mod proxies;
pub mod rows;
mod scn_times;
mod sequences;
mod shared;
mod space_views;
pub mod statistics;
pub mod statistics_request;
mod statistics_views;
mod system_statistics;
mod tally;
pub mod validity;
mod verifier;
mod version;

pub use base::{Base, FIRST_USER_OBJECT};
pub use cached::{Property, PropertyList, caches_of};
pub use catalog::{Catalog, ObjectName};
pub use catalog_views::{CATALOG_FIRST_OBJECT, catalog_view, catalog_views};
pub use change::{By, Change};
pub use column_use::ColumnUse;
pub use create::{BASE_EDITION, NewDictionary, ROLE_GATHER_SYSTEM_STATISTICS};
pub use defs::*;
pub use dropped::DroppedSegment;
pub use fixed::{FixedCatalog, NoFixedTables};
pub use image::Image;
pub use logons::{Account, LogonState};
pub use names::{Access, Named, SessionCatalog, Who};
pub use packages::{built_in_packages, is_built_in_package};
pub use privilege::SystemPrivilege;
pub use profile::{Profile, Profiles, Resource};
pub use proxies::ProxyDef;
pub use shared::{Dictionary, DictionaryConfig, DictionaryLayout, DictionaryShared, Picture};
pub use statistics::{
    ColumnGroup, ColumnStatistics, Endpoint, Histogram, HistogramKind, IndexStatistics, TableStatistics, place_of,
};
pub use system_statistics::SystemStatistics;
pub use validity::{ErrorLine, Verdict, Verdicts};
pub use verifier::{SALT_BYTES, Verifier};
pub use version::{State, States, statistics_of};
