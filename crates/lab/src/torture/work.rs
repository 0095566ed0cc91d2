//! The work of a worker: transactions of random statements, and DDL on a table of its own.

use super::mind::{ACCOUNTS, Item, Mind, OPENING, Random, Scratch, State, ordered_bytes};
use super::query::n;
use super::session::{Seat, Session, Shared, Step, Stop, lost_or_wrong};
use super::{check, query};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{Bind, Client, Credentials};
use types::{DataType, Value};

/// Most rows of `items` for a worker.
const ITEMS_MAX: usize = 120;

/// Most rows in each of its other tables.
const ROWS_MAX: usize = 60;

/// The transaction was rolled back by its commit.
const ROLLED_BACK: u32 = 2091;

/// Errors that may keep a shared index from being built or dropped: the table is being changed, another worker is
/// building the index, it or a similar one exists, or it does not exist.
const ONLINE_REFUSED: &[u32] = &[54, 955, 1408, 1418, 8104];

fn t(value: String) -> Bind {
    // An empty text is NULL.
    let value = if value.is_empty() { Value::Null } else { Value::Text(value) };
    Bind::input(DataType::TEXT, value)
}

/// Works until the run is over, with a new session whenever one is killed.
pub fn work(dir: &Path, mind: &mut Mind, seat: &Seat, r: &mut Random, shared: &Shared) {
    while !shared.over.load(Ordering::Acquire) {
        let Ok(client) = Client::connect(dir, &Credentials::Sysdba) else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        let process = client.welcome().server_process;
        let mut session = Session { process, client, mind, seat, r, shared, serializable: false, dangling: false };
        if let Err(Stop::Failure(text)) = session.serve() {
            shared.fail(text);
        }
        let process = session.process;
        mind.lost_process = Some(process);
        seat.process.store(0, Ordering::Release);
    }
}

impl Session<'_> {
    /// Determines the outcome of the previous session's work, then works.
    fn serve(&mut self) -> Step<()> {
        if let Some(process) = self.mind.lost_process {
            check::wait_cleaned_up(&mut self.client, process).map_err(lost_or_wrong)?;
            self.mind.lost_process = None;
        }
        check::settle(&mut self.client, self.mind).map_err(lost_or_wrong)?;
        // Temporary rows were lost with their session.
        (self.mind.state.relations.passing, self.mind.state.relations.staying) = (0, 0);
        check::own_sums(&mut self.client, self.mind).map_err(lost_or_wrong)?;
        // The state that was found may not be on disk yet; after a commit that waits it is.
        let state = self.mind.state.clone();
        self.progress(&state)?;
        self.run("commit write wait", &[])?;
        self.mind.forced();
        // From here on the process may be killed.
        self.seat.process.store(self.process, Ordering::Release);
        while !self.shared.over.load(Ordering::Acquire) {
            match self.step() {
                Err(Stop::Again) => {
                    self.shared.deadlocks.fetch_add(1, Ordering::Relaxed);
                    self.run("rollback", &[])?;
                }
                other => other?,
            }
            self.seat.steps.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn step(&mut self) -> Step<()> {
        match self.r.below(100) {
            0..4 => self.ddl(),
            4 => self.vault(),
            5 => self.online(),
            97 => self.undo(),
            98 => self.doomed(),
            99 => {
                let sql = if self.r.chance(50) { "alter system checkpoint" } else { "alter system switch logfile" };
                self.run(sql, &[]).map(drop)
            }
            6..10 => self.balanced(),
            10..14 => check::own_sums(&mut self.client, self.mind).map_err(lost_or_wrong),
            14..20 => self.cached(),
            _ => self.transaction(),
        }
    }

    /// Queries whose results may be cached by other workers, or displace theirs: on a worker's own rows, with one block
    /// or a hundred, and on the accounts.
    fn cached(&mut self) -> Step<()> {
        let worker = self.mind.worker as i64;
        let rows = self.run("select /*+ result_cache */ sum(balance) from accounts", &[])?.rows;
        if query::numbers(&rows) != [[ACCOUNTS as i64 * OPENING]] {
            return Err(Stop::Failure(format!("worker {worker}: the cached accounts do not balance: {rows:?}")));
        }
        // One of a few results for each worker: some stay in the cache, some are displaced.
        let items = &self.mind.state.items;
        let from = items.keys().nth(items.len() * self.r.below(4) as usize / 4).copied().unwrap_or(0);
        let sql = "select /*+ result_cache */ id, v, p1, p2, p3 from items where worker = :1 and id >= :2 order by id";
        let found = query::rows(&mut self.client, sql, &[n(worker), n(from)]).map_err(lost_or_wrong)?;
        let text = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        let is_it = |row: &Vec<Value>, (id, item): (&i64, &Item)| {
            query::numbers(std::slice::from_ref(&row[..2].to_vec())) == [[*id, item.v]]
                && (0..3).all(|which| text(&row[2 + which]) == item.text(*id, which))
        };
        let want = self.mind.state.items.range(from..);
        if found.len() == want.clone().count() && found.iter().zip(want).all(|(row, item)| is_it(row, item)) {
            return Ok(());
        }
        Err(Stop::Failure(format!("worker {worker}: {} cached items from {from} are not its own", found.len())))
    }

    /// A query sees the accounts as of one instant, whatever other workers transfer meanwhile.
    fn balanced(&mut self) -> Step<()> {
        let hint = if self.r.chance(50) { "/*+ full(a) */" } else { "/*+ index(a accounts_pk) */" };
        let sql = format!("select {hint} count(*), sum(balance) from accounts a where id >= 0");
        let rows = self.run(&sql, &[])?.rows;
        let want = [ACCOUNTS as i64, ACCOUNTS as i64 * OPENING];
        if query::numbers(&rows).first().map(Vec::as_slice) == Some(&want) {
            return Ok(());
        }
        Err(Stop::Failure(format!("worker {}: the accounts do not balance: {rows:?}", self.mind.worker)))
    }

    fn transaction(&mut self) -> Step<()> {
        let mut draft = self.mind.state.clone();
        draft.seq += 1;
        draft.relations.passing = 0;
        self.serializable = self.r.chance(12);
        if self.serializable {
            self.run("set transaction isolation level serializable", &[])?;
        }
        let first = self.r.chance(30);
        if first {
            self.progress(&draft)?;
        }
        for _ in 0..=self.r.below(4) {
            if self.r.chance(12) {
                // The work after a savepoint is rolled back.
                self.run("savepoint s", &[])?;
                let mut passing = draft.clone();
                self.operation(&mut passing)?;
                self.run("rollback to s", &[])?;
            } else {
                self.operation(&mut draft)?;
            }
        }
        if !first {
            self.progress(&draft)?;
        }
        if self.serializable {
            // The worker's own transfers keep the sum, and transfers of others are not visible.
            self.balanced()?;
        }
        if self.r.chance(8) {
            self.run("rollback", &[])?;
            return check::own_sums(&mut self.client, self.mind).map_err(lost_or_wrong);
        }
        self.mind.pending = Some(draft);
        let (commit, waits) = match self.r.below(20) {
            0 => ("begin commit; end;", true),
            1 => ("commit write nowait", false),
            2 => ("commit write wait", true),
            _ => ("commit", true),
        };
        self.run(commit, &[])?;
        self.mind.acknowledge(waits);
        Ok(())
    }

    fn progress(&mut self, draft: &State) -> Step<()> {
        let worker = self.mind.worker as i64;
        self.change(1, "update progress set seq = :1 where worker = :2", &[n(draft.seq), n(worker)])
    }

    pub(super) fn operation(&mut self, draft: &mut State) -> Step<()> {
        match self.r.below(100) {
            0..20 => self.transfer(draft),
            20..32 => self.insert_items(draft),
            32..36 => self.insert_many(draft),
            36..46 => self.update_item(draft),
            46..55 => self.delete_items(draft),
            55..60 => self.update_all(draft),
            60..65 => self.hashed(draft),
            65..72 => self.ordered(draft),
            72..77 => self.number(draft),
            _ => self.related(draft),
        }
    }

    /// A transaction that cannot be committed: one of its links leads nowhere.
    pub(super) fn doomed(&mut self) -> Step<()> {
        let mut passing = self.mind.state.clone();
        passing.relations.passing = 0;
        self.operation(&mut passing)?;
        let (worker, id) = (self.me(), 2000 + self.r.below(100) as i64);
        let sql = "insert into links (worker, id, next, place) values (:1, :2, :3, :4)";
        self.change(1, sql, &[n(worker), n(id), n(9999), n(id)])?;
        self.dangling = true;
        let done = self.operation(&mut passing);
        self.dangling = false;
        done?;
        self.must_fail("commit", ROLLED_BACK)?;
        self.mind.state.relations.passing = 0;
        let state = self.mind.state.clone();
        self.temporary_rows(&state.relations)?;
        check::own_sums(&mut self.client, self.mind).map_err(lost_or_wrong)
    }

    /// Moves money between two accounts, in any order, so that two workers may deadlock.
    fn transfer(&mut self, draft: &mut State) -> Step<()> {
        let (a, b) = (self.r.below(ACCOUNTS as u64) as usize, self.r.below(ACCOUNTS as u64) as usize);
        let amount = self.r.below(100) as i64;
        if self.r.chance(20) {
            self.run("select balance from accounts where id = :1 for update", &[n(a as i64)])?;
        }
        let sql = "update accounts set balance = balance + :1 where id = :2";
        self.change(1, sql, &[n(-amount), n(a as i64)])?;
        self.change(1, sql, &[n(amount), n(b as i64)])?;
        draft.moved[a] -= amount;
        draft.moved[b] += amount;
        let worker = self.mind.worker as i64;
        if !draft.ledger.contains_key(&draft.seq) {
            let sql = "insert into ledger (worker, seq, amount) values (:1, :2, :3)";
            self.change(1, sql, &[n(worker), n(draft.seq), n(amount)])?;
            draft.ledger.insert(draft.seq, amount);
        }
        if draft.ledger.len() > ROWS_MAX {
            // Old entries are deleted, so that the left end of the index empties while its right end grows.
            let upto = draft.seq - ROWS_MAX as i64 / 2;
            let kept = draft.ledger.split_off(&upto);
            let gone = std::mem::replace(&mut draft.ledger, kept).len() as u64;
            self.change(gone, "delete from ledger where worker = :1 and seq < :2", &[n(worker), n(upto)])?;
        }
        Ok(())
    }

    fn new_item(&mut self) -> Item {
        let mut texts = [0; 3];
        for text in &mut texts {
            // Some rows are wider than a block, so they are chained; most are small.
            *text = if self.r.chance(8) { 2500 + self.r.below(1500) } else { self.r.below(120) } as usize;
        }
        Item { v: self.r.below(1_000_000) as i64, texts }
    }

    fn insert_items(&mut self, draft: &mut State) -> Step<()> {
        if draft.items.len() >= ITEMS_MAX {
            return self.delete_items(draft);
        }
        let ascending = self.r.chance(40);
        for _ in 0..=self.r.below(6) {
            let last = draft.items.keys().next_back().copied().unwrap_or(0);
            let id = if ascending { last + 1 } else { self.r.below(20_000) as i64 };
            if draft.items.contains_key(&id) {
                continue;
            }
            let item = self.new_item();
            let binds = [
                n(self.mind.worker as i64),
                n(id),
                n(item.v),
                n(item.spread(id)),
                t(item.text(id, 0)),
                t(item.text(id, 1)),
                t(item.text(id, 2)),
            ];
            let sql = "insert into items (worker, id, v, r, p1, p2, p3) values (:1, :2, :3, :4, :5, :6, :7)";
            self.change(1, sql, &binds)?;
            draft.items.insert(id, item);
        }
        Ok(())
    }

    /// Inserts rows by a query, so that the database inserts them in batches.
    fn insert_many(&mut self, draft: &mut State) -> Step<()> {
        let from = draft.items.keys().next_back().copied().unwrap_or(0);
        let rows = (ITEMS_MAX as u64).saturating_sub(draft.items.len() as u64).min(40);
        if rows == 0 {
            return self.delete_items(draft);
        }
        let (rows, len) = (1 + self.r.below(rows) as i64, 1 + self.r.below(200) as usize);
        let text = |which: usize| {
            let letter = format!("chr(97 + mod({from} + level + {len} + {which}, 26))");
            format!("rpad({letter}, {len}, {letter})")
        };
        let sql = format!(
            "insert into items (worker, id, v, r, p1, p2, p3)
               select {}, {from} + level, level, mod(({from} + level) * 7919 + level * 104729, 100003), {}, {}, {}
               from dual connect by level <= {rows}",
            self.mind.worker,
            text(0),
            text(1),
            text(2)
        );
        self.change(rows as u64, &sql, &[])?;
        draft.items.extend((1..=rows).map(|level| (from + level, Item { v: level, texts: [len; 3] })));
        Ok(())
    }

    /// Inserts, changes or deletes rows of the index-organised table, often with a new length.
    fn ordered(&mut self, draft: &mut State) -> Step<()> {
        let worker = self.mind.worker as i64;
        for _ in 0..=self.r.below(4) {
            let (id, v) = (self.r.below(4 * ROWS_MAX as u64) as i64, self.r.below(1000) as i64);
            let text = "o".repeat(ordered_bytes(v) as usize);
            match (draft.ordered.contains_key(&id), self.r.chance(50)) {
                (false, _) => {
                    let sql = "insert into ordered (worker, id, v, t) values (:1, :2, :3, :4)";
                    self.change(1, sql, &[n(worker), n(id), n(v), t(text)])?;
                    draft.ordered.insert(id, v);
                }
                (true, true) => {
                    let sql = "update ordered set v = :1, t = :2 where worker = :3 and id = :4";
                    self.change(1, sql, &[n(v), t(text), n(worker), n(id)])?;
                    draft.ordered.insert(id, v);
                }
                (true, false) => {
                    self.change(1, "delete from ordered where worker = :1 and id = :2", &[n(worker), n(id)])?;
                    draft.ordered.remove(&id);
                }
            }
        }
        Ok(())
    }

    fn any_item(&mut self, draft: &State) -> Option<i64> {
        let from = self.r.below(20_000) as i64;
        draft.items.range(from..).next().or_else(|| draft.items.iter().next()).map(|(id, _)| *id)
    }

    /// Changes a row, often its length, so that it may migrate or be chained.
    fn update_item(&mut self, draft: &mut State) -> Step<()> {
        let Some(id) = self.any_item(draft) else { return Ok(()) };
        if self.r.chance(25) {
            let sql = "select v from items where worker = :1 and id = :2 for update";
            self.run(sql, &[n(self.mind.worker as i64), n(id)])?;
        }
        let item = self.new_item();
        let binds = [
            n(item.v),
            n(item.spread(id)),
            t(item.text(id, 0)),
            t(item.text(id, 1)),
            t(item.text(id, 2)),
            n(self.mind.worker as i64),
            n(id),
        ];
        let sql = "update items set v = :1, r = :2, p1 = :3, p2 = :4, p3 = :5 where worker = :6 and id = :7";
        self.change(1, sql, &binds)?;
        draft.items.insert(id, item);
        Ok(())
    }

    fn delete_items(&mut self, draft: &mut State) -> Step<()> {
        let Some(from) = self.any_item(draft) else { return Ok(()) };
        let to = from + if self.r.chance(30) { self.r.below(5000) as i64 } else { 0 };
        let gone: Vec<i64> = draft.items.range(from..=to).map(|(id, _)| *id).collect();
        let sql = "delete from items where worker = :1 and id between :2 and :3";
        self.change(gone.len() as u64, sql, &[n(self.mind.worker as i64), n(from), n(to)])?;
        gone.iter().for_each(|id| {
            draft.items.remove(id);
        });
        Ok(())
    }

    /// One statement over all rows that changes every key of one index.
    fn update_all(&mut self, draft: &mut State) -> Step<()> {
        let sql = "update items set v = v + 1, r = mod(id * 7919 + (v + 1) * 104729, 100003) where worker = :1";
        self.change(draft.items.len() as u64, sql, &[n(self.mind.worker as i64)])?;
        draft.items.values_mut().for_each(|item| item.v += 1);
        Ok(())
    }

    /// Inserts, changes or deletes a row of the hash cluster.
    fn hashed(&mut self, draft: &mut State) -> Step<()> {
        let worker = self.mind.worker as i64;
        let (id, v) = (worker * 1000 + self.r.below(ROWS_MAX as u64) as i64, self.r.below(1000) as i64);
        match (draft.hashed.contains_key(&id), self.r.chance(50)) {
            (false, _) => {
                self.change(1, "insert into hashed (id, worker, v) values (:1, :2, :3)", &[n(id), n(worker), n(v)])?;
                draft.hashed.insert(id, v);
            }
            (true, true) => {
                self.change(1, "update hashed set v = :1 where id = :2", &[n(v), n(id)])?;
                draft.hashed.insert(id, v);
            }
            (true, false) => {
                self.change(1, "delete from hashed where id = :1", &[n(id)])?;
                draft.hashed.remove(&id);
            }
        }
        Ok(())
    }

    /// Takes a sequence value, which must be new, and stores it.
    fn number(&mut self, draft: &mut State) -> Step<()> {
        let rows = self.run("select numbers_seq.nextval from dual", &[])?.rows;
        let Some(value) = query::numbers(&rows).first().and_then(|row| row.first().copied()) else {
            return Err(Stop::Failure(format!("a sequence returned {rows:?}")));
        };
        if !self.shared.numbers.lock().unwrap_or_else(|e| e.into_inner()).insert(value) {
            return Err(Stop::Failure(format!("sequence value {value} was returned twice")));
        }
        let worker = self.mind.worker as i64;
        self.change(1, "insert into numbers (n, worker) values (:1, :2)", &[n(value), n(worker)])?;
        draft.numbers.insert(value);
        if draft.numbers.len() > ROWS_MAX {
            let upto = *draft.numbers.iter().nth(ROWS_MAX / 2).unwrap_or(&0);
            let kept = draft.numbers.split_off(&upto);
            let gone = std::mem::replace(&mut draft.numbers, kept).len() as u64;
            self.change(gone, "delete from numbers where worker = :1 and n < :2", &[n(worker), n(upto)])?;
        }
        Ok(())
    }

    /// Builds an index ONLINE on a table that all workers are changing, or drops one.
    fn online(&mut self) -> Step<()> {
        let own = format!("items_x{}", self.mind.worker);
        let sql = match self.r.below(6) {
            0 => "alter index items_r rebuild online".to_string(),
            1 => "alter index merged_v rebuild online".to_string(),
            2 => "alter index ledger_seq rebuild".to_string(),
            3 | 4 => format!("create index {own} on items (v, worker, id) online"),
            _ => format!("drop index {own}"),
        };
        if self.run_unless(&sql, ONLINE_REFUSED)?.is_some() {
            self.mind.forced();
        }
        Ok(())
    }

    /// Creates, fills, indexes, empties or drops the worker's own table.
    fn ddl(&mut self) -> Step<()> {
        let (name, worker, old) = (self.mind.scratch_name(), self.mind.worker, self.mind.scratch);
        let rows = 1 + self.r.below(200) as i64;
        let fill =
            format!("select level id, {worker} worker, rpad('s', 50, 's') t from dual connect by level <= {rows}");
        let (sql, new) = match self.r.below(6) {
            _ if !old.exists => {
                (format!("create table {name} as {fill}"), Scratch { exists: true, rows, indexed: false })
            }
            0 => (format!("drop table {name}"), Scratch::default()),
            1 => (format!("truncate table {name}"), Scratch { rows: 0, ..old }),
            2 if !old.indexed => (format!("create index {name}_i on {name} (id)"), Scratch { indexed: true, ..old }),
            3 if old.indexed => (format!("drop index {name}_i"), Scratch { indexed: false, ..old }),
            _ if old.rows < 1000 => {
                self.change(rows as u64, &format!("insert into {name} {fill}"), &[])?;
                ("commit".to_string(), Scratch { rows: old.rows + rows, ..old })
            }
            _ => (format!("drop table {name}"), Scratch::default()),
        };
        self.mind.scratch_pending = Some(new);
        self.run(&sql, &[])?;
        self.mind.scratch = new;
        self.mind.scratch_pending = None;
        self.mind.forced();
        Ok(())
    }
}
