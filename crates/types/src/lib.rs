//! NUMBER, DATE, values, identifiers and errors of the Latchwork database.
//!
//! Bytes in, values out: this crate touches no file, socket or clock and keeps no globals but the rules of
//! time zones, which it has read once they were asked for. What depends
//! on a session (formats, language, the current date) comes in as [`Nls`].

#![forbid(unsafe_code)]

// What `#[derive(Image)]` writes names the crate.
extern crate self as types;

pub mod codec;
mod datatype;
mod datetime;
mod error;
pub mod escape;
pub mod format;
mod ids;
pub mod image;
mod lob;
mod messages;
mod named;
mod nls;
mod number;
pub mod row;
pub mod sorting;
pub mod urowid;
mod value;
mod zone;

pub use datatype::{DataType, LenUnit, Zone};
pub use datetime::{DAY_SECONDS, Date, DateFields, IntervalDs, IntervalYm, Place, Timestamp, days_in_month};
pub use error::{Facility, Ora, Result, bare_message, is_listed};
pub use ids::{ObjectId, Rdba, Rowid, Scn, Uba, Xid, sql_id_of};
pub use lob::{Lob, LobHome, LobRow};
pub use named::{Attribute, Composite, TypeDef, TypeId, TypeShape};
pub use nls::{Nls, iso_currency};
pub use number::Number;
pub use row::{Column, RowReader, RowWriter};
pub use value::{FloatTest, Value, compare_padded, parse_hex, text_length, write_hex};
pub use zone::{Clock, Moment, Period, RELEASE as ZONES_RELEASE, Region, TimeZone, version as zones_version};
