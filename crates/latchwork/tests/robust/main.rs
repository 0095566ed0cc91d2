//! Nothing breaks and nothing is lost: the real program, driven over its socket by several sessions at once.
//!
//! Golden interleavings are in `specs/*.lwt` and run by [`spec::check_all`]; the modules have the tests that need code.

mod arrays;
mod common;
mod deep;
mod history;
mod jobs;
mod scheduler;
mod shutdown;
mod space;
mod spec;
mod stopped;
mod storm;
mod tablespaces;
mod undo_tablespaces;
mod wire;

#[test]
fn every_interleaving_gives_what_its_golden_file_says() {
    spec::check_all();
}
