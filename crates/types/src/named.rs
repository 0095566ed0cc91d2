//! Named types: objects and collections.
//!
//! A [`DataType`] stays a few bytes that can be copied: it has the number of a named type, and the catalog of types has
//! the definition ([`TypeDef`], V10). Types of schemas have the number of their object, built-in types have the numbers
//! below.

use crate::datatype::{DataType, LenUnit};
use crate::ids::TypeId;

/// The definition of a named type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDef {
    pub id: TypeId,
    pub owner: String,
    pub name: String,
    pub shape: TypeShape,
    pub lineage: Lineage,
}

/// The place of an object type among others, and the order of its objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// The types above it, the nearest first.
    pub supertypes: Vec<TypeId>,
    /// No type may be under it.
    pub is_final: bool,
    /// It has objects that are not of its subtypes.
    pub instantiable: bool,
    pub order: Option<ObjectOrder>,
}

impl Default for Lineage {
    fn default() -> Lineage {
        Lineage { supertypes: Vec::new(), is_final: true, instantiable: true, order: None }
    }
}

/// The method by which objects of a type are compared, its own or an inherited one.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectOrder {
    /// The name of the MAP method.
    Map(String),
    /// The name of the ORDER method.
    Order(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeShape {
    /// A value has attributes, those of the supertypes first.
    Object(Vec<Attribute>),
    /// A value has elements.
    Table {
        element: DataType,
    },
    Varray {
        element: DataType,
        limit: u32,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: String,
    pub ty: DataType,
}

impl TypeDef {
    /// The attribute with that name, and its position.
    pub fn attribute(&self, name: &str) -> Option<(usize, &Attribute)> {
        match &self.shape {
            TypeShape::Object(attributes) => attributes.iter().enumerate().find(|(_, a)| a.name == name),
            TypeShape::Table { .. } | TypeShape::Varray { .. } => None,
        }
    }

    /// Whether a value of this type is one of the other type: it is the same, or above this one.
    pub fn is_under(&self, other: TypeId) -> bool {
        self.id == other || self.lineage.supertypes.contains(&other)
    }

    pub fn is_object(&self) -> bool {
        matches!(self.shape, TypeShape::Object(_))
    }

    /// The type of a collection's elements.
    pub fn element(&self) -> Option<DataType> {
        match &self.shape {
            TypeShape::Table { element } | TypeShape::Varray { element, .. } => Some(*element),
            TypeShape::Object(_) => None,
        }
    }
}

/// First number of built-in types, above those of objects.
const BUILT_IN: u32 = 0xFFFF_0000;

impl TypeId {
    /// SYS.DBMS_XPLAN_TYPE_TABLE, the lines of a plan.
    pub const PLAN_LINES: TypeId = TypeId(BUILT_IN);
    /// SYS.AWRRPT_TEXT_TYPE_TABLE, the lines of a report.
    pub const REPORT_LINES: TypeId = TypeId(BUILT_IN + 2);

    /// SYS.XMLSEQUENCETYPE, the result of XMLSEQUENCE.
    pub const XML_SEQUENCE: TypeId = TypeId(BUILT_IN + 8);

    /// The definition of a built-in type.
    pub fn built_in(self) -> Option<TypeDef> {
        let at = self.0.checked_sub(BUILT_IN)?;
        let (name, shape) = built_in(at)?;
        Some(TypeDef { id: self, owner: "SYS".into(), name: name.into(), shape, lineage: Lineage::default() })
    }

    /// The built-in type with that name, owned by SYS.
    pub fn built_in_named(name: &str) -> Option<TypeId> {
        let of = |at: u32| built_in(at).is_some_and(|(n, _)| n == name).then_some(TypeId(BUILT_IN + at));
        (0..).take_while(|at| built_in(*at).is_some()).find_map(of)
    }
}

fn built_in(at: u32) -> Option<(&'static str, TypeShape)> {
    let text = |len| DataType::Varchar2 { len, unit: LenUnit::Byte };
    let line = |name: &str, len| TypeShape::Object(vec![Attribute { name: name.into(), ty: text(len) }]);
    let of = |at: u32| TypeShape::Table { element: DataType::Named(TypeId(BUILT_IN + at)) };
    // The lists of the data cartridge interface have the greatest limit of a varray.
    let list = |element| TypeShape::Varray { element, limit: 32767 };
    Some(match at {
        0 => ("DBMS_XPLAN_TYPE_TABLE", of(1)),
        1 => ("DBMS_XPLAN_TYPE", line("PLAN_TABLE_OUTPUT", 4000)),
        2 => ("AWRRPT_TEXT_TYPE_TABLE", of(3)),
        3 => ("AWRRPT_TEXT_TYPE", line("OUTPUT", 4000)),
        4 => ("ODCINUMBERLIST", list(DataType::NUMBER)),
        5 => ("ODCIVARCHAR2LIST", list(text(4000))),
        6 => ("ODCIDATELIST", list(DataType::Date)),
        7 => ("ODCIRAWLIST", list(DataType::Raw { len: 2000 })),
        8 => ("XMLSEQUENCETYPE", TypeShape::Varray { element: DataType::Xml, limit: i32::MAX as u32 }),
        9 => ("DBMSOUTPUT_LINESARRAY", TypeShape::Varray { element: text(32767), limit: i32::MAX as u32 }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_database_are_found_by_name_and_number() {
        let id = TypeId::built_in_named("ODCINUMBERLIST").unwrap();
        let def = id.built_in().unwrap();
        assert_eq!((def.name.as_str(), def.element()), ("ODCINUMBERLIST", Some(DataType::NUMBER)));
        let lines = TypeId::PLAN_LINES.built_in().unwrap().element();
        let Some(DataType::Named(line)) = lines else { panic!("{lines:?}") };
        assert_eq!(line.built_in().unwrap().name, "DBMS_XPLAN_TYPE");
        assert_eq!(TypeId::built_in_named("AWRRPT_TEXT_TYPE_TABLE"), Some(TypeId::REPORT_LINES));
        assert_eq!(TypeId::built_in_named("NOSUCH"), None);
        assert_eq!(TypeId(17).built_in(), None);
    }
}
