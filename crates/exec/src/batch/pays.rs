//! Whether a row source has enough rows for batches.

use super::scan;
use plan::Source;

/// Whether the source has enough rows for batches to pay off.
pub fn pays(s: &Source) -> bool {
    match s {
        Source::Scan(scan) => scan::pays(scan),
        Source::Filter { input, .. } | Source::Project { input, .. } | Source::JoinFilter { input, .. } => pays(input),
        Source::Parallel { input, .. } => pays(input),
        Source::HashJoin { left, right, .. } => pays(left) || pays(right),
        Source::Group { input, .. } | Source::Sort { input, .. } | Source::Distinct { input, .. } => pays(input),
        _ => false,
    }
}
