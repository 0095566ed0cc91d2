//! Input from files: blocks, redo, and the texts of the control file and of a backup's manifest.

use crate::Target;
use block::{BlockKind, BlockView};
use datafile::ControlFile;
use recovery::{MANIFEST, Manifest};
use redo::{ApplyTable, ChangeVector, Layer, LogId, Place, RECORD_HEAD, Rba, RecordReader, RecordWriter};
use std::path::PathBuf;
use types::{ObjectId, Rdba, Scn};

/// A block with a right checksum and any content.
pub const BLOCK: Target = Target { name: "block", run: block, seeds: block_seeds, is_text: false };

/// Redo records, first as they are, then with corrected checksums.
pub const REDO: Target = Target { name: "redo", run: redo, seeds: redo_seeds, is_text: false };

/// Change vectors applied to blocks as in recovery, without its protection against panics: a vector that does not fit
/// is an error.
pub const APPLY: Target = Target { name: "redo_apply", run: apply, seeds: apply_seeds, is_text: false };

/// Text files: the control file, and the manifest of a backup.
pub const TEXTS: Target = Target { name: "text_files", run: texts, seeds: text_seeds, is_text: true };

const BLOCK_BYTES: usize = 2048;
const AT: Rdba = Rdba(0x0040_0007);

fn block(bytes: &[u8]) {
    let mut image = vec![0; BLOCK_BYTES];
    let n = bytes.len().min(BLOCK_BYTES);
    image[..n].copy_from_slice(&bytes[..n]);
    let _ = block::check(&image, AT);
    block::seal(&mut image);
    let _ = block::check(&image, AT);
    let _ = block::assert_invariants(&image);
    let view = BlockView::of_bytes(&image);
    let _ = block::dump(&view);
    let data = block::Data::new(view);
    let rows = data.rows().count();
    assert!(rows <= BLOCK_BYTES, "{rows} rows in a block of {BLOCK_BYTES} bytes");
    for (_, row) in data.rows() {
        let mut body = [0; 64];
        let _ = view.copy_into(row.at, &mut body);
    }
    for n in 0..data.itls() {
        let _ = data.itl(n as u8);
    }
    let undo = block::undo::UndoView::new(view);
    for rec in 0..undo.records() {
        if let Some((at, len)) = undo.record(rec) {
            assert!(at + len <= BLOCK_BYTES, "record {rec} reaches from {at} over {len} bytes");
        }
    }
}

fn block_seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for code in 0..=u8::MAX {
        let Some(kind) = BlockKind::from_code(code) else { continue };
        let mut image = vec![0; BLOCK_BYTES];
        block::format(&mut image, kind, AT, ObjectId(77), AT);
        if kind.has_rows() {
            block::DataMut::new(&mut image).insert(0, 0, 0, 0, b"a row of some bytes").ok();
        }
        block::seal(&mut image);
        all.push(image);
    }
    all
}

fn redo(bytes: &[u8]) {
    let log = LogId { incarnation: 1, sequence: 2 };
    let read = |record: RecordReader<'_>| {
        let vectors = record.vectors().count();
        assert!(vectors <= record.len, "{vectors} vectors in {} bytes", record.len);
        let inside: usize = record.vectors().map(|v| v.data.len()).sum();
        assert!(inside <= record.len, "vectors of {inside} bytes in a record of {}", record.len);
    };
    if let Ok(record) = RecordReader::new(bytes, Rba(512), log) {
        read(record);
    }
    if bytes.len() >= RECORD_HEAD
        && let Ok(record) = RecordReader::of_checked(bytes)
    {
        read(record);
    }
}

fn redo_seeds() -> Vec<Vec<u8>> {
    let place = Place::new(Rba(512), LogId { incarnation: 1, sequence: 2 });
    let mut all = Vec::new();
    for vectors in [0, 1, 3] {
        let mut writer = RecordWriter::new();
        for n in 0..vectors {
            let data = vec![n as u8; 10 * n];
            writer.push(&ChangeVector { rdba: AT, layer: Layer::Heap, op: n as u8, data: &data });
        }
        all.push(writer.finish(&place, Scn(9), 1_700_000_000).to_vec());
    }
    all.push(redo::void_record(64, &place, Scn(9), 1_700_000_000));
    all
}

/// The kinds of blocks that vectors are applied to; some of the blocks have rows.
fn blocks() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for code in 0..=u8::MAX {
        let Some(kind) = BlockKind::from_code(code) else { continue };
        let mut image = vec![0; BLOCK_BYTES];
        if !kind.has_rows() {
            block::format(&mut image, kind, AT, ObjectId(77), AT);
            all.push(image);
            continue;
        }
        block::data::format(&mut image, kind, AT, ObjectId(77), AT, 2);
        all.push(image.clone());
        let mut data = block::DataMut::new(&mut image);
        for slot in 0..20 {
            data.insert(slot, 0, 0, 3, b"a row of some bytes, and of some more").expect("room");
        }
        all.push(image);
    }
    all
}

/// Whether blocks of this kind have vectors of that layer.
fn is_fitting(layer: Layer, image: &[u8]) -> bool {
    let Some(kind) = BlockView::of_bytes(image).kind() else { return layer == Layer::Block };
    match layer {
        Layer::Block => true,
        Layer::Space => !kind.has_rows(),
        Layer::Undo => matches!(kind, BlockKind::Undo | BlockKind::UndoHeader | BlockKind::Unformatted),
        Layer::Transaction => kind.has_rows(),
        Layer::Heap => kind == BlockKind::Heap,
        Layer::Cluster => kind == BlockKind::Cluster,
        Layer::Index => matches!(kind, BlockKind::IndexBranch | BlockKind::IndexLeaf),
        Layer::Test => false,
    }
}

/// The first byte selects a block, the others are vectors: layer, operation, length, data. A refused vector ends the
/// input: recovery then treats the block as damaged, too.
fn apply(bytes: &[u8]) {
    thread_local! { static BEGUN: (ApplyTable, Vec<Vec<u8>>) = (instance::apply_table(), blocks()); }
    BEGUN.with(|(table, blocks)| {
        let Some((&choice, mut rest)) = bytes.split_first() else { return };
        let mut image = blocks[usize::from(choice) % blocks.len()].clone();
        while let [layer, op, len, tail @ ..] = rest {
            let (data, next) = tail.split_at(usize::from(*len).min(tail.len()));
            rest = next;
            let Some(layer) = Layer::from_code(*layer) else { return };
            let vector = ChangeVector { rdba: AT, layer, op: *op, data };
            // Recovery applies vectors only to sound blocks made by the layer: their checksums were right.
            let is_sound = block::assert_invariants(&image).is_ok();
            if !is_sound || !is_fitting(layer, &image) || table.apply(&mut image, &vector).is_err() {
                return;
            }
            assert_eq!(image.len(), BLOCK_BYTES);
        }
        // The resulting block can be read.
        let view = BlockView::of_bytes(&image);
        let _ = (block::assert_invariants(&image), block::Data::new(view).rows().count());
    });
}

fn apply_seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for choice in 0..blocks().len() as u8 {
        for layer in 0..10u8 {
            for op in (0..18).chain([32]) {
                let data = [1, 0, 0, 0, 1, 0, 4, 0, 97, 98, 99, 100, 0, 0, 0, 0];
                all.push([&[choice, layer, op, data.len() as u8], &data[..]].concat());
            }
        }
    }
    // The vectors of all layers for one block, consecutively.
    all.chunks(19)
        .map(|same| [&same[0][..1], &same.iter().flat_map(|v| v[1..].to_vec()).collect::<Vec<_>>()].concat())
        .chain(all.iter().step_by(5).cloned())
        .collect()
}

/// A directory of this process in memory, for functions that read from a path.
fn directory() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    let parent = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let dir = parent.join(format!("latchwork-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

fn texts(bytes: &[u8]) {
    thread_local! { static PLACE: PathBuf = directory(); }
    PLACE.with(|dir| {
        let (control, manifest) = (dir.join(datafile::CONTROL_FILE), dir.join(MANIFEST));
        std::fs::write(&manifest, bytes).expect("a file in memory");
        let _ = Manifest::read(dir);
        // The checksum is the last line; the text is read only if it is right.
        let text = String::from_utf8_lossy(bytes);
        let body = text.rfind("checksum ").map_or(&text[..], |at| &text[..at]);
        std::fs::write(&control, ControlFile::with_checksum(body)).expect("a file in memory");
        let _ = ControlFile::read(dir);
    });
}

fn text_seeds() -> Vec<Vec<u8>> {
    crate::language::files_of_a_database()
}
