//! Written files are read back by a Parquet reader that shares no code with the writer.

use super::field::wrong;
use super::writer::HELD_ROWS;
use super::*;
use std::io;
use std::path::PathBuf;

/// Values of Thrift's compact protocol, in file order.
#[derive(Clone, Debug)]
enum Thrift {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(Vec<(i16, Thrift)>),
}

impl Thrift {
    fn at(&self, number: i16) -> Option<&Thrift> {
        match self {
            Thrift::Struct(fields) => fields.iter().find(|f| f.0 == number).map(|f| &f.1),
            _ => None,
        }
    }

    fn int(&self, number: i16) -> i64 {
        match self.at(number) {
            Some(Thrift::Int(n)) => *n,
            other => panic!("{number}: {other:?}"),
        }
    }

    fn text(&self, number: i16) -> String {
        match self.at(number) {
            Some(Thrift::Bytes(b)) => String::from_utf8(b.clone()).unwrap(),
            other => panic!("{number}: {other:?}"),
        }
    }

    fn list(&self, number: i16) -> &[Thrift] {
        match self.at(number) {
            Some(Thrift::List(all)) => all,
            other => panic!("{number}: {other:?}"),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn varint(&mut self) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            n |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return n;
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let n = self.varint();
        (n >> 1) as i64 ^ -((n & 1) as i64)
    }

    fn value(&mut self, kind: u8) -> Thrift {
        match kind {
            1 | 2 => Thrift::Int(i64::from(kind == 1)),
            3..=6 => Thrift::Int(self.signed()),
            8 => {
                let len = self.varint() as usize;
                self.at += len;
                Thrift::Bytes(self.bytes[self.at - len..self.at].to_vec())
            }
            9 => {
                let head = self.byte();
                let len = if head >> 4 == 15 { self.varint() as usize } else { usize::from(head >> 4) };
                Thrift::List((0..len).map(|_| self.value(head & 15)).collect())
            }
            12 => self.structure(),
            other => panic!("type {other}"),
        }
    }

    fn structure(&mut self) -> Thrift {
        let (mut fields, mut last) = (Vec::new(), 0i16);
        loop {
            let head = self.byte();
            if head == 0 {
                return Thrift::Struct(fields);
            }
            last = if head >> 4 == 0 { self.signed() as i16 } else { last + i16::from(head >> 4) };
            fields.push((last, self.value(head & 15)));
        }
    }
}

fn levels(bytes: &[u8], rows: usize) -> Vec<bool> {
    let mut r = Reader { bytes, at: 0 };
    let mut out = Vec::new();
    while r.at < bytes.len() {
        let head = r.varint();
        if head & 1 == 1 {
            for _ in 0..head >> 1 {
                let byte = r.byte();
                out.extend((0..8).map(|bit| byte >> bit & 1 == 1));
            }
        } else {
            let one = r.byte() == 1;
            out.extend(std::iter::repeat_n(one, (head >> 1) as usize));
        }
    }
    assert!(out.len() >= rows && out.len() < rows + 8, "{} levels of {rows}", out.len());
    out.truncate(rows);
    out
}

/// Names and columns of a file.
fn read(file: &[u8]) -> Vec<(String, Vec<Field>)> {
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let end = file.len() - 8;
    let len = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    let mut r = Reader { bytes: &file[..end], at: end - len };
    let footer = r.structure();
    assert_eq!(r.at, end);
    let schema = footer.list(2);
    assert_eq!(schema[0].int(5) as usize, schema.len() - 1);
    let mut columns: Vec<(String, Vec<Field>)> = schema[1..].iter().map(|e| (e.text(4), Vec::new())).collect();
    let mut rows = 0;
    for group in footer.list(4) {
        rows += group.int(3);
        assert_eq!(group.list(1).len(), columns.len());
        for ((chunk, (_, fields)), element) in group.list(1).iter().zip(&mut columns).zip(&schema[1..]) {
            let data = chunk.at(3).unwrap();
            let mut r = Reader { bytes: file, at: data.int(9) as usize };
            let header = r.structure();
            let end = r.at + header.int(3) as usize;
            assert_eq!((end as i64 - data.int(9), header.at(5).unwrap().int(1)), (data.int(7), group.int(3)));
            let len = u32::from_le_bytes(file[r.at..r.at + 4].try_into().unwrap()) as usize;
            let there = levels(&file[r.at + 4..r.at + 4 + len], group.int(3) as usize);
            r.at += 4 + len;
            let eight = |r: &mut Reader<'_>| -> [u8; 8] {
                r.at += 8;
                r.bytes[r.at - 8..r.at].try_into().unwrap()
            };
            for there in there {
                fields.push(match (there, data.int(1)) {
                    (false, _) => Field::Null,
                    (_, 2) => Field::Int(i64::from_le_bytes(eight(&mut r))),
                    (_, 5) => Field::Real(f64::from_le_bytes(eight(&mut r))),
                    (_, 6) => {
                        let len = u32::from_le_bytes(file[r.at..r.at + 4].try_into().unwrap()) as usize;
                        r.at += 4 + len;
                        let bytes = file[r.at - len..r.at].to_vec();
                        match element.at(10) {
                            Some(_) => Field::Text(String::from_utf8(bytes).unwrap()),
                            None => Field::Bytes(bytes),
                        }
                    }
                    other => panic!("{other:?}"),
                });
            }
            assert_eq!(r.at, end);
        }
    }
    assert_eq!(rows, footer.int(3));
    columns
}

fn columns() -> Vec<Column> {
    let named = [("n", Kind::Int), ("r", Kind::Real), ("t", Kind::Text), ("at", Kind::Moment), ("b", Kind::Bytes)];
    named.map(|(name, kind)| Column::new(name, kind)).to_vec()
}

fn written(form: Form, rows: &[Vec<Field>]) -> Vec<u8> {
    let mut w = Writer::new(form, columns(), Vec::new()).unwrap();
    rows.iter().for_each(|row| w.row(row.clone()).unwrap());
    let (bytes, n) = w.finish().unwrap();
    assert_eq!(n as usize, rows.len());
    bytes
}

fn samples() -> Vec<Vec<Field>> {
    let row = |n: i64| {
        vec![
            Field::Int(n * ((1 << 40) + 1)),
            if n % 3 == 0 { Field::Null } else { Field::Real(n as f64 / 3.0) },
            if n > 400 { Field::Null } else { Field::Text(format!("text, \"{n}\"\nä")) },
            Field::Int(1_795_000_000_123_456 + n),
            Field::Bytes(vec![0, n as u8, 255]),
        ]
    };
    (0..1000).map(row).collect()
}

#[test]
fn parquet_gives_back_what_was_put_in() {
    let rows = samples();
    let read_back = read(&written(Form::Parquet, &rows));
    assert_eq!(read_back.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(), ["n", "r", "t", "at", "b"]);
    for (at, (name, fields)) in read_back.iter().enumerate() {
        let wanted: Vec<Field> = rows.iter().map(|row| row[at].clone()).collect();
        assert_eq!(fields, &wanted, "{name}");
    }
    assert!(read(&written(Form::Parquet, &[])).iter().all(|c| c.1.is_empty()));
    // Several row groups.
    let many: Vec<Vec<Field>> = (0..HELD_ROWS as i64 + 5)
        .map(|n| vec![Field::Int(n), Field::Null, Field::Null, Field::Null, Field::Null])
        .collect();
    let read_back = read(&written(Form::Parquet, &many));
    assert_eq!(read_back[0].1.last(), Some(&Field::Int(HELD_ROWS as i64 + 4)));
    assert!(read_back[2].1.iter().all(|f| *f == Field::Null));
}

#[test]
fn fields_are_quoted_when_necessary_and_nulls_are_empty() {
    let rows =
        [vec![Field::Int(-5), Field::Real(0.1), Field::Text("a, \"b\"\n\u{1}".into()), Field::Int(1_500), Field::Null]];
    let csv = String::from_utf8(written(Form::Csv, &rows)).unwrap();
    assert_eq!(csv, "n,r,t,at,b\n-5,0.1,\"a, \"\"b\"\"\n\u{1}\",1970-01-01 00:00:00.001500,\n");
    let json = String::from_utf8(written(Form::Json, &rows)).unwrap();
    assert_eq!(
        json,
        "{\"n\":-5,\"r\":0.1,\"t\":\"a, \\\"b\\\"\\n\\u0001\",\"at\":\"1970-01-01T00:00:00.001500\",\"b\":null}\n"
    );
}

#[test]
fn values_of_another_kind_than_their_column_are_refused() {
    let mut w = Writer::new(Form::Parquet, columns(), Vec::new()).unwrap();
    assert!(w.row(vec![Field::Int(1)]).is_err());
    let row = vec![Field::Real(1.0), Field::Null, Field::Null, Field::Null, Field::Null];
    assert!(w.row(row).unwrap_err().to_string().contains("n: Real(1.0) is not of kind int64"));
    assert!(Field::count(u64::MAX).is_err());
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("latchwork-lake-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_complete_or_absent() {
    let folder = Folder::new("whole");
    let mut lake = Lake::open(&folder.0, Form::Csv).unwrap();
    let part = Part::of_day("run/../1", "i", "2026-11-22");
    let columns = [Column::new("n", Kind::Int)];
    let rows = |upto: i64| {
        move |take: &mut Take<'_>| -> io::Result<()> {
            for n in 0..upto {
                take(vec![Field::Int(n)])?;
            }
            if upto == 3 { Err(wrong("no more")) } else { Ok(()) }
        }
    };
    assert_eq!(lake.put("t", &part, "snaps-1-2", &columns, &mut rows(2)).unwrap(), 2);
    assert!(lake.put("t", &part, "snaps-3-3", &columns, &mut rows(3)).is_err());
    assert_eq!(lake.put("t", &part, "snaps-4-4", &columns, &mut rows(0)).unwrap(), 0);
    assert_eq!(lake.ranges("t", &part, "snaps").unwrap(), [(1, 2)]);
    assert_eq!(lake.written(), (1, 2));
    let day = folder.0.join("t/run=run-..-1/instance=i/day=2026-11-22");
    let names: Vec<_> = std::fs::read_dir(&day).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["snaps-1-2.csv"]);
    let schema = std::fs::read_to_string(folder.0.join("t/_schema.json")).unwrap();
    assert!(schema.contains("\"partitioned_by\": [\"run\", \"instance\", \"day\"]") && schema.contains("int64"));
    std::fs::write(folder.0.join("_latchwork_export.json"), "{\"version\": 99}").unwrap();
    assert!(Lake::open(&folder.0, Form::Csv).is_err(), "a folder of another version is left alone");
}
