//! Forms and query strings read into types of the app, through serde.

use crate::error::Result;
use crate::fault::{Fault, UNEXPECTED};
use crate::form::too_many;
use crate::limits;
use crate::pairs::Pairs;
use crate::request::Request;
use crate::status::Status;
use alloc::string::String;
use alloc::vec::{self, Vec};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

impl Request {
    /// Reads the body as a form into a type.
    ///
    /// The type is a struct whose fields are named as those of the form, or a map. A field may be text, a number, a
    /// `bool` (`true` or `false`, or `on`, which browsers send for a checkbox), an enum of names, an `Option` (`None`
    /// where the form has no such field or an empty one), or a list of these, for fields that may stand several times.
    /// No ticked checkbox at all is no field: give such a list `#[serde(default)]`. There is nothing inside of a
    /// field: brackets and dots in names mean nothing.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use tabi::{Request, Result};
    ///
    /// #[derive(Deserialize)]
    /// struct Order {
    ///     pizza: String,
    ///     pieces: u8,
    ///     #[serde(default)]
    ///     extra: Vec<String>,
    /// }
    ///
    /// async fn order(mut req: Request) -> Result<String> {
    ///     let order: Order = req.form_as().await?;
    ///     Ok(tabi::concat([&order.pizza, " with ", &order.extra.join(" and ")]))
    /// }
    /// # let client = tabi::testing::Client::new(tabi::Router::new().post("/", order));
    /// # let form = tabi::Form::new().with("pizza", "Napoli").with("extra", "ham").with("pieces", "2").with("extra", "egg");
    /// # assert_eq!(client.post("/").form(&form).send().text(), "Napoli with ham and egg");
    /// # let reply = client.post("/").form(&tabi::Form::new().with("pizza", "Napoli").with("pieces", "all")).send();
    /// # assert_eq!((reply.status().code(), reply.text().as_str()), (422, "form field `pieces` is not a whole number in range"));
    /// ```
    ///
    /// # Errors
    /// As [`Request::form`], and 422 where the form does not fit; the message names the field, never its value.
    pub async fn form_as<T: DeserializeOwned>(&mut self) -> Result<T> {
        let body = self.form_bytes().await?;
        let fields = group(Pairs::from_bytes(&body)).ok_or_else(|| too_many("the form", "fields"))?;
        T::deserialize(Fields::new(fields))
            .map_err(|fault| fault.into_error(Status::UNPROCESSABLE_CONTENT, "form field"))
    }

    /// Reads the query string into a type, as [`Request::form_as`] reads a form.
    ///
    /// # Errors
    /// 400 where it does not fit, as for a parameter of the path (422 is about content, RFC 9110, section 15.5.21), or
    /// where there are more than 1,000 parameters. The message names the parameter, never its value.
    pub fn query_as<T: DeserializeOwned>(&self) -> Result<T> {
        let fields = group(self.query_pairs()).ok_or_else(|| too_many("the query", "parameters"))?;
        T::deserialize(Fields::new(fields)).map_err(|fault| fault.into_error(Status::BAD_REQUEST, "query parameter"))
    }
}

/// A name with its values.
type Field = (String, Vec<String>);

/// Puts the values of each name together, or returns `None` where there are too many pairs.
fn group(pairs: Pairs<'_>) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for (count, (name, value)) in pairs.enumerate() {
        if count == limits::PAIRS {
            return None;
        }
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value.into_owned()),
            None => fields.push((name.into_owned(), Vec::from([value.into_owned()]))),
        }
    }
    Some(fields)
}

/// All fields: a struct or a map.
struct Fields {
    left: vec::IntoIter<Field>,
    current: Option<Field>,
}

impl Fields {
    fn new(fields: Vec<Field>) -> Fields {
        Fields { left: fields.into_iter(), current: None }
    }
}

impl<'de> Deserializer<'de> for Fields {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.left.as_slice().is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple tuple_struct map
        struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.left.next();
        match &self.current {
            Some((name, _)) => seed.deserialize(Value(core::slice::from_ref(name))).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (name, values) = self.current.take().unwrap_or_default();
        seed.deserialize(Value(&values)).map_err(|fault| fault.of(name))
    }
}

/// The values of a field, or one of them.
struct Value<'a>(&'a [String]);

impl<'a> Value<'a> {
    /// Returns the value where there is one. Of several none is better than the others: taking the first or the last
    /// would let two parts of a system read different things from one request.
    fn one(self) -> Result<&'a str, Fault> {
        match self.0 {
            [value] => Ok(value),
            _ => Err(Fault::new("is given more than once")),
        }
    }
}

macro_rules! numbers {
    ($($deserialize:ident $visit:ident $number:ident $what:literal;)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.one()?.parse::<$number>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(Fault::new(concat!("is not a ", $what))),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.len() > 1 { self.deserialize_seq(visitor) } else { self.deserialize_str(visitor) }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.one()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bytes(self.one()?.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.one()? {
            // HTML, section 4.10.5.3.18: a checkbox without a value has this one.
            "true" | "on" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(Fault::new("is neither true nor false")),
        }
    }

    numbers! {
        deserialize_u8 visit_u8 u8 "whole number in range";
        deserialize_u16 visit_u16 u16 "whole number in range";
        deserialize_u32 visit_u32 u32 "whole number in range";
        deserialize_u64 visit_u64 u64 "whole number in range";
        deserialize_u128 visit_u128 u128 "whole number in range";
        deserialize_i8 visit_i8 i8 "whole number in range";
        deserialize_i16 visit_i16 i16 "whole number in range";
        deserialize_i32 visit_i32 i32 "whole number in range";
        deserialize_i64 visit_i64 i64 "whole number in range";
        deserialize_i128 visit_i128 i128 "whole number in range";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.one()?.parse::<f64>() {
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => Err(Fault::new("is not a number")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            [value] if value.is_empty() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        if self.0.len() > length {
            return Err(Fault::new("has an unexpected number of values"));
        }
        visitor.visit_seq(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(Name(self.one()?))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        n: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(n, visitor)
    }

    forward_to_deserialize_any! { map struct }
}

impl<'de> SeqAccess<'de> for Value<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        seed.deserialize(Value(core::slice::from_ref(first))).map(Some)
    }
}

/// The name of a variant.
struct Name<'a>(&'a str);

impl<'de, 'a> EnumAccess<'de> for Name<'a> {
    type Error = Fault;
    type Variant = Unit;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Unit), Fault> {
        let name: StrDeserializer<'a, Fault> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, Unit))
    }
}

/// What stands in a variant: nothing.
struct Unit;

impl<'de> VariantAccess<'de> for Unit {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Fault> {
        Err(Fault::new(UNEXPECTED))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(Fault::new(UNEXPECTED))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Fault> {
        Err(Fault::new(UNEXPECTED))
    }
}
