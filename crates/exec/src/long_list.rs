//! LISTAGG … ON OVERFLOW TRUNCATE: lists that are too long.

use crate::ctx::ExecCtx;
use types::sorting::sort_checked;
use types::{Result, Value};

/// Bytes that LISTAGG reserves for the number of values left out.
const COUNT_BYTES: usize = 24;

/// Bytes of values that LISTAGG … ON OVERFLOW TRUNCATE keeps before it drops those that cannot be in the list.
pub const LIST_BYTES_MAX: usize = 1 << 20;

/// Drops the values after those that fill the longest text, and returns their number.
pub fn drop_beyond(items: &mut Vec<(Vec<u8>, Value)>, cx: &ExecCtx<'_>) -> Result<usize> {
    sort_checked(items, |a, b| a.0.cmp(&b.0), &mut || cx.p.check_cancel())?;
    let (mut bytes, mut fit) = (0, 0);
    while bytes <= functions::SQL_TEXT_MAX && fit < items.len() {
        bytes += items[fit].1.to_text(&cx.session.nls)?.map_or(0, |text| text.len());
        fit += 1;
    }
    let dropped = items.len() - fit;
    items.truncate(fit);
    Ok(dropped)
}

/// A list that is too long: as many whole values as fit before the indicator.
pub fn truncated(
    items: &[(Vec<u8>, Value)],
    separator: &str,
    indicator: &str,
    count: Option<usize>,
    cx: &ExecCtx<'_>,
) -> Result<Value> {
    let reserved = indicator.len() + if count.is_some() { COUNT_BYTES } else { 0 };
    let (mut text, mut kept) = (String::new(), 0);
    for (_, value) in items {
        let before = text.len();
        value.write_text(&cx.session.nls, &mut text)?;
        text.push_str(separator);
        if text.len() + reserved > functions::SQL_TEXT_MAX {
            text.truncate(before);
            break;
        }
        kept += 1;
    }
    text.push_str(indicator);
    if let Some(left_out) = count {
        text.push_str(&format!("({})", left_out + items.len() - kept));
    }
    Ok(Value::text(text))
}
