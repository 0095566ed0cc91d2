//! The terminal screen: contents, selection and keys. It draws from the model and reads nothing itself.

mod chart;
mod draw;
mod terminal;
#[cfg(test)]
mod tests;

pub use draw::draw;
pub use terminal::{Ended, run};

use std::collections::BTreeMap;

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::Model;
use crate::poll::{News, Order};
use crate::sample::Wanted;
use crate::sheet::{Pane, Sheet, Table, Target};
use crate::sheets::{self, Look};

/// Windows selected by `w`, in seconds.
const WINDOWS: [f64; 5] = [1.0, 5.0, 15.0, 60.0, 300.0];
/// Points for each column of the chart, selected by `z`.
const ZOOMS: [usize; 5] = [1, 2, 5, 15, 30];

/// The abilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    pub colour: bool,
    /// Blocks and arrows, or letters.
    pub unicode: bool,
}

/// The selection in a changing list: by target once it was moved, by position before.
#[derive(Clone, Debug, Default)]
struct Cursor {
    at: usize,
    pinned: Option<Target>,
}

impl Cursor {
    /// The position among lines with these targets.
    fn place(&self, targets: &[Option<Target>]) -> usize {
        let followed = self.pinned.as_ref().and_then(|t| targets.iter().position(|other| other.as_ref() == Some(t)));
        followed.unwrap_or(self.at).min(targets.len().saturating_sub(1))
    }

    fn move_to(&mut self, at: usize, targets: &[Option<Target>]) {
        self.at = at.min(targets.len().saturating_sub(1));
        // At the top the selection follows the position, not the target.
        self.pinned = if self.at == 0 { None } else { targets.get(self.at).cloned().flatten() };
    }
}

/// A level of the drill-down.
#[derive(Clone, Debug)]
struct Level {
    target: Target,
    cursor: Cursor,
}

/// A session that is killed if the question is answered with yes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Doomed {
    sid: u64,
    serial: u64,
    who: String,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Go,
    Quit,
    Order(Order),
}

/// The state of the screen.
pub struct App {
    live: Model,
    frozen: Option<Box<Model>>,
    pub look: Look,
    zoom: usize,
    pane: Pane,
    cursors: BTreeMap<Pane, Cursor>,
    levels: Vec<Level>,
    /// The sort column of each table, by the table's key.
    sorts: BTreeMap<&'static str, usize>,
    question: Option<Doomed>,
    help: bool,
    /// The reason why there is no instance.
    lost: Option<String>,
    ended: bool,
    said: Option<String>,
    /// Seconds since the last message, when they are too many.
    pub silent_s: Option<u64>,
    /// Lines of a page of the list at the last drawing.
    page: usize,
}

impl App {
    pub fn new(look: Look) -> App {
        App {
            live: Model::default(),
            frozen: None,
            look,
            zoom: 0,
            pane: Pane::Events,
            cursors: BTreeMap::new(),
            levels: Vec::new(),
            sorts: BTreeMap::new(),
            question: None,
            help: false,
            lost: None,
            ended: false,
            said: None,
            silent_s: None,
            page: 10,
        }
    }

    /// The model that is shown: the present one, or the frozen one.
    fn model(&self) -> &Model {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// Handles a message of the polling thread.
    pub fn news(&mut self, news: News) {
        match news {
            News::Sample(snapshot) => {
                self.lost = None;
                self.live.push(*snapshot);
            }
            News::Lost(why) => {
                self.live.away(os::clock::wall_ns() / 1_000_000);
                self.lost = Some(why);
            }
            News::Killed(sid, Ok(())) => self.said = Some(format!("Session {sid} was told to end.")),
            News::Killed(sid, Err(why)) => self.said = Some(format!("Session {sid} was not killed: {why}")),
            News::Ended => self.ended = true,
        }
    }

    /// The detail that the polling thread is to read for this screen.
    pub fn wanted(&self) -> Option<Wanted> {
        self.levels.last().and_then(|level| sheets::wanted(&level.target))
    }

    /// The sheet of the innermost level, its tables sorted as chosen.
    fn sheet(&self) -> Option<Sheet> {
        let level = self.levels.last()?;
        let mut sheet = sheets::sheet(self.model(), &level.target, self.look);
        for table in &mut sheet.tables {
            self.sort(table);
        }
        Some(sheet)
    }

    /// A main table, sorted as chosen.
    fn table(&self, pane: Pane) -> Table {
        let mut tables = sheets::sheet(self.model(), &Target::Pane(pane), self.look).tables;
        let mut table = tables.remove(0);
        self.sort(&mut table);
        table
    }

    fn sort(&self, table: &mut Table) {
        if let Some(column) = self.sorts.get(table.key) {
            table.sort(*column);
        }
    }

    /// Targets of the selectable lines in display order, and the tables.
    fn lines(&self) -> (Vec<Option<Target>>, Vec<Table>) {
        let tables = match self.sheet() {
            Some(sheet) => sheet.tables,
            None => vec![self.table(self.pane)],
        };
        (tables.iter().flat_map(|t| t.lines.iter().map(|line| line.target.clone())).collect(), tables)
    }

    fn cursor(&mut self) -> &mut Cursor {
        match self.levels.last_mut() {
            Some(level) => &mut level.cursor,
            None => self.cursors.entry(self.pane).or_default(),
        }
    }

    fn cursor_place(&self, pane: Pane, targets: &[Option<Target>]) -> usize {
        self.cursors.get(&pane).map_or(0, |cursor| cursor.place(targets))
    }

    fn move_by(&mut self, by: isize) {
        let (targets, _) = self.lines();
        let cursor = self.cursor();
        let at = cursor.place(&targets) as isize + by;
        cursor.move_to(at.max(0) as usize, &targets);
    }

    fn selected(&mut self) -> Option<Target> {
        let (targets, _) = self.lines();
        let at = self.cursor().place(&targets);
        targets.get(at).cloned().flatten()
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Next {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Next::Quit } else { Next::Go };
        }
        self.said = None;
        if let Some(doomed) = self.question.take() {
            let yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
            return if yes { Next::Order(Order::Kill(doomed.sid, doomed.serial)) } else { Next::Go };
        }
        if std::mem::take(&mut self.help) {
            return if key.code == KeyCode::Char('q') { Next::Quit } else { Next::Go };
        }
        match key.code {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Up => self.move_by(-1),
            KeyCode::Down => self.move_by(1),
            KeyCode::PageUp => self.move_by(-(self.page as isize)),
            KeyCode::PageDown => self.move_by(self.page as isize),
            KeyCode::Home => self.move_by(isize::MIN / 2),
            KeyCode::End => self.move_by(isize::MAX / 2),
            KeyCode::Enter => self.enter(),
            KeyCode::Right if !self.levels.is_empty() => self.enter(),
            KeyCode::Backspace | KeyCode::Esc => drop(self.levels.pop()),
            KeyCode::Left if !self.levels.is_empty() => drop(self.levels.pop()),
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(-1),
            KeyCode::Char(n @ '1'..='8') => {
                self.levels.clear();
                self.pane = Pane::ALL[n as usize - '1' as usize];
            }
            KeyCode::Char('s') => self.next_sort(),
            KeyCode::Char('w') => self.look.window_s = next_of(&WINDOWS, self.look.window_s),
            KeyCode::Char('z') => self.zoom = (self.zoom + 1) % ZOOMS.len(),
            KeyCode::Char('b') => self.look.background = !self.look.background,
            KeyCode::Char('f') | KeyCode::Char(' ') => {
                self.frozen = if self.frozen.is_some() { None } else { Some(Box::new(self.live.clone())) };
            }
            KeyCode::Char('k') => self.ask_to_kill(),
            _ => {}
        }
        Next::Go
    }

    fn enter(&mut self) {
        let Some(target) = self.selected() else { return };
        // Returns to an earlier level with the same target instead of adding a level.
        if let Some(at) = self.levels.iter().position(|level| level.target == target) {
            self.levels.truncate(at + 1);
        } else {
            self.levels.push(Level { target, cursor: Cursor::default() });
        }
    }

    /// The next main table; inside a sheet, its next table.
    fn turn(&mut self, by: isize) {
        if self.levels.is_empty() {
            self.pane = self.pane.moved(by);
            return;
        }
        let (targets, tables) = self.lines();
        let here = self.cursor().place(&targets);
        let mut starts = Vec::new();
        let mut at = 0;
        for table in tables.iter().filter(|table| !table.lines.is_empty()) {
            starts.push(at);
            at += table.lines.len();
        }
        if starts.is_empty() {
            return;
        }
        let current = starts.iter().rposition(|start| *start <= here).unwrap_or(0) as isize;
        let next = (current + by).rem_euclid(starts.len() as isize) as usize;
        self.cursor().move_to(starts[next], &targets);
    }

    /// Sorts the selected table by its next numeric column; after the last one comes the table's own order.
    fn next_sort(&mut self) {
        let (targets, tables) = self.lines();
        let mut at = self.cursor().place(&targets);
        let here = tables.iter().find(|table| {
            let inside = at < table.lines.len();
            at = at.saturating_sub(table.lines.len());
            inside
        });
        let Some(table) = here.or(tables.first()).filter(|table| !table.ordered) else {
            self.said = Some("This list has a fixed order.".into());
            return;
        };
        let from = self.sorts.get(table.key).map_or(0, |column| column + 1);
        let next = (from..table.columns.len()).find(|column| table.columns[*column].number);
        match next {
            Some(column) => self.sorts.insert(table.key, column),
            None => self.sorts.remove(table.key),
        };
    }

    fn ask_to_kill(&mut self) {
        let here = self.levels.last().map(|level| level.target.clone());
        let session = |target: Option<Target>| match target {
            Some(Target::Session(sid, serial)) if serial > 0 => Some((sid, serial)),
            _ => None,
        };
        let Some((sid, serial)) = session(self.selected()).or(session(here)) else {
            self.said = Some("Select a session first.".into());
            return;
        };
        let who = self.model().session(sid, serial).map(|s| (s.background, format!("{} ({})", s.user, s.program)));
        match who {
            Some((true, _)) => self.said = Some("A background process cannot be killed.".into()),
            Some((false, who)) => self.question = Some(Doomed { sid, serial, who }),
            None => self.said = Some("This session has ended.".into()),
        }
    }
}

/// The next value, with the first after the last.
fn next_of(all: &[f64], now: f64) -> f64 {
    all.iter().copied().find(|n| *n > now).unwrap_or(all[0])
}
