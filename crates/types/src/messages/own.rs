//! Texts of LWK errors: conditions of Latchwork without an error of Oracle.

#[rustfmt::skip]
pub(super) const MESSAGES: &[(u32, &str)] = &[
    (1, "%s"),
    (2, "%s is not supported in this release"),
    (3, "instance '%s' is already running"),
    (4, "instance '%s' is not running"),
    (5, "huge pages of %s are wanted but not reserved: %s needed, %s free; run: sysctl -w vm.nr_hugepages=%s"),
];
