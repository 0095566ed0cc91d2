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
        file.group(vec![moments, texts]).unwrap();
    }
    let table = read_table(&file.finish().unwrap()).unwrap();
    let moments: Vec<Option<i64>> = (0..50).chain(100..150).map(Some).collect();
    assert_eq!(table.columns[0], ("m".to_owned(), Values::Int(moments)));
    let Values::Text(texts) = &table.columns[1].1 else { panic!("{:?}", table.columns[1]) };
    assert_eq!((texts[0].as_deref(), texts[51].as_deref()), (None, Some("101")));
}

#[test]
fn pages_that_do_not_fit_are_refused() {
    let columns = [Column { name: "a".into(), kind: Kind::Int }, Column { name: "b".into(), kind: Kind::Int }];
    let mut file = File::new(&columns, &[], "a test", Vec::new()).unwrap();
    let mut one = Page::default();
    one.int(1);
    assert!(file.group(vec![one.clone()]).is_err(), "a page is missing");
    assert!(file.group(vec![one, Page::default()]).is_err(), "pages of different lengths");
    let mut uneven = table(3);
    uneven.columns[0].1 = Values::Int(vec![Some(1)]);
    assert!(write_table(&uneven, "a test").is_err());
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
