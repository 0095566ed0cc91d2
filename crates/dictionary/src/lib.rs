//! The data dictionary of Latchwork.
#![forbid(unsafe_code)]

pub mod audit;
mod audit_views;
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
mod family_views;
mod fixed;
mod global_contexts;
mod handle;
mod hist_views;
pub mod image;
pub mod interval;
mod layout;
pub mod logons;
mod materialized_views;
mod moment;
pub mod monitoring;
mod names;
mod object_views;
mod packages;
mod partition_views;
mod partitions;
mod privilege;
pub mod profile;
mod properties;
mod proxies;
mod roles;
pub mod rows;
mod scheduler_views;
mod scn_times;
mod segment;
mod sequences;
mod shape;
mod shared;
mod single_views;
mod space_views;
pub mod statistics;
pub mod statistics_request;
pub mod statistics_rows;
mod statistics_views;
mod system_statistics;
mod system_views;
mod tally;
mod type_views;
pub mod validity;
mod verifier;
mod version;
mod words;

pub use base::{Base, FIRST_USER_OBJECT};
pub use cached::caches_of;
pub use catalog::{Catalog, ObjectName};
pub use catalog_views::{CATALOG_FIRST_OBJECT, catalog_view, catalog_views};
pub use change::{By, Change};
pub use column_use::ColumnUse;
pub use create::{BASE_EDITION, NewDictionary};
pub use defs::*;
pub use dropped::DroppedSegment;
pub use fixed::{FixedCatalog, NoFixedTables};
pub use global_contexts::{GlobalContext, Seers};
pub use handle::{Dictionary, Picture};
pub use image::{Image, NO_BASE, quoted, trigger_path, unquoted};
pub use layout::{DictionaryConfig, DictionaryLayout};
pub use logons::{Account, LogonState};
pub use names::{Access, Named, Principal, SessionCatalog};
pub use packages::{built_in_packages, is_built_in_package};
pub use partitions::{
    ColumnSet, IndexPartitionDef, PARTITION_COLUMNS_MAX, PARTITIONS_MAX, PartitionBound, PartitionDef, PartitionMethod,
    Partitioning,
};
pub use privilege::SystemPrivilege;
pub use profile::{Profile, Profiles, Resource};
pub use properties::{Property, PropertyList};
pub use proxies::ProxyDef;
pub use roles::ROLE_GATHER_SYSTEM_STATISTICS;
pub use segment::SegmentRef;
pub use sequences::seq_flags;
pub use shared::DictionaryShared;
pub use statistics::{
    ColumnGroup, ColumnStatistics, Endpoint, Histogram, HistogramKind, IndexStatistics, TableStatistics, place_of,
};
pub use system_statistics::SystemStatistics;
pub use validity::{ErrorLine, Verdict, Verdicts};
pub use verifier::{SALT_BYTES, Verifier};
pub use version::{State, States, statistics_of};
