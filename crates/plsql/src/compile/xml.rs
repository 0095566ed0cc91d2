//! XMLTYPE: its constructor and its methods, which are operations of the crate `functions`.

use super::compiler::{CResult, Compiler, Val};
use super::symbols::Operands;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use functions::XmlOp;
use sql::plsql::ast::{Argument, Ident, Name, Part, Pos};
use types::{DataType, Value};

impl<W: World> Compiler<'_, W> {
    /// `XMLTYPE(text)` and `XMLTYPE.createXML(text)`, with the number of parts; `None` for another name.
    pub(super) fn xml_constructor(&mut self, n: &Name) -> CResult<Option<(Val, usize)>> {
        let is_name = !n.first.quoted && n.first.name == "XMLTYPE";
        let (args, used) = match n.parts.as_slice() {
            [Part::Call(args), ..] if is_name => (args, 1),
            [Part::Field(f), Part::Call(args), ..] if is_name && f.name == "CREATEXML" => (args, 2),
            [Part::Field(f), Part::Call(args), ..] if n.first.name == "SYS" && f.name == "XMLTYPE" => (args, 2),
            _ => return Ok(None),
        };
        let [Argument { name: None, value }] = args.as_slice() else {
            return Err(self.pls(306, &[&n.first.name], n.first.pos));
        };
        let base = self.slots(4);
        let text = self.operand(value, None)?;
        if text.ty.data_type() == Some(DataType::Xml) {
            return Ok(Some((text, used)));
        }
        let is_text = text.ty.is_null() || matches!(text.ty.class(), Class::Text | Class::Raw);
        if !is_text {
            return Err(self.pls(306, &[&n.first.name], n.first.pos));
        }
        self.emit(Op::Move { d: Opd::local(base + 2), s: text.o });
        let flag = self.constant(Value::Number(0i32.into()));
        self.emit(Op::Move { d: Opd::local(base + 3), s: flag });
        let v =
            self.xml_operation(XmlOp::Parse, base, vec![DataType::Clob, DataType::NUMBER], DataType::Xml, n.first.pos)?;
        Ok(Some((v, used)))
    }

    /// `own.method(args)`.
    pub(super) fn xml_method(&mut self, own: Val, f: &Ident, args: &[Argument]) -> CResult<Val> {
        let found = plan::xml_method(&f.name, args.len(), f.pos).map_err(|e| match e.code() {
            909 => self.pls(306, &[&f.name], f.pos),
            _ => e,
        })?;
        let Some((op, ty)) = found else { return Err(self.pls(302, &[&f.name], f.pos)) };
        let base = self.slots(args.len() as u32 + 3);
        self.emit(Op::Move { d: Opd::local(base + 2), s: own.o });
        let mut types = vec![DataType::Xml];
        for (at, arg) in args.iter().enumerate() {
            if arg.name.is_some() {
                return Err(self.pls(306, &[&f.name], f.pos));
            }
            let saved = self.f.next;
            self.assign_expr(Opd::local(base + 3 + at as u32), &Ty::TEXT, &arg.value)?;
            self.f.next = saved;
            types.push(DataType::TEXT);
        }
        let ty = if matches!(ty, DataType::Varchar2 { .. }) { DataType::TEXT } else { ty };
        self.xml_operation(op, base, types, ty, f.pos)
    }

    /// An operation over the values after `base + 1`.
    fn xml_operation(&mut self, op: XmlOp, base: u32, values: Vec<DataType>, ty: DataType, pos: Pos) -> CResult<Val> {
        let number = self.constant(Value::Number((op as i32).into()));
        self.emit(Op::Move { d: Opd::local(base + 1), s: number });
        let types = std::iter::once(DataType::NUMBER).chain(values).map(Ty::of).collect();
        let v = self.finish_function(functions::XML, base, types, pos, None)?;
        Ok(Val { ty: Ty::of(ty), ..v })
    }
}
