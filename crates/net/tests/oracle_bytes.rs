//! Misleading messages of Oracle Net: proofs without the password, and counts without the items that they count.
//!
//! The fuzz targets (`crates/fuzzing`, `oracle_*`) feed arbitrary bytes to the decoders.

use net::local::WireError;
use net::oracle::field::Reader;
use net::oracle::o5logon;
use net::oracle::rows::BindRows;
use net::oracle::value::{self, BindRules, Shape};
use testing::Random;
use types::Value;

#[test]
fn changed_proofs_prove_nothing() {
    let mut random = Random::new(77);
    let newer = o5logon::Verifier::Sha512 { key: [3; 64], salt: [4; 16] };
    let older = o5logon::Verifier::Sha1 { key: [3; 20], salt: [4; 10] };
    for challenge in [newer, older].map(|verifier| o5logon::Challenge::new(verifier, &[5; 48])) {
        for _ in 0..300 {
            let texts: Vec<String> = (0..3)
                .map(|_| {
                    let count = random.below(101);
                    o5logon::to_hex(&random.bytes(count))
                })
                .collect();
            let proof = o5logon::Proof { session_key: &texts[0], speedy_key: Some(&texts[1]), password: &texts[2] };
            assert!(challenge.check(&proof).is_none());
        }
    }
}

#[test]
fn counts_are_checked_against_the_remaining_bytes() {
    // An execution with a million empty rows.
    let binds = [Shape { number: 2, ..Shape::default() }; 2];
    let rules = BindRules { returning: vec![true; 2], ..BindRules::default() };
    let mut rows = BindRows::new(Vec::new(), 0, &binds, &rules, 1 << 20);
    let mut row = Vec::new();
    assert!(rows.next_row(&mut row).unwrap() && row == [Value::Null, Value::Null]);
    assert_eq!(rows.len(), (1 << 20) - 1);
    let rules = BindRules::default();
    assert_eq!(value::skip_rows(&mut Reader::new(&[7, 0, 0]), &binds, &rules, 1 << 20), Err(WireError::Truncated));
}
