//! Any text of an init file is accepted, or the first bad line is named; the reader never panics.
//!
//! `LATCHWORK_FUZZ=n` runs n times as many cases.

use params::{InitParams, Param};
use testing::Random;

const CASES: u64 = 3000;

const NAMES: &[&str] = &[
    "processes",
    "db_cache_size",
    "_spin_count",
    "latch_generation",
    "*.db_block_size",
    "orcl.sga_target",
    "nls_date_format",
    "commit_wait",
    "undo_retention",
    "\u{fc}_\u{1f4a9}",
    "",
];

const VALUES: &[&str] = &[
    "1",
    "0",
    "-1",
    "99999999999999999999999999",
    "18446744073709551615K",
    "9223372036854775807T",
    "8G",
    "TRUE",
    "'",
    "''",
    "'it''s'",
    "\"x",
    "(a, b)",
    "12.2",
    "1e9",
    "0x10",
    "\u{0}",
    "\u{202e}",
    "  ",
];

/// A random line that resembles a line of an init file.
fn line(r: &mut Random) -> String {
    let (name, equals, value) = (r.of(NAMES), r.of(&["=", " = ", "", "==", "= # ", "#"]), r.of(VALUES));
    let mut text: Vec<char> = format!("{name}{equals}{value}").chars().collect();
    if r.below(3) == 0 && !text.is_empty() {
        let at = r.below(text.len() as u64) as usize;
        text[at] = char::from_u32(r.below(0x300) as u32).unwrap_or('?');
    }
    text.into_iter().collect()
}

#[test]
fn any_init_file_is_taken_or_refused() {
    let times = std::env::var("LATCHWORK_FUZZ").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(1);
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..CASES * times {
        let mut r = Random::new(seed);
        let text: String = (0..=r.below(3)).map(|_| line(&mut r) + "\n").collect();
        let mut init = InitParams::default();
        match init.read_file(&text) {
            Ok(()) => taken += 1,
            Err(_) => refused += 1,
        }
        // The accepted values can be read with their types.
        for param in [Param::Processes, Param::DbCacheSize, Param::DbBlockSize, Param::UndoRetention] {
            let _ = (init.get(param), init.number(param), init.is_default(param));
        }
    }
    assert!(taken > 50 && refused > 50, "{taken} {refused}");
}
