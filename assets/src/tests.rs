//! What is written for a folder, and which folders are refused.

use super::*;

/// A folder of this test's own, gone when it is dropped.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let room = std::env::temp_dir().join(format!("tabi-assets-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&room);
        fs::create_dir_all(room.join("static")).unwrap();
        Room(room)
    }

    fn file(&self, name: &str, content: &[u8]) -> &Room {
        let path = self.0.join("static").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn source(&self, embed: &Embed) -> Result<String, String> {
        embed.write(&self.0, &self.0.join("out"))?;
        Ok(fs::read_to_string(self.0.join("out/tabi-assets/static.rs")).unwrap())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn names() {
    let room = Room::new("names");
    room.file("b.txt", b"").file("a/x.css", b"x").file(".hidden", b"").file(".well-known/security.txt", b"");
    let source = room.source(&Embed::new("static/")).unwrap();
    let names: Vec<&str> = source.split("name: \"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names, [".well-known/security.txt", "a/x.css", "b.txt"]);
    assert!(source.contains("Assets::new(\"/static\", FILES)"), "{source}");
    assert!(source.contains("fingerprinted: \"a/x.2d711642b726b044.css\""), "{source}");
    assert!(source.contains("etag: \"\\\"2d711642b726b04401627ca9fbac32f5\\\"\""), "{source}");
}

#[test]
fn refusals() {
    for (name, reason) in [("a\\b", "can't be"), ("a\nb", "can't be"), ("a%2Fb", "can't be")] {
        let room = Room::new("refusals");
        let reply = room.file(name, b"").source(&Embed::new("static")).unwrap_err();
        assert!(reply.contains(reason), "{reply}");
    }
    assert!(Room::new("missing").source(&Embed::new("nowhere")).unwrap_err().contains("nowhere"));
}

#[cfg(feature = "compress")]
#[test]
fn variants_that_are_smaller() {
    let room = Room::new("variants");
    room.file("long.css", &b"body { color: red }\n".repeat(100)).file("short.css", b"a{}").file("x.png", &[0; 1000]);
    let source = room.source(&Embed::new("static")).unwrap();
    assert_eq!((source.matches("br: Some").count(), source.matches("gzip: Some").count()), (1, 1), "{source}");
    let source = room.source(&Embed::new("static").without_gzip()).unwrap();
    assert_eq!((source.matches("br: Some").count(), source.matches("gzip: Some").count()), (1, 0), "{source}");
    let source = room.source(&Embed::new("static").without_brotli()).unwrap();
    assert_eq!((source.matches("br: Some").count(), source.matches("gzip: Some").count()), (0, 1), "{source}");
}

#[cfg(feature = "compress")]
#[test]
fn old_variants_go() {
    let room = Room::new("old");
    let variants = || fs::read_dir(room.0.join("out/tabi-assets/static.variants")).unwrap().count();
    room.file("a.css", &b"a".repeat(1000)).source(&Embed::new("static")).unwrap();
    assert_eq!(variants(), 2);
    room.file("a.css", &b"b".repeat(1000)).source(&Embed::new("static")).unwrap();
    assert_eq!(variants(), 2);
}

#[test]
fn the_hash_stands_before_the_extension() {
    for (name, expected) in [
        ("app.css", "app.0.css"),
        ("a.b/app.min.js", "a.b/app.min.0.js"),
        ("a.b/LICENSE", "a.b/LICENSE.0"),
        (".well-known/x", ".well-known/x.0"),
        ("a/.htaccess", "a/.htaccess.0"),
    ] {
        assert_eq!(fingerprinted(name, "0"), expected);
    }
}
