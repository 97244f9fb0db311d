//! `tabi-fuzz [target] [seconds]`: inputs for one parser or all, as long as one likes; `tabi-fuzz seeds folder`: the
//! seeds as files, for fuzzers that begin with such.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tabi_fuzz::{TARGETS, Target, run, seeds, target};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["seeds", folder] => write_seeds(Path::new(folder)),
        [] => fuzz(&TARGETS, "10"),
        [name] => chosen(name).and_then(|targets| fuzz(&targets, "10")),
        [name, seconds] => chosen(name).and_then(|targets| fuzz(&targets, seconds)),
        _ => Err("usage: tabi-fuzz [target|all] [seconds] | tabi-fuzz seeds folder".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabi-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn chosen(name: &str) -> Result<Vec<Target>, String> {
    match target(name) {
        Some(target) => Ok(vec![target]),
        None if name == "all" => Ok(TARGETS.to_vec()),
        None => Err(format!("no such target; there is {}", TARGETS.map(|target| target.name).join(", "))),
    }
}

/// Begins with another seed each time, which is printed where something is found.
fn fuzz(targets: &[Target], seconds: &str) -> Result<(), String> {
    let seconds = seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = now.map_or(1, |time| time.as_nanos() as u64);
    for target in targets {
        let start = Instant::now();
        let count = run(target, seed, |_| start.elapsed() > Duration::from_secs(seconds));
        println!("{:12} {count:10} inputs in {seconds} s", target.name);
    }
    Ok(())
}

fn write_seeds(folder: &Path) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder).map_err(text)?;
        for (index, seed) in seeds(&target).iter().enumerate() {
            std::fs::write(folder.join(format!("case-{index}")), seed).map_err(text)?;
        }
        let words: String = target.words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect();
        std::fs::write(folder.with_extension("dict"), words).map_err(text)?;
    }
    Ok(())
}

/// Writes a word as libFuzzer reads dictionaries.
fn escaped(word: &str) -> String {
    word.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}
