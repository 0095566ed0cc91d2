//! The list of scalar functions, and look-up by name.

use crate::args::{Eval, Returns};
use crate::{
    FnCtx, charset, convert, date, general, hash, numeric, raw, regexp, sample, session, sql_json, sql_xml, text,
};
use types::{DataType, Ora, Result, Value};

/// Any number of arguments.
const MANY: u8 = u8::MAX;

/// TO_CHAR of a timestamp or interval whose type is known: the value is followed by the precision of its leading field
/// and of its fractional seconds. Unquoted identifiers cannot begin with a blank.
pub const TO_CHAR_OF_DIGITS: &str = " TO_CHAR";

/// AT TIME ZONE, with the time zone after the value; AT LOCAL without one.
pub const AT_TIME_ZONE: &str = " AT TIME ZONE";

/// An attribute of an object, by position from 0. The caller determines the type of the result.
pub const ATTRIBUTE: &str = " ATTRIBUTE";

/// Converts a collection to another type with the same elements: the value is followed by that type's number and, for a
/// varray, its limit.
pub const RETYPE: &str = " RETYPE";

/// Whether two objects of one type have equal attributes; NULL if NULLs leave it open.
pub const SAME: &str = " SAME";

/// `value MEMBER OF collection`.
pub const MEMBER: &str = " MEMBER";

/// `a MULTISET UNION b` and the other operators: the collections are followed by the operator (0 UNION, 1 INTERSECT, 2
/// EXCEPT) and by 1 for DISTINCT, else 0.
pub const MULTISET: &str = " MULTISET";

/// JSON_VALUE, JSON_QUERY, JSON_EXISTS and `table.column.name`: the document is followed by the clauses, an image of
/// [`json::Function`], and by the values of PASSING. The caller determines the type of the result.
pub const JSON: &str = " JSON";
/// JSON_ARRAY: the clauses, an image of [`json::Making`], are followed by the values.
pub const JSON_ARRAY: &str = " JSON_ARRAY";
/// JSON_EQUAL.
pub const JSON_EQUAL: &str = " JSON_EQUAL";
/// The value of an aggregate: its clauses are followed by the text of all elements or members.
pub const JSON_FINISH: &str = " JSON_FINISH";
/// IS JSON: the document is followed by 1 for STRICT and 1 for WITH UNIQUE KEYS.
pub const JSON_IS: &str = " JSON_IS";
/// An element of JSON_ARRAYAGG, from the clauses and the value.
pub const JSON_ITEM: &str = " JSON_ITEM";
/// A member of JSON_OBJECTAGG, from the clauses, the key and the value.
pub const JSON_MEMBER: &str = " JSON_MEMBER";
/// JSON_MERGEPATCH, from the clauses, the document and the patch.
pub const JSON_MERGEPATCH: &str = " JSON_MERGEPATCH";
/// JSON_OBJECT: the clauses are followed by keys and values in turn.
pub const JSON_OBJECT: &str = " JSON_OBJECT";

/// The locator of a LOB column: the value is followed by the row's ROWID, the number of the table, the position of the
/// column, and 1 for a BLOB or 0 for a CLOB.
pub const LOCATOR: &str = " LOCATOR";

/// The number of elements of a collection.
pub const CARDINALITY: &str = " CARDINALITY";

/// Whether a row belongs to a sample: its ROWID, the percentage, 1 for a sample of blocks or 0 for one of rows, and the
/// seed; without a seed, each statement has another sample.
pub const SAMPLE: &str = " SAMPLE";

/// `a SUBMULTISET OF b`.
pub const SUBMULTISET: &str = " SUBMULTISET";

/// An operation over XML: the number of an [`crate::XmlOp`] is followed by its arguments. The caller determines the
/// type of the result.
pub const XML: &str = " XML";
/// XMLCAST: an image of the type is followed by the value.
pub const XML_CAST: &str = " XML_CAST";
/// A value of XMLAGG.
pub const XML_ITEM: &str = " XML_ITEM";
/// XMLELEMENT, XMLFOREST and XMLCOLATTVAL: the clauses, an image of [`xml::Making`], are followed by the values.
pub const XML_MAKE: &str = " XML_MAKE";
/// XMLQUERY: the clauses, an image of [`crate::QuerySpec`], are followed by the values of PASSING.
pub const XML_QUERY: &str = " XML_QUERY";
/// XMLEXISTS, with the arguments of XMLQUERY.
pub const XML_QUERY_EXISTS: &str = " XML_QUERY_EXISTS";

/// A scalar function.
#[derive(Debug)]
pub struct FnDef {
    /// The name in upper case. A package function has its package's name and a period before it.
    pub name: &'static str,
    /// Fewest arguments.
    pub min_args: u8,
    /// Most arguments; 255 means no limit.
    pub max_args: u8,
    /// The body.
    pub eval: Eval,
    /// The type of the result.
    pub returns: Returns,
    /// Whether equal arguments give equal results within a statement, so that one evaluation is enough.
    pub deterministic: bool,
    /// Whether it may be written without parentheses, like SYSDATE.
    pub bare: bool,
}

impl FnDef {
    /// Checks the number of arguments.
    ///
    /// # Errors
    /// ORA-00909 for a wrong number of arguments of a function with a fixed number; ORA-00938 and ORA-00939 for too few
    /// and too many arguments of a function with a range.
    pub fn check_args(&self, count: usize) -> Result<()> {
        let (min, max) = (usize::from(self.min_args), usize::from(self.max_args));
        if count >= min && (count <= max || self.max_args == MANY) {
            return Ok(());
        }
        Err(Ora::new(match count < min {
            _ if min == max => 909,
            true => 938,
            false => 939,
        }))
    }

    /// Returns the type of the result for arguments of these types.
    ///
    /// # Errors
    /// ORA-00932 if the types do not fit.
    pub fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        (self.returns)(args)
    }

    /// Calls the function.
    ///
    /// # Errors
    /// The errors of the function.
    #[inline]
    pub fn call(&self, ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
        (self.eval)(ctx, args, out)
    }
}

/// A function is encoded as its name.
impl types::image::Image for &'static FnDef {
    fn put(&self, w: &mut types::image::Writer) {
        w.bytes(self.name.as_bytes());
    }
    fn take(r: &mut types::image::Reader<'_>) -> std::result::Result<Self, types::image::Damaged> {
        let name = std::str::from_utf8(r.bytes()?).map_err(|_| types::image::Damaged)?;
        lookup(name).ok_or(types::image::Damaged)
    }
}

/// Finds a function by its name, ignoring case.
pub fn lookup(name: &str) -> Option<&'static FnDef> {
    let key = name.bytes().map(|b| b.to_ascii_uppercase());
    let at = FUNCTIONS.binary_search_by(|f| f.name.bytes().cmp(key.clone())).ok()?;
    Some(&FUNCTIONS[at])
}

/// Whether a statement may call a function by this name. Names with a leading blank are reserved for the planner: these
/// functions trust their arguments, so a quoted identifier must not reach them.
pub fn is_named(name: &str) -> bool {
    !name.starts_with(' ') && lookup(name).is_some()
}

/// Returns the names of all functions, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.name)
}

fn to_number(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::NUMBER)
}

/// Numeric functions return BINARY_DOUBLE for BINARY_DOUBLE.
fn to_numeric(args: &[DataType]) -> Result<DataType> {
    let double = args.iter().find(|t| matches!(t, DataType::BinaryDouble | DataType::BinaryFloat));
    Ok(double.copied().unwrap_or(DataType::NUMBER))
}

fn to_text(args: &[DataType]) -> Result<DataType> {
    Ok(match args.first() {
        Some(t @ (DataType::Clob | DataType::Nclob)) => *t,
        _ => DataType::TEXT,
    })
}

fn to_varchar(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::TEXT)
}

fn to_date(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Date)
}

fn to_timestamp(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Timestamp { digits: 9, zone: types::Zone::None })
}

fn to_local_timestamp(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::TIMESTAMP)
}

fn to_zoned(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::TIMESTAMP_TZ)
}

/// AT TIME ZONE keeps the precision of the value.
fn at_zone(args: &[DataType]) -> Result<DataType> {
    match args.first() {
        Some(DataType::Timestamp { digits, .. }) => {
            Ok(DataType::Timestamp { digits: *digits, zone: types::Zone::WithTimeZone })
        }
        Some(DataType::Null) => Ok(DataType::TIMESTAMP_TZ),
        _ => Err(Ora::new(30084)),
    }
}

fn to_interval_ds(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::IntervalDs { days: 9, digits: 9 })
}

fn to_interval_ym(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::IntervalYm { years: 9 })
}

fn to_null(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Null)
}

fn to_raw(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Raw { len: 0 })
}

fn to_boolean(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Boolean)
}

fn to_double(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::BinaryDouble)
}

fn to_float(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::BinaryFloat)
}

fn to_clob(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Clob)
}

fn to_xml(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Xml)
}

fn to_blob(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Blob)
}

fn to_bfile(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Bfile)
}

fn to_rowid(_: &[DataType]) -> Result<DataType> {
    Ok(DataType::Rowid)
}

/// ROUND, TRUNC, CEIL and FLOOR of a datetime are a DATE.
fn number_or_date(args: &[DataType]) -> Result<DataType> {
    if args.first().is_some_and(DataType::is_datetime) { Ok(DataType::Date) } else { to_numeric(args) }
}

fn first(args: &[DataType]) -> Result<DataType> {
    Ok(args.first().copied().unwrap_or(DataType::Null))
}

/// The second and third argument of NVL2 determine the type.
fn after_first(args: &[DataType]) -> Result<DataType> {
    general::common_type(args.get(1..).unwrap_or_default())
}

/// DECODE(value, key, result, … , default): the first result determines the type.
fn decode(args: &[DataType]) -> Result<DataType> {
    let results = args.get(1..).unwrap_or_default().chunks(2).map(|pair| *pair.last().expect("chunks are not empty"));
    general::common_type(&results.collect::<Vec<_>>())
}

const fn pure(name: &'static str, args: (u8, u8), returns: Returns, eval: Eval) -> FnDef {
    FnDef { name, min_args: args.0, max_args: args.1, eval, returns, deterministic: true, bare: false }
}

/// A function without arguments and parentheses; constant within a statement.
const fn bare(name: &'static str, returns: Returns, eval: Eval) -> FnDef {
    FnDef { name, min_args: 0, max_args: 1, eval, returns, deterministic: true, bare: true }
}

#[rustfmt::skip]
static FUNCTIONS: &[FnDef] = &[
    pure(AT_TIME_ZONE, (1, 2), at_zone, date::at_time_zone),
    pure(ATTRIBUTE, (2, 2), to_null, general::attribute),
    pure(CARDINALITY, (1, 1), to_number, general::cardinality),
    pure(JSON, (2, MANY), to_null, sql_json::select),
    pure(JSON_ARRAY, (1, MANY), to_null, sql_json::array),
    pure(JSON_EQUAL, (2, 2), to_boolean, sql_json::equal),
    pure(JSON_FINISH, (2, 2), to_null, sql_json::finish),
    pure(JSON_IS, (3, 3), to_boolean, sql_json::is_json),
    pure(JSON_ITEM, (2, 2), to_clob, sql_json::item),
    pure(JSON_MEMBER, (3, 3), to_clob, sql_json::member),
    pure(JSON_MERGEPATCH, (3, 3), to_null, sql_json::merge_patch),
    pure(JSON_OBJECT, (1, MANY), to_null, sql_json::object),
    pure(LOCATOR, (5, 5), first, general::locator),
    pure(MEMBER, (2, 2), to_boolean, general::member),
    pure(MULTISET, (4, 4), first, general::multiset),
    pure(RETYPE, (2, 3), to_null, general::retype),
    pure(SAME, (2, 2), to_boolean, general::same),
    pure(SAMPLE, (3, 4), to_boolean, sample::sample),
    pure(SUBMULTISET, (2, 2), to_boolean, general::submultiset),
    pure(TO_CHAR_OF_DIGITS, (3, 5), to_varchar, convert::to_char_of_digits),
    pure(XML, (1, MANY), to_xml, sql_xml::operation),
    pure(XML_CAST, (2, 2), to_null, sql_xml::cast),
    pure(XML_ITEM, (1, 1), to_xml, sql_xml::unchanged),
    pure(XML_MAKE, (1, MANY), to_xml, sql_xml::make),
    pure(XML_QUERY, (1, MANY), to_xml, sql_xml::query),
    pure(XML_QUERY_EXISTS, (1, MANY), to_boolean, sql_xml::query_exists),
    pure("ABS", (1, 1), to_numeric, numeric::abs),
    pure("ACOS", (1, 1), to_numeric, numeric::acos),
    pure("ADD_MONTHS", (2, 2), to_date, date::add_months),
    pure("ASCII", (1, 1), to_number, text::ascii),
    pure("ASCIISTR", (1, 1), to_text, text::asciistr),
    pure("ASIN", (1, 1), to_numeric, numeric::asin),
    pure("ATAN", (1, 1), to_numeric, numeric::atan),
    pure("ATAN2", (2, 2), to_numeric, numeric::atan2),
    pure("BFILENAME", (2, 2), to_bfile, general::bfilename),
    pure("BIN_TO_NUM", (1, MANY), to_number, numeric::bin_to_num),
    pure("BITAND", (2, 2), to_number, numeric::bitand),
    pure("CEIL", (1, 1), to_numeric, numeric::ceil),
    pure("CHARTOROWID", (1, 1), to_rowid, convert::chartorowid),
    pure("CHR", (1, 1), to_varchar, text::chr),
    pure("COALESCE", (2, MANY), general::common_type, general::coalesce),
    pure("COMPOSE", (1, 1), first, charset::compose),
    pure("CONCAT", (2, 2), to_text, text::concat),
    pure("CONVERT", (2, 3), to_text, charset::convert),
    pure("COS", (1, 1), to_numeric, numeric::cos),
    pure("COSH", (1, 1), to_numeric, numeric::cosh),
    bare("CURRENT_DATE", to_date, date::current_date),
    bare("CURRENT_TIMESTAMP", to_zoned, date::current_timestamp),
    pure("DBMS_XA_XID", (1, 3), to_raw, raw::global_identifier),
    bare("DBTIMEZONE", to_varchar, date::dbtimezone),
    pure("DECODE", (3, MANY), decode, general::decode),
    pure("DECOMPOSE", (1, 2), to_text, charset::decompose),
    pure("DUMP", (1, 4), to_varchar, raw::dump),
    pure("EMPTY_BLOB", (0, 0), to_blob, general::empty_lob),
    pure("EMPTY_CLOB", (0, 0), to_clob, general::empty_lob),
    pure("EXP", (1, 1), to_numeric, numeric::exp),
    pure("EXTRACT", (2, 2), to_number, date::extract),
    pure("FLOOR", (1, 1), to_numeric, numeric::floor),
    pure("FROM_TZ", (2, 2), to_zoned, date::from_tz),
    pure("GREATEST", (1, MANY), general::compared_type, general::greatest),
    pure("HEXTORAW", (1, 1), to_raw, raw::hextoraw),
    pure("INITCAP", (1, 1), to_text, text::initcap),
    pure("INSTR", (2, 4), to_number, text::instr),
    pure("INSTRB", (2, 4), to_number, text::instrb),
    pure("LAST_DAY", (1, 1), to_date, date::last_day),
    pure("LEAST", (1, MANY), general::compared_type, general::least),
    pure("LENGTH", (1, 1), to_number, text::length),
    pure("LENGTHB", (1, 1), to_number, text::lengthb),
    pure("LN", (1, 1), to_numeric, numeric::ln),
    pure("LNNVL", (1, 1), to_boolean, general::lnnvl),
    bare("LOCALTIMESTAMP", to_local_timestamp, date::localtimestamp),
    pure("LOG", (2, 2), to_numeric, numeric::log),
    pure("LOWER", (1, 1), to_text, text::lower),
    pure("LPAD", (2, 3), to_text, text::lpad),
    pure("LTRIM", (1, 2), to_text, text::ltrim),
    pure("MOD", (2, 2), to_numeric, numeric::modulo),
    pure("MONTHS_BETWEEN", (2, 2), to_number, date::months_between),
    pure("NANVL", (2, 2), to_numeric, numeric::nanvl),
    pure("NEW_TIME", (3, 3), to_date, date::new_time),
    pure("NEXT_DAY", (2, 2), to_date, date::next_day),
    pure("NLSSORT", (1, 2), to_raw, charset::nlssort),
    pure("NLS_CHARSET_ID", (1, 1), to_number, charset::nls_charset_id),
    pure("NLS_CHARSET_NAME", (1, 1), to_text, charset::nls_charset_name),
    pure("NLS_INITCAP", (1, 2), to_text, charset::nls_initcap),
    pure("NLS_LOWER", (1, 2), to_text, charset::nls_lower),
    pure("NLS_UPPER", (1, 2), to_text, charset::nls_upper),
    pure("NULLIF", (2, 2), first, general::nullif),
    pure("NUMTODSINTERVAL", (2, 2), to_interval_ds, convert::numtodsinterval),
    pure("NUMTOYMINTERVAL", (2, 2), to_interval_ym, convert::numtoyminterval),
    pure("NVL", (2, 2), general::common_type, general::nvl),
    pure("NVL2", (3, 3), after_first, general::nvl2),
    pure("ORA_HASH", (1, 3), to_number, hash::ora_hash),
    pure("POWER", (2, 2), to_numeric, numeric::power),
    pure("RAWTOHEX", (1, 1), to_varchar, raw::rawtohex),
    pure("RAWTONHEX", (1, 1), to_varchar, raw::rawtohex),
    pure("REGEXP_COUNT", (2, 4), to_number, regexp::count),
    pure("REGEXP_INSTR", (2, 7), to_number, regexp::instr),
    pure("REGEXP_LIKE", (2, 3), to_boolean, regexp::like),
    pure("REGEXP_REPLACE", (2, 6), to_text, regexp::replace),
    pure("REGEXP_SUBSTR", (2, 6), to_text, regexp::substr),
    pure("REMAINDER", (2, 2), to_numeric, numeric::remainder),
    pure("REPLACE", (2, 3), to_text, text::replace),
    pure("REVERSE", (1, 1), to_text, text::reverse),
    pure("ROUND", (1, 2), number_or_date, numeric::round),
    pure("ROWIDTOCHAR", (1, 1), to_varchar, convert::rowidtochar),
    pure("RPAD", (2, 3), to_text, text::rpad),
    pure("RTRIM", (1, 2), to_text, text::rtrim),
    FnDef { deterministic: false, ..pure("SCN_TO_TIMESTAMP", (1, 1), to_timestamp, session::scn_to_timestamp) },
    bare("SESSIONTIMEZONE", to_varchar, date::sessiontimezone),
    pure("SIGN", (1, 1), to_number, numeric::sign),
    pure("SIN", (1, 1), to_numeric, numeric::sin),
    pure("SINH", (1, 1), to_numeric, numeric::sinh),
    pure("SOUNDEX", (1, 1), to_varchar, text::soundex),
    pure("SQRT", (1, 1), to_numeric, numeric::sqrt),
    pure("STANDARD_HASH", (1, 2), to_raw, hash::standard_hash),
    pure("SUBSTR", (2, 3), to_text, text::substr),
    pure("SUBSTRB", (2, 3), to_text, text::substrb),
    bare("SYSDATE", to_date, date::sysdate),
    bare("SYSTIMESTAMP", to_zoned, date::systimestamp),
    pure("SYS_CONTEXT", (2, 3), to_varchar, session::sys_context),
    pure("SYS_EXTRACT_UTC", (1, 1), to_timestamp, date::sys_extract_utc),
    FnDef { deterministic: false, ..pure("SYS_GUID", (0, 0), to_raw, session::sys_guid) },
    pure("TAN", (1, 1), to_numeric, numeric::tan),
    pure("TANH", (1, 1), to_numeric, numeric::tanh),
    FnDef { deterministic: false, ..pure("TIMESTAMP_TO_SCN", (1, 1), to_number, session::timestamp_to_scn) },
    pure("TO_BINARY_DOUBLE", (1, 3), to_double, convert::to_binary_double),
    pure("TO_BINARY_FLOAT", (1, 3), to_float, convert::to_binary_float),
    pure("TO_BLOB", (1, 1), to_blob, convert::to_blob),
    pure("TO_CHAR", (1, 3), to_varchar, convert::to_char),
    pure("TO_CLOB", (1, 1), to_clob, convert::to_clob),
    pure("TO_DATE", (1, 3), to_date, convert::to_date),
    pure("TO_DSINTERVAL", (1, 1), to_interval_ds, convert::to_dsinterval),
    pure("TO_LOB", (1, 1), to_clob, text::unchanged),
    pure("TO_MULTI_BYTE", (1, 1), first, charset::to_multi_byte),
    pure("TO_NCHAR", (1, 3), to_varchar, convert::to_char),
    pure("TO_NCLOB", (1, 1), to_clob, convert::to_clob),
    pure("TO_NUMBER", (1, 3), to_number, convert::to_number),
    pure("TO_SINGLE_BYTE", (1, 1), first, charset::to_single_byte),
    pure("TO_TIMESTAMP", (1, 3), to_timestamp, convert::to_timestamp),
    pure("TO_TIMESTAMP_TZ", (1, 3), to_zoned, convert::to_timestamp_tz),
    pure("TO_YMINTERVAL", (1, 1), to_interval_ym, convert::to_yminterval),
    pure("TRANSLATE", (3, 3), to_text, text::translate),
    pure("TRIM", (1, 2), to_text, text::trim),
    pure("TRUNC", (1, 2), number_or_date, numeric::trunc),
    FnDef { deterministic: false, ..pure("TZ_OFFSET", (1, 1), to_varchar, date::tz_offset) },
    bare("UID", to_number, session::uid),
    pure("UNISTR", (1, 1), to_varchar, text::unistr),
    pure("UPPER", (1, 1), to_text, text::upper),
    bare("USER", to_varchar, session::user),
    pure("USERENV", (1, 1), to_varchar, session::userenv),
    pure("UTL_RAW.BIT_AND", (2, 2), to_raw, raw::bit_and),
    pure("UTL_RAW.BIT_OR", (2, 2), to_raw, raw::bit_or),
    pure("UTL_RAW.BIT_XOR", (2, 2), to_raw, raw::bit_xor),
    pure("UTL_RAW.CAST_TO_RAW", (1, 1), to_raw, raw::cast_to_raw),
    pure("UTL_RAW.CAST_TO_VARCHAR2", (1, 1), to_varchar, raw::cast_to_varchar2),
    pure("UTL_RAW.CONCAT", (1, 12), to_raw, raw::concat),
    pure("UTL_RAW.LENGTH", (1, 1), to_number, raw::length),
    pure("UTL_RAW.REVERSE", (1, 1), to_raw, raw::reverse),
    pure("UTL_RAW.SUBSTR", (2, 3), to_raw, raw::substr),
    pure("VSIZE", (1, 1), to_number, raw::vsize),
    pure("WIDTH_BUCKET", (4, 4), to_number, numeric::width_bucket),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(FUNCTIONS.iter().all(|f| f.min_args <= f.max_args));
    }

    #[test]
    fn names_are_found_in_any_case() {
        for name in names() {
            assert_eq!(lookup(name).unwrap().name, name);
            assert_eq!(lookup(&name.to_lowercase()).unwrap().name, name);
        }
        assert!(lookup("NO_SUCH").is_none() && lookup("").is_none());
    }

    #[test]
    fn arguments_are_counted() {
        assert!(lookup("ABS").unwrap().check_args(2).unwrap_err().is(909));
        assert!(lookup("SUBSTR").unwrap().check_args(1).unwrap_err().is(938));
        assert!(lookup("SUBSTR").unwrap().check_args(4).unwrap_err().is(939));
        assert!(lookup("COALESCE").unwrap().check_args(300).is_ok());
    }
}
