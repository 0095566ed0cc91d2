//! Change vectors that no program writes: they are refused, and a run of splices then changes nothing (H11).

use block::{BlockKind, Data, Image, data};
use heap::ops::{self, RunEnd, flags};
use types::{ObjectId, Rdba};

/// A block of rows with these bodies.
fn rows(all: &[&[u8]]) -> Image {
    let mut image = Image::new(8192);
    data::format(image.bytes_mut(), BlockKind::Heap, Rdba::new(5, 10), ObjectId(1), Rdba(0), 2);
    for (n, body) in all.iter().enumerate() {
        let mut cv = Vec::new();
        ops::encode_put(&mut cv, n as u16, flags::WHOLE, 0, 0, body);
        ops::apply(image.bytes_mut(), ops::PUT, &cv).unwrap();
    }
    image
}

fn lengths(image: &Image) -> Vec<usize> {
    (0..2).filter_map(|slot| Data::new(image.view()).row(slot)).map(|row| row.len).collect()
}

/// A run of splices: entry, offset, bytes replaced, new bytes.
fn run(splices: &[(u16, usize, usize, &[u8])]) -> Vec<u8> {
    let mut run = Vec::new();
    let mut end = RunEnd::begin(0, &mut run);
    for (slot, from, cut, bytes) in splices {
        end.splice(&mut run, (*slot, 0), *from, *cut, bytes);
    }
    run
}

fn refused(image: &mut Image, op: u8, data: &[u8]) {
    let before = image.bytes().to_vec();
    let done = ops::apply(image.bytes_mut(), op, data);
    assert!(done.is_err() && image.bytes() == before, "{op}: {done:?}, rows of {:?} bytes", lengths(image));
}

#[test]
fn a_row_that_comes_again_must_fit_the_row_before_the_vector() {
    let mut image = rows(&[&[b'a'; 100], &[b'b'; 100]]);
    // In two places, overlapping, out of order, beyond the row.
    refused(&mut image, ops::SPLICES, &run(&[(0, 0, 100, b""), (1, 0, 0, b"x"), (0, 50, 10, b"yy")]));
    refused(&mut image, ops::SPLICES, &run(&[(0, 0, 60, b""), (0, 50, 10, b"yy")]));
    refused(&mut image, ops::SPLICES, &run(&[(0, 50, 10, b"yy"), (0, 0, 5, b"")]));
    refused(&mut image, ops::SPLICES, &run(&[(0, 0, 1, b""), (0, 95, 6, b"")]));
    // A SPLICE_RUN has several splices of a row only where they keep its length.
    refused(&mut image, ops::SPLICE_RUN, &run(&[(0, 0, 90, b""), (0, 50, 0, b"yy")]));
    refused(&mut image, ops::SPLICE_RUN, &run(&[(0, 0, 1, b"z"), (0, 50, 0, b"yy")]));
    refused(&mut image, ops::SPLICES, &run(&[(0, 0, 0, &[b'c'; 7000]), (0, 50, 0, &[b'd'; 1000])]));
    assert_eq!(lengths(&image), [100, 100]);
    ops::apply(image.bytes_mut(), ops::SPLICES, &run(&[(0, 0, 90, b""), (0, 95, 0, b"yy")])).unwrap();
    assert_eq!(lengths(&image), [12, 100]);
}

#[test]
fn a_run_that_ends_within_a_row_is_refused() {
    let long = [b'q'; 300];
    let splices: [(u16, usize, usize, &[u8]); 3] = [(0, 3, 2, b"xyz"), (1, 0, 40, &long), (1, 60, 0, b"w")];
    let whole = run(&splices);
    let ends: Vec<usize> = (1..=3).map(|n| run(&splices[..n]).len()).collect();
    let mut image = rows(&[&[b'a'; 100], &[b'b'; 100]]);
    for cut in (2..whole.len()).filter(|cut| !ends.contains(cut)) {
        refused(&mut image, ops::SPLICES, &whole[..cut]);
        refused(&mut image, ops::SPLICE_RUN, &whole[..cut]);
    }
    let mut rows_put = Vec::new();
    let mut end = RunEnd::begin(0, &mut rows_put);
    end.put(&mut rows_put, (0, 0), &[b'c'; 100]);
    let first = rows_put.len();
    end.put(&mut rows_put, (1, 0), &[b'd'; 100]);
    for cut in (2..rows_put.len()).filter(|cut| *cut != first) {
        assert!(ops::apply(image.bytes_mut(), ops::PUT_RUN, &rows_put[..cut]).is_err(), "{cut} bytes");
    }
    let mut each = Vec::new();
    for n in 0..2_u8 {
        each.extend_from_slice(&[n, 0, 0, 0, 4, 0, flags::WHOLE, 0]);
        each.extend_from_slice(b"rows");
    }
    for cut in (1..each.len()).filter(|cut| *cut != 12) {
        assert!(ops::apply(image.bytes_mut(), ops::PUT_EACH, &each[..cut]).is_err(), "{cut} bytes");
    }
    for (op, bytes) in
        [(ops::REMOVE_RANGES, &[0, 0, 0][..]), (ops::REMOVE_MANY, &[0][..]), (ops::PUT_MANY, &[0, 1][..])]
    {
        assert!(ops::apply(image.bytes_mut(), op, bytes).is_err(), "{op}");
    }
    assert_eq!(lengths(&image).len(), 2);
}
