//! The shared memory mapping of Latchwork: pages, areas, typed offsets.
//!
//! The SGA is one memory file, mapped at one fixed address before any process is forked, so an address means the same
//! in every process of the instance. Its size is fixed at start-up: every crate reserves its areas by name with a
//! [`SgaBuilder`], and [`SgaBuilder::create`] makes the mapping. A new mapping is zero-filled, and zero is a valid
//! first state of every area. Start-up therefore touches no page, and unused parts of a large SGA take no memory
//! (invariant 2).
//!
//! The SGA holds no pointer, `Vec` or vtable: see [`SgaLayout`].

mod builder;
mod hash;
#[allow(unsafe_code)] // The mapping, and typed references into it.
mod mapping;
mod pages;
mod text;

pub use builder::{SgaBuilder, SgaError};
pub use hash::hash;
pub use mapping::{Area, Sga, SgaOffset, SgaSlice};
pub use os::SharedLayout as SgaLayout;
pub use os::memory::PageSize;
pub use pages::{LargePages, PageLine, PageReport, Wish};
pub use text::SgaText;

/// Declares structures in the SGA without `unsafe` in the declaring crate (invariant 1).
///
/// Adds `repr(C)` and implements [`SgaLayout`] after checking at compile time that every field implements it. The crate
/// may use `#![deny(unsafe_code)]` (not `forbid`): the generated line carries its own `allow`.
///
/// ```
/// use std::sync::atomic::{AtomicU32, AtomicU64};
/// sga::sga_struct! {
///     /// A link of a chain.
///     #[derive(Debug)]
///     pub struct Link {
///         /// The next link.
///         pub next: AtomicU64,
///         pub state: AtomicU32,
///         pad: [AtomicU32; 1],
///     }
/// }
/// ```
#[macro_export]
macro_rules! sga_struct {
    ($( $(#[$m:meta])* $v:vis struct $name:ident { $( $(#[$fm:meta])* $fv:vis $f:ident : $t:ty ),* $(,)? } )+) => { $(
        $(#[$m])*
        #[repr(C)]
        $v struct $name { $( $(#[$fm])* $fv $f : $t ),* }

        // SAFETY: `repr(C)`, and every field implements `SgaLayout`, as the bounds below prove.
        #[allow(unsafe_code)]
        unsafe impl $crate::SgaLayout for $name {}
        const _: () = {
            const fn lies_in_the_sga<T: $crate::SgaLayout>() {}
            $( lies_in_the_sga::<$t>(); )*
        };
    )+ };
}
