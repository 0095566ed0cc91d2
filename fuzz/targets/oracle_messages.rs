#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (fuzzing::oracle_net::MESSAGES.run)(bytes));
