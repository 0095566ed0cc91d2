//! A worker's knowledge of its own data: a journal outside the instance.
//!
//! A worker owns rows that no other worker changes, so it knows every column that the database must have. Every
//! transaction also sets the worker's row of `progress` to the number of the transaction. After a death that row tells
//! whether the transaction in flight was committed, and all other rows must agree with it. A transaction whose commit
//! was not sent must be absent; one whose commit was acknowledged must be present.

use std::collections::{BTreeMap, BTreeSet};

/// Number of accounts, which all workers share.
pub const ACCOUNTS: usize = 16;

/// Opening balance of every account.
pub const OPENING: i64 = 1000;

/// A small generator whose sequence depends only on its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut r = Random(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        r.next();
        r
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A row of `items`, without its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub v: i64,
    /// Lengths of the three texts.
    pub texts: [usize; 3],
}

impl Item {
    /// The column whose values are spread randomly over its index.
    pub fn spread(self, id: i64) -> i64 {
        (id * 7919 + self.v * 104_729) % 100_003
    }

    /// The text of one of the columns, which depends only on the row and the length.
    pub fn text(self, id: i64, which: usize) -> String {
        let letter = b'a' + ((id as usize + self.texts[which] + which) % 26) as u8;
        char::from(letter).to_string().repeat(self.texts[which])
    }
}

/// A parent's value and its children's, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    pub v: i64,
    pub children: BTreeMap<i64, i64>,
}

/// A worker's rows in these tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    pub families: BTreeMap<i64, Family>,
    /// Notes and their parents; 0 when the parent was deleted.
    pub notes: BTreeMap<i64, i64>,
    /// Links: the next link (0 for none), and the place.
    pub links: BTreeMap<i64, (i64, i64)>,
    pub merged: BTreeMap<i64, i64>,
    /// Rows of the temporary tables: those of this transaction, and those of this session.
    pub passing: i64,
    pub staying: i64,
}

/// The state of a worker's tablespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vault {
    pub exists: bool,
    pub online: bool,
    pub files: i64,
    /// Rows of its table, if it has one.
    pub rows: Option<i64>,
}

/// A worker's rows in the database as of one of its commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Transactions so far.
    pub seq: i64,
    /// Sum of the worker's transfers for each account.
    pub moved: Vec<i64>,
    pub items: BTreeMap<i64, Item>,
    /// Rows of `ledger`: transaction and amount.
    pub ledger: BTreeMap<i64, i64>,
    /// Rows of the hash cluster's table.
    pub hashed: BTreeMap<i64, i64>,
    /// Rows of the index-organised table.
    pub ordered: BTreeMap<i64, i64>,
    /// Sequence values that were stored.
    pub numbers: BTreeSet<i64>,
    pub relations: Relations,
}

/// Bytes of the text in a row of the index-organised table.
pub fn ordered_bytes(v: i64) -> i64 {
    1 + v % 400
}

impl Default for State {
    fn default() -> State {
        State {
            seq: 0,
            moved: vec![0; ACCOUNTS],
            items: BTreeMap::new(),
            ledger: BTreeMap::new(),
            hashed: BTreeMap::new(),
            ordered: BTreeMap::new(),
            numbers: BTreeSet::new(),
            relations: Relations::default(),
        }
    }
}

/// A worker's own table, changed only by DDL and single statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    pub exists: bool,
    pub rows: i64,
    pub indexed: bool,
}

/// The knowledge of a worker.
#[derive(Clone, Debug, Default)]
pub struct Mind {
    pub worker: usize,
    /// The state as of the last acknowledged transaction.
    pub state: State,
    /// The states that the database may fall back to when the instance dies: those before commits that did not wait,
    /// oldest first.
    pub unforced: Vec<State>,
    /// The instance has died since the states were last settled.
    pub instance_died: bool,
    /// The state of a transaction whose commit was sent and not answered.
    pub pending: Option<State>,
    pub scratch: Scratch,
    /// The state of `scratch` after a statement that was sent and not answered.
    pub scratch_pending: Option<Scratch>,
    /// The state that `scratch` may fall back to when the instance dies: its session died before it could wait.
    pub scratch_unforced: Option<Scratch>,
    /// The worker's own tablespace, with the same three states.
    pub vault: Vault,
    pub vault_pending: Option<Vault>,
    pub vault_unforced: Option<Vault>,
    /// The states of this life, by transaction.
    pub history: BTreeMap<i64, State>,
    /// The server process that died during the work, until its cleanup is confirmed.
    pub lost_process: Option<u32>,
    pub commits: u64,
    /// Commits in flight at a death that turned out to be committed, and to be rolled back.
    pub kept: u64,
    pub lost: u64,
    /// Commits that did not wait and were lost with the instance, which is permitted.
    pub unwaited_lost: u64,
}

impl Mind {
    pub fn new(worker: usize) -> Mind {
        Mind { worker, ..Mind::default() }
    }

    /// The name of the worker's own table.
    pub fn scratch_name(&self) -> String {
        format!("SCRATCH_{}", self.worker)
    }

    /// Notes that the commit in flight was acknowledged; without `waited` it may still be lost with the instance.
    pub fn acknowledge(&mut self, waited: bool) {
        let Some(state) = self.pending.take() else { return };
        self.history.insert(state.seq, state.clone());
        let before = std::mem::replace(&mut self.state, state);
        self.commits += 1;
        if waited {
            self.forced();
        } else {
            self.unforced.push(before);
        }
    }

    /// Settles the transaction in flight by its number in the database.
    ///
    /// # Errors
    /// The number is neither of the two possible ones.
    pub fn settle(&mut self, seq: i64) -> Result<(), String> {
        let pending = self.pending.take();
        let (died, mut unforced) = (std::mem::take(&mut self.instance_died), std::mem::take(&mut self.unforced));
        if !died {
            // Only the session has ended: commits that did not wait may still be on their way to the disk.
            self.unforced = std::mem::take(&mut unforced);
        }
        if let Some(at) = unforced.iter().position(|s| s.seq == seq) {
            self.unwaited_lost += (unforced.len() - at) as u64;
            self.state = unforced.swap_remove(at);
            self.lost += u64::from(pending.is_some());
            return Ok(());
        }
        if seq == self.state.seq {
            self.lost += u64::from(pending.is_some());
            return Ok(());
        }
        match pending {
            Some(p) if p.seq == seq => {
                self.history.insert(p.seq, p.clone());
                let before = std::mem::replace(&mut self.state, p);
                if !died {
                    // The commit is visible, but its session died before it could wait for the disk.
                    self.unforced.push(before);
                }
                self.commits += 1;
                self.kept += 1;
                Ok(())
            }
            other => Err(format!(
                "worker {}: the database has transaction {seq}; acknowledged is {}, in flight {:?}",
                self.worker,
                self.state.seq,
                other.map(|p| p.seq)
            )),
        }
    }

    /// Notes that a commit which waited was acknowledged: all earlier commits are on disk.
    pub fn forced(&mut self) {
        self.unforced.clear();
        self.scratch_unforced = None;
        self.vault_unforced = None;
    }

    /// Settles the worker's own table by its state in the database; `died`: the instance has died since the last time.
    ///
    /// # Errors
    /// The state is neither that before the last statement nor that after it.
    pub fn settle_scratch(&mut self, seen: Scratch, died: bool) -> Result<(), String> {
        let (pending, unforced) = (self.scratch_pending.take(), self.scratch_unforced.take());
        if seen == self.scratch || pending == Some(seen) || (died && unforced == Some(seen)) {
            if !died {
                self.scratch_unforced = unforced.or((seen != self.scratch).then_some(self.scratch));
            }
            self.scratch = seen;
            return Ok(());
        }
        Err(format!(
            "worker {}: its table is {seen:?}; acknowledged is {:?}, in flight {pending:?}",
            self.worker, self.scratch
        ))
    }

    /// Settles the worker's tablespace by its state in the database; `died`: the instance has died since the last time.
    ///
    /// # Errors
    /// The state is neither that before the last statement nor that after it.
    pub fn settle_vault(&mut self, seen: Vault, died: bool) -> Result<(), String> {
        let (pending, unforced) = (self.vault_pending.take(), self.vault_unforced.take());
        if seen == self.vault || pending == Some(seen) || (died && unforced == Some(seen)) {
            if !died {
                self.vault_unforced = unforced.or((seen != self.vault).then_some(self.vault));
            }
            self.vault = seen;
            return Ok(());
        }
        Err(format!(
            "worker {}: its tablespace is {seen:?}; acknowledged is {:?}, in flight {pending:?}",
            self.worker, self.vault
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_acknowledged_and_the_one_in_flight_are_accepted() {
        let mut mind = Mind::new(3);
        assert!(mind.settle(0).is_ok());
        assert!(mind.settle(1).is_err(), "no commit was sent");
        mind.pending = Some(State { seq: 1, ..State::default() });
        assert!(mind.settle(1).is_ok());
        assert_eq!((mind.state.seq, mind.kept, mind.lost), (1, 1, 0));
        assert!(mind.settle(0).is_err(), "it was acknowledged");
        mind.pending = Some(State { seq: 2, ..State::default() });
        assert!(mind.settle(1).is_ok());
        assert_eq!((mind.kept, mind.lost), (1, 1));
        assert!(mind.settle_scratch(Scratch { exists: true, rows: 0, indexed: false }, true).is_err());
    }

    #[test]
    fn a_commit_that_did_not_wait_may_be_lost_with_the_instance_only() {
        let mut mind = Mind::new(1);
        let commit = |mind: &mut Mind, waited| {
            mind.pending = Some(State { seq: mind.state.seq + 1, ..State::default() });
            mind.acknowledge(waited);
        };
        commit(&mut mind, true);
        commit(&mut mind, false);
        commit(&mut mind, false);
        let mut other = mind.clone();
        assert!(other.settle(2).is_err(), "the instance lives");
        for (seq, ok) in [(0, false), (1, true), (2, true), (3, true), (4, false)] {
            let mut other = mind.clone();
            other.instance_died = true;
            assert_eq!(other.settle(seq).is_ok(), ok, "{seq}");
            assert!(!ok || (other.state.seq == seq && other.unforced.is_empty()));
        }
        let mut other = mind.clone();
        other.settle(3).unwrap();
        other.instance_died = true;
        assert!(other.settle(1).is_ok(), "a session's death forces nothing");
        commit(&mut mind, true);
        mind.instance_died = true;
        assert!(mind.settle(3).is_err(), "a commit that waits covers those before it");
    }

    #[test]
    fn a_seed_gives_one_sequence() {
        let of = |seed, stream| {
            let mut r = Random::new(seed, stream);
            (0..8).map(|_| r.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
    }
}
