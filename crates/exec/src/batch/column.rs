//! Typed columns of a batch.

use std::cmp::Ordering;
use types::{DataType, Date, Number, Ora, Result, Value, codec};

/// A view into the arena of a batch: offset and length in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub at: u32,
    pub len: u32,
}

impl Span {
    #[inline]
    pub fn of(self, arena: &[u8]) -> &[u8] {
        &arena[self.at as usize..][..self.len as usize]
    }
}

/// The values of a column. The entry of a NULL row is meaningless.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// NUMBERs that are `value / 10^scale`.
    Fixed(Vec<i64>, u8),
    /// NUMBERs that are `value / 10^scale`, of at most 38 digits.
    Wide(Vec<i128>, u8),
    /// DATEs as their seven stored bytes in a word, the first one most significant, followed by a zero byte.
    Date(Vec<u64>),
    Text(Vec<Span>),
    Raw(Vec<Span>),
    Double(Vec<f64>),
    /// Everything else.
    Values(Vec<Value>),
}

/// The NULL rows: one bit each, up to the last NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nulls(Vec<u64>);

impl Nulls {
    #[inline]
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    #[inline]
    pub fn is(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Marks row `row` of `rows` as NULL.
    pub fn set(&mut self, row: usize, rows: usize) {
        let words = rows.max(row + 1).div_ceil(64);
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// The rows that are NULL in either set.
    pub fn or(&self, other: &Nulls) -> Nulls {
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut all = long.clone();
        all.0.iter_mut().zip(&short.0).for_each(|(a, b)| *a |= b);
        all
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The NULLs of the rows `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Nulls {
        let mut taken = Nulls::default();
        if self.any() {
            for (to, &from) in rows.iter().enumerate() {
                if self.is(from as usize) {
                    taken.set(to, rows.len());
                }
            }
        }
        taken
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub data: Data,
    pub nulls: Nulls,
}

impl Default for Column {
    fn default() -> Column {
        Column { data: Data::Values(Vec::new()), nulls: Nulls::default() }
    }
}

/// `10^n`.
pub const POWERS: [i64; 19] = {
    let mut all = [1i64; 19];
    let mut i = 1;
    while i < all.len() {
        all[i] = all[i - 1] * 10;
        i += 1;
    }
    all
};

/// Below this limit, sums, differences and products equal those of [`Number`] arithmetic.
pub const WIDE_LIMIT: i128 = 10i128.pow(38);

/// `n * 10^by`; `None` above 38 digits.
pub fn scaled_up(n: i128, by: u8) -> Option<i128> {
    if by > 38 {
        return (n == 0).then_some(0);
    }
    let n = n.checked_mul(10i128.pow(by.into()))?;
    (n.unsigned_abs() < WIDE_LIMIT.unsigned_abs()).then_some(n)
}

/// The number as coefficient and smallest possible scale; `None` above 38 digits.
pub fn parts_of(n: &Number) -> Option<(i128, u8)> {
    if let Some(n) = n.as_i64() {
        return Some((n.into(), 0));
    }
    let mut digits = [0u8; 40];
    let len = n.significant_digits(&mut digits);
    // The value is 0.d1d2d3... * 10^(exponent + 1).
    let scale = len as i32 - 1 - n.decimal_exponent();
    if len > 38 || scale > 38 {
        return None;
    }
    let mut whole = digits[..len].iter().fold(0i128, |n, d| n * 10 + i128::from(*d));
    let scale = match u8::try_from(scale) {
        Ok(scale) => scale,
        Err(_) => {
            whole = scaled_up(whole, u8::try_from(-scale).ok()?)?;
            0
        }
    };
    Some((if n.is_negative() { -whole } else { whole }, scale))
}

/// The number `value / 10^scale`.
pub fn number_of(value: i128, scale: u8) -> Number {
    if scale == 0 {
        return Number::from_i128(value);
    }
    // At most 38 digits and a scale of two digits always make a NUMBER, unless the value is too close to zero.
    Number::from_scaled(value, -i32::from(scale)).unwrap_or_default()
}

pub fn date_word(d: &Date) -> u64 {
    word_of(&d.to_bytes())
}

#[inline]
pub fn word_of(bytes: &[u8; 7]) -> u64 {
    let [a, b, c, d, e, f, g] = *bytes;
    u64::from_be_bytes([a, b, c, d, e, f, g, 0])
}

pub fn date_of(word: u64) -> Result<Date> {
    let [a, b, c, d, e, f, g, _] = word.to_be_bytes();
    Date::from_bytes(&[a, b, c, d, e, f, g]).ok_or_else(|| Ora::internal("row bytes are damaged"))
}

impl Column {
    pub fn new(data: Data) -> Column {
        Column { data, nulls: Nulls::default() }
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match &self.data {
            Data::Values(values) => values[row].is_null(),
            _ => self.nulls.is(row),
        }
    }

    /// Puts the value of a row into a register.
    ///
    /// # Errors
    /// ORA-00600 for bytes that are not of the type.
    pub fn put(&self, row: usize, arena: &[u8], out: &mut Value) -> Result<()> {
        if self.nulls.is(row) {
            *out = Value::Null;
            return Ok(());
        }
        match &self.data {
            Data::Fixed(v, 0) => *out = Value::Number(Number::from_i64(v[row])),
            Data::Fixed(v, scale) => *out = Value::Number(number_of(v[row].into(), *scale)),
            Data::Wide(v, scale) => *out = Value::Number(number_of(v[row], *scale)),
            Data::Date(v) => *out = Value::Date(date_of(v[row])?),
            // A text is never empty: length zero is a LOB without content.
            Data::Text(v) | Data::Raw(v) if v[row].len == 0 => *out = Value::EmptyLob,
            Data::Text(v) => {
                let text = std::str::from_utf8(v[row].of(arena)).map_err(|_| Ora::internal("row bytes are damaged"))?;
                out.set_text(text);
            }
            Data::Raw(v) => out.set_raw(v[row].of(arena)),
            Data::Double(v) => *out = Value::Double(v[row]),
            Data::Values(v) => out.set(&v[row]),
        }
        Ok(())
    }

    /// The rows `rows`, in that order; texts stay in place. [`NO_ROW`] gives a meaningless entry, which
    /// [`Column::pick`] makes NULL.
    pub fn take(&self, rows: &[u32]) -> Column {
        fn pick<T: Clone + Default>(v: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&r| v.get(r as usize).cloned().unwrap_or_default()).collect()
        }
        let data = match &self.data {
            Data::Fixed(v, scale) => Data::Fixed(pick(v, rows), *scale),
            Data::Wide(v, scale) => Data::Wide(pick(v, rows), *scale),
            Data::Date(v) => Data::Date(pick(v, rows)),
            Data::Text(v) => Data::Text(pick(v, rows)),
            Data::Raw(v) => Data::Raw(pick(v, rows)),
            Data::Double(v) => Data::Double(pick(v, rows)),
            Data::Values(v) => Data::Values(pick(v, rows)),
        };
        Column { data, nulls: self.nulls.take(rows) }
    }

    /// Keeps the rows `rows`, in ascending order.
    pub fn keep(&mut self, rows: &[u32]) {
        fn pick<T: Copy>(v: &mut Vec<T>, rows: &[u32]) {
            for (to, &from) in rows.iter().enumerate() {
                v[to] = v[from as usize];
            }
            v.truncate(rows.len());
        }
        match &mut self.data {
            Data::Fixed(v, _) => pick(v, rows),
            Data::Wide(v, _) => pick(v, rows),
            Data::Date(v) => pick(v, rows),
            Data::Text(v) | Data::Raw(v) => pick(v, rows),
            Data::Double(v) => pick(v, rows),
            Data::Values(v) => {
                for (to, &from) in rows.iter().enumerate() {
                    v.swap(to, from as usize);
                }
                v.truncate(rows.len());
            }
        }
        if self.nulls.any() {
            self.nulls = self.nulls.take(rows);
        }
    }

    /// A typed column of values of one type.
    pub fn of_values(values: Vec<Value>, arena: &mut Vec<u8>) -> Column {
        let Some(first) = values.iter().find(|v| !v.is_null()) else { return Column::new(Data::Values(values)) };
        let made = match first {
            Value::Number(_) => numbers(&values),
            Value::Date(_) => {
                let word =
                    |v: &Value| if let Value::Date(d) = v { Some(date_word(d)) } else { v.is_null().then_some(0) };
                values.iter().map(word).collect::<Option<Vec<_>>>().map(Data::Date)
            }
            Value::Text(_) => spans(&values, arena, |v| if let Value::Text(s) = v { Some(s.as_bytes()) } else { None })
                .map(Data::Text),
            Value::Raw(_) => {
                spans(&values, arena, |v| if let Value::Raw(s) = v { Some(s) } else { None }).map(Data::Raw)
            }
            Value::Double(_) => {
                let double = |v: &Value| if let Value::Double(d) = v { Some(*d) } else { v.is_null().then_some(0.0) };
                values.iter().map(double).collect::<Option<Vec<_>>>().map(Data::Double)
            }
            _ => None,
        };
        let Some(data) = made else { return Column::new(Data::Values(values)) };
        let mut nulls = Nulls::default();
        for (row, _) in values.iter().enumerate().filter(|(_, v)| v.is_null()) {
            nulls.set(row, values.len());
        }
        Column { data, nulls }
    }

    /// Appends a part of a sort key: descending or not, NULLs first or not.
    pub fn push_key(
        &self,
        row: usize,
        arena: &[u8],
        (desc, nulls_first): (bool, bool),
        value: &mut Value,
        stored: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if self.is_null(row) {
            out.push(if nulls_first { 0 } else { 2 });
            return Ok(());
        }
        out.push(1);
        match &self.data {
            Data::Text(v) | Data::Raw(v) => codec::push_key_part(Some(v[row].of(arena)), desc, out),
            Data::Date(v) => codec::push_key_part(Some(&v[row].to_be_bytes()[..7]), desc, out),
            _ => {
                self.put(row, arena, value)?;
                stored.clear();
                codec::encode_instant(value, stored);
                codec::push_key_part(Some(stored), desc, out);
            }
        }
        Ok(())
    }

    /// Appends bytes that are equal for equal values, as [`crate::hash::push_part`] does.
    pub fn push_part(&self, row: usize, arena: &[u8], scratch: &mut Value, out: &mut Vec<u8>) -> Result<()> {
        match &self.data {
            Data::Text(v) | Data::Raw(v) if !self.nulls.is(row) => {
                out.extend_from_slice(&v[row].len.to_le_bytes());
                out.extend_from_slice(v[row].of(arena));
            }
            _ => {
                self.put(row, arena, scratch)?;
                crate::hash::push_part(scratch, out);
            }
        }
        Ok(())
    }
}

/// A row number that [`Column::pick`] makes NULL.
pub const NO_ROW: u32 = u32::MAX;

impl Column {
    /// The rows `rows`, in that order, or NULL for [`NO_ROW`]; texts are copied from one arena to the other.
    pub fn pick(&self, rows: &[u32], from: &[u8], arena: &mut Vec<u8>) -> Column {
        let mut column = self.take(rows);
        match &mut column.data {
            Data::Text(spans) | Data::Raw(spans) => {
                arena.reserve(spans.iter().map(|span| span.len as usize).sum());
                for span in spans {
                    let at = arena.len() as u32;
                    arena.extend_from_slice(span.of(from));
                    span.at = at;
                }
            }
            // A `Value` represents NULL itself.
            Data::Values(_) => return column,
            Data::Fixed(..) | Data::Wide(..) | Data::Date(_) | Data::Double(_) => {}
        }
        for (n, _) in rows.iter().enumerate().filter(|(_, row)| **row == NO_ROW) {
            column.nulls.set(n, rows.len());
        }
        column
    }

    /// Appends rows of another column after the `len` rows of this one, and copies texts into its arena.
    ///
    /// # Errors
    /// ORA-00600 for bytes that are not of their type.
    pub fn append(
        &mut self,
        (len, arena): (usize, &mut Vec<u8>),
        other: &Column,
        rows: &[u32],
        from: &[u8],
    ) -> Result<()> {
        if len == 0 {
            *self = other.pick(rows, from, arena);
            return Ok(());
        }
        let picked = rows.iter().map(|r| *r as usize);
        let is_typed = !matches!(self.data, Data::Values(_));
        if is_typed && matches!(&other.data, Data::Values(v) if rows.iter().all(|row| v[*row as usize].is_null())) {
            // A column of NULLs can take any form.
            let nulls = vec![NO_ROW; rows.len()];
            let end = Column { data: self.data.none(), nulls: Nulls::default() }.pick(&nulls, &[], &mut Vec::new());
            return self.append((len, arena), &end, &(0..rows.len() as u32).collect::<Vec<_>>(), &[]);
        }
        let same = match (&mut self.data, &other.data) {
            (Data::Fixed(v, scale), Data::Fixed(w, own)) if scale == own => {
                v.extend(picked.map(|r| w[r]));
                true
            }
            (Data::Wide(v, scale), Data::Wide(w, own)) if scale == own => {
                v.extend(picked.map(|r| w[r]));
                true
            }
            (Data::Date(v), Data::Date(w)) => {
                v.extend(picked.map(|r| w[r]));
                true
            }
            (Data::Double(v), Data::Double(w)) => {
                v.extend(picked.map(|r| w[r]));
                true
            }
            (Data::Text(v), Data::Text(w)) | (Data::Raw(v), Data::Raw(w)) => {
                v.extend(picked.map(|r| {
                    let at = arena.len() as u32;
                    arena.extend_from_slice(w[r].of(from));
                    Span { at, len: w[r].len }
                }));
                true
            }
            (Data::Values(v), _) => {
                for row in picked {
                    let mut value = Value::Null;
                    other.put(row, from, &mut value)?;
                    v.push(value);
                }
                return Ok(());
            }
            _ => false,
        };
        if same {
            for (n, _) in rows.iter().enumerate().filter(|(_, r)| other.nulls.is(**r as usize)) {
                self.nulls.set(len + n, len + rows.len());
            }
            return Ok(());
        }
        // Columns of different forms are united as `Value`s.
        let mut all = vec![Value::Null; len + rows.len()];
        for (row, value) in all.iter_mut().enumerate().take(len) {
            self.put(row, arena, value)?;
        }
        for (value, row) in all[len..].iter_mut().zip(rows) {
            other.put(*row as usize, from, value)?;
        }
        *self = Column::new(Data::Values(all));
        Ok(())
    }
}

/// A column built from registers, row by row.
#[derive(Debug, Default)]
pub struct Maker {
    values: Vec<Value>,
    spans: Vec<Span>,
    nulls: Nulls,
}

impl Maker {
    /// Adds a value. A text is copied into the arena only once.
    pub fn push(&mut self, v: &Value, arena: &mut Vec<u8>) {
        let row = self.spans.len();
        match v {
            Value::Text(s) if self.values.is_empty() => {
                let at = arena.len() as u32;
                arena.extend_from_slice(s.as_bytes());
                self.spans.push(Span { at, len: s.len() as u32 });
            }
            Value::Null if self.values.is_empty() => {
                self.nulls.set(row, row + 1);
                self.spans.push(Span::default());
            }
            v => {
                if self.values.is_empty() && row > 0 {
                    // Only texts have spans: earlier entries are NULL, or are turned into `Value`s again.
                    let spans = std::mem::take(&mut self.spans);
                    for (n, span) in spans.iter().enumerate() {
                        let text = std::str::from_utf8(span.of(arena)).unwrap_or_default();
                        self.values.push(if self.nulls.is(n) { Value::Null } else { Value::text(text) });
                    }
                }
                self.values.push(v.clone());
            }
        }
    }

    /// The column of the added values.
    pub fn finish(&mut self, arena: &mut Vec<u8>) -> Column {
        let Maker { values, spans, nulls } = std::mem::take(self);
        if !values.is_empty() {
            return Column::of_values(values, arena);
        }
        if (0..spans.len()).all(|row| nulls.is(row)) {
            return Column::new(Data::Values(vec![Value::Null; spans.len()]));
        }
        Column { data: Data::Text(spans), nulls }
    }
}

impl Data {
    /// An empty list of the same form.
    fn none(&self) -> Data {
        match self {
            Data::Fixed(_, scale) => Data::Fixed(Vec::new(), *scale),
            Data::Wide(_, scale) => Data::Wide(Vec::new(), *scale),
            Data::Date(_) => Data::Date(Vec::new()),
            Data::Text(_) => Data::Text(Vec::new()),
            Data::Raw(_) => Data::Raw(Vec::new()),
            Data::Double(_) => Data::Double(Vec::new()),
            Data::Values(_) => Data::Values(Vec::new()),
        }
    }
}

fn numbers(values: &[Value]) -> Option<Data> {
    let (mut greatest, mut wide) = (0u8, false);
    let mut parts = Vec::with_capacity(values.len());
    for v in values {
        let part = match v {
            Value::Number(n) => parts_of(n)?,
            Value::Null => (0, 0),
            _ => return None,
        };
        greatest = greatest.max(part.1);
        parts.push(part);
    }
    for (n, scale) in &mut parts {
        *n = scaled_up(*n, greatest - *scale)?;
        wide |= i64::try_from(*n).is_err();
    }
    Some(match wide {
        true => Data::Wide(parts.into_iter().map(|(n, _)| n).collect(), greatest),
        false => Data::Fixed(parts.into_iter().map(|(n, _)| n as i64).collect(), greatest),
    })
}

fn spans(values: &[Value], arena: &mut Vec<u8>, bytes: impl Fn(&Value) -> Option<&[u8]>) -> Option<Vec<Span>> {
    let mut all = Vec::with_capacity(values.len());
    for v in values {
        let at = arena.len() as u32;
        match bytes(v) {
            Some(bytes) => {
                arena.extend_from_slice(bytes);
                all.push(Span { at, len: bytes.len() as u32 });
            }
            None if v.is_null() => all.push(Span::default()),
            None => return None,
        }
    }
    Some(all)
}

/// Span length that represents NULL.
pub const NULL: u32 = u32::MAX;

/// Makes a column of stored values of a type; a span of length [`NULL`] is NULL.
///
/// # Errors
/// ORA-00600 for bytes that are not of the type.
pub fn decode(ty: &DataType, spans: &[Span], arena: &[u8]) -> Result<Column> {
    let mut nulls = Nulls::default();
    for (row, _) in spans.iter().enumerate().filter(|(_, s)| s.len == NULL) {
        nulls.set(row, spans.len());
    }
    let data = match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
            let scale = match ty {
                DataType::Number { scale: Some(scale @ 0..=18), .. } => *scale as u8,
                _ => 0,
            };
            decode_numbers(ty, spans, arena, scale)?
        }
        DataType::Date => {
            let mut words = Vec::with_capacity(spans.len());
            for s in spans {
                if s.len == 7
                    && let Some(bytes) = arena.get(s.at as usize..).and_then(|rest| rest.first_chunk::<8>())
                {
                    words.push(u64::from_be_bytes(*bytes) & !0xFF);
                    continue;
                }
                let bytes: Option<&[u8; 7]> = if s.len == NULL { Some(&[0; 7]) } else { s.of(arena).try_into().ok() };
                words.push(word_of(bytes.ok_or_else(|| Ora::internal("row bytes are damaged"))?));
            }
            Data::Date(words)
        }
        DataType::Varchar2 { .. }
        | DataType::Char { .. }
        | DataType::Nvarchar2 { .. }
        | DataType::Nchar { .. }
        | DataType::Long
        | DataType::Clob
        | DataType::Xml
        | DataType::Nclob => Data::Text(without_nulls(spans, &nulls)),
        DataType::Raw { .. } | DataType::LongRaw | DataType::Blob | DataType::Bfile => {
            Data::Raw(without_nulls(spans, &nulls))
        }
        ty => {
            let mut values = Vec::with_capacity(spans.len());
            for s in spans {
                let mut value = Value::Null;
                if s.len != NULL {
                    codec::decode_into(s.of(arena), ty, &mut value)?;
                }
                values.push(value);
            }
            if *ty == DataType::BinaryDouble {
                let double = |v: &Value| if let Value::Double(d) = v { *d } else { 0.0 };
                Data::Double(values.iter().map(double).collect())
            } else {
                nulls.clear();
                Data::Values(values)
            }
        }
    };
    Ok(Column { data, nulls })
}

fn without_nulls(spans: &[Span], nulls: &Nulls) -> Vec<Span> {
    let mut all = spans.to_vec();
    if nulls.any() {
        all.iter_mut().filter(|s| s.len == NULL).for_each(|s| *s = Span::default());
    }
    all
}

/// The numbers at `scale`, if all values have at most that scale; otherwise in a wider form.
fn decode_numbers(ty: &DataType, spans: &[Span], arena: &[u8], scale: u8) -> Result<Data> {
    let mut all = vec![0; spans.len()];
    for (n, s) in all.iter_mut().zip(spans) {
        if s.len != NULL {
            match Number::decode_scaled_at(arena, s.at as usize, s.len as usize, scale) {
                Some(word) => *n = word,
                None => return decode_other_numbers(ty, spans, arena),
            }
        }
    }
    Ok(Data::Fixed(all, scale))
}

#[cold]
fn decode_other_numbers(ty: &DataType, spans: &[Span], arena: &[u8]) -> Result<Data> {
    let mut values = Vec::with_capacity(spans.len());
    for s in spans {
        let mut value = Value::Null;
        if s.len != NULL {
            codec::decode_into(s.of(arena), ty, &mut value)?;
        }
        values.push(value);
    }
    Ok(numbers(&values).unwrap_or(Data::Values(values)))
}

/// Text order with the shorter side padded with blanks.
pub fn padded_order(x: &[u8], y: &[u8]) -> Ordering {
    let n = x.len().min(y.len());
    x[..n].cmp(&y[..n]).then_with(|| {
        let beyond = |rest: &[u8]| rest.iter().map(|c| c.cmp(&b' ')).find(|o| *o != Ordering::Equal);
        beyond(&x[n..]).or_else(|| beyond(&y[n..]).map(Ordering::reverse)).unwrap_or(Ordering::Equal)
    })
}

/// The form that the columns of several batches can share.
fn common(parts: &[&Column]) -> Option<Data> {
    let mut found: Option<Data> = None;
    for part in parts {
        let own = match &part.data {
            Data::Fixed(_, scale) => Data::Fixed(Vec::new(), *scale),
            Data::Wide(_, scale) => Data::Wide(Vec::new(), *scale),
            Data::Date(_) => Data::Date(Vec::new()),
            Data::Text(_) => Data::Text(Vec::new()),
            Data::Raw(_) => Data::Raw(Vec::new()),
            Data::Double(_) => Data::Double(Vec::new()),
            Data::Values(v) if v.iter().all(Value::is_null) => continue,
            Data::Values(_) => return None,
        };
        match &found {
            None => found = Some(own),
            Some(before) if *before != own => return None,
            Some(_) => {}
        }
    }
    found
}

/// A column of rows from several batches, each given as number of the batch and of its row. Texts are copied.
///
/// # Errors
/// ORA-00600 for bytes that are not of their type.
pub fn gather(parts: &[&Column], arenas: &[&[u8]], rows: &[(u32, u32)], arena: &mut Vec<u8>) -> Result<Column> {
    let Some(mut data) = common(parts) else {
        let mut values = vec![Value::Null; rows.len()];
        for (value, &(part, row)) in values.iter_mut().zip(rows) {
            parts[part as usize].put(row as usize, arenas[part as usize], value)?;
        }
        return Ok(Column::of_values(values, arena));
    };
    let mut nulls = Nulls::default();
    for (n, &(part, row)) in rows.iter().enumerate() {
        if parts[part as usize].is_null(row as usize) {
            nulls.set(n, rows.len());
        }
    }
    fn pick<T: Copy + Default>(
        parts: &[&Column],
        rows: &[(u32, u32)],
        of: impl for<'c> Fn(&'c Data) -> Option<&'c [T]>,
    ) -> Vec<T> {
        let parts: Vec<Option<&[T]>> = parts.iter().map(|part| of(&part.data)).collect();
        rows.iter().map(|&(part, row)| parts[part as usize].map_or(T::default(), |v| v[row as usize])).collect()
    }
    match &mut data {
        Data::Fixed(v, _) => *v = pick(parts, rows, |d| if let Data::Fixed(v, _) = d { Some(v) } else { None }),
        Data::Wide(v, _) => *v = pick(parts, rows, |d| if let Data::Wide(v, _) = d { Some(v) } else { None }),
        Data::Date(v) => *v = pick(parts, rows, |d| if let Data::Date(v) = d { Some(v) } else { None }),
        Data::Double(v) => *v = pick(parts, rows, |d| if let Data::Double(v) = d { Some(v) } else { None }),
        Data::Text(v) | Data::Raw(v) => {
            *v = pick(parts, rows, |d| if let Data::Text(v) | Data::Raw(v) = d { Some(v) } else { None });
            for (span, &(part, _)) in v.iter_mut().zip(rows) {
                let at = arena.len() as u32;
                arena.extend_from_slice(span.of(arenas[part as usize]));
                span.at = at;
            }
        }
        Data::Values(_) => {}
    }
    Ok(Column { data, nulls })
}

/// Bytes of the column's texts in the arena.
pub fn text_bytes(column: &Column) -> usize {
    match &column.data {
        Data::Text(v) | Data::Raw(v) => v.iter().map(|span| span.len as usize).sum(),
        _ => 0,
    }
}

/// Bytes of the longest value of a column.
pub fn longest(column: &Column) -> usize {
    match &column.data {
        Data::Text(v) | Data::Raw(v) => v.iter().map(|span| span.len as usize).max().unwrap_or_default(),
        Data::Values(v) => v.iter().map(crate::machine::heap_bytes).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Bytes of the rows `rows` of a column in memory, without texts.
pub fn bytes_of_rows(column: &Column, rows: &[u32]) -> usize {
    match &column.data {
        Data::Wide(..) => rows.len() * 16,
        Data::Values(v) => {
            rows.iter().map(|row| size_of::<Value>() + crate::machine::heap_bytes(&v[*row as usize])).sum()
        }
        _ => rows.len() * 8,
    }
}

/// Bytes of a column in memory, without texts.
pub fn bytes_of(column: &Column) -> usize {
    match &column.data {
        Data::Fixed(v, _) => v.len() * 8,
        Data::Wide(v, _) => v.len() * 16,
        Data::Date(v) => v.len() * 8,
        Data::Text(v) | Data::Raw(v) => v.len() * 8,
        Data::Double(v) => v.len() * 8,
        Data::Values(v) => v.iter().map(|v| size_of::<Value>() + crate::machine::heap_bytes(v)).sum(),
    }
}

pub fn trim(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|c| *c != b' ').map_or(0, |at| at + 1);
    &bytes[..len]
}

/// The error of a batch whose evaluation failed although no single row does.
pub fn unexplained() -> Ora {
    Ora::internal("evaluation over a batch failed, but no row fails")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_nulls_and_values_of_other_forms_at_their_end() {
        let mut arena = Vec::new();
        let texts = [Value::text("ab"), Value::Null, Value::text("c")];
        let more = [Value::Null, Value::Null];
        let numbers = [Value::Number(Number::from(7i64)), Value::Null];
        for parts in [
            [&texts[..], &more, &texts],
            [&numbers, &more, &numbers],
            [&more, &texts, &more],
            [&texts, &more, &numbers],
        ] {
            let (mut all, mut len) = (Column::default(), 0);
            for part in parts {
                let mut from = b"before".to_vec();
                let column = Column::of_values(part.to_vec(), &mut from);
                let rows: Vec<u32> = (0..part.len() as u32).collect();
                all.append((len, &mut arena), &column, &rows, &from).unwrap();
                len += part.len();
            }
            let expected: Vec<Value> = parts.concat();
            for (row, expected) in expected.iter().enumerate() {
                let mut value = Value::Null;
                all.put(row, &arena, &mut value).unwrap();
                assert_eq!(format!("{value:?}"), format!("{expected:?}"), "row {row} of {parts:?}");
                assert_eq!(all.is_null(row), expected.is_null());
            }
        }
    }
}
