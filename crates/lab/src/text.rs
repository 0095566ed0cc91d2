//! Numbers and tables as text.

/// A whole number with commas between thousands.
pub fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if number < -0.5 { format!("-{out}") } else { out }
}

/// Arranges cells in columns: the first left-aligned, the others right-aligned.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let wide: Vec<usize> = (0..count)
        .map(|at| rows.iter().filter_map(|r| r.get(at)).map(|c| c.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for (line, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                let pad = " ".repeat(wide[at] - cell.chars().count());
                if at == 0 { format!("{cell}{pad}") } else { format!("{pad}{cell}") }
            })
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
        if line == 0 {
            let rules: Vec<String> = wide.iter().map(|w| "-".repeat(*w)).collect();
            out.push_str(&rules.join("  "));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(0.0), "0");
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
        assert_eq!(thousands(-1000.0), "-1,000");
    }
}
