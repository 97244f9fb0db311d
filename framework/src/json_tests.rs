//! JSON against serde_json: the same values must be read, refused and written.

use super::read;
use crate::json_write::write;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: Option<i8>, b: Vec<Shape> },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Unit;

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Wrapped(String);

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    Text { text: String },
    Number { number: f64, small: i32 },
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Float(f64),
    List(Vec<Either>),
    Text(String),
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Flat {
    a: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Checks that a value is written as serde_json writes it, and read back.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + Debug + PartialEq>(value: T) {
    let text = write(&value).map_err(|fault| fault.to_string()).unwrap();
    assert_eq!(text, serde_json::to_string(&value).unwrap());
    assert_eq!(read::<T>(text.as_bytes()).unwrap(), value, "{text}");
    let spread = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(read::<T>(spread.as_bytes()).unwrap(), value, "{spread}");
}

#[test]
fn writes_and_reads_like_serde_json() {
    check((true, false, (), Unit, None::<u8>, Some(1u8)));
    check((i8::MIN, i16::MIN, i32::MIN, i64::MIN, u8::MAX, u16::MAX, u32::MAX, u64::MAX));
    check((i128::MIN, u128::MAX));
    check((0.0f64, -0.5, 1.0, 1e15, 5e-324, f64::MIN_POSITIVE, 0.1 + 0.2, -0.0));
    check((0.1f32, 16777216.0f32, f32::MIN_POSITIVE));
    // The same with another spelling of the exponent: no plus.
    assert_eq!(write(&[1e300, f64::MAX]).ok().as_deref(), Some("[1e300,1.7976931348623157e308]"));
    assert_eq!(read::<[f64; 2]>(b"[1e300,1.7976931348623157E+308]").unwrap(), [1e300, f64::MAX]);
    check(('a', '\u{20ac}', '"', String::new(), Wrapped("\0\x08\x0c\n\r\t\"\\/\x7f<\u{2028}\u{1f600}".into())));
    check(Vec::from([Shape::Unit, Shape::Newtype(1), Shape::Tuple(2, "x".into())]));
    check(Shape::Struct { a: None, b: Vec::from([Shape::Struct { a: Some(-1), b: Vec::new() }]) });
    check(BTreeMap::from([("a\"".to_string(), 1), ("".to_string(), 2)]));
    check(BTreeMap::from([(-1i8, 1), (2, 2)]));
    check(BTreeMap::from([(true, 1), (false, 2)]));
    check(BTreeMap::from([('x', Some(BTreeMap::<u64, u8>::new()))]));
    check(Vec::from([Tagged::Text { text: "a".into() }, Tagged::Number { number: 1.5, small: -3 }]));
    check(Vec::from([Either::Number(-1), Either::Float(0.5), Either::Text("1".into()), Either::List(Vec::new())]));
    check(Flat { a: 1, rest: BTreeMap::from([("b".to_string(), serde_json::json!([1, -2, 0.5, null, "x", {}]))]) });
    check(core::time::Duration::new(1, 2));
    check(core::net::IpAddr::from([127, 0, 0, 1]));
    assert_eq!(write(&[f64::NAN, f64::INFINITY]).ok().as_deref(), Some("[null,null]"));
    for bad in [write(&BTreeMap::from([(Vec::from([1]), 1)])), write(&BTreeMap::from([((), 1)]))] {
        assert_eq!(bad.map_err(|fault| fault.to_string()), Err("a key of a map is no text".to_string()));
    }
}

/// Checks that a text is read or refused as serde_json does it, as malformed or as a misfit.
#[track_caller]
fn compare<T: DeserializeOwned + Debug + PartialEq>(text: &str) {
    let ours = read::<T>(text.as_bytes()).map_err(|error| error.status().code());
    let theirs = serde_json::from_str::<T>(text)
        .map_err(|error| if error.classify() == serde_json::error::Category::Data { 422 } else { 400 });
    match (&ours, &theirs) {
        // What is malformed after a misfit is not looked for by either.
        (Err(_), Err(_)) => {}
        _ => assert_eq!(ours, theirs, "{text}"),
    }
}

#[test]
fn refuses_like_serde_json() {
    // But for minus zero, which is whole enough for a whole number.
    assert_eq!((read::<i8>(b"-0").unwrap(), read::<Value>(b"-0").unwrap()), (0, Value::from(-0.0)));
    for text in [
        "",
        " ",
        "1",
        "-1",
        "0",
        "00",
        "01",
        "1.",
        ".1",
        "1.0",
        "1e2",
        "1E+2",
        "1e",
        "1e+",
        "-",
        "+1",
        "0x1",
        "256",
        "1e400",
        "18446744073709551616",
        "-9223372036854775809",
        "0.1e-5",
        "1 2",
        "null",
        "nul",
        "nulll",
        "true",
        "tru",
        "truefalse",
        "\"\"",
        "\"a",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ud83dx\"",
        "\"\\u12\"",
        "\"\\uD83\"",
        "\"\\a\"",
        "\"\t\"",
        "[]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1]]",
        "[[]",
        "{}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,\"a\":2}",
        "\"Unit\"",
        "{\"Unit\":null}",
        "{\"Newtype\":1}",
        "{\"Newtype\":256}",
        "{\"Tuple\":[1,\"a\"]}",
        "{\"Tuple\":[1]}",
        "{\"Tuple\":[1,\"a\",2]}",
        "\"Newtype\"",
        "{\"Struct\":{\"b\":[]}}",
        "{\"Unit\":null,\"Unit\":null}",
        "{\"Other\":1}",
        "[1,2]",
        "[1,2,3]",
        "\u{a0}1",
        "\x0b1",
        "1\0",
    ] {
        compare::<Value>(text);
        compare::<u8>(text);
        compare::<i64>(text);
        compare::<f64>(text);
        compare::<bool>(text);
        compare::<String>(text);
        compare::<Option<u8>>(text);
        compare::<(u8, u8)>(text);
        compare::<Vec<u8>>(text);
        compare::<Shape>(text);
        compare::<Either>(text);
        compare::<BTreeMap<String, u8>>(text);
        compare::<BTreeMap<u8, u8>>(text);
        compare::<()>(text);
    }
}

#[test]
fn broken_texts_are_refused_like_serde_json_does() {
    let seed = r#"{"a":[1,-0.5,true,null,"x\n\u00e9\ud83d\ude00"],"b":{"":[[],{}],"c":"\\\""},"d":0}"#;
    let mut state = 1u32;
    let mut random = move |below: usize| {
        // Xorshift: the same numbers in each run.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    let bytes = b"{}[]:,\"\\ue0123456789+-.trfn \n\x01abd";
    for _ in 0..100_000 {
        let mut text = Vec::from(seed.as_bytes());
        for _ in 0..=random(3) {
            if text.is_empty() {
                break;
            }
            let (at, byte) = (random(text.len()), bytes.get(random(bytes.len())).copied().unwrap_or_default());
            match random(4) {
                0 => text.truncate(at + 1),
                1 => drop(text.remove(at)),
                2 => text.insert(at, byte),
                _ => text.splice(at..=at, [byte]).for_each(drop),
            }
        }
        if let Ok(text) = String::from_utf8(text) {
            compare::<Value>(&text);
            let skipped = read::<serde::de::IgnoredAny>(text.as_bytes()).is_ok();
            // serde_json takes any four digits of an escape that nobody reads.
            assert!(!skipped || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{text}");
            assert!(skipped || read::<Value>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
