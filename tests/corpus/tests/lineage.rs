//! `docs/lineage.md` names exchanges: they have to be there.

use std::path::Path;

#[test]
fn the_exchanges_that_the_page_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/lineage.md")).expect("the page");
    let folders = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let cases = root.join("cases");
    let (apps, own) = (folders(&cases), folders(&cases.join("conformance")));
    let (mut named, mut missing) = (0, Vec::new());
    for name in page.split('`').skip(1).step_by(2) {
        let Some((folder, _)) = name.split_once('/') else { continue };
        let file = if own.iter().any(|known| known == folder) {
            cases.join("conformance").join(name)
        } else if apps.iter().any(|known| known == folder) {
            cases.join(name)
        } else {
            continue;
        };
        named += 1;
        if !file.with_extension("http").is_file() {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "docs/lineage.md names {missing:?}");
    assert!(named > 100, "{named} exchanges are named");
}
