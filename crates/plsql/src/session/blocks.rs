//! Anonymous blocks.

use crate::code::{Block, Compiled, HostTypes};
use crate::datum::Datum;
use crate::packages::Blocks;
use crate::state::Plsql;
use crate::world::World;
use exec::{Trust, UnfitCode};
use std::rc::Rc;
use types::{Ora, Result};

impl<C: 'static> Plsql<C> {
    /// Compiles an anonymous block. A text is compiled once: later calls return the same block until the dictionary
    /// changes.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn compile_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str) -> Result<Rc<Block>> {
        self.compile_block_with(w, text, &Rc::from([]))
    }

    /// Like [`Plsql::compile_block`], with binds of these types: with others it is another block (invariant 14).
    ///
    /// # Errors
    /// Those of [`Plsql::compile_block`].
    pub fn compile_block_with<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
    ) -> Result<Rc<Block>> {
        match self.known_block(w, text, types) {
            Some(block) => Ok(block),
            None => Ok(self.compile_new_block(w, text, types, false)?.0),
        }
    }

    /// A block that was compiled earlier from this text, for binds of these types and the same identity, in the present
    /// dictionary.
    pub fn known_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str, types: &HostTypes) -> Option<Rc<Block>> {
        self.validate(w);
        let unit = self.units.known_block(w, text, Some(types))?;
        Some(self.block_of(w, unit))
    }

    /// Compiles an anonymous block even if it is known. If it is `shared`, returns the image of its code for other
    /// sessions; empty without one.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn compile_new_block<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        shared: bool,
    ) -> Result<(Rc<Block>, Vec<u8>)> {
        self.validate(w);
        let (unit, image) = self.units.block(w, text, types, shared)?;
        Ok((self.block_of(w, unit), image))
    }

    /// The block of an image, if this session may use it; true: its validity in this dictionary is to be noted.
    ///
    /// # Errors
    /// The reason why the session may not use it.
    pub fn block_of_image<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        text: &str,
        types: &HostTypes,
        image: (&[u8], Trust),
    ) -> std::result::Result<(Rc<Block>, bool), UnfitCode> {
        self.validate(w);
        let (unit, is_news) = self.units.block_of_image(w, text, types, image)?;
        Ok((self.block_of(w, unit), is_news))
    }

    fn block_of<W: World<Cursor = C>>(&self, w: &W, unit: Rc<Compiled>) -> Rc<Block> {
        Rc::new(Block { unit, epoch: self.units.epoch(), identity: w.identity(), settings: w.settings() })
    }

    /// Whether a block was compiled from this text for the same identity, and the dictionary has not changed since.
    pub fn knows_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str) -> bool {
        self.validate(w);
        self.units.known_block(w, text, None).is_some()
    }

    /// Whether a block still has the meaning of its text: dictionary, identity and settings are unchanged.
    pub fn is_current<W: World<Cursor = C>>(&self, w: &mut W, block: &Block) -> bool {
        self.validate(w);
        self.units.epoch() == block.epoch && w.identity() == block.identity && w.settings() == block.settings
    }

    /// Runs a block. `binds` are in the order of [`Block::binds`], changed in place; a cursor variable is returned as a
    /// cursor. The caller makes the savepoint of the call and rolls back to it on failure.
    ///
    /// # Errors
    /// The exception that was not handled, with ORA-06512 lines.
    pub fn run_block<W: World<Cursor = C>>(&self, w: &mut W, block: &Rc<Block>, binds: &mut [Datum]) -> Result<()> {
        if binds.len() != block.unit.binds.len() {
            return Err(Ora::new(1008));
        }
        let given = binds.iter_mut().map(std::mem::take).collect();
        let (result, given) = self.on_machine(|m| {
            m.binds = given;
            let result = m.call(self, w, block.unit.clone(), block.unit.main, Vec::new());
            (result.map(|_| ()), std::mem::take(&mut m.binds))
        })?;
        for (place, value) in binds.iter_mut().zip(given) {
            *place = value;
        }
        self.close_left(w);
        result.map_err(|f| f.ora.without_position())
    }
}

impl<W: World> Blocks<W> for Plsql<W::Cursor> {
    fn names_of_block(&self, w: &mut W, text: &str) -> Result<Vec<String>> {
        match w.open_block(text)? {
            Some(block) => {
                w.close_block(false);
                Ok(block.binds().to_vec())
            }
            None => Ok(self.compile_block(w, text)?.binds().to_vec()),
        }
    }

    fn run_text(&self, w: &mut W, text: &str, binds: Vec<(String, Datum)>) -> Result<Vec<(String, Datum)>> {
        let opened = w.open_block(text)?;
        let has_cursor = opened.is_some();
        let block = opened.map_or_else(|| self.compile_block(w, text), Ok)?;
        let mut given = binds;
        let mut values = Vec::new();
        for name in block.binds() {
            let place = given.iter_mut().find(|(given, _)| given == name);
            values.push(place.map_or_else(Datum::default, |(_, value)| std::mem::take(value)));
        }
        if has_cursor {
            w.block_begins();
        }
        let result = self.run_block(w, &block, &mut values);
        if has_cursor {
            w.close_block(result.is_ok());
        }
        result?;
        Ok(block.binds().iter().cloned().zip(values).collect())
    }
}
