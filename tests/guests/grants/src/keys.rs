//! Key-value storage: `/keys/USE/BUCKET?KEY=VALUE`.

use crate::bindings::wasi::keyvalue::store::{Bucket, Error, open};
use crate::bindings::wasi::keyvalue::{atomics, batch};

/// Does what the path says, with a key and a value, or two numbers.
pub(crate) fn answer(path: &str, key: &str, value: &str) -> Result<String, Error> {
    let mut parts = path.split('/').skip(2);
    let (what, bucket) = (parts.next().unwrap_or_default(), open(parts.next().unwrap_or_default())?);
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    let many = || (0..number(key)).map(|number| format!("key {number:04}")).collect::<Vec<_>>();
    match what {
        "get" => {
            bucket.get(key).map(|value| value.map_or("none".into(), |value| String::from_utf8_lossy(&value).into()))
        }
        "set" => bucket.set(key, value.as_bytes()).map(|()| "set".into()),
        "delete" => bucket.delete(key).map(|()| "deleted".into()),
        "exists" => bucket.exists(key).map(|exists| exists.to_string()),
        "increment" => atomics::increment(&bucket, key, number(value)).map(|sum| sum.to_string()),
        "list" => bucket.list_keys(key.parse().ok()).map(|page| {
            let next = page.cursor.map_or("end".into(), |cursor| cursor.to_string());
            page.keys.into_iter().chain([next]).collect::<Vec<_>>().join("\n")
        }),
        "all" => all(&bucket, |_| Ok(())).map(|keys| crate::lines(keys.into_iter())),
        // Each key is gone before the next page is asked for.
        "clear" => all(&bucket, |keys| batch::delete_many(&bucket, keys)).map(|keys| keys.len().to_string()),
        "set-many" => {
            let entries: Vec<_> = many().into_iter().map(|key| (key, value.as_bytes().to_vec())).collect();
            batch::set_many(&bucket, &entries).map(|()| "set".into())
        }
        "get-many" | "get-double" => {
            let mut keys = many();
            keys.extend(if what == "get-double" { many() } else { vec!["no such key".into()] });
            batch::get_many(&bucket, &keys).map(|values| {
                let right = values.iter().zip(&keys).all(|(got, key)| got.as_ref().is_none_or(|(name, _)| name == key));
                let there: Vec<_> = values.iter().flatten().map(|(_, value)| value.len()).collect();
                format!("{} of {}, {} bytes, {right}", there.len(), values.len(), there.iter().sum::<usize>())
            })
        }
        // A key and a value of so many bytes.
        "long" => {
            bucket.set(&"k".repeat(number(key) as usize), &vec![b'v'; number(value) as usize]).map(|()| "set".into())
        }
        "often" => {
            let done = (0..number(key)).take_while(|_| bucket.exists("key").is_ok()).count();
            Ok(done.to_string())
        }
        _ => Ok("no such use".into()),
    }
}

fn all(bucket: &Bucket, mut each: impl FnMut(&[String]) -> Result<(), Error>) -> Result<Vec<String>, Error> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = bucket.list_keys(cursor)?;
        each(&page.keys)?;
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(keys);
        }
    }
}
