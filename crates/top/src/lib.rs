//! `latchwork top`: the present activity of an instance, on a terminal, as a local page, or as one sample for a pipe.
//!
//! It uses only SQL and the V$ views, over one ordinary session of the instance's owner. A [`poll`] thread holds the
//! session and takes samples; the [`model`] computes rates from them, without clock or instance; [`sheets`] make tables
//! of them, and three faces show the tables.
#![forbid(unsafe_code)]

mod model;
#[cfg(test)]
mod model_tests;
mod plain;
mod poll;
mod reader;
mod record;
mod sample;
mod screen;
mod sheet;
mod sheets;
mod summary;
mod web;

pub use record::read_from as recorded;
pub use sample::Snapshot;
pub use web::{Refusal, Request, decode as decode_request};

use std::io::{IsTerminal, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::model::Model;
use crate::poll::{Looker, News, Source, Watch};
use crate::screen::{App, Ended, Theme};
use crate::sheet::Pane;
use crate::sheets::Look;

const EXAMPLES: &str = "\
Examples:
  latchwork top                                  the instance of $LATCHWORK_HOME, on this terminal
  latchwork top --dir /data/db --interval 0.5    another one, two samples a second
  latchwork top --web                            the same as a page, at an address it prints
  latchwork top --once                           one sample as text, and end
  latchwork top --once --json | jq .events       one sample for a program
  latchwork top --once --csv --pane latches      one table as comma-separated values
  latchwork top --record busy.jsonl              keep what is seen …
  latchwork top --replay busy.jsonl              … and look at it again, without the instance

Keys: arrows and Enter go into an event, session, statement or latch, Backspace goes back, Tab changes the table;
s sorts, w changes the window, f freezes, b counts background processes, k kills a session, ? helps, q quits.";

/// The options of `latchwork top`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Seconds between two samples, 0.2 to 60
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
    /// Seconds that the tables average over
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, value_parser = window)]
    window: f64,
    /// Count background processes as active
    #[arg(long)]
    background: bool,
    /// Print one sample and end
    #[arg(long)]
    once: bool,
    /// As JSON
    #[arg(long, requires = "once", conflicts_with = "csv")]
    json: bool,
    /// One pane as comma-separated values [default pane: events]
    #[arg(long, requires = "once")]
    csv: bool,
    /// Only this table, whole: events, sessions, sql, latches, mutexes, blockers, figures or designs
    #[arg(long, requires = "once", value_parser = pane)]
    pane: Option<Pane>,
    /// Serve a page on this machine's loopback instead of using the terminal
    #[arg(long, conflicts_with = "once")]
    web: bool,
    /// The page's port; 0 takes one that is free
    #[arg(long, value_name = "N", requires = "web", default_value_t = 7075)]
    port: u16,
    /// Listen on this address of the machine instead of its loopback; nothing is encrypted
    #[arg(long, value_name = "ADDRESS", requires = "web", default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Answer to this name of the machine, too; may be given several times
    #[arg(long = "name", value_name = "NAME", requires = "web")]
    names: Vec<String>,
    /// Write every sample to this file, too
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Show a file that --record has written instead of an instance
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

fn interval(text: &str) -> Result<f64, String> {
    let n: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.2..=60.0).contains(&n) { Ok(n) } else { Err("from 0.2 to 60".into()) }
}

fn window(text: &str) -> Result<f64, String> {
    let n: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.2..=600.0).contains(&n) { Ok(n) } else { Err("from 0.2 to 600".into()) }
}

fn pane(text: &str) -> Result<Pane, String> {
    let names = Pane::ALL.map(Pane::name).join(", ");
    Pane::ALL.into_iter().find(|pane| pane.name() == text).ok_or(format!("one of {names}"))
}

/// Exit codes: done, failed, no instance there.
const EXIT_OK: u8 = 0;
const EXIT_FAILED: u8 = 1;
const EXIT_STATE: u8 = 3;

/// Runs `latchwork top` for the instance whose database is in `dir`; returns the exit code.
pub fn main(options: &Options, dir: &Path) -> u8 {
    // A write to an instance or a viewer that is gone must fail. SIGPIPE would end the program without restoring the
    // terminal.
    os::signal::ignore(os::signal::SIGPIPE);
    let source = match source(options, dir) {
        Ok(source) => source,
        Err(why) => {
            eprintln!("{why}");
            return EXIT_FAILED;
        }
    };
    let mut recorder = match options.record.as_deref().map(record::Recorder::create).transpose() {
        Ok(recorder) => recorder,
        Err(why) => {
            eprintln!("{why}");
            return EXIT_FAILED;
        }
    };
    let looker = poll::start(source);
    if options.once {
        return once(options, &looker, &mut recorder);
    }
    if options.web {
        let address = web::Address { listen: options.listen, port: options.port, names: options.names.clone() };
        return match web::run(looker, options.look(), &mut recorder, &address) {
            Ok(Some(signal)) => 128 + u8::try_from(signal).unwrap_or(0),
            Ok(None) => EXIT_OK,
            Err(why) => {
                eprintln!("{why}");
                EXIT_FAILED
            }
        };
    }
    let capable = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match theme() {
        Some(theme) if capable => screen(options, &looker, &mut recorder, theme),
        _ => lines(options, &looker, &mut recorder),
    }
}

/// The terminal's abilities, from its name and the user's settings; `None` when it can only print.
fn theme() -> Option<Theme> {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let dumb = said("TERM").is_none_or(|term| term == "dumb");
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said).unwrap_or_default().to_lowercase();
    let unicode = language.contains("utf-8") || language.contains("utf8");
    (!dumb).then(|| Theme { colour: said("NO_COLOR").is_none(), unicode })
}

fn screen(options: &Options, looker: &Looker, recorder: &mut Option<record::Recorder>, theme: Theme) -> u8 {
    let mut app = App::new(options.look());
    match screen::run(&mut app, looker, recorder, theme, Duration::from_secs_f64(options.interval)) {
        Ended::Quit => EXIT_OK,
        Ended::Signal(signal) => 128 + u8::try_from(signal).unwrap_or(0),
        Ended::Gone => 128 + u8::try_from(os::signal::SIGHUP).unwrap_or(0),
        Ended::Failed(why) => {
            eprintln!("{why}");
            EXIT_FAILED
        }
    }
}

fn source(options: &Options, dir: &Path) -> Result<Source, String> {
    let interval = Duration::from_secs_f64(options.interval);
    match &options.replay {
        Some(file) => Ok(Source::Recording { snapshots: record::read(file)?, interval }),
        None => Ok(Source::Instance(Watch { dir: dir.to_path_buf(), interval })),
    }
}

impl Options {
    fn look(&self) -> Look {
        Look { window_s: self.window, background: self.background }
    }
}

/// Prints one sample from two snapshots.
fn once(options: &Options, looker: &Looker, recorder: &mut Option<record::Recorder>) -> u8 {
    let mut model = Model::default();
    let patience = Duration::from_secs_f64(options.interval * 10.0 + 20.0);
    loop {
        match looker.news.recv_timeout(patience) {
            Ok(News::Sample(snapshot)) => {
                if let Some(Err(why)) = recorder.as_mut().map(|r| r.write(&snapshot)) {
                    eprintln!("{why}");
                    return EXIT_FAILED;
                }
                model.push(*snapshot);
            }
            Ok(News::Lost(why)) => {
                eprintln!("{why}");
                return EXIT_STATE;
            }
            // A recording may end early: what it has is shown.
            Ok(News::Ended) => break,
            Ok(News::Killed(..)) => {}
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("The instance does not answer; latchwork hang looks at it from outside.");
                return EXIT_FAILED;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if model.has_ticks() && options.replay.is_none() {
            break;
        }
    }
    let text = if options.json {
        format!("{}\n", plain::json(&model, options.look(), options.pane))
    } else if options.csv {
        plain::csv(&model, options.look(), options.pane.unwrap_or(Pane::Events))
    } else {
        plain::text(&model, options.look(), options.pane)
    };
    print_all(&text)
}

/// Prints; a reader that is gone is no error.
fn print_all(text: &str) -> u8 {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => EXIT_OK,
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => EXIT_OK,
        Err(e) => {
            eprintln!("{e}");
            EXIT_FAILED
        }
    }
}

/// Prints one sample after another on a terminal without cursor control.
fn lines(options: &Options, looker: &Looker, recorder: &mut Option<record::Recorder>) -> u8 {
    let mut model = Model::default();
    for news in &looker.news {
        match news {
            News::Sample(snapshot) => {
                if let Some(Err(why)) = recorder.as_mut().map(|r| r.write(&snapshot)) {
                    eprintln!("{why}");
                    return EXIT_FAILED;
                }
                model.push(*snapshot);
                if !model.has_ticks() {
                    continue;
                }
                let mut text = plain::text(&model, options.look(), options.pane);
                text.push('\n');
                let mut out = std::io::stdout().lock();
                if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                    return EXIT_OK;
                }
            }
            News::Lost(why) => eprintln!("{why}"),
            News::Killed(..) => {}
            News::Ended => return EXIT_OK,
        }
    }
    EXIT_OK
}
