//! SHA-256 (FIPS 180-4), for tags and fingerprints: 60 lines instead of 8 crates in every app's build.

/// Returns the hash as 64 hexadecimal digits.
pub(crate) fn hex(content: &[u8]) -> String {
    let mut padded = content.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - content.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(content.len() as u64 * 8).to_be_bytes());
    let mut state = primes(8, |prime| fraction(prime.sqrt()));
    let constants = primes(64, |prime| fraction(prime.cbrt()));
    for block in padded.chunks_exact(64) {
        compress(&mut state, &constants, block);
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn compress(state: &mut [u32], constants: &[u32], block: &[u8]) {
    let mut w: Vec<u32> =
        block.chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]])).collect();
    for at in 16..64 {
        let (a, b) = (w[at - 15], w[at - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w.push(w[at - 16].wrapping_add(s0).wrapping_add(w[at - 7]).wrapping_add(s1));
    }
    let mut s: [u32; 8] = std::array::from_fn(|at| state[at]);
    for at in 0..64 {
        let [a, b, c, d, e, f, g, h] = s;
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(constants[at]).wrapping_add(w[at]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        s = [t1.wrapping_add(s0.wrapping_add(majority)), a, b, c, d.wrapping_add(t1), e, f, g];
    }
    for (word, more) in state.iter_mut().zip(s) {
        *word = word.wrapping_add(more);
    }
}

/// The constants are the first 32 bits of the fractions of roots of the first primes.
fn primes(count: usize, make: fn(f64) -> u32) -> Vec<u32> {
    (2u32..).filter(|n| (2..*n).all(|d| !n.is_multiple_of(d))).take(count).map(|prime| make(prime.into())).collect()
}

fn fraction(root: f64) -> u32 {
    (root.fract() * 4_294_967_296.0) as u32
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn vectors() {
        // FIPS 180-4's examples, and one for each length around the padding's edge.
        for (content, hash) in [
            (String::new(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc".into(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".into(),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            ("a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
            ("a".repeat(55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            ("a".repeat(56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            ("a".repeat(64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ] {
            assert_eq!(hex(content.as_bytes()), hash, "{}", content.len());
        }
    }
}
