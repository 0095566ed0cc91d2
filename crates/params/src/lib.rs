#![forbid(unsafe_code)]
//! Init parameters of Latchwork: the list, the init file, the values in force, and the designs of a generation.

pub mod design;
pub mod init;
pub mod list;
pub mod session;
pub mod system;
pub mod value;

pub use design::{CbcDesign, Designs, LatchSleep, LibraryCacheDesign, LogWriter, ResultCacheDesign, RowCacheDesign};
pub use init::InitParams;
pub use list::{GENERATIONS, Kind, Modifiable, PARAMS, PLACES, Param, ParamDef, WITHOUT_EFFECT, word_of};
pub use session::{ParameterRow, SessionParams};
pub use system::{ParamsLayout, SystemParams};
