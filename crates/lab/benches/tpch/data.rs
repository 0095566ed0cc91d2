//! The rows: a generator from the crate registry writes each table once, one row a line, columns separated by `|`.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// Writes the tables of a scale to a folder, unless they are there.
pub fn make(folder: &Path, scale: f64) {
    let whole = folder.join("whole");
    if whole.is_file() {
        return;
    }
    std::fs::create_dir_all(folder).expect("a folder for the rows");
    write(folder, "region", RegionGenerator::new(scale, 1, 1).iter());
    write(folder, "nation", NationGenerator::new(scale, 1, 1).iter());
    write(folder, "supplier", SupplierGenerator::new(scale, 1, 1).iter());
    write(folder, "customer", CustomerGenerator::new(scale, 1, 1).iter());
    write(folder, "part", PartGenerator::new(scale, 1, 1).iter());
    write(folder, "partsupp", PartSuppGenerator::new(scale, 1, 1).iter());
    write(folder, "orders", OrderGenerator::new(scale, 1, 1).iter());
    write(folder, "lineitem", LineItemGenerator::new(scale, 1, 1).iter());
    // Written last: a folder that an interrupted run left incomplete is written again.
    File::create(whole).expect("a mark");
}

fn write(folder: &Path, table: &str, rows: impl Iterator<Item = impl Display>) {
    let mut out = BufWriter::new(File::create(file(folder, table)).expect("a file"));
    for row in rows {
        let line = row.to_string();
        // The generator ends each column with the separator; engines want it between columns.
        writeln!(out, "{}", line.strip_suffix('|').unwrap_or(&line)).expect("writes");
    }
    out.flush().expect("writes");
}

/// The file of a table.
pub fn file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.tbl"))
}

/// Lines of a table's file.
pub fn lines(folder: &Path, table: &str) -> impl Iterator<Item = String> {
    BufReader::new(File::open(file(folder, table)).expect("the rows")).lines().map(|line| line.expect("reads"))
}
