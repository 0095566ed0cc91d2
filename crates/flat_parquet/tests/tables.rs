//! Tables are read back as they were written, and damage is an error.

use flat_parquet::{Column, File, Kind, Page, Table, Values, read_table, write_table};

fn table(rows: usize) -> Table {
    let ints = (0..rows).map(|n| (n % 3 > 0).then_some((n as i64) << 40)).collect();
    let reals = (0..rows).map(|n| (n < rows / 2).then_some(n as f64 / 7.0)).collect();
    let texts = (0..rows).map(|n| Some(format!("text {n}"))).collect();
    let columns = vec![
        ("i".to_owned(), Values::Int(ints)),
        ("r".to_owned(), Values::Real(reals)),
        ("t".to_owned(), Values::Text(texts)),
    ];
    Table { columns, metadata: vec![("key".into(), "value".into())] }
}

#[test]
fn tables_are_read_back_with_their_nulls() {
    for rows in [0, 1, 7, 8, 9, 1_000] {
        assert_eq!(read_table(&write_table(&table(rows), "a test").unwrap()).unwrap(), table(rows));
    }
}

#[test]
fn row_groups_follow_each_other() {
    let columns = [Column { name: "m".into(), kind: Kind::Moment }, Column { name: "t".into(), kind: Kind::Text }];
    let mut file = File::new(&columns, &[], "a test", Vec::new()).unwrap();
    for from in [0, 100] {
        let (mut moments, mut texts) = (Page::default(), Page::default());
        for n in from..from + 50 {
            moments.int(n);
            if n % 2 == 0 { texts.null() } else { texts.bytes_of(n.to_string().as_bytes()).unwrap() }
        }
        file.group([Ok(moments), Ok(texts)]).unwrap();
    }
    let table = read_table(&file.finish().unwrap()).unwrap();
    let moments: Vec<Option<i64>> = (0..50).chain(100..150).map(Some).collect();
    assert_eq!(table.columns[0], ("m".to_owned(), Values::Int(moments)));
    let Values::Text(texts) = &table.columns[1].1 else { panic!("{:?}", table.columns[1]) };
    assert_eq!((texts[0].as_deref(), texts[51].as_deref()), (None, Some("101")));
}

#[test]
fn pages_that_do_not_fit_are_refused_and_their_file_has_no_end() {
    let columns = [Column { name: "a".into(), kind: Kind::Int }, Column { name: "b".into(), kind: Kind::Int }];
    let mut one = Page::default();
    one.int(1);
    let fails = |pages: Vec<std::io::Result<Page>>, why: &str| {
        let mut file = File::new(&columns, &[], "a test", Vec::new()).unwrap();
        assert!(file.group(pages).is_err(), "{why}");
        assert!(file.finish().is_err(), "{why}");
    };
    fails(vec![Ok(one.clone())], "a page is missing");
    fails(vec![Ok(one.clone()), Ok(Page::default())], "pages of different lengths");
    fails(vec![Ok(one.clone()), Ok(one.clone()), Ok(one.clone())], "a page too many");
    fails(vec![Ok(one.clone()), Err(std::io::Error::other("no page"))], "the source of the pages fails");
    let mut uneven = table(3);
    uneven.columns[0].1 = Values::Int(vec![Some(1)]);
    assert!(write_table(&uneven, "a test").is_err());
}

/// The sink sees a column before the next one is made.
#[test]
fn column_chunks_are_written_one_at_a_time() {
    use std::cell::Cell;
    struct Counting<'a>(&'a Cell<usize>);
    impl std::io::Write for Counting<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.set(self.0.get() + bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let written = Cell::new(0);
    let columns = ["a", "b", "c"].map(|name| Column { name: name.into(), kind: Kind::Int });
    let mut file = File::new(&columns, &[], "a test", Counting(&written)).unwrap();
    let mut seen = Vec::new();
    let page = |_| {
        seen.push(written.get());
        let mut page = Page::default();
        (0..1_000).for_each(|n| page.int(n));
        Ok(page)
    };
    file.group((0..3).map(page)).unwrap();
    assert!(seen[1] > seen[0] + 8_000 && seen[2] > seen[1] + 8_000, "{seen:?}");
}

/// A file with the column `t` of texts: so many rows, all of them the one text of a dictionary, as a single run.
fn one_text_in_every_row(text: usize, rows: u64) -> Vec<u8> {
    fn varint(mut n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while n > 0x7f {
            out.push(n as u8 & 0x7f | 0x80);
            n >>= 7;
        }
        out.push(n as u8);
        out
    }
    // Fields of Thrift's compact protocol: the step from the field before with the type, then the value.
    let int = |step: u8, n: u64| [vec![step << 4 | 6], varint(n << 1)].concat();
    let name = |step: u8, text: &str| [vec![step << 4 | 8, text.len() as u8], text.as_bytes().to_vec()].concat();
    let inner = |step: u8, fields: Vec<Vec<u8>>| [vec![step << 4 | 12], fields.concat(), vec![0]].concat();
    let list = |step: u8, of: Vec<Vec<u8>>| {
        let elements: Vec<u8> = of.iter().flat_map(|fields| [fields.as_slice(), &[0]].concat()).collect();
        [vec![step << 4 | 9, (of.len() as u8) << 4 | 12], elements].concat()
    };
    let dictionary = [&(text as u32).to_le_bytes()[..], &vec![b'x'; text]].concat();
    let len = dictionary.len() as u64;
    let mut file = b"PAR1".to_vec();
    file.extend([int(1, 2), int(1, len), int(1, len), inner(4, vec![int(1, 1), int(1, 0)]), vec![0]].concat());
    file.extend(dictionary);
    // Numbers of no bit, in one run.
    let page = [vec![0], varint(rows << 1)].concat();
    let len = page.len() as u64;
    let data = vec![int(1, rows), int(1, 8), int(1, 3), int(1, 3)];
    file.extend([int(1, 0), int(1, len), int(1, len), inner(2, data), vec![0]].concat());
    file.extend(page);
    let column = inner(3, vec![int(1, 6), int(3, 0), int(5, 4)]);
    let group = [list(1, vec![column]), int(2, rows)].concat();
    let schema = vec![[name(4, "row"), int(1, 1)].concat(), [int(1, 6), int(2, 0), name(1, "t")].concat()];
    let meta = [int(1, 1), list(1, schema), int(1, rows), list(1, vec![group]), vec![0]].concat();
    file.extend(&meta);
    file.extend((meta.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

#[test]
fn a_file_cannot_ask_for_more_memory_than_its_length_is_worth() {
    let table = read_table(&one_text_in_every_row(40, 100)).unwrap();
    assert_eq!(table.columns[0].1, Values::Text(vec![Some("x".repeat(40)); 100]));
    // A few kilobytes that stand for a hundred megabytes.
    let error = read_table(&one_text_in_every_row(4_000, 30_000)).unwrap_err().to_string();
    assert!(error.contains("column 't'") && error.contains("bytes of memory for each byte of the file"), "{error}");
}

#[test]
fn no_damage_of_a_byte_and_no_cut_makes_the_reader_panic() {
    let good = write_table(&table(20), "a test").unwrap();
    for len in 0..good.len() {
        assert!(read_table(&good[..len]).is_err(), "cut at {len}");
    }
    let mut refused = 0;
    for at in 0..good.len() {
        for by in [1, 0x7f, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= by;
            refused += u32::from(read_table(&bad).is_err());
        }
    }
    assert!(refused > good.len() as u32 / 4, "{refused} of {}", 4 * good.len());
}
