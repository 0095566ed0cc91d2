//! Calls of scalar functions: the number of arguments, and the type of the result.

use crate::function::Func;
use crate::ir::{Expr, Node};
use crate::typing::{Class, class, length, text};
use types::{DataType, Ora, Result, Value};

/// Finds the function, checks the number of arguments and determines the type of the result.
///
/// # Errors
/// ORA-00904 for an unknown function; ORA-00909, 00938 and 00939 for the number of arguments; ORA-00932 for their
/// types.
pub fn resolve(name: &str, args: Vec<Expr>, pos: u32) -> Result<(Func, Vec<Expr>, DataType)> {
    let def = functions::lookup(name).ok_or_else(|| Ora::with(904, &[&format!("\"{name}\"")]).at(pos))?;
    def.check_args(args.len()).map_err(|e| e.at(pos))?;
    // Only DBMS_LOB takes the locator of a file.
    if args.iter().any(|a| a.ty == DataType::Bfile) {
        return Err(crate::typing::inconsistent("-", DataType::Bfile.name(), pos));
    }
    if matches!(name, "TO_CHAR" | "TO_NCHAR")
        && let Some(digits) = crate::typing::with_digits(args.clone())
    {
        let length = text(to_char_length(&args));
        return Ok((Func::of_digits(), digits, length));
    }
    // The length of a RAW is that of its hexadecimal text.
    let args = match (name, &args[..]) {
        ("LENGTH" | "LENGTHB" | "LENGTHC", [a]) if class(&a.ty) == Class::Raw => {
            vec![crate::typing::convert(args.into_iter().next().expect("one argument"), &text(4000), pos)?]
        }
        ("DUMP", _) => dump_arguments(args),
        _ => args,
    };
    // Any other function takes the text of XML.
    const OF_ANY_TYPE: &[&str] = &["DUMP", "NVL", "NVL2", "NULLIF", "VSIZE"];
    let args = match def.name.starts_with(' ') || OF_ANY_TYPE.contains(&def.name) {
        true => args,
        false => args.into_iter().map(|e| crate::xml_values::as_text(e, pos)).collect::<Result<_>>()?,
    };
    let types: Vec<DataType> = args.iter().map(|a| a.ty).collect();
    let ty = def.return_type(&types).map_err(|e| e.at(pos))?;
    let ty = with_length(def.name, ty, &args);
    Ok((Func(def), args, ty))
}

/// The arguments of DUMP, with the defaults of those left out, and behind them the number of the first one's type: a
/// value does not tell VARCHAR2 from CHAR, nor a column from an expression.
fn dump_arguments(mut args: Vec<Expr>) -> Vec<Expr> {
    // The internal type of a date that is not stored.
    const DATE_IN_MEMORY: u32 = 13;
    let of = args[0].ty;
    let code = match of {
        DataType::Date if !matches!(args[0].node, Node::Reg(_)) => DATE_IN_MEMORY,
        _ => of.code().into(),
    };
    let number = |n: i64| Expr::new(Node::Const(Value::Number(n.into())), crate::typing::number());
    for default in [10, 1, i64::MAX].iter().skip(args.len() - 1) {
        args.push(number(*default));
    }
    args.push(number(code.into()));
    args
}

fn whole(e: Option<&Expr>) -> Option<u32> {
    match &e?.node {
        Node::Const(Value::Number(n)) => n.to_i64().ok().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    }
}

/// The greatest length of a text result: the width of columns made from it.
fn with_length(name: &str, ty: DataType, args: &[Expr]) -> DataType {
    let first = args.first().map_or(0, |a| length(&a.ty));
    match ty {
        DataType::Raw { len: 0 } => {
            DataType::Raw { len: if name == "HEXTORAW" { first.div_ceil(2).max(1) } else { 2000 } }
        }
        DataType::Varchar2 { len: 0, .. } => text(match name {
            "UPPER" | "LOWER" | "INITCAP" | "NLS_UPPER" | "NLS_LOWER" | "NLS_INITCAP" => first,
            "REGEXP_SUBSTR" => first.max(1),
            "SOUNDEX" => 4,
            "TRIM" | "LTRIM" | "RTRIM" | "TRANSLATE" | "REVERSE" => first,
            "SUBSTR" | "SUBSTRB" => whole(args.get(2)).map_or(first, |n| n.min(first)).max(1),
            "LPAD" | "RPAD" => whole(args.get(1)).unwrap_or(4000).clamp(1, 4000),
            "CHR" => 4,
            "RAWTOHEX" => first * 2,
            "ROWIDTOCHAR" => 18,
            "CONCAT" => args.iter().map(|a| length(&a.ty)).sum(),
            "TO_CHAR" | "TO_NCHAR" => to_char_length(args),
            "USER" => 128,
            _ => 4000,
        }),
        ty => ty,
    }
}

fn to_char_length(args: &[Expr]) -> u32 {
    let model = match args.get(1).map(|a| &a.node) {
        Some(Node::Const(Value::Text(s))) => Some(s.as_str()),
        _ => None,
    };
    let class = args.first().map(|a| class(&a.ty));
    // The names of a language in the settings argument may be longer than the English ones.
    let in_english = |model: &&str| args.len() < 3 || !types::format::names_months_or_days(model);
    if let (Some(Class::Date | Class::Timestamp), Some(len)) =
        (class, model.filter(in_english).and_then(types::format::longest_date))
    {
        return len.max(1);
    }
    match (class, model.map(|model| model.chars().count() as u32)) {
        (Some(Class::Text), _) => length(&args[0].ty),
        (Some(Class::Number), None) => 40,
        (Some(Class::Number), Some(n)) => {
            let model = model.unwrap_or_default().to_uppercase();
            // A currency symbol has up to ten characters, an exponent its sign and digits, a Roman number fifteen.
            match model.as_str() {
                m if m.contains("RN") => 15,
                m if m.contains(['L', 'C', 'U']) => n + 10,
                m if m.contains("EEEE") => n + 2,
                _ => n + 1,
            }
        }
        (Some(Class::Date), None) => 75,
        // Names of months and days are longer than their format elements.
        (_, Some(n)) => n + 40,
        _ => 75,
    }
}
