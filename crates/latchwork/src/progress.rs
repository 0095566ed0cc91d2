//! A progress bar for tasks that take longer than two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Duration after which a task shows its progress.
const QUIET: Duration = Duration::from_secs(2);

/// Shows the progress of a long task on a terminal; no output elsewhere, or for a short task.
pub struct Progress {
    started: Instant,
    stage: String,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins a task.
    pub fn new() -> Progress {
        Progress { started: Instant::now(), stage: String::new(), bar: None }
    }

    /// Shows that `done` of `all` units of a stage are done, with `what` as the next one.
    pub fn show(&mut self, stage: &str, what: &str, done: u64, all: u64) {
        if self.started.elapsed() < QUIET {
            return;
        }
        if self.stage != stage {
            self.finish();
            self.stage = stage.to_owned();
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{prefix:>11} [{bar:30}] {pos}/{len}  {eta_precise} left  {msg}");
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.with_prefix(stage.to_owned())
        });
        bar.set_length(all);
        bar.set_position(done);
        bar.set_message(what.to_owned());
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
