//! Whether what is done ahead is as if each instance had done it.

use super::component::Component;
use super::tests::{POKE, Run, wasm};
use super::{Restore, ahead, is_done_ahead, prepare, restorable};

fn initialized(bytes: &[u8]) -> Option<Vec<u8>> {
    ahead::initialized(bytes, &Component::read(bytes)?)
}

/// A component of one module that does `body` once in each instance.
fn component(module: &str, body: &str) -> String {
    let lift = |name: &str| {
        format!(
            r#"(func (export "{name}") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "{name}")))"#
        )
    };
    format!(
        r#"(component
            (import "host" (func $host))
            (core func $host (canon lower (func $host)))
            (core module $m (import "host" "host" (func $host)) {module} {POKE}
                (func (export "size") (param i32 i32) (result i32) (memory.size))
                (func (export "wizer-initialize") {body}))
            (core instance $i (instantiate $m (with "host" (instance (export "host" (func $host))))))
            (func (export "wizer-initialize") (canon lift (core func $i "wizer-initialize")))
            {} {} {})"#,
        lift("peek"),
        lift("poke"),
        lift("size")
    )
}

/// Checks words of memory, and its pages, after what was done ahead and after each restoring.
#[track_caller]
fn check(module: &str, body: &str, pages: u32, words: &[(u32, u32)]) {
    let text = component(module, body);
    for how in [Restore::Never, Restore::Fill, Restore::Scan] {
        let mut run = Run::new(&text, how);
        for _ in 0..3 {
            assert_eq!(run.call("size", 0, 0), pages, "{how:?}");
            for (at, word) in words {
                assert_eq!(run.call("peek", *at, 0), *word, "{at} {how:?}");
            }
            if how == Restore::Never {
                break;
            }
            for (at, word) in words {
                run.call("poke", *at, word ^ 0xffff_ffff);
            }
            run.restore();
        }
    }
}

#[test]
fn memory_is_as_it_was_left() {
    let store = |at: u32, word: u32| format!("(i32.store (i32.const {at}) (i32.const {word}))");
    check("(memory 1)", "", 1, &[(0, 0), (65532, 0)]);
    let body = format!("{}{}{}", store(0, 1), store(30_000, 0xdead_beef), store(65_532, 7));
    check("(memory 1)", &body, 1, &[(0, 1), (30_000, 0xdead_beef), (65_532, 7), (400, 0)]);
    // Over what was there before, which may come to nothing.
    let data = r#"(memory 1 20) (data (i32.const 8) "abcdefgh") (data (i32.const 9) "x")"#;
    check(data, &store(12, 0), 1, &[(8, u32::from_le_bytes(*b"axcd")), (12, 0)]);
    let body = format!("(drop (memory.grow (i32.const 2))) {}", store(196_604, 5));
    check("(memory 1 20)", &body, 3, &[(196_604, 5), (131_072, 0)]);
    check("(memory 1)", &body, 3, &[(196_604, 5), (131_072, 0)]);
}

#[test]
fn numbers_are_as_they_were_left() {
    let module = r#"(memory 1)
        (global $fixed i32 (i32.const 40)) (global $a (mut i32) (i32.const 1)) (global $table funcref (ref.null func))
        (global $b (mut i64) (i64.const 1)) (global $c (mut f32) (f32.const 1)) (global $d (mut f64) (f64.const 1))
        (func (export "tell") (param i32 i32) (result i32)
            (i32.store (i32.const 0) (i32.add (global.get $fixed) (global.get $a)))
            (i64.store (i32.const 8) (global.get $b))
            (f32.store (i32.const 16) (global.get $c))
            (f64.store (i32.const 24) (global.get $d))
            (global.set $a (i32.const 0)) (global.set $b (i64.const 0)) (global.set $c (f32.const 0)) (global.set $d (f64.const 0))
            (i32.const 0))"#;
    let body = "(global.set $a (i32.const -2)) (global.set $b (i64.const 0x123456789abcdef0))
        (global.set $c (f32.const -0.5)) (global.set $d (f64.const 1e300))";
    let text = component(module, body).replace(
        r#"(func (export "size") (param "a""#,
        r#"(func (export "tell") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "tell")))
        (func (export "size") (param "a""#,
    );
    let bits = 1e300f64.to_bits();
    let wanted = [38, 0x9abc_def0, 0x1234_5678, (-0.5f32).to_bits(), bits as u32, (bits >> 32) as u32];
    for how in [Restore::Fill, Restore::Scan] {
        let mut run = Run::new(&text, how);
        for _ in 0..2 {
            run.call("tell", 0, 0);
            assert_eq!([0, 8, 12, 16, 24, 28].map(|at| run.call("peek", at, 0)), wanted, "{how:?}");
            run.restore();
        }
    }
}

#[test]
fn all_modules_are_as_they_were_left() {
    let text = r#"(component
        (core module $a (memory (export "m") 1) (global $g (export "g") (mut i32) (i32.const 100)) (data (i32.const 0) "\01"))
        (core instance $a (instantiate $a))
        (core module $b (import "a" "m" (memory 1)) (import "a" "g" (global $g (mut i32))) (global $own (mut i32) (i32.const 2))
            (func (export "count") (param i32 i32) (result i32)
                (i32.add (i32.load (i32.const 0)) (i32.add (global.get $g) (global.get $own))))
            (func (export "once")
                (i32.store (i32.const 0) (i32.const 10)) (global.set $g (i32.const 2000)) (global.set $own (i32.const 30000))))
        (core instance $b (instantiate $b (with "a" (instance $a))))
        (func (export "wizer-initialize") (canon lift (core func $b "once")))
        (func (export "count") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $b "count"))))"#;
    for how in [Restore::Fill, Restore::Scan] {
        let mut run = Run::new(text, how);
        assert_eq!(run.call("count", 0, 0), 32_010, "{how:?}");
        run.restore();
        assert_eq!(run.call("count", 0, 0), 32_010, "{how:?}");
    }
}

#[test]
fn what_can_not_be_done_ahead_is_left_to_each_instance() {
    let check = |ahead: bool, text: &str| {
        assert_eq!(initialized(&wasm(text)).is_some(), ahead, "{text}");
        assert_eq!(is_done_ahead(&wasm(text)).unwrap_or_default(), ahead, "{text}");
        assert_eq!(prepare(&wasm(text), Restore::Never).is_some(), ahead, "{text}");
    };
    check(true, &component("(memory 1)", ""));
    check(
        false,
        &component("(memory 1)", "").replace(r#"(export "wizer-initialize") (canon"#, r#"(export "other") (canon"#),
    );
    // It asks the host, which would say something else at another time.
    check(false, &component("(memory 1)", "(call $host)"));
    assert_eq!(is_done_ahead(&wasm(&component("(memory 1)", "(call $host)"))), Some(false));
    check(false, &component("(memory 1)", "(unreachable)"));
    check(false, &component("(memory 1)", "(loop (br 0))"));
    check(false, &component("(memory 1)", "(drop (memory.grow (i32.const 64)))"));
    check(false, &component("(memory 1) (table 100001 funcref)", ""));
    check(false, &component(r#"(memory 1) (data "passive")"#, ""));
    check(false, &component("(memory 1) (global (mut v128) (v128.const i64x2 1 2))", ""));
    check(false, &component("(memory 1) (func $start) (start $start)", ""));
    check(false, &component("(memory 1)", "").replace("(core instance $i", "(core instance (instantiate $m (with \"host\" (instance (export \"host\" (func $host)))))) (core instance $i"));
    // Not what the name promises.
    let other = r#"(component (core module $m (memory 1) (func (export "f") (param i32))) (core instance $i (instantiate $m))
        (func (export "wizer-initialize") (param "a" u32) (canon lift (core func $i "f"))))"#;
    check(false, other);
}

#[test]
fn apps_of_the_framework_offer_it() {
    for (app, offers) in [("hello", true), ("bench", true), ("streams", true), ("hello-no-std", false)] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps").join(app);
        let options = tabi_toolchain::Options { release: true, quiet: true, ..tabi_toolchain::Options::default() };
        let file = tabi_toolchain::build_component(&folder, &options, &mut |line| eprintln!("{line}")).unwrap();
        let bytes = std::fs::read(file).unwrap();
        let prepared = initialized(&bytes);
        assert_eq!(prepared.is_some(), offers, "{app}");
        // It can be set back as before.
        let bytes = prepared.unwrap_or(bytes);
        let component = Component::read(&bytes).unwrap();
        assert!(restorable(&bytes, &component, Restore::Scan).is_some(), "{app}");
    }
}
