//! SQL's view of the session: names, functions, fixed tables, the clock.

use crate::context;
use crate::core::Core;
use crate::identity::Identity;
use crate::world::World;
use dictionary::{Catalog, FixedId, ObjectKind, ObjectPrivilege, SequenceDef, UserId};
use exec::{ExecCtx, FixedTable, HostFunction, TextOwner};
use std::rc::Rc;
use types::{DataType, Number, ObjectId, Ora, Result, Timestamp, Value};

impl Core {
    /// ORA-01031 unless the owner of a view may let other users call the function through the view: EXECUTE with the
    /// grant option, as for tables of other owners, or EXECUTE granted to PUBLIC.
    fn require_given(&self, owner: UserId, f: &HostFunction) -> Result<()> {
        let names = self.names()?;
        let image = names.image();
        let Some(of) = image.user_named(&f.owner).map(|user| user.id) else { return image.checked() };
        if of == owner || owner == UserId::SYS {
            return Ok(());
        }
        let unit = f.package.as_ref().unwrap_or(&f.name);
        let found = image.object_named(of, ObjectKind::Procedure.namespace(), unit);
        let given = found.is_some_and(|unit| names.may_give(owner, unit.object, of, ObjectPrivilege::Execute));
        if given { Ok(()) } else { Err(Ora::new(1031)) }
    }

    fn function_named(&self, cx: &mut ExecCtx<'_>, path: &[String], args: &[DataType]) -> Result<Option<HostFunction>> {
        let mut world = World { cx: cx.reborrow(), core: self };
        let Some(f) = self.plsql.function(&mut world, path, args)? else { return Ok(None) };
        // A result cannot be cached if the tables of a function in it are unknown, so such a function is not treated as
        // deterministic. The tables of a function of invoker's rights are unknown before its call.
        let reads = if f.deterministic && !f.invokers { self.plsql.reads(&mut world, &f) } else { None };
        let (deterministic, dependencies) = (reads.is_some(), reads.unwrap_or_default());
        Ok(Some(HostFunction { deterministic, dependencies, ..HostFunction::from(f) }))
    }
}

impl Core {
    /// Runs `f`, which runs a function, with the names and privileges of the function's caller.
    fn as_caller<R>(
        &self,
        cx: &mut ExecCtx<'_>,
        function: &HostFunction,
        f: impl FnOnce(&mut World<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some((owner, name)) = &function.caller else {
            let mut world = World { cx: cx.reborrow(), core: self };
            return self.outside_ddl(|| f(&mut world));
        };
        self.enter(cx.session, Identity::definer(*owner), name);
        let mut world = World { cx: cx.reborrow(), core: self };
        let result = self.outside_ddl(|| f(&mut world));
        self.leave(cx.session);
        result
    }
}

impl exec::Host for Core {
    fn epoch(&self) -> u64 {
        self.instance.storage().dictionary.epoch()
    }

    fn note_changes(&self, table: ObjectId, changes: dictionary::monitoring::Changes) {
        self.instance.storage().dictionary.note_changes(table, changes);
    }

    fn log_error(&self, cx: &mut ExecCtx<'_>, text: &str, values: &[Value]) -> Result<()> {
        let mut world = World { cx: cx.reborrow(), core: self };
        plsql::World::autonomous_begin(&mut world)?;
        let done = crate::recursive::run_as_caller(&mut world.cx, text, values)
            .and_then(|()| self.commit(&mut world.cx))
            .map_err(|e| e.without_position());
        let ended = match &done {
            Ok(()) => Ok(()),
            Err(_) => self.rollback(world.cx.session),
        };
        let ended = ended.and(plsql::World::autonomous_end(&mut world));
        done.and(ended)
    }

    fn note_column_use(&self, table: ObjectId, column: u32, how: dictionary::ColumnUse) {
        self.instance.storage().dictionary.note_column_use(table, column, how);
    }

    fn make_partition(&self, cx: &mut ExecCtx<'_>, table: ObjectId, key: &[u8]) -> Result<()> {
        crate::ddl_call::make_partition(self, cx, table, key).map_err(|e| self.name_segment(e))
    }

    fn catalog(&self) -> Result<Rc<dyn Catalog>> {
        let names = self.names()?;
        match &*self.ahead.borrow() {
            Some(table) => Ok(Rc::new(names.ahead(Rc::clone(table)))),
            None => Ok(names),
        }
    }

    fn rights(&self) -> exec::Rights {
        let who = self.who_is(self.identity());
        let all_powerful = who.sysdba || who.user == UserId::SYS;
        let roles = if all_powerful { Vec::new() } else { who.roles.to_vec() };
        exec::Rights { user: who.user.0, schema: who.schema.0, all_powerful, roles }
    }

    fn may_share(&self) -> bool {
        self.ahead.borrow().is_none()
    }

    fn fixed_table(&self, id: FixedId) -> &dyn FixedTable {
        let fixed = self.fixed.as_ref().expect("the catalog names fixed tables only where there are some");
        fixed.table(id)
    }

    fn function(
        &self,
        cx: &mut ExecCtx<'_>,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let of_table = || {
            let owner = self.ahead.borrow().as_ref()?.owner_id;
            let text_owner = TextOwner { owner, bequeaths: false, view: false, catalog: false };
            (self.identity() == Identity::definer(owner)).then_some(text_owner)
        };
        // Queries of a DDL statement over the table that it defines consist of the table's own expressions.
        let Some(text_owner) = text_owner.or_else(of_table) else {
            return self.outside_ddl(|| self.function_named(cx, path, args));
        };
        let name: Rc<str> = self.names()?.image().user_name(text_owner.owner).into();
        self.enter(cx.session, Identity::definer(text_owner.owner), &name);
        let found = self.outside_ddl(|| self.function_named(cx, path, args));
        self.leave(cx.session);
        let Some(f) = found? else { return Ok(None) };
        if text_owner.view && text_owner.owner != self.identity().user {
            self.require_given(text_owner.owner, &f)?;
        }
        if f.invokers && text_owner.bequeaths {
            self.require_inheritance(text_owner.owner)?;
        }
        if !f.invokers || text_owner.bequeaths {
            return Ok(Some(f));
        }
        // A function of invoker's rights in a view has the rights of the view's owner. In an expression of a table it
        // has the rights of the function's own owner, because other users who may alter or index the table may have put
        // it there.
        let is_foreign = !text_owner.view && f.owner != *name && f.owner != "SYS";
        let names = self.names()?;
        let caller = match names.image().user_named(&f.owner) {
            Some(of) if is_foreign => (of.id, of.name.as_str().into()),
            _ => (text_owner.owner, name),
        };
        names.image().checked()?;
        Ok(Some(HostFunction { caller: Some(caller), ..f }))
    }

    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value> {
        if function.handle == exec::NESTED_CURSOR {
            return self.open_nested(cx, function, args);
        }
        self.as_caller(cx, function, |world| self.plsql.call(world, function.handle, args, &function.omitted))
    }

    fn open_rows(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<u64> {
        self.as_caller(cx, function, |world| self.plsql.open_rows(world, function.handle, args, &function.omitted))
    }

    fn fetch_row(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, rows: u64, out: &mut Value) -> Result<bool> {
        self.as_caller(cx, function, |world| self.plsql.fetch_row(world, rows, out))
    }

    fn close_rows(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, rows: u64) {
        // The statement has its result: an error of the handler of NO_DATA_NEEDED has nowhere to go.
        let _ = self.as_caller(cx, function, |world| self.plsql.close_rows(world, rows));
    }

    fn fire(
        &self,
        cx: &mut ExecCtx<'_>,
        trigger: &exec::Trigger,
        firing: &exec::Firing,
        row: Option<&mut exec::TriggerRow<'_>>,
    ) -> Result<()> {
        let mut world = World { cx: cx.reborrow(), core: self };
        self.outside_ddl(|| self.plsql.fire(&mut world, trigger, firing, row))
    }

    fn name_segment(&self, e: Ora) -> Ora {
        e.name_segment(|data| self.names().ok()?.image().segment_name(ObjectId(data)))
    }

    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value> {
        context::sys_context(self, cx.session, namespace, parameter)
    }

    fn next_value(&self, cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number> {
        if sequence.flags & dictionary::seq_flags::SESSION == 0 {
            return self.dict.borrow().next_value(cx.p, sequence);
        }
        let next = cx.session.own_numbers.entry(sequence.object).or_insert(sequence.start);
        dictionary::Dictionary::next_of_session(cx.p, sequence, next)
    }

    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.plsql.type_def(id)
    }

    fn now(&self) -> Timestamp {
        self.local_time()
    }

    fn sys_guid(&self) -> [u8; 16] {
        self.new_guid()
    }

    fn scn_of_time(&self, time: &Timestamp) -> Result<types::Scn> {
        Core::scn_of_time(self, time)
    }

    fn time_of_scn(&self, scn: types::Scn) -> Result<Timestamp> {
        Core::time_of_scn(self, scn)
    }

    fn check_definition(&self, table: &dictionary::TableDef, scn: types::Scn) -> Result<()> {
        let dictionary = self.instance.storage().dictionary;
        // Every change of a definition moves the epoch.
        let asked = Some((table.object, scn, dictionary.epoch()));
        let mut known = self.unchanged.get();
        if known.contains(&asked) {
            return Ok(());
        }
        if !dictionary.is_unchanged_since(&self.p, table.object, scn)? {
            return Err(Ora::new(1466));
        }
        known.rotate_right(1);
        known[0] = asked;
        self.unchanged.set(known);
        Ok(())
    }
}
