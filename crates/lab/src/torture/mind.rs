//! What a worker knows of its own data: the journal outside the instance.
//!
//! A worker owns rows that nobody else changes, so it knows to the last column what the database must have. Every
//! transaction also sets the worker's row of `progress` to the number of the transaction. After a death that row says
//! whether the transaction in flight is there; everything else must agree with it. A transaction whose commit was not
//! sent must not be there; one whose commit was acknowledged must.

use std::collections::{BTreeMap, BTreeSet};

use super::relations::Relations;
use super::vault::Vault;

/// Accounts that all workers share.
pub const ACCOUNTS: usize = 16;

/// What every account has at first.
pub const OPENING: i64 = 1000;

/// A small generator whose sequence follows from its seed.
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
    /// The column that spreads rows over their index at random.
    pub fn spread(self, id: i64) -> i64 {
        (id * 7919 + self.v * 104_729) % 100_003
    }

    /// The text in one of the columns: told by its row and length.
    pub fn text(self, id: i64, which: usize) -> String {
        let letter = b'a' + ((id as usize + self.texts[which] + which) % 26) as u8;
        char::from(letter).to_string().repeat(self.texts[which])
    }
}

/// What the database has of one worker as of one of its commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Transactions so far.
    pub seq: i64,
    /// What the worker's transfers did to each account.
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

/// A worker's own table, which only DDL and single statements change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    pub exists: bool,
    pub rows: i64,
    pub indexed: bool,
}

/// What a worker knows.
#[derive(Clone, Debug, Default)]
pub struct Mind {
    pub worker: usize,
    /// The last transaction that was acknowledged.
    pub state: State,
    /// What the database may fall back to when the instance dies: the states before commits that did not wait, oldest
    /// first.
    pub unforced: Vec<State>,
    /// The instance died since the last settling.
    pub instance_died: bool,
    /// The one whose commit was sent and not answered.
    pub pending: Option<State>,
    pub scratch: Scratch,
    /// What `scratch` becomes by the statement that was sent and not answered.
    pub scratch_pending: Option<Scratch>,
    /// What `scratch` may fall back to when the instance dies: its session died before it could wait.
    pub scratch_unforced: Option<Scratch>,
    /// The worker's own tablespace, with the same three states.
    pub vault: Vault,
    pub vault_pending: Option<Vault>,
    pub vault_unforced: Option<Vault>,
    /// The states of this life, by transaction.
    pub history: BTreeMap<i64, State>,
    /// The server process that died under it, until it is known to be cleaned up.
    pub lost_process: Option<u32>,
    pub commits: u64,
    /// Commits in flight at a death that turned out to be there, and not to be there.
    pub kept: u64,
    pub lost: u64,
    /// Commits that did not wait and were lost with the instance, as they may be.
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

    /// The commit in flight was acknowledged; without `waited` it may still be lost with the instance.
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

    /// Takes what the database says of the transaction in flight.
    ///
    /// # Errors
    /// It says neither of the two things that can be.
    pub fn settle(&mut self, seq: i64) -> Result<(), String> {
        let pending = self.pending.take();
        let (died, mut unforced) = (std::mem::take(&mut self.instance_died), std::mem::take(&mut self.unforced));
        if !died {
            // The session alone has gone: what did not wait may still be on its way to the disk.
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
                    // It can be seen, but its session did not live to wait for the disk.
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

    /// A commit was acknowledged that waited: all before it is on disk.
    pub fn forced(&mut self) {
        self.unforced.clear();
        self.scratch_unforced = None;
        self.vault_unforced = None;
    }

    /// Takes what the database says of the worker's own table; `died`: the instance did since the last time.
    ///
    /// # Errors
    /// It is neither as before the last statement nor as after it.
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
