//! The terminal: taken over while the screen is shown, and always restored (invariant 8).
//!
//! The terminal is restored on every way out: by the guard's drop, by the panic hook before the panic message, and when
//! a signal asks the program to end, which is noticed within a tenth of a second.
//!
//! A terminal that is gone polls as readable for ever without data, and the key library then retries without returning
//! for timeouts or signals. So this module checks the terminal before it calls the library, and a thread ends the
//! program if the terminal goes away during a call.

use std::io::{Stdout, stdin, stdout};
use std::panic;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use os::socket::Poll;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::Show;
use ratatui_crossterm::crossterm::event::{self, Event, KeyEventKind};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::{App, Next, Theme, draw};
use crate::poll::{Looker, News};
use crate::record::Recorder;

/// How the screen ended.
#[derive(Debug)]
pub enum Ended {
    Quit,
    /// The terminal is gone: no message can be shown.
    Gone,
    /// The signal that ended it.
    Signal(i32),
    Failed(String),
}

const SIGNALS: [i32; 4] = [os::signal::SIGTERM, os::signal::SIGHUP, os::signal::SIGINT, os::signal::SIGQUIT];
const TURN: Duration = Duration::from_millis(100);

/// The guard of the taken-over terminal.
struct Taken;

impl Taken {
    fn take() -> std::io::Result<Taken> {
        enable_raw_mode()?;
        // From here on the drop restores the terminal, even if the next step fails.
        let taken = Taken;
        execute!(stdout(), EnterAlternateScreen)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
    }
}

/// Errors cannot be reported here.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Restores the terminal before a panic message is printed.
fn restore_before_panic_message() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |why| {
        restore();
        told(why);
    }));
}

/// Time for the program to end by itself after its terminal is gone.
const GONE_LIMIT: Duration = Duration::from_secs(2);

/// Waits for a key for at most `time`; returns whether the terminal is gone.
fn is_gone(time: Duration) -> bool {
    let mut set = [Poll::read(&stdin())];
    os::socket::poll(&mut set, Some(time)).is_err() || set[0].closed
}

/// Ends the program when the terminal is gone and the program does not end by itself.
fn watch_terminal() {
    std::thread::spawn(|| {
        let mut set = [Poll::hangup(&stdin())];
        while os::socket::poll(&mut set, None).is_ok() {
            if set[0].closed {
                std::thread::sleep(GONE_LIMIT);
                std::process::exit(128 + os::signal::SIGHUP);
            }
            set = [Poll::hangup(&stdin())];
        }
    });
}

/// Shows the screen until the user or a signal ends it.
pub fn run(app: &mut App, looker: &Looker, recorder: &mut Option<Recorder>, theme: Theme, interval: Duration) -> Ended {
    for signal in SIGNALS {
        os::signal::flag_on(signal);
    }
    restore_before_panic_message();
    watch_terminal();
    let taken = match Taken::take() {
        Ok(taken) => taken,
        Err(e) => return Ended::Failed(e.to_string()),
    };
    let ended = match Terminal::new(CrosstermBackend::new(stdout())) {
        Ok(mut terminal) => turns(app, looker, recorder, theme, interval, &mut terminal),
        Err(e) => Ended::Failed(e.to_string()),
    };
    drop(taken);
    ended
}

fn turns(
    app: &mut App,
    looker: &Looker,
    recorder: &mut Option<Recorder>,
    theme: Theme,
    interval: Duration,
    terminal: &mut Terminal<CrosstermBackend<Stdout>>,
) -> Ended {
    let silence = (interval * 5).max(Duration::from_secs(8));
    let mut heard = Instant::now();
    let mut stale = true;
    loop {
        if let Some(signal) = SIGNALS.into_iter().find(|signal| os::signal::take_flag(*signal) > 0) {
            return Ended::Signal(signal);
        }
        loop {
            match looker.news.try_recv() {
                Ok(news) => {
                    if let (Some(recorder), News::Sample(snapshot)) = (recorder.as_mut(), &news)
                        && let Err(why) = recorder.write(snapshot)
                    {
                        return Ended::Failed(why);
                    }
                    (heard, stale) = (Instant::now(), true);
                    app.news(news);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ended::Failed("the polling thread has ended".into()),
            }
        }
        let silent = (heard.elapsed() > silence && !app.ended).then(|| heard.elapsed().as_secs());
        stale |= silent != app.silent_s;
        app.silent_s = silent;
        if stale {
            if let Err(e) = terminal.draw(|frame| draw(app, frame.buffer_mut(), theme)) {
                return if is_gone(Duration::ZERO) { Ended::Gone } else { Ended::Failed(e.to_string()) };
            }
            stale = false;
        }
        if is_gone(Duration::ZERO) {
            return Ended::Gone;
        }
        let event = match event::poll(Duration::ZERO) {
            Ok(true) => event::read().map(Some),
            Ok(false) if is_gone(TURN) => return Ended::Gone,
            Ok(false) => Ok(None),
            Err(e) => Err(e),
        };
        match event {
            Ok(Some(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                stale = true;
                match app.key(key) {
                    Next::Go => {}
                    Next::Quit => return Ended::Quit,
                    Next::Order(order) => {
                        if looker.orders.send(order).is_err() {
                            return Ended::Failed("the polling thread has ended".into());
                        }
                    }
                }
            }
            Ok(Some(_)) => stale = true,
            Ok(None) => {}
            Err(e) => return Ended::Failed(e.to_string()),
        }
        if let Some(wanted) = app.wanted() {
            looker.wants.want(&wanted);
        }
    }
}
