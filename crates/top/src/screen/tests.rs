//! The screen drawn from a recording into a buffer, and the effect of keys.
//!
//! `TOP_GOLDEN=write cargo test -p top` rewrites the golden files; check them before a commit.

use std::path::PathBuf;

use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::sample::Snapshot;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn recording() -> Vec<Snapshot> {
    crate::record::read(&folder().join("data/contention.jsonl")).expect("the recording is there")
}

fn app() -> App {
    let mut app = App::new(Look { window_s: 15.0, background: false });
    for snapshot in recording() {
        app.news(News::Sample(Box::new(snapshot)));
    }
    app
}

const PLAIN: Theme = Theme { colour: false, unicode: false };
const FULL: Theme = Theme { colour: true, unicode: true };

fn drawn(app: &mut App, width: u16, height: u16, theme: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a buffer");
    terminal.draw(|frame| draw(app, frame.buffer_mut(), theme)).expect("it is drawn");
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let width = buffer.area.width as usize;
    let lines = buffer.content().chunks(width).map(|line| {
        let text: String = line.iter().map(|cell| cell.symbol()).collect();
        text.trim_end().to_string() + "\n"
    });
    lines.collect()
}

fn golden(name: &str, seen: &str) {
    let path = folder().join("golden").join(name);
    if std::env::var_os("TOP_GOLDEN").is_some_and(|v| v == "write") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        std::fs::write(&path, seen).expect("the file is written");
    }
    // The zone of clocks depends on the machine.
    let clocks = |text: &str| text.lines().filter(|line| !has_clock(line)).collect::<Vec<_>>().join("\n");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(clocks(&kept), clocks(seen), "{name}");
}

fn has_clock(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes
        .windows(8)
        .any(|w| w.iter().enumerate().all(|(at, b)| if at == 2 || at == 5 { *b == b':' } else { b.is_ascii_digit() }))
}

fn press(app: &mut App, code: KeyCode) -> Next {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn small_and_large_screens() {
    let mut app = app();
    golden("events_80x24_plain.txt", &text(&drawn(&mut app, 80, 24, PLAIN)));
    golden("all_200x60.txt", &text(&drawn(&mut app, 200, 60, FULL)));
    for (n, name) in [('2', "sessions"), ('3', "sql"), ('4', "latches"), ('6', "blockers")] {
        press(&mut app, KeyCode::Char(n));
        golden(&format!("{name}_100x30.txt"), &text(&drawn(&mut app, 100, 30, FULL)));
    }
}

#[test]
fn no_size_and_no_key_is_too_much() {
    let mut app = app();
    let keys = [KeyCode::Enter, KeyCode::Tab, KeyCode::Down, KeyCode::Char('s'), KeyCode::Char('?'), KeyCode::Left];
    for (n, width) in (1..=210).step_by(19).enumerate() {
        for height in (1..=60).step_by(7) {
            for theme in [PLAIN, FULL] {
                drawn(&mut app, width, height, theme);
            }
        }
        press(&mut app, keys[n % keys.len()]);
    }
    for n in 0..400 {
        let code = match n * 7919 % 19 {
            0..=6 => KeyCode::Char((b'1' + (n % 8) as u8) as char),
            7 => KeyCode::PageDown,
            8 => KeyCode::End,
            9 => KeyCode::Char('k'),
            10 => KeyCode::Char('f'),
            11 => KeyCode::Home,
            12 => KeyCode::Char('w'),
            13 => KeyCode::Char('z'),
            other => keys[other as usize % keys.len()],
        };
        press(&mut app, code);
        if n % 10 == 0 {
            drawn(&mut app, 90, 28, FULL);
        }
    }
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    use ratatui_core::style::Color;
    let mut app = app();
    let coloured = |buffer: &Buffer| buffer.content().iter().any(|c| c.fg != Color::Reset || c.bg != Color::Reset);
    assert!(coloured(&drawn(&mut app, 120, 30, FULL)));
    let plain = drawn(&mut app, 120, 30, PLAIN);
    assert!(!coloured(&plain));
    assert!(plain.content().iter().all(|c| c.symbol().is_ascii()), "{}", text(&plain));
}

#[test]
fn drill_downs_open_and_close() {
    let mut app = app();
    press(&mut app, KeyCode::Char('4'));
    press(&mut app, KeyCode::Enter);
    let inside = text(&drawn(&mut app, 110, 40, FULL));
    assert!(inside.contains("Latches > row cache objects") && inside.contains("Met holding it"), "{inside}");
    assert_eq!(app.wanted(), Some(Wanted::Latch("row cache objects".into())));
    // The first line of the latch's sheet is a session that held it.
    press(&mut app, KeyCode::Enter);
    assert!(matches!(app.wanted(), Some(Wanted::Session(..))), "{:?}", app.wanted());
    golden("session_110x40.txt", &text(&drawn(&mut app, 110, 40, FULL)));
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.wanted(), None);
    press(&mut app, KeyCode::Char('1'));
    press(&mut app, KeyCode::Enter);
    golden("cpu_80x24.txt", &text(&drawn(&mut app, 80, 24, FULL)));
    // The next list has statements.
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Enter);
    assert!(matches!(app.wanted(), Some(Wanted::Statement(_))), "{:?}", app.wanted());
}

#[test]
fn a_session_is_killed_only_after_a_yes() {
    let mut app = app();
    press(&mut app, KeyCode::Char('2'));
    let mut tries = 0;
    while !matches!(app.selected(), Some(Target::Session(..))) {
        press(&mut app, KeyCode::Down);
        tries += 1;
        assert!(tries < 20);
    }
    assert_eq!(press(&mut app, KeyCode::Char('k')), Next::Go);
    let asked = text(&drawn(&mut app, 100, 30, FULL));
    assert!(asked.contains("Kill session"), "{asked}");
    assert_eq!(press(&mut app, KeyCode::Enter), Next::Go, "Enter is no yes");
    assert_eq!(app.question, None);
    let Some(Target::Session(sid, serial)) = app.selected() else { panic!("a session is selected") };
    press(&mut app, KeyCode::Char('k'));
    assert_eq!(press(&mut app, KeyCode::Char('y')), Next::Order(Order::Kill(sid, serial)));
    press(&mut app, KeyCode::Char('1'));
    press(&mut app, KeyCode::Char('k'));
    assert!(app.question.is_none(), "an event is no session");
}

#[test]
fn a_frozen_screen_stays_and_ended_sessions_are_reported() {
    let mut app = app();
    press(&mut app, KeyCode::Char('f'));
    let body = |app: &mut App| text(&drawn(app, 100, 30, FULL)).lines().skip(1).map(str::to_string).collect::<Vec<_>>();
    let before = body(&mut app);
    let mut later = recording().pop().unwrap();
    later.clock_us += 5_000_000;
    later.wall_ms += 5000;
    later.sessions.clear();
    app.news(News::Sample(Box::new(later)));
    assert_eq!(body(&mut app), before);
    press(&mut app, KeyCode::Char('f'));
    assert_ne!(body(&mut app), before);
    app.news(News::Lost("No instance runs in /data/db.".into()));
    let gone = text(&drawn(&mut app, 100, 30, FULL));
    assert!(gone.contains("GONE: No instance runs in /data/db."), "{gone}");
    let mut fresh = App::new(Look { window_s: 15.0, background: false });
    fresh.news(News::Lost("No instance runs in /data/db.".into()));
    assert!(text(&drawn(&mut fresh, 80, 24, FULL)).contains("No instance runs in /data/db."));
}

#[test]
fn the_selection_follows_its_target() {
    let targets = |names: &[&str]| names.iter().map(|n| Some(Target::Latch(n.to_string()))).collect::<Vec<_>>();
    let mut cursor = Cursor::default();
    cursor.move_to(1, &targets(&["a", "b", "c"]));
    assert_eq!(cursor.place(&targets(&["c", "a", "b"])), 2);
    assert_eq!(cursor.place(&targets(&["c"])), 0, "gone: where it was, or the last");
    cursor.move_to(0, &targets(&["a", "b"]));
    assert_eq!(cursor.place(&targets(&["b", "a"])), 0, "at the top it stays at the top");
}

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(draw::wrapped("select a from b", 9), ["select a ", "from b"]);
    assert_eq!(draw::wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
    assert!(draw::wrapped("", 10).is_empty());
}
