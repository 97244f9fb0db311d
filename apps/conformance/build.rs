//! Prepares the files for `tabi::assets!`.

fn main() {
    tabi_assets::embed("static");
}
