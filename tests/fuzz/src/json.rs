//! JSON, held against `serde_json`.

use serde_json::Value;
use tabi::__fuzz;

/// It is read as `serde_json` reads it, or refused as that refuses it; what is written is read back.
pub(crate) fn read(data: &[u8]) {
    let ours = __fuzz::json::<Value>(data);
    let bare = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    // One level more or less is no finding.
    let is_deep = depth(bare) > 120;
    match (&ours, serde_json::from_slice::<Value>(bare)) {
        (Ok(ours), Ok(its)) => assert!(is_same(ours, &its), "{ours:?} and {its:?}"),
        (Err(status), Err(_)) => assert_eq!(*status, 400),
        (Err(status), Ok(_)) if is_deep => assert_eq!(*status, 400),
        (Ok(_), Err(_)) if is_deep => {}
        (ours, its) => panic!("{ours:?} and {its:?}"),
    }
    if let Ok(value) = ours {
        let text = __fuzz::to_json(&value).unwrap();
        assert_eq!(__fuzz::json::<Value>(text.as_bytes()).as_ref(), Ok(&value), "{text}");
        assert!(serde_json::from_str(&text).is_ok_and(|its| is_same(&value, &its)), "{text}");
    }
    type Shape = (u8, Option<String>, Vec<(i64, f32)>, std::collections::BTreeMap<String, bool>);
    if let Err(status) = __fuzz::json::<Shape>(data) {
        assert!([400, 422].contains(&status), "{status}");
    }
}

/// Compares values; a number with a fraction may differ in its last bit, for which `serde_json` does not care by default.
fn is_same(ours: &Value, its: &Value) -> bool {
    match (ours, its) {
        (Value::Array(ours), Value::Array(its)) => {
            ours.len() == its.len() && ours.iter().zip(its).all(|(ours, its)| is_same(ours, its))
        }
        (Value::Object(ours), Value::Object(its)) => {
            let pairs = ours.iter().zip(its);
            ours.len() == its.len() && pairs.into_iter().all(|(ours, its)| ours.0 == its.0 && is_same(ours.1, its.1))
        }
        (Value::Number(one), Value::Number(two)) if one.is_f64() && two.is_f64() => {
            let (one, two) = (one.as_f64().unwrap(), two.as_f64().unwrap());
            one == two || (one - two).abs() <= two.abs() * 1e-15 || two.abs() < 1e-300
        }
        _ => ours == its,
    }
}

/// Says how many brackets are open at most; those in texts may count, too.
fn depth(data: &[u8]) -> usize {
    let mut open = 0usize;
    let depths = data.iter().map(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    depths.max().unwrap_or(0)
}
