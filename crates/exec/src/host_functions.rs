//! The host's functions in the form that the planner needs.

use crate::ctx::ExecCtx;
use crate::sampling::sample;
use plan::{Functions, HostFunction, TextOwner};
use std::cell::RefCell;
use types::{DataType, Result};

/// The host's functions in the form that the planner needs.
pub(crate) struct HostFunctions<'a, 'b>(RefCell<&'a mut ExecCtx<'b>>);

impl<'a, 'b> HostFunctions<'a, 'b> {
    pub fn new(cx: &'a mut ExecCtx<'b>) -> Self {
        HostFunctions(RefCell::new(cx))
    }
}

impl plan::Sampler for HostFunctions<'_, '_> {
    fn sample(
        &self,
        table: &dictionary::TableDef,
        columns: &[usize],
        blocks_most: u64,
    ) -> Result<Option<plan::Sampled>> {
        sample(&mut self.0.borrow_mut(), table, columns, blocks_most)
    }
}

impl plan::ColumnUses for HostFunctions<'_, '_> {
    fn used(&self, table: types::ObjectId, column: u32, how: dictionary::ColumnUse) {
        self.0.borrow().host.note_column_use(table, column, how);
    }
}

impl Functions for HostFunctions<'_, '_> {
    fn function(
        &self,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let mut cx = self.0.borrow_mut();
        let host = cx.host;
        host.function(&mut cx, text_owner, path, args)
    }

    fn type_def(&self, id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        self.0.borrow().host.type_def(id)
    }

    fn check_cancel(&self) -> Result<()> {
        self.0.borrow_mut().check_cancel()
    }
}
