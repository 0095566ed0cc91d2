//! A progress bar for what takes longer than two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How long something may take before it shows how far it is.
const QUIET: Duration = Duration::from_secs(2);

/// Shows on a terminal how far a long task has come; nothing at all elsewhere, or when the task is short.
pub struct Progress {
    started: Instant,
    stage: String,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A task that begins now.
    pub fn new() -> Progress {
        Progress { started: Instant::now(), stage: String::new(), bar: None }
    }

    /// Says that `done` of `all` units of a stage are done, `what` being the next.
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

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
