//! The built-in packages in the compiler.

use super::mock::Session;

/// A package whose specification has an error is PLS-00905 in every unit that names it.
#[test]
fn every_specification_compiles() {
    let mut session = Session::new();
    for name in plsql::packages::names().filter(|name| *name != "STANDARD") {
        let text = format!("begin {name}.there_is_none; end;");
        let error =
            session.plsql.compile_block(&mut session.world, &text).err().expect("no such subprogram").to_string();
        assert!(error.contains("PLS-00302") || error.contains("PLS-00201"), "{name}: {error}");
        assert!(!error.contains("PLS-00905"), "{name}: {error}");
    }
}
