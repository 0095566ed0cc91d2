//! Rows of OBJ$, and segments.

use super::state::{Target, Work, by};
use block::SegmentKind;
use dictionary::base::{Base, obj, objauth};
use dictionary::rows::{Row, blank, int, text};
use dictionary::{ObjectKind, TableDef};
use enqueue::{EnqueueType, LockMode};
use sql::ast::Ident;
use types::{Number, ObjectId, Ora, Rdba, Result, Value};

impl Work<'_> {
    /// Locks a temporary table before its definition, or that of an object belonging to it, changes: no session, not
    /// even this one, may have rows in it until the statement has ended. No effect on other tables.
    ///
    /// # Errors
    /// ORA-14452.
    pub fn require_unused(&mut self, table: &TableDef) -> Result<()> {
        if table.temporary.is_none() {
            return Ok(());
        }
        let used = self.host.has_temporary_rows(table.object)
            || !self.hold(EnqueueType::To, table.object.0.into(), LockMode::Exclusive)?;
        if used { Err(Ora::new(14452)) } else { Ok(()) }
    }

    /// Marks an object as temporary, for the views.
    pub fn mark_temporary(&mut self, object: ObjectId) -> Result<()> {
        self.change().update_by(Base::Obj, by(obj::OBJ, object), &mut |row| row[obj::FLAGS] = int(1)).map(drop)
    }

    /// Makes a segment in the statement's transaction; a failure of the statement or the death of the session removes
    /// it.
    pub fn make_segment(&mut self, tablespace: u32, kind: SegmentKind, object: ObjectId) -> Result<Rdba> {
        let parts = self.host.parts();
        let txns = parts.storage.heap.transactions();
        let made = txns.create_segment(parts.p, parts.txn, tablespace, kind, object);
        faults::point("ddl-segment-made");
        made
    }

    /// Marks a segment for the drop after the commit (L4).
    pub fn drop_segment_later(&mut self, header: Rdba) -> Result<()> {
        let going = match self.dropped_tablespace {
            Some(tablespace) => self.control()?.file(header.file()).is_some_and(|f| f.tablespace == tablespace),
            None => false,
        };
        if !header.is_none() && !going {
            let dropped = self.change().drop_later(header)?;
            self.dropped_segments.push(dropped);
        }
        Ok(())
    }

    /// The number of a tablespace. ORA-00959 for one that does not exist.
    pub fn tablespace_number(&self, name: &Ident) -> Result<u32> {
        self.image.tablespace_named(&name.name).ok_or_else(|| Ora::with(959, &[&name.name]).at(name.pos.0))
    }

    /// A new object number.
    pub fn new_object(&mut self) -> ObjectId {
        self.host.parts().dict.shared().next_object()
    }

    /// The present SCN as a number.
    fn scn(&mut self) -> Value {
        let scn = self.host.parts().storage.heap.transactions().current_scn();
        Value::Number(Number::from_i128(scn.0.into()))
    }

    /// Inserts an object. `data` is the number of its segment, if it has one.
    pub fn insert_object(
        &mut self,
        object: ObjectId,
        data: Option<ObjectId>,
        target: &Target,
        kind: ObjectKind,
    ) -> Result<()> {
        let mut row = blank(Base::Obj);
        row[obj::OBJ] = int(object.0);
        row[obj::DATAOBJ] = data.map_or(Value::Null, |data| int(data.0));
        row[obj::OWNER] = int(target.owner.0);
        row[obj::NAME] = text(target.name.as_str());
        row[obj::NAMESPACE] = int(kind.namespace());
        row[obj::TYPE] = int(kind as u8);
        for column in [obj::CTIME, obj::MTIME, obj::STIME] {
            row[column] = Value::Date(self.now);
        }
        row[obj::STATUS] = int(1);
        row[obj::FLAGS] = int(0);
        row[obj::SPARE1] = self.scn();
        self.touch(object);
        self.change().insert(Base::Obj, &row)
    }

    /// Changes the row of an object, and its LAST_DDL_TIME.
    pub fn update_object(&mut self, object: ObjectId, set: &mut dyn FnMut(&mut Row)) -> Result<()> {
        let (now, scn) = (self.now, self.scn());
        self.touch(object);
        self.change().update_by(Base::Obj, by(obj::OBJ, object), &mut |row| {
            row[obj::SPARE1] = scn.clone();
            row[obj::MTIME] = Value::Date(now);
            row[obj::STIME] = Value::Date(now);
            set(row);
        })?;
        Ok(())
    }

    /// Notes that an object was altered.
    pub fn altered(&mut self, object: ObjectId) -> Result<()> {
        self.update_object(object, &mut |_| {})
    }

    /// Deletes the object's row.
    pub fn delete_object(&mut self, object: ObjectId) -> Result<()> {
        self.touch(object);
        self.note_redefined(object);
        self.change().delete_by(Base::Obj, by(obj::OBJ, object))?;
        self.change().delete_by(Base::Objauth, by(objauth::OBJ, object))?;
        Ok(())
    }
}
