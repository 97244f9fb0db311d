//! Accept and its sisters.

use crate::field_value;
use tabi::{Accept, Headers};

type Read = for<'a> fn(&'a Headers) -> Accept<'a>;

/// What is best comes first in the ranking, the ranking has each offer once at most, and nothing in it was excluded.
pub(crate) fn accept(data: &[u8]) {
    let fields: [(&str, Read, &[&str]); 4] = [
        (
            "accept",
            |headers| Accept::media_types(headers),
            &["text/html", "text/html; charset=utf-8", "application/json", "image/png"],
        ),
        ("accept-language", |headers| Accept::languages(headers), &["en", "en-GB", "de", "zh-Hant-TW"]),
        ("accept-encoding", |headers| Accept::encodings(headers), &["br", "gzip", "identity", "zstd"]),
        ("accept-charset", |headers| Accept::charsets(headers), &["utf-8", "iso-8859-1", "us-ascii"]),
    ];
    for (name, read, offers) in fields {
        let mut headers = Headers::new();
        for value in data.split(|byte| *byte == b'\n').take(3) {
            headers.append(name, field_value(value)).unwrap();
        }
        let accept = read(&headers);
        let ranked = accept.ranked(offers);
        assert_eq!(accept.best(offers), ranked.first().copied(), "{name}");
        let mut seen = ranked.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), ranked.len(), "{name}: {ranked:?}");
        // What is alone is acceptable exactly when it is among others.
        for offer in offers {
            assert_eq!(accept.best(&[offer]).is_some(), ranked.contains(offer), "{name}: {offer}");
        }
        // Of two, the one that is ranked first is the better one.
        for pair in ranked.windows(2) {
            assert_eq!(accept.best(pair), Some(pair[0]), "{name}: {pair:?}");
        }
        let text = field_value(data).to_ascii_lowercase();
        let named = |listed: &&str| text.windows(listed.len().max(1)).any(|window| window == listed.as_bytes());
        let listed = accept.listed();
        assert!(listed.len() <= 100);
        let defaults = ["*", "*/*", "identity"];
        for listed in listed {
            assert!(defaults.contains(&listed) || named(&&*listed.to_ascii_lowercase()), "{name}: {listed}");
        }
        // Another item, liked as much as can be, is taken.
        headers.append(name, [offers[0], ";q=1"].concat()).unwrap();
        assert!(read(&headers).best(&offers[..1]).is_some(), "{name}");
    }
}
