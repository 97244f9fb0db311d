//! What serde asks of JSON that is read: values of the kinds that types of the app consist of.

use crate::json_read::{Fault, Integer, Reader, Result, finite, integer, misfit};
use alloc::borrow::Cow;
use core::fmt;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

// Texts of serde are left alone: they repeat values, and printing them takes more than reading.
impl de::Error for Fault {
    fn custom<T: fmt::Display>(_: T) -> Fault {
        misfit("unexpected value")
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Fault {
        misfit("unexpected type")
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn Expected) -> Fault {
        misfit("unexpected value")
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Fault {
        misfit("unexpected length")
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Fault {
        misfit("unknown variant")
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Fault {
        misfit("unknown field")
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault { field, ..misfit("missing field") }
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault { field, ..misfit("duplicate field") }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl core::error::Error for Fault {}

macro_rules! integers {
    ($($deserialize:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.integer()? {
                Integer::Unsigned(number) => visitor.visit_u64(number),
                Integer::Signed(number) => visitor.visit_i64(number),
            }
        })*
    };
}

macro_rules! forward {
    ($($deserialize:ident($($more:ty),*) to $other:ident;)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, $(_: $more,)* visitor: V) -> Result<V::Value> {
            self.$other(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            _ => {
                let (text, whole) = self.number()?;
                // Minus zero is a float that is not zero, as some count.
                match integer(text).filter(|_| text != "-0") {
                    Some(Integer::Unsigned(number)) if whole => visitor.visit_u64(number),
                    Some(Integer::Signed(number)) if whole => visitor.visit_i64(number),
                    _ => visitor.visit_f64(finite(text)?),
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_bool(self.bool()?)
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_i128(self.number()?.0.parse().map_err(|_| misfit("number out of range"))?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_u128(self.number()?.0.parse().map_err(|_| misfit("number out of range"))?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_f64(finite(self.number()?.0)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_str(&text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.word("null")?;
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() != Some(b'n') {
            return Err(self.misfit());
        }
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.open(b'[')?;
        self.deeper()?;
        let mut items = Items { reader: self, first: true, closed: false };
        let value = visitor.visit_seq(&mut items)?;
        items.close(b']')?;
        Ok(value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.open(b'{')?;
        self.deeper()?;
        let mut items = Items { reader: self, first: true, closed: false };
        let value = visitor.visit_map(&mut items)?;
        items.close(b'}')?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.peek() == Some(b'"') {
            return visitor.visit_enum(Key(self.string()?));
        }
        self.open(b'{')?;
        self.deeper()?;
        let mut items = Items { reader: self, first: true, closed: false };
        if !items.more(b'}')? {
            return Err(misfit("unexpected length"));
        }
        let value = visitor.visit_enum(&mut items)?;
        items.close(b'}')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward! {
        deserialize_f32() to deserialize_f64;
        deserialize_char() to deserialize_str;
        deserialize_string() to deserialize_str;
        deserialize_identifier() to deserialize_str;
        deserialize_bytes() to deserialize_any;
        deserialize_byte_buf() to deserialize_any;
        deserialize_unit_struct(&'static str) to deserialize_unit;
        deserialize_tuple(usize) to deserialize_seq;
        deserialize_tuple_struct(&'static str, usize) to deserialize_seq;
        deserialize_struct(&'static str, &'static [&'static str]) to deserialize_map;
    }
}

/// The items of a list or an object.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    first: bool,
    closed: bool,
}

impl Items<'_, '_> {
    fn more(&mut self, close: u8) -> Result<bool> {
        let more = !self.closed && self.reader.more(self.first, close)?;
        self.first = false;
        self.closed = !more;
        Ok(more)
    }

    /// Expects that there are no more items than were asked for.
    fn close(&mut self, close: u8) -> Result<()> {
        if self.more(close)? { Err(misfit("unexpected length")) } else { Ok(()) }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.more(b']')? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.more(b'}')? { seed.deserialize(Key(self.reader.key()?)).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.reader.colon()?;
        seed.deserialize(&mut *self.reader)
    }
}

/// `{"Variant": …}`.
impl<'de, 'a> EnumAccess<'de> for &'a mut Items<'_, 'de> {
    type Error = Fault;
    type Variant = &'a mut Reader<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant)> {
        let variant = seed.deserialize(Key(self.reader.key()?))?;
        self.reader.colon()?;
        Ok((variant, &mut *self.reader))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<()> {
        if self.peek() == Some(b'n') { self.word("null") } else { Err(self.misfit()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }
}

/// A name: of a field, a key of a map or a variant without content.
struct Key<'de>(Cow<'de, str>);

impl Key<'_> {
    /// JSON has names only, so numbers stand in quotes.
    fn integer(&self) -> Result<Integer> {
        integer(&self.0).ok_or_else(|| misfit("unexpected name"))
    }
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_str(&text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(misfit("unexpected name")),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> EnumAccess<'de> for Key<'de> {
    type Error = Fault;
    type Variant = NoContent;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoContent)> {
        Ok((seed.deserialize(self)?, NoContent))
    }
}

/// What stands in a variant that is a name only.
struct NoContent;

impl<'de> VariantAccess<'de> for NoContent {
    type Error = Fault;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Err(misfit("unexpected type"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Err(misfit("unexpected type"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Err(misfit("unexpected type"))
    }
}
