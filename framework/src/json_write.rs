//! Values of the app written as JSON (RFC 8259), through serde.

use crate::quote::push_json_string;
use crate::text::push_decimal;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Why a value can't be JSON. It is the app's own, so it may say what it likes.
pub(crate) struct Fault(String);

type Result<T> = core::result::Result<T, Fault>;

/// Writes a value.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut out = String::new();
    value.serialize(Writer(&mut out))?;
    Ok(out)
}

/// Where a value goes.
struct Writer<'a>(&'a mut String);

/// A list or an object that is being written.
struct Items<'a> {
    out: &'a mut String,
    first: bool,
    close: &'static str,
}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(text: T) -> Fault {
        Fault(text.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// Not derived: text in quotes brings tables of Unicode into a component.
impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Fault {}

impl<'a> Writer<'a> {
    fn text(self, text: &str) -> Result<()> {
        self.0.push_str(text);
        Ok(())
    }

    fn negative(self, number: i64) -> Result<()> {
        if number < 0 {
            self.0.push('-');
        }
        push_decimal(self.0, number.unsigned_abs());
        Ok(())
    }

    fn positive(self, number: u64) -> Result<()> {
        push_decimal(self.0, number);
        Ok(())
    }

    fn open(self, open: char, close: &'static str) -> Items<'a> {
        self.0.push(open);
        Items { out: self.0, first: true, close }
    }

    /// Begins `{"Variant":`.
    fn variant(self, name: &str) -> &'a mut String {
        self.0.push('{');
        push_json_string(self.0, name);
        self.0.push(':');
        self.0
    }
}

macro_rules! numbers {
    ($($serialize:ident $number:ty as $wide:ty, $write:ident;)*) => {
        $(fn $serialize(self, number: $number) -> Result<()> {
            self.$write(number as $wide)
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    numbers! {
        serialize_i8 i8 as i64, negative;
        serialize_i16 i16 as i64, negative;
        serialize_i32 i32 as i64, negative;
        serialize_i64 i64 as i64, negative;
        serialize_u8 u8 as u64, positive;
        serialize_u16 u16 as u64, positive;
        serialize_u32 u32 as u64, positive;
        serialize_u64 u64 as u64, positive;
    }

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.text(if value { "true" } else { "false" })
    }

    fn serialize_i128(self, number: i128) -> Result<()> {
        write!(self.0, "{number}").map_err(ser::Error::custom)
    }

    fn serialize_u128(self, number: u128) -> Result<()> {
        write!(self.0, "{number}").map_err(ser::Error::custom)
    }

    fn serialize_f32(self, number: f32) -> Result<()> {
        // The shortest text that is read as the same number. JSON has neither infinity nor what is no number.
        if number.is_finite() { write!(self.0, "{number:?}").map_err(ser::Error::custom) } else { self.text("null") }
    }

    fn serialize_f64(self, number: f64) -> Result<()> {
        if number.is_finite() { write!(self.0, "{number:?}").map_err(ser::Error::custom) } else { self.text("null") }
    }

    fn serialize_char(self, letter: char) -> Result<()> {
        self.serialize_str(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<()> {
        push_json_string(self.0, text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<()> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<()> {
        self.text("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.text("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.text("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let out = self.variant(variant);
        value.serialize(Writer(out))?;
        out.push('}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.open('[', "]"))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, name: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(Writer(self.variant(name)).open('[', "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>> {
        Ok(self.open('{', "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(self.open('{', "}"))
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, name: &'static str, _: usize) -> Result<Items<'a>> {
        Ok(Writer(self.variant(name)).open('{', "}}"))
    }
}

impl Items<'_> {
    fn comma(&mut self) {
        if !core::mem::take(&mut self.first) {
            self.out.push(',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.comma();
        value.serialize(Writer(self.out))
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        self.comma();
        push_json_string(self.out, name);
        self.out.push(':');
        value.serialize(Writer(self.out))
    }

    /// Adds what was written as a key: names are text, so other simple values get quotes.
    fn name(&mut self, written: &str) -> Result<()> {
        self.comma();
        let quote = match written.as_bytes() {
            [b'"', ..] => "",
            [b'[' | b'{' | b'n', ..] => return Err(Fault(String::from("a key of a map is no text"))),
            _ => "\"",
        };
        for part in [quote, written, quote, ":"] {
            self.out.push_str(part);
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        self.out.push_str(self.close);
        Ok(())
    }
}

macro_rules! lists {
    ($($list:ident $add:ident)*) => {
        $(impl $list for Items<'_> {
            type Ok = ();
            type Error = Fault;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.item(value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        })*
    };
}

macro_rules! objects {
    ($($object:ident)*) => {
        $(impl $object for Items<'_> {
            type Ok = ();
            type Error = Fault;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
                self.field(name, value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        })*
    };
}

lists! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

objects! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let written = write(key)?;
        self.name(&written)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(Writer(self.out))
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
