//! Operations over values of XML, for conversions and for the functions of SQL/XML.

use crate::function::Func;
use crate::ir::{Expr, Node};
use functions::XmlOp;
use types::{DataType, LenUnit, Result, TypeId, Value};

pub const TEXT: DataType = DataType::Varchar2 { len: 4000, unit: LenUnit::Byte };

pub fn whole(n: u32) -> Expr {
    Expr::new(Node::Const(Value::Number(n.into())), DataType::NUMBER)
}

/// An operation.
pub fn operation(op: XmlOp, mut args: Vec<Expr>, ty: DataType, _pos: u32) -> Result<Expr> {
    args.insert(0, whole(op as u32));
    Ok(Expr::new(Node::Func(Func::xml(), args), ty))
}

/// A text as XML: a document.
pub fn parsed(text: Expr, pos: u32) -> Result<Expr> {
    operation(XmlOp::Parse, vec![text, whole(0)], DataType::Xml, pos)
}

/// Several values as one, for a row source that has one value.
pub fn packed(args: Vec<Expr>, pos: u32) -> Result<Expr> {
    operation(XmlOp::Pack, args, DataType::Named(TypeId::XML_SEQUENCE), pos)
}

/// XML as a VARCHAR2; any other value as it is.
pub fn as_text(e: Expr, pos: u32) -> Result<Expr> {
    if e.ty == DataType::Xml { operation(XmlOp::Text, vec![e], TEXT, pos) } else { Ok(e) }
}
