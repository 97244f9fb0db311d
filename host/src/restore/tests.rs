//! Whether an instance that is set back is as a new one.

use super::*;
use wasmtime::component::{Component, Instance, Linker, TypedFunc};
use wasmtime::{Engine, Store};

pub(super) fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component of one module, whose functions of these names it exports.
fn with_module(module: &str, names: &[&str]) -> String {
    let mut exports = String::new();
    for name in names {
        exports += &format!(
            r#"(func (export "{name}") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "{name}")))"#
        );
    }
    format!("(component (core module $m {module}) (core instance $i (instantiate $m)) {exports})")
}

/// A module with a memory, and what is in question.
#[track_caller]
fn check(restores: bool, module: &str) {
    let text = with_module(&format!("(memory 1) {module}"), &[]);
    for how in [Restore::Fill, Restore::Scan] {
        assert_eq!(prepare(&wasm(&text), how).is_some(), restores, "{module} {how:?}");
    }
    assert_eq!(prepare(&wasm(&text), Restore::Never), None);
}

#[test]
fn only_what_can_be_found_and_set_back_is_restored() {
    check(true, "");
    check(true, "(global (mut i64) (i64.const -7))");
    check(true, "(global (mut f32) (f32.const nan:0x200000))");
    check(true, "(global (mut f64) (f64.const 0.5))");
    check(true, "(global (mut v128) (v128.const i64x2 1 2))");
    check(
        true,
        "(func $f) (table funcref (elem $f)) (global funcref (ref.func $f)) (global externref (ref.null extern))",
    );
    check(true, r#"(data "passive") (func (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1)))"#);
    check(true, "(func (drop (memory.grow (i32.const 1))))");
    check(true, r#"(data (i32.const 0) "first") (data (i32.const 3) "overlaps")"#);
    check(true, "(tag) (func (throw 0))");
    // Other things that an instance could remember.
    check(false, "(func $start) (start $start)");
    check(false, "(table 1 funcref) (func (table.set (i32.const 0) (ref.null func)))");
    check(false, "(table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 1))))");
    check(false, "(table 1 funcref) (func (table.fill (i32.const 0) (ref.null func) (i32.const 1)))");
    check(false, "(table 1 funcref) (func (table.copy (i32.const 0) (i32.const 0) (i32.const 1)))");
    check(false, "(table 1 funcref) (elem $e func) (func (table.init $e (i32.const 0) (i32.const 0) (i32.const 0)))");
    check(false, "(elem $e func) (func (elem.drop $e))");
    check(false, r#"(data $d "once") (func (data.drop $d))"#);
    check(false, "(global (mut funcref) (ref.null func))");
    check(false, "(type $s (struct (field (mut i32)))) (global (ref $s) (struct.new $s (i32.const 1)))");
    check(false, "(type $s (struct (field (mut i32)))) (table 1 (ref $s) (struct.new $s (i32.const 1)))");
    check(false, "(global $g i32 (i32.const 1)) (global (mut i32) (global.get $g))");
    check(false, "(global (mut i32) (i32.add (i32.const 1) (i32.const 1)))");
    check(false, "(memory 1 1 shared)");
    check(false, "(memory i64 1)");
    check(false, r#"(global $g i32 (i32.const 1)) (data (global.get $g) "x")"#);
    check(false, r#"(data (i32.const 65535) "beyond the end")"#);
    // A name of ours.
    check(false, r#"(func (export "tabi:memory-0"))"#);
}

#[test]
fn there_is_a_size_from_which_it_is_not_worth_it() {
    for (pages, fill, scan) in [(8, true, true), (9, false, true), (64, false, true), (65, false, false)] {
        let bytes = wasm(&with_module(&format!("(memory {pages})"), &[]));
        let restores = [Restore::Fill, Restore::Scan].map(|how| prepare(&bytes, how).is_some());
        assert_eq!(restores, [fill, scan], "{pages}");
    }
}

#[test]
fn only_components_of_modules_in_view_are_restored() {
    let check = |restores: bool, text: &str| {
        for how in [Restore::Fill, Restore::Scan] {
            assert_eq!(prepare(&wasm(text), how).is_some(), restores, "{text} {how:?}");
        }
    };
    let module = r#"(core module $m (memory (export "m") 1)) (core instance $i (instantiate $m))"#;
    check(true, &format!("(component {module})"));
    check(true, &format!("(component {module} (core instance $twin (instantiate $m)))"));
    check(true, &format!("(component {module} (component (type u8)))"));
    check(true, &format!(r#"(component (import "host" (func $f)) {module} (core func (canon lower (func $f))))"#));
    check(
        true,
        &format!(r#"(component (import "r" (type $r (sub resource))) {module} (core func (canon resource.drop $r)))"#),
    );
    check(false, "(component)");
    check(false, "(component (core module $m) (core instance (instantiate $m)))");
    check(false, &format!("(component {module} (type (resource (rep i32))))"));
    check(false, &format!("(component {module} (component {module}))"));
    check(false, &format!("(component {module} (component (type (resource (rep i32)))))"));
    check(false, &format!(r#"(component {module} (import "m" (core module)))"#));
    check(false, &format!(r#"(component {module} (core func (canon context.get i32 0)))"#));
    check(
        false,
        &format!(
            r#"(component {module} (core module $f (func (export "f"))) (core instance $f (instantiate $f))
            (func (export "{EXPORT}") (canon lift (core func $f "f"))))"#
        ),
    );
    check(false, &format!(r#"(component {module} (import "{PAGES}" (func)))"#));
    // Data that one module writes into the memory of another.
    check(
        false,
        &format!(
            r#"(component {module} (core module $d (import "o" "m" (memory 1)) (data (i32.const 0) "x"))
            (core instance (instantiate $d (with "o" (instance $i)))))"#
        ),
    );
    // More globals of a module than another has to know of.
    check(
        true,
        r#"(component
            (core module $a (memory (export "m") 1) (global (export "g") (mut i32) (i32.const 4)))
            (core instance $a (instantiate $a))
            (core module $b (import "a" "m" (memory 1)) (import "a" "g" (global (mut i32))) (global (mut i32) (i32.const 5)))
            (core instance (instantiate $b (with "a" (instance $a)))))"#,
    );
    assert_eq!(prepare(b"no component", Restore::Fill), None);
    assert_eq!(prepare(&wasm("(module (memory 1))"), Restore::Fill), None);
}

/// A component that is run.
pub(super) struct Run {
    store: Store<()>,
    instance: Instance,
}

impl Run {
    pub(super) fn new(text: &str, how: Restore) -> Self {
        let prepared = prepare(&wasm(text), how).unwrap();
        let engine = Engine::default();
        let component = Component::new(&engine, prepared).unwrap();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker, true).unwrap();
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let instance = linker.instantiate(&mut store, &component).unwrap();
        Self { store, instance }
    }

    pub(super) fn call(&mut self, name: &str, a: u32, b: u32) -> u32 {
        let function: TypedFunc<(u32, u32), (u32,)> = self.instance.get_typed_func(&mut self.store, name).unwrap();
        function.call(&mut self.store, (a, b)).unwrap().0
    }

    pub(super) fn restore(&mut self) {
        let function: TypedFunc<(), ()> = self.instance.get_typed_func(&mut self.store, EXPORT).unwrap();
        function.call(&mut self.store, ()).unwrap();
    }
}

/// Functions that read and write a memory.
pub(super) const POKE: &str = r#"
    (func (export "poke") (param i32 i32) (result i32) (i32.store (local.get 0) (local.get 1)) (i32.const 0))
    (func (export "peek") (param i32 i32) (result i32) (i32.load (local.get 0)))"#;

#[test]
fn every_byte_of_memory_is_as_at_first() {
    let big = "z".repeat(700);
    let zeros = r"\00".repeat(600);
    let data = [
        String::new(),
        r#"(data (i32.const 0) "at the begin")"#.to_owned(),
        r#"(data (i32.const 65532) "last")"#.to_owned(),
        format!(r#"(data (i32.const 100) "{big}") (data (i32.const 801) "{big}") (data (i32.const 5000) "{big}")"#),
        format!(r#"(data (i32.const 9) "a{zeros}b{zeros}") (data (i32.const 12) "over it") (data (i32.const 0) "")"#),
        r#"(data "passive, and no part of it")"#.to_owned(),
    ];
    for (data, how) in data.iter().flat_map(|data| [(data, Restore::Fill), (data, Restore::Scan)]) {
        let text = with_module(&format!("(memory 1) {data} {POKE}"), &["poke", "peek"]);
        let mut run = Run::new(&text, how);
        let first: Vec<u32> = (0..65536).step_by(4).map(|at| run.call("peek", at, 0)).collect();
        for value in [0xffff_ffff, 0x0101_0101] {
            for at in (0..65536).step_by(4) {
                run.call("poke", at, value);
            }
            run.restore();
            for (at, first) in (0..65536).step_by(4).zip(&first) {
                assert_eq!(run.call("peek", at, 0), *first, "{at} of {data} {how:?}");
            }
        }
    }
}

#[test]
fn a_few_writes_anywhere_are_found() {
    let data = "(data (i32.const 70000) \"some words\") (data (i32.const 1114100) \"last\")";
    let text = with_module(&format!("(memory 17) {data} {POKE}"), &["poke", "peek"]);
    let mut run = Run::new(&text, Restore::Scan);
    let size = 17 * 65536;
    // Numbers without a pattern that pages have (Knuth, 3.3.4).
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    for round in 0..200 {
        let places: Vec<u32> = (0..next() % 20).map(|_| next() % (size - 4)).collect();
        let first: Vec<u32> = places.iter().map(|at| run.call("peek", *at, 0)).collect();
        for at in &places {
            run.call("poke", *at, next());
        }
        run.restore();
        let after: Vec<u32> = places.iter().map(|at| run.call("peek", *at, 0)).collect();
        assert_eq!(after, first, "{places:?} in round {round}");
        assert_eq!(run.call("peek", 70000, 0), u32::from_le_bytes(*b"some"));
    }
}

#[test]
fn globals_are_as_at_first() {
    let globals = [
        ("i32", "i32.const -5", "i32.const 9"),
        ("i64", "i64.const 0x123456789abcdef0", "i64.const 9"),
        ("f32", "f32.const -0.5", "f32.const 9"),
        ("f64", "f64.const 1e300", "f64.const nan"),
    ];
    for ((ty, first, other), how) in
        globals.into_iter().flat_map(|global| [(global, Restore::Fill), (global, Restore::Scan)])
    {
        // `same` tells whether it has the first value.
        let text = with_module(
            &format!(
                r#"(global $g (mut {ty}) ({first}))
                (func (export "change") (param i32 i32) (result i32) (global.set $g ({other})) (i32.const 0))
                (func (export "same") (param i32 i32) (result i32) ({ty}.eq (global.get $g) ({first})))"#
            ),
            &["change", "same"],
        );
        let mut run = Run::new(&text, how);
        assert_eq!(run.call("same", 0, 0), 1, "{ty}");
        run.call("change", 0, 0);
        assert_eq!(run.call("same", 0, 0), 0, "{ty}");
        run.restore();
        assert_eq!(run.call("same", 0, 0), 1, "{ty}");
    }
}

#[test]
fn every_instance_of_every_module_is_restored() {
    let count = r#"(func (export "count") (param i32 i32) (result i32)
        (global.set $g (i32.add (global.get $g) (i32.const 1)))
        (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1)))
        (i32.add (global.get $g) (i32.load (i32.const 8))))"#;
    let text = format!(
        r#"(component
            (core module $a (memory (export "m") 1) (global $g (export "g") (mut i32) (i32.const 100))
                (data (i32.const 8) "\07") {count})
            (core instance $one (instantiate $a))
            (core instance $two (instantiate $a))
            (core module $b (import "a" "m" (memory 1)) (import "a" "g" (global $g (mut i32)))
                (global (mut i32) (i32.const 1)) {count})
            (core instance $three (instantiate $b (with "a" (instance $two))))
            (func (export "one") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $one "count")))
            (func (export "two") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $two "count")))
            (func (export "three") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $three "count"))))"#
    );
    for how in [Restore::Fill, Restore::Scan] {
        let mut run = Run::new(&text, how);
        for _ in 0..3 {
            let counts = ["one", "two", "three", "one", "three"].map(|name| run.call(name, 0, 0));
            assert_eq!(counts, [109, 109, 111, 111, 113]);
            run.restore();
        }
    }
}
