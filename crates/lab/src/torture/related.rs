//! Operations on related rows.

use super::mind::{Family, Relations, State};
use super::query::{n, numbers};
use super::session::{Session, Step, Stop};

/// Upper bound of the numbers of a worker's parents, links and merged rows.
const IDS: u64 = 40;

/// Errors of violated constraints.
const NO_PARENT: u32 = 2291;

const HAS_CHILDREN: u32 = 2292;

/// A unique number for a parent.
fn code(worker: i64, id: i64) -> i64 {
    worker * 1000 + id + 1
}

impl Session<'_> {
    /// One of the operations on these tables.
    pub(super) fn related(&mut self, draft: &mut State) -> Step<()> {
        let kin = &mut draft.relations;
        match self.r.below(100) {
            0..40 => self.family(kin),
            40..65 => self.link(kin),
            65..80 => self.merge(kin),
            80..90 => self.for_all(kin),
            _ => self.temporary(kin),
        }
    }

    pub(super) fn me(&self) -> i64 {
        self.mind.worker as i64
    }

    fn family(&mut self, kin: &mut Relations) -> Step<()> {
        let (worker, id) = (self.me(), self.r.below(IDS) as i64);
        let Some(family) = kin.families.get(&id).cloned() else {
            return if self.r.chance(85) { self.found_family(kin, id) } else { self.orphan(id) };
        };
        match self.r.below(5) {
            0 => {
                self.change(1, "delete from parents where worker = :1 and id = :2", &[n(worker), n(id)])?;
                kin.families.remove(&id);
                kin.notes.values_mut().filter(|about| **about == code(worker, id)).for_each(|about| *about = 0);
                Ok(())
            }
            1 if !family.children.is_empty() => {
                let sql = format!("update parents set id = id + 5000 where worker = {worker} and id = {id}");
                self.must_fail(&sql, HAS_CHILDREN)
            }
            2 => self.note(kin, code(worker, id)),
            3 => {
                let sql = "update children set v = v + 1 where worker = :1 and parent = :2";
                self.change(family.children.len() as u64, sql, &[n(worker), n(id)])?;
                kin.families.entry(id).or_default().children.values_mut().for_each(|v| *v += 1);
                Ok(())
            }
            _ => {
                let half = family.children.len() as i64 / 2;
                let gone = family.children.range(..=half).count() as u64;
                let sql = "delete from children where worker = :1 and parent = :2 and n <= :3";
                self.change(gone, sql, &[n(worker), n(id), n(half)])?;
                kin.families.entry(id).or_default().children.retain(|n, _| *n > half);
                Ok(())
            }
        }
    }

    /// A parent with children, which are inserted in bulk.
    fn found_family(&mut self, kin: &mut Relations, id: i64) -> Step<()> {
        let (worker, v, count) = (self.me(), self.r.below(1000) as i64, 1 + self.r.below(12) as i64);
        let sql = "insert into parents (worker, id, code, v) values (:1, :2, :3, :4)";
        self.change(1, sql, &[n(worker), n(id), n(code(worker, id)), n(v)])?;
        let sql = format!(
            "declare type list is table of number index by pls_integer; a list;
             begin
               for i in 1 .. {count} loop a(i) := i; end loop;
               forall i in 1 .. {count} insert into children values ({worker}, {id}, a(i), a(i) * 10 + {v});
               if sql%rowcount <> {count} then raise_application_error(-20001, 'rows: ' || sql%rowcount); end if;
             end;"
        );
        self.run(&sql, &[])?;
        kin.families.insert(id, Family { v, children: (1..=count).map(|n| (n, n * 10 + v)).collect() });
        Ok(())
    }

    fn orphan(&mut self, id: i64) -> Step<()> {
        let sql = format!("insert into children (worker, parent, n, v) values ({}, {id}, 1, 1)", self.me());
        self.must_fail(&sql, NO_PARENT)
    }

    fn note(&mut self, kin: &mut Relations, about: i64) -> Step<()> {
        let (worker, number) = (self.me(), self.r.below(IDS) as i64);
        if kin.notes.contains_key(&number) {
            self.change(1, "delete from notes where worker = :1 and n = :2", &[n(worker), n(number)])?;
            kin.notes.remove(&number);
            return Ok(());
        }
        let sql = "insert into notes (worker, n, code) values (:1, :2, :3)";
        self.change(1, sql, &[n(worker), n(number), n(about)])?;
        kin.notes.insert(number, about);
        Ok(())
    }

    /// Links that violate their constraints until the end of the operation.
    fn link(&mut self, kin: &mut Relations) -> Step<()> {
        let worker = self.me();
        let (a, b) = (self.r.below(IDS) as i64 + 1, self.r.below(IDS) as i64 + 1);
        match (kin.links.get(&a).copied(), kin.links.get(&b).copied()) {
            _ if a == b => Ok(()),
            (None, None) => {
                let sql = "insert into links (worker, id, next, place) values (:1, :2, :3, :4)";
                for (id, next) in [(a, b), (b, a)] {
                    self.change(1, sql, &[n(worker), n(id), n(next), n(id)])?;
                }
                let free = |kin: &Relations, place: i64| kin.links.values().all(|l| l.1 != place);
                for (id, next) in [(a, b), (b, a)] {
                    let mut place = id;
                    if !free(kin, place) {
                        // The place is taken: choose one beyond all numbers.
                        place = (1..).map(|n| 1000 + n).find(|p| free(kin, *p)).unwrap_or(0);
                        let sql = "update links set place = :1 where worker = :2 and id = :3";
                        self.change(1, sql, &[n(place), n(worker), n(id)])?;
                    }
                    kin.links.insert(id, (next, place));
                }
                Ok(())
            }
            (Some(one), Some(other)) => {
                let sql = "update links set place = :1 where worker = :2 and id = :3";
                self.change(1, sql, &[n(other.1), n(worker), n(a)])?;
                self.change(1, sql, &[n(one.1), n(worker), n(b)])?;
                kin.links.insert(a, (one.0, other.1));
                kin.links.insert(b, (other.0, one.1));
                Ok(())
            }
            (Some(_), None) => self.unlink(kin, a),
            (None, Some(_)) => self.unlink(kin, b),
        }
    }

    fn unlink(&mut self, kin: &mut Relations, id: i64) -> Step<()> {
        let worker = self.me();
        self.change(1, "delete from links where worker = :1 and id = :2", &[n(worker), n(id)])?;
        kin.links.remove(&id);
        let left = kin.links.values().filter(|l| l.0 == id).count() as u64;
        let sql = "update links set next = null where worker = :1 and next = :2";
        self.change(left, sql, &[n(worker), n(id)])?;
        kin.links.values_mut().filter(|l| l.0 == id).for_each(|l| l.0 = 0);
        if self.r.chance(30) && !self.dangling {
            self.run("set constraints all immediate", &[])?;
            self.run("set constraints all deferred", &[])?;
        }
        Ok(())
    }

    fn merge(&mut self, kin: &mut Relations) -> Step<()> {
        let worker = self.me();
        let (from, rows) = (self.r.below(2 * IDS) as i64, 1 + self.r.below(15) as i64);
        let sql = format!(
            "merge into merged m using (select {from} + level id, level v from dual connect by level <= {rows}) s
             on (m.worker = {worker} and m.id = s.id)
             when matched then update set v = m.v + s.v delete where mod(m.v, 7) = 0
             when not matched then insert (worker, id, v) values ({worker}, s.id, s.v)"
        );
        self.change(rows as u64, &sql, &[])?;
        for level in 1..=rows {
            match kin.merged.get(&(from + level)).map(|v| v + level) {
                Some(v) if v % 7 == 0 => drop(kin.merged.remove(&(from + level))),
                v => drop(kin.merged.insert(from + level, v.unwrap_or(level))),
            }
        }
        Ok(())
    }

    fn for_all(&mut self, kin: &mut Relations) -> Step<()> {
        let worker = self.me();
        let (from, rows) = (self.r.below(2 * IDS) as i64, 1 + self.r.below(15) as i64);
        let there: Vec<i64> = kin.merged.range(from + 1..=from + rows).map(|(id, _)| *id).collect();
        let sum: i64 = there.iter().map(|id| kin.merged[id] + id).sum();
        let sql = format!(
            "declare type list is table of number index by pls_integer; a list; b list; total number := 0;
             begin
               for i in 1 .. {rows} loop a(i) := {from} + i; end loop;
               forall i in 1 .. {rows} update merged set v = v + id where worker = {worker} and id = a(i)
                 returning v bulk collect into b;
               for i in 1 .. b.count loop total := total + b(i); end loop;
               if b.count <> {} or total <> {sum} then
                 raise_application_error(-20001, 'rows: ' || b.count || ', total: ' || total);
               end if;
             end;",
            there.len()
        );
        self.run(&sql, &[])?;
        there.iter().for_each(|id| *kin.merged.entry(*id).or_default() += id);
        Ok(())
    }

    /// Temporary rows of the transaction, and of the session.
    fn temporary(&mut self, kin: &mut Relations) -> Step<()> {
        let rows = 1 + self.r.below(60) as i64;
        let fill = |from: i64| format!("select {from} + level, level from dual connect by level <= {rows}");
        self.change(rows as u64, &format!("insert into passing {}", fill(kin.passing)), &[])?;
        kin.passing += rows;
        if self.r.chance(50) {
            self.change(rows as u64, &format!("insert into staying {}", fill(kin.staying)), &[])?;
            kin.staying += rows;
        }
        self.temporary_rows(kin)
    }

    /// Only the session's own rows are visible.
    pub(super) fn temporary_rows(&mut self, kin: &Relations) -> Step<()> {
        for (table, rows) in [("passing", kin.passing), ("staying", kin.staying)] {
            let sql = format!("select count(*), nvl(max(id), 0) from {table} where id > 0");
            let seen = numbers(&self.run(&sql, &[])?.rows);
            if seen != [[rows, rows]] {
                let text = format!("worker {}: {table} has {seen:?} instead of {rows} rows", self.mind.worker);
                return Err(Stop::Failure(text));
            }
        }
        Ok(())
    }
}
