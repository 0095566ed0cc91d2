//! `#[derive(Image)]`: a value as bytes, in the order of its definition. See `README.md`.
#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};
use std::fmt::Write as _;

/// The fields of a struct or of a variant.
enum Fields {
    Unit,
    /// The number of fields.
    Tuple(usize),
    Named(Vec<String>),
}

/// Implements `types::image::Image` for a struct or an enum.
#[proc_macro_derive(Image)]
pub fn derive_image(input: TokenStream) -> TokenStream {
    match implementation(input) {
        Ok(code) => code.parse().expect("generated code is Rust"),
        Err(why) => format!("compile_error!({why:?});").parse().expect("an error is Rust"),
    }
}

/// The code that implements the trait, or the reason why the definition is refused (D2).
fn implementation(input: TokenStream) -> Result<String, String> {
    let mut tokens = input.into_iter().peekable();
    let is_struct = loop {
        match tokens.next() {
            Some(TokenTree::Ident(word)) if word.to_string() == "struct" => break true,
            Some(TokenTree::Ident(word)) if word.to_string() == "enum" => break false,
            Some(TokenTree::Ident(word)) if word.to_string() == "union" => return Err("a union has no image".into()),
            Some(_) => {}
            None => return Err("neither a struct nor an enum".into()),
        }
    };
    let Some(TokenTree::Ident(name)) = tokens.next() else { return Err("a definition without a name".into()) };
    let body = match tokens.next() {
        Some(TokenTree::Group(body)) => Some(body),
        Some(TokenTree::Punct(end)) if end.as_char() == ';' => None,
        _ => return Err("a generic definition has no image".into()),
    };
    let (mut put, mut take) = (String::new(), String::new());
    if is_struct {
        arms(&name.to_string(), &body.as_ref().map_or(Fields::Unit, fields), None, &mut put, &mut take);
    } else {
        let variants = variants(&body.ok_or("an enum without variants has no image")?)?;
        if variants.len() > 256 {
            return Err("an image tells 256 variants apart".into());
        }
        for (number, (variant, fields)) in variants.iter().enumerate() {
            arms(&format!("{name}::{variant}"), fields, Some(number), &mut put, &mut take);
        }
    }
    let take = match is_struct {
        true => take,
        false => {
            format!("match r.byte()? {{ {take} _ => return ::core::result::Result::Err(::types::image::Damaged) }}")
        }
    };
    Ok(format!(
        "#[automatically_derived]
        impl ::types::image::Image for {name} {{
            fn put(&self, __w: &mut ::types::image::Writer) {{ match self {{ {put} }} }}
            fn take(r: &mut ::types::image::Reader<'_>) -> ::core::result::Result<Self, ::types::image::Damaged> {{
                r.enter()?;
                let value = {take};
                r.leave();
                ::core::result::Result::Ok(value)
            }}
        }}"
    ))
}

/// Adds the code that writes and reads one shape (D1): a struct, or a variant with its number.
fn arms(path: &str, fields: &Fields, number: Option<usize>, put: &mut String, take: &mut String) {
    let (open, close) = if let Fields::Tuple(_) = fields { ("(", ")") } else { ("{", "}") };
    let names: Vec<(String, String)> = match fields {
        Fields::Unit => Vec::new(),
        Fields::Tuple(count) => (0..*count).map(|at| (format!("f{at}"), String::new())).collect(),
        Fields::Named(names) => names.iter().map(|name| (name.clone(), format!("{name}: "))).collect(),
    };
    let pattern: String = names.iter().map(|(name, _)| format!("{name},")).collect();
    let _ = write!(put, "{path} {open} {pattern} {close} => {{");
    if let Some(number) = number {
        let _ = write!(put, "__w.byte({number}u8);");
    }
    for (name, _) in &names {
        let _ = write!(put, "::types::image::Image::put({name}, __w);");
    }
    put.push('}');
    let values: String = names.iter().map(|(_, label)| format!("{label}::types::image::Image::take(r)?,")).collect();
    let value = format!("{path} {open} {values} {close}");
    let _ = match number {
        // Each variant has a function of its own, so the stack of nested values has one variant per level, not all of
        // them.
        Some(number) if !names.is_empty() => {
            let whole = path.split("::").next().unwrap_or_default();
            write!(
                take,
                "{number}u8 => {{
                    #[inline(never)]
                    fn variant(r: &mut ::types::image::Reader<'_>) -> ::core::result::Result<{whole}, ::types::image::Damaged> {{
                        ::core::result::Result::Ok({value})
                    }}
                    variant(r)?
                }},"
            )
        }
        Some(number) => write!(take, "{number}u8 => {value},"),
        None => write!(take, "{value}"),
    };
}

/// The parts between commas outside angle brackets, without attributes.
fn parts(group: &Group) -> Vec<Vec<TokenTree>> {
    let (mut all, mut part, mut depth) = (Vec::new(), Vec::new(), 0);
    let mut tokens = group.stream().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                tokens.next();
                continue;
            }
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark) if mark.as_char() == '>' => depth -= 1,
            TokenTree::Punct(mark) if mark.as_char() == ',' && depth == 0 => {
                all.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(token);
    }
    if !part.is_empty() {
        all.push(part);
    }
    all
}

fn fields(group: &Group) -> Fields {
    let parts = parts(group);
    if group.delimiter() == Delimiter::Parenthesis {
        return Fields::Tuple(parts.len());
    }
    // The name is the word before the first colon.
    let name = |part: Vec<TokenTree>| {
        let colon = part.iter().position(|t| matches!(t, TokenTree::Punct(mark) if mark.as_char() == ':'));
        colon.and_then(|at| part.get(at.checked_sub(1)?)).map(ToString::to_string)
    };
    Fields::Named(parts.into_iter().filter_map(name).collect())
}

fn variants(group: &Group) -> Result<Vec<(String, Fields)>, String> {
    let variant = |part: Vec<TokenTree>| match &part[..] {
        [TokenTree::Ident(name)] => Ok((name.to_string(), Fields::Unit)),
        [TokenTree::Ident(name), TokenTree::Group(body)] => Ok((name.to_string(), fields(body))),
        // An explicit discriminant.
        [TokenTree::Ident(name), TokenTree::Punct(mark), ..] if mark.as_char() == '=' => {
            Ok((name.to_string(), Fields::Unit))
        }
        _ => Err("a variant that is not understood".to_string()),
    };
    parts(group).into_iter().map(variant).collect()
}
