//! The state shared by all viewers of the page: the model, a turn number that grows with each event, and a condition to
//! wait for it.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::model::{CLASSES, Model};
use crate::poll::{News, Order, Wants};
use crate::sheet::{Cell, Sheet, Table, Target};
use crate::sheets::{self, Look, panes, sheet};
use crate::summary::Summary;

/// Messages kept for slow viewers.
const SAID_MAX: usize = 20;

/// The state that viewers see.
#[derive(Default)]
struct State {
    model: Arc<Model>,
    /// Grows with every event.
    turn: u64,
    lost: Option<String>,
    ended: bool,
    /// The results of orders, with their turns.
    said: VecDeque<(u64, String)>,
    closed: bool,
}

/// Shared by the thread that receives samples and the threads that serve viewers.
pub struct Hub {
    state: Mutex<State>,
    happened: Condvar,
    pub wants: Wants,
    orders: Mutex<Sender<Order>>,
}

/// The state at one moment.
pub struct Moment {
    pub model: Arc<Model>,
    pub turn: u64,
    pub lost: Option<String>,
    pub ended: bool,
    said: Vec<(u64, String)>,
}

impl Hub {
    pub fn new(wants: Wants, orders: Sender<Order>) -> Hub {
        Hub { state: Mutex::default(), happened: Condvar::new(), wants, orders: Mutex::new(orders) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic of another thread the old state is shown until the next sample.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a message of the polling thread.
    pub fn news(&self, news: News) {
        let mut state = self.state();
        let turn = state.turn + 1;
        match news {
            News::Sample(snapshot) => {
                // The model is copied only while a viewer still reads the previous one.
                Arc::make_mut(&mut state.model).push(*snapshot);
                state.lost = None;
            }
            News::Lost(why) => {
                Arc::make_mut(&mut state.model).away(os::clock::wall_ns() / 1_000_000);
                state.lost = Some(why);
            }
            News::Killed(sid, done) => {
                let text = match done {
                    Ok(()) => format!("Session {sid} was told to end."),
                    Err(why) => format!("Session {sid} was not killed: {why}"),
                };
                state.said.push_back((turn, text));
                if state.said.len() > SAID_MAX {
                    state.said.pop_front();
                }
            }
            News::Ended => state.ended = true,
        }
        state.turn = turn;
        drop(state);
        self.happened.notify_all();
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.state().closed = true;
        self.happened.notify_all();
    }

    /// The state now, or, if nothing has happened since `turn`, after the next event. `None` when nothing happened
    /// within `patience`.
    pub fn wait(&self, turn: u64, patience: Duration) -> Option<Moment> {
        let waiting = |state: &mut State| state.turn <= turn && !state.closed;
        let (state, late) =
            self.happened.wait_timeout_while(self.state(), patience, waiting).unwrap_or_else(PoisonError::into_inner);
        (!late.timed_out() && !state.closed).then(|| moment(&state))
    }

    /// The state now.
    pub fn now(&self) -> Moment {
        moment(&self.state())
    }

    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Sends an order to the polling thread; false when the thread has ended.
    pub fn order(&self, order: Order) -> bool {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).send(order).is_ok()
    }
}

fn moment(state: &State) -> Moment {
    Moment {
        model: Arc::clone(&state.model),
        turn: state.turn,
        lost: state.lost.clone(),
        ended: state.ended,
        said: state.said.iter().cloned().collect(),
    }
}

impl Moment {
    /// The data of the page. Points of the chart after `since`, in milliseconds; results of orders after `turn`.
    pub fn json(&self, look: Look, since: u64, turn: u64) -> Json {
        let points: Vec<Json> =
            self.model.columns(1, 3600, look.background).iter().filter(|(at, _)| *at > since).map(point).collect();
        let tables: Vec<Json> =
            panes(&self.model, look).iter().map(|(pane, table)| table_json(pane.name(), table)).collect();
        let said: Vec<&String> = self.said.iter().filter(|(at, _)| *at > turn).map(|(_, text)| text).collect();
        let classes: Vec<&str> = CLASSES.iter().map(|(name, _)| *name).collect();
        json!({
            "turn": self.turn,
            "summary": Summary::of(&self.model, look).json(),
            "ready": self.model.has_ticks(),
            "lost": self.lost,
            "ended": self.ended,
            "said": said,
            "classes": classes,
            "points": points,
            "tables": tables,
        })
    }

    /// The sheet of a drill-down.
    pub fn sheet(&self, target: &Target, look: Look) -> Json {
        sheet_json(&sheet(&self.model, target, look), &self.model)
    }

    /// The time of the last point of the chart.
    pub fn last_point(&self) -> u64 {
        self.model.columns(1, 1, false).last().map_or(0, |(at, _)| *at)
    }
}

fn point((at, load): &(u64, Option<[f64; CLASSES.len()]>)) -> Json {
    let round = |n: f64| (n * 100.0).round() / 100.0;
    json!([at, load.map(|load| load.map(round))])
}

/// A table with its cells as text and, where that differs, as numbers for sorting.
fn table_json(key: &str, table: &Table) -> Json {
    let columns: Vec<Json> = table
        .columns
        .iter()
        .map(|c| json!({"key": c.key, "title": c.title, "number": c.number, "width": c.width, "spare": c.spare}))
        .collect();
    let lines: Vec<Json> = table
        .lines
        .iter()
        .map(|line| {
            let shown: Vec<String> = line.cells.iter().map(Cell::show).collect();
            let raw: Vec<Json> = line.cells.iter().map(Cell::json).collect();
            json!({"cells": shown, "raw": raw, "target": line.target.as_ref().map(Target::to_string), "class": line.class})
        })
        .collect();
    json!({"key": key, "title": table.title, "columns": columns, "lines": lines, "none": table.none, "ordered": table.ordered})
}

fn sheet_json(sheet: &Sheet, model: &Model) -> Json {
    let kill = match sheet.target {
        Target::Session(sid, serial) => model.session(sid, serial).filter(|s| !s.background && serial > 0),
        _ => None,
    };
    json!({
        "target": sheet.target.to_string(),
        "title": sheet.title,
        "about": sheet.about,
        "text": sheet.text,
        "waiting": sheet.waiting && sheets::wanted(&sheet.target).is_some(),
        "kill": kill.map(|s| json!({"sid": s.sid, "serial": s.serial, "user": s.user, "program": s.program})),
        "tables": sheet.tables.iter().map(|table| table_json(table.key, table)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Snapshot;

    fn sample(n: u64) -> News {
        News::Sample(Box::new(Snapshot { clock_us: n * 1_000_000, wall_ms: n * 1000, ..Snapshot::default() }))
    }

    fn hub() -> Hub {
        Hub::new(Wants::default(), std::sync::mpsc::channel().0)
    }

    const LOOK: Look = Look { window_s: 5.0, background: false };

    #[test]
    fn a_viewer_gets_only_new_data() {
        let hub = hub();
        hub.news(sample(1));
        hub.news(sample(2));
        hub.news(sample(3));
        let first = hub.wait(0, Duration::from_secs(9)).unwrap();
        assert_eq!(first.json(LOOK, 0, 0)["points"].as_array().unwrap().len(), 2);
        assert!(hub.wait(first.turn, Duration::from_millis(1)).is_none(), "nothing new");
        hub.news(sample(4));
        hub.news(News::Killed(7, Err("ORA-00030".into())));
        let next = hub.wait(first.turn, Duration::from_secs(9)).unwrap();
        let said = next.json(LOOK, first.last_point(), first.turn);
        assert_eq!(said["points"].as_array().unwrap().len(), 1);
        assert_eq!(said["said"][0], "Session 7 was not killed: ORA-00030");
        assert!(next.json(LOOK, 0, next.turn)["said"].as_array().unwrap().is_empty());
    }

    #[test]
    fn a_waiting_viewer_wakes_when_something_happens_and_when_all_ends() {
        let hub = Arc::new(hub());
        let waiter = {
            let hub = Arc::clone(&hub);
            std::thread::spawn(move || {
                let first = hub.wait(0, Duration::from_secs(60)).map(|m| m.turn);
                (first, hub.wait(u64::MAX, Duration::from_secs(60)).is_none())
            })
        };
        hub.news(sample(1));
        while Arc::strong_count(&hub) > 1 && !waiter.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
            hub.close();
        }
        let (first, ended) = waiter.join().unwrap();
        assert!(ended && first.is_none_or(|turn| turn == 1));
    }

    #[test]
    fn the_loss_of_the_instance_is_reported() {
        let hub = hub();
        hub.news(News::Lost("No instance runs in /x.".into()));
        assert_eq!(hub.now().json(LOOK, 0, 0)["lost"], "No instance runs in /x.");
        hub.news(sample(9));
        assert!(hub.now().json(LOOK, 0, 0)["lost"].is_null());
    }
}
