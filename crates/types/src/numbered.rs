//! Enums whose values are numbers where they are stored: in blocks, in redo, in shared memory, in the dictionary.

/// Makes an enum with the numbers of its values from one list, so that number and value cannot disagree.
///
/// The enum gets `ALL` (its values in the order of the list), `code` (the number of a value) and `from_code` (the value
/// of a number; `None` for a number without one, since what is read may be damaged).
///
/// ```
/// types::numbered! {
///     /// The state of a door.
///     #[derive(Debug, PartialEq)]
///     pub enum Door: u8 {
///         /// It may be entered.
///         Open = 1,
///         Shut = 4,
///     }
/// }
/// assert_eq!((Door::Shut.code(), Door::from_code(1), Door::from_code(2)), (4, Some(Door::Open), None));
/// assert_eq!(Door::ALL, [Door::Open, Door::Shut]);
/// ```
#[macro_export]
macro_rules! numbered {
    (
        $( #[$attribute:meta] )*
        $visible:vis enum $name:ident: $number:ident {
            $( $( #[$of_value:meta] )* $value:ident = $code:literal, )+
        }
    ) => {
        $( #[$attribute] )*
        #[derive(Clone, Copy)]
        #[repr($number)]
        $visible enum $name {
            $( $( #[$of_value] )* $value = $code, )+
        }

        #[allow(dead_code)] // Not every enum is used both ways.
        impl $name {
            /// All values, in the order of their definition.
            $visible const ALL: [Self; [$( $code ),+].len()] = [$( Self::$value ),+];

            /// Its number where it is stored.
            #[inline]
            $visible const fn code(self) -> $number {
                self as $number
            }

            /// The value with this number, if there is one.
            #[inline]
            $visible const fn from_code(code: $number) -> ::core::option::Option<Self> {
                match code {
                    $( $code => ::core::option::Option::Some(Self::$value), )+
                    _ => ::core::option::Option::None,
                }
            }
        }
    };
}
