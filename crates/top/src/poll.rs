//! The polling thread: it holds the session, keeps the time, reconnects, and executes orders.
//!
//! The screen and the page never wait for the instance (invariant 1). They get [`News`] through a channel and put their
//! requests for details into [`Wants`], where a request expires unless it is renewed. An instance that does not answer
//! delays this thread alone.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::ClientError;

use crate::reader::Reader;
use crate::sample::{Snapshot, Wanted};

/// Probes in one interval, and the least time between two of them.
const PROBES: u32 = 5;
const PROBE_GAP_MIN: Duration = Duration::from_millis(50);
/// The life of a request that is not renewed, and the largest number of requests.
const WISH_LASTS: Duration = Duration::from_secs(15);
const WISHES_MAX: usize = 16;
/// Time between attempts to connect.
const RETRY: Duration = Duration::from_secs(1);

/// A message of the polling thread.
#[derive(Debug)]
pub enum News {
    Sample(Box<Snapshot>),
    /// The instance is gone, or refuses; the thread keeps trying.
    Lost(String),
    /// The result of a kill order: sid, and the error if there was one.
    Killed(u64, Result<(), String>),
    /// The recording has ended.
    Ended,
}

/// An order to the polling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sid and serial#: a later session in the same slot is left alone.
    Kill(u64, u64),
}

/// The details that viewers request.
#[derive(Clone, Debug, Default)]
pub struct Wants(Arc<Mutex<Vec<(Wanted, Instant)>>>);

impl Wants {
    /// Requests a detail, or renews the request. Beyond the limit the oldest request is dropped.
    pub fn want(&self, wanted: &Wanted) {
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.retain(|(w, _)| w != wanted);
        if wishes.len() >= WISHES_MAX {
            wishes.remove(0);
        }
        wishes.push((wanted.clone(), Instant::now()));
    }

    /// The requests in force.
    pub fn list(&self) -> Vec<Wanted> {
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.retain(|(_, at)| at.elapsed() < WISH_LASTS);
        wishes.iter().map(|(wanted, _)| wanted.clone()).collect()
    }
}

/// The source and the interval of samples.
#[derive(Clone, Debug)]
pub struct Watch {
    pub dir: PathBuf,
    pub interval: Duration,
}

/// Takes samples until no viewer is left.
pub fn watch(watch: &Watch, wants: &Wants, orders: &Receiver<Order>, news: &SyncSender<News>) {
    loop {
        let why = match Reader::connect(&watch.dir) {
            Ok(mut reader) => match look(&mut reader, watch, wants, orders, news) {
                Ok(()) => return,
                Err(e) => lost(&watch.dir, &e),
            },
            Err(e) => lost(&watch.dir, &e),
        };
        if news.send(News::Lost(why)).is_err() {
            return;
        }
        refuse(orders, news);
        std::thread::sleep(RETRY);
    }
}

/// Refuses orders while there is no instance; they are not kept, because the numbers mean other sessions in the next
/// one.
fn refuse(orders: &Receiver<Order>, news: &SyncSender<News>) {
    for Order::Kill(sid, _) in orders.try_iter() {
        // The viewer that gave the order may be gone.
        let _ = news.send(News::Killed(sid, Err("not connected to the instance".into())));
    }
}

fn lost(dir: &Path, e: &ClientError) -> String {
    match e {
        ClientError::NotRunning(_) => format!("No instance runs in {}.", dir.display()),
        e => {
            let text = e.to_string();
            text.lines().next().unwrap_or_default().to_string()
        }
    }
}

/// Takes probes and snapshots over one connection. `Ok`: no viewer is left.
fn look(
    reader: &mut Reader,
    watch: &Watch,
    wants: &Wants,
    orders: &Receiver<Order>,
    news: &SyncSender<News>,
) -> Result<(), ClientError> {
    // The first snapshot is the base for the next.
    let probe = reader.probe()?;
    let first = reader.snapshot(vec![probe], 0.0, &[])?;
    if news.send(News::Sample(Box::new(first))).is_err() {
        return Ok(());
    }
    let gap = (watch.interval / PROBES).max(PROBE_GAP_MIN);
    let mut began = Instant::now();
    let mut probes = Vec::new();
    let mut next = began + gap;
    loop {
        match orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Order::Kill(sid, serial)) => {
                let done = reader.kill(sid, serial);
                let fatal = done.as_ref().is_err_and(ClientError::is_fatal);
                let said = done.clone().map_err(|e| e.to_string().lines().next().unwrap_or_default().to_string());
                if news.send(News::Killed(sid, said)).is_err() {
                    return Ok(());
                }
                if fatal {
                    done?;
                }
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        probes.push(reader.probe()?);
        if began.elapsed() + gap / 2 >= watch.interval {
            let seconds = began.elapsed().as_secs_f64();
            let snapshot = reader.snapshot(std::mem::take(&mut probes), seconds, &wants.list())?;
            if news.send(News::Sample(Box::new(snapshot))).is_err() {
                return Ok(());
            }
            // A late sample is not followed by extra ones.
            began = (began + watch.interval).max(Instant::now() - gap);
        }
        next = (next + gap).max(Instant::now() + gap / 2);
    }
}

/// The polling thread, as its viewers use it.
pub struct Looker {
    pub news: Receiver<News>,
    pub orders: Sender<Order>,
    pub wants: Wants,
}

/// Starts the polling thread.
pub fn start(source: Source) -> Looker {
    // A slow viewer holds up the thread, so that samples do not pile up.
    let (say, news) = std::sync::mpsc::sync_channel(4);
    let (orders, taken) = std::sync::mpsc::channel();
    let wants = Wants::default();
    let wishes = wants.clone();
    std::thread::spawn(move || match source {
        Source::Instance(w) => watch(&w, &wishes, &taken, &say),
        Source::Recording { snapshots, interval } => replay(snapshots, interval, &taken, &say),
    });
    Looker { news, orders, wants }
}

/// The source of samples.
#[derive(Debug)]
pub enum Source {
    Instance(Watch),
    Recording { snapshots: Vec<Snapshot>, interval: Duration },
}

/// Replays a recording with its own pauses, none longer than ten intervals.
fn replay(snapshots: Vec<Snapshot>, interval: Duration, orders: &Receiver<Order>, news: &SyncSender<News>) {
    let mut before: Option<u64> = None;
    for snapshot in snapshots {
        let pause = before.map_or(0, |before| snapshot.clock_us.saturating_sub(before));
        before = Some(snapshot.clock_us);
        let pause = Duration::from_micros(pause).min(interval * 10);
        match orders.recv_timeout(pause) {
            Ok(Order::Kill(sid, _)) => {
                let _ = news.send(News::Killed(sid, Err("this is a recording; no session can be killed".into())));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if news.send(News::Sample(Box::new(snapshot))).is_err() {
            return;
        }
    }
    let _ = news.send(News::Ended);
    for Order::Kill(sid, _) in orders.iter() {
        let _ = news.send(News::Killed(sid, Err("this is a recording; no session can be killed".into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_renewed_and_bounded() {
        let wants = Wants::default();
        for n in 0..WISHES_MAX as u64 + 5 {
            wants.want(&Wanted::Session(n, 1));
        }
        wants.want(&Wanted::Session(7, 1));
        let list = wants.list();
        assert_eq!(list.len(), WISHES_MAX);
        assert_eq!(list.last(), Some(&Wanted::Session(7, 1)));
        assert!(!list.contains(&Wanted::Session(0, 1)));
    }

    #[test]
    fn a_recording_is_replayed_to_its_end_and_refuses_kills() {
        let told = |n: u64| Snapshot { clock_us: n, wall_ms: n, ..Snapshot::default() };
        let looker = start(Source::Recording { snapshots: vec![told(1), told(2)], interval: Duration::from_millis(1) });
        looker.orders.send(Order::Kill(4, 1)).unwrap();
        let (mut samples, mut refused, mut ended) = (0, 0, 0);
        while let Ok(news) = looker.news.recv_timeout(Duration::from_secs(20)) {
            match news {
                News::Sample(_) => samples += 1,
                News::Killed(4, Err(_)) => refused += 1,
                News::Ended => ended += 1,
                other => panic!("{other:?}"),
            }
            if samples == 2 && refused == 1 && ended == 1 {
                return;
            }
        }
        panic!("{samples} samples, {refused} refusals, {ended} ends");
    }

    #[test]
    fn without_an_instance_the_message_says_so() {
        let dir = std::env::temp_dir().join("latchwork-top-nobody");
        let looker = start(Source::Instance(Watch { dir, interval: Duration::from_secs(1) }));
        match looker.news.recv_timeout(Duration::from_secs(20)) {
            Ok(News::Lost(why)) => assert!(why.starts_with("No instance runs in"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
