//! Reading and writing blocks, and the sizes of files.

use super::data_files::DataFiles;
use crate::error::io_error;
use block::BlockView;
use types::{Ora, Rdba, Result};

impl DataFiles {
    /// Reads one block and checks it.
    ///
    /// # Errors
    /// ORA-01578 for a damaged block, ORA-01115 when the device fails or the file ends before, ORA-01157 for an unknown
    /// file.
    pub fn read_block(&self, at: Rdba, block: &mut [u8]) -> Result<()> {
        self.read_blocks(at, block)?;
        self.check_block(at, block)
    }

    /// Reads neighbouring blocks at once, unchecked; each must then pass [`DataFiles::check_block`].
    ///
    /// # Errors
    /// ORA-01115 when the device fails or the file ends before, ORA-01157 for an unknown file.
    pub fn read_blocks(&self, at: Rdba, blocks: &mut [u8]) -> Result<()> {
        assert!(blocks.len().is_multiple_of(self.block_size), "whole blocks are read");
        let file = self.file(at.file())?;
        let (shown_file, shown_block) = self.shown(at);
        let failed = |e: os::OsError| {
            Ora::with(1115, &[&shown_file, &shown_block]).because(io_error(27072, "File I/O error", &e))
        };
        file.read_at(blocks, self.position(at)).map_err(failed)
    }

    /// Checks a block that was read.
    ///
    /// # Errors
    /// ORA-01578, with the file's name in ORA-01110 below it.
    pub fn check_block(&self, at: Rdba, block: &[u8]) -> Result<()> {
        let Err(_) = block::check(block, at) else { return Ok(()) };
        let name = self.file(at.file()).map(|f| f.path().display().to_string()).unwrap_or_default();
        let (file, block) = self.shown(at);
        Err(Ora::with(1578, &[&file, &block]).because(Ora::with(1110, &[&file, &name])))
    }

    /// Writes one sealed block. It is on disk only after [`DataFiles::sync`].
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_block(&self, at: Rdba, block: &[u8]) -> Result<()> {
        assert_eq!(block.len(), self.block_size, "one block is written");
        self.write_blocks(at, block)
    }

    /// Writes neighbouring sealed blocks at once, from `at` on. They are on disk only after [`DataFiles::sync`].
    ///
    /// # Errors
    /// ORA-01114 when the device fails (the system's words in ORA-27072 below it), ORA-01157 for an unknown file.
    pub fn write_blocks(&self, at: Rdba, blocks: &[u8]) -> Result<()> {
        assert!(blocks.len().is_multiple_of(self.block_size), "whole blocks are written");
        for (n, block) in blocks.chunks(self.block_size).enumerate() {
            assert_eq!(BlockView::of_bytes(block).rdba().0, at.0 + n as u32, "a block is written to its own place");
        }
        let file = self.file(at.file())?;
        file.write_at(blocks, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// ORA-01114 with the system's words.
    pub(crate) fn cannot_write(&self, at: Rdba, e: &os::OsError) -> Ora {
        let (file, block) = self.shown(at);
        Ora::with(1114, &[&file, &block]).because(io_error(27072, "File I/O error", e))
    }

    /// As [`DataFiles::write_blocks`], of blocks that lie apart in memory.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_block_list(&self, at: Rdba, blocks: &[&[u8]]) -> Result<()> {
        for (n, block) in blocks.iter().enumerate() {
            assert_eq!(block.len(), self.block_size, "whole blocks are written");
            assert_eq!(BlockView::of_bytes(block).rdba().0, at.0 + n as u32, "a block is written to its own place");
        }
        let file = self.file(at.file())?;
        file.write_list_at(blocks, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// As [`DataFiles::write_block_list`], and starts the transfer to the device at once, because a sync follows soon.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_blocks_soon(&self, at: Rdba, blocks: &[&[u8]]) -> Result<()> {
        self.write_block_list(at, blocks)?;
        if self.disk_sync() {
            let position = self.position(at);
            self.file(at.file())?.begin_sync(position, (blocks.len() * self.block_size) as u64);
        }
        Ok(())
    }

    /// Writes bytes to a temporary file that are not blocks of the cache.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_raw(&self, at: Rdba, bytes: &[u8]) -> Result<()> {
        assert!(self.is_temporary(at.file()), "only temporary files hold anything but blocks");
        let file = self.file(at.file())?;
        let (mut whole, mut bytes) = (Vec::new(), bytes);
        if file.bypasses_cache() && !bytes.len().is_multiple_of(self.block_size) {
            // The rest of the last block means nothing.
            whole.extend_from_slice(bytes);
            whole.resize(bytes.len().next_multiple_of(self.block_size), 0);
            bytes = &whole;
        }
        file.write_at(bytes, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// Writes the first sector of the header block of a file, which the device writes whole, and waits until it is on
    /// the device.
    pub(crate) fn write_start(&self, number: u32, header: &[u8]) -> Result<()> {
        let (file, at) = (self.file(number)?, Rdba::new(number, 0));
        file.write_at(&header[..file.unit_bytes()], self.position(at)).map_err(|e| self.cannot_write(at, &e))?;
        if self.disk_sync() { self.sync_file(number, &file) } else { Ok(()) }
    }

    /// Extends a file or part to at least `blocks` blocks of allocated space (R5). On return the new length is on disk,
    /// so redo that mentions it never precedes it.
    ///
    /// # Errors
    /// ORA-01237 when the file cannot grow (the system's words in ORA-27072 below it), ORA-01157 for an unknown file.
    pub fn extend(&self, number: u32, blocks: u32) -> Result<()> {
        let file = self.file(number)?;
        let end = self.begin_of(self.table.place(number).part()) + u64::from(blocks) * self.block_size as u64;
        self.lengthen(&file, end).map_err(|e| self.cannot_extend(number, &e))?;
        if self.disk_sync() { self.sync_file(number, &file) } else { Ok(()) }
    }

    /// The size of a file or part in blocks according to the operating system. All parts but the last are full.
    ///
    /// # Errors
    /// ORA-01157 for an unknown file.
    pub fn blocks(&self, number: u32) -> Result<u32> {
        let len = self.file(number)?.len_bytes().map_err(|_| Ora::with(1157, &[&self.shown_file(number)]))?;
        let beyond = len.saturating_sub(self.begin_of(self.table.place(number).part()));
        Ok((beyond / self.block_size as u64).min(self.blocks_most(number).into()) as u32)
    }

    /// The ranges of a file that were written: first block and number of blocks. Ranges that are only allocated are
    /// left out when the file system can tell them apart.
    ///
    /// # Errors
    /// ORA-01115 when the device fails, ORA-01157 for an unknown file.
    pub fn written(&self, number: u32) -> Result<Vec<(u32, u32)>> {
        let (file, size) = (self.file(number)?, self.block_size as u64);
        let shown = self.shown_file(number);
        let failed = |e: os::OsError| Ora::with(1115, &[&shown, &0]).because(io_error(27072, "File I/O error", &e));
        let part_begin = self.begin_of(self.table.place(number).part());
        let (mut stretches, mut from) = (Vec::new(), part_begin);
        let most = u64::from(self.blocks(number)?);
        while let Some((begin, end)) = file.next_written(from).map_err(failed)? {
            let first = begin.saturating_sub(part_begin).div_ceil(size);
            let last = (end.saturating_sub(part_begin) / size).min(most);
            if first < last {
                stretches.push((first as u32, (last - first) as u32));
            }
            if last >= most {
                break;
            }
            from = end;
        }
        Ok(stretches)
    }
}
