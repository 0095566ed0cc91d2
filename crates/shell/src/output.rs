//! The destination of text: the terminal, the spool file, or both.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

use crate::html::Html;

/// The shell's output.
pub struct Output {
    out: Box<dyn Write>,
    spool: Option<(String, BufWriter<File>)>,
    /// `SET TERMOUT OFF` in a script: only the spool file is written.
    pub muted: bool,
    /// The reader of the pipe is gone; nothing more is written.
    pub broken: bool,
    /// `SET MARKUP HTML ON`: lines are written as HTML.
    pub html: Option<Html>,
    /// The spool file is a page without its end.
    page_open: bool,
}

impl Output {
    /// Output to a writer.
    pub fn to(out: Box<dyn Write>) -> Output {
        Output { out, spool: None, muted: false, broken: false, html: None, page_open: false }
    }

    /// Writes text as it is.
    pub fn write(&mut self, text: &str) {
        if !self.muted {
            self.to_terminal(text);
        }
        self.to_spool(text);
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) {
        match &self.html {
            Some(html) => {
                let line = html.line(text);
                self.write(&line);
            }
            None => {
                self.write(text);
                self.write("\n");
            }
        }
    }

    /// Writes to the spool file alone, for text that the terminal shows because the user typed it.
    pub fn to_spool(&mut self, text: &str) {
        if let Some((_, file)) = &mut self.spool {
            // The close of the file reports a full disk.
            let _ = file.write_all(text.as_bytes());
        }
    }

    fn to_terminal(&mut self, text: &str) {
        if self.out.write_all(text.as_bytes()).is_err() {
            self.broken = true;
        }
    }

    /// Flushes the output.
    pub fn flush(&mut self) {
        if self.out.flush().is_err() {
            self.broken = true;
        }
    }

    /// Starts spooling to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn spool_to(&mut self, path: &str, append: bool) -> io::Result<()> {
        let file = OpenOptions::new().create(true).write(true).append(append).truncate(!append).open(path)?;
        self.spool = Some((path.to_string(), BufWriter::new(file)));
        if let Some(html) = self.html.as_ref().filter(|html| html.spool) {
            let page = html.page_begins();
            self.to_spool(&page);
            self.page_open = true;
        }
        Ok(())
    }

    /// Ends spooling; false when there was none.
    ///
    /// # Errors
    /// When buffered text could not be written.
    pub fn spool_off(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.page_open) {
            self.to_spool(Html::page_ends());
        }
        match self.spool.take() {
            None => Ok(false),
            Some((_, mut file)) => file.flush().map(|()| true),
        }
    }

    /// The spool file's name.
    pub fn spool_name(&self) -> Option<&str> {
        self.spool.as_ref().map(|(name, _)| name.as_str())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.out.flush();
        let _ = self.spool_off();
    }
}
