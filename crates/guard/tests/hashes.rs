//! Ids, hashes and revisions are what most sources are named by. None of them is an order to anybody.

use mnemon_guard::{Field, Guard, Verdict};

/// Repeatable chance (xorshift).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn hex(&mut self, digits: usize) -> String {
        let words: String = (0..digits.div_ceil(16)).map(|_| format!("{:016x}", self.next())).collect();
        words[..digits].to_owned()
    }
}

fn check(name: &str, make: impl Fn(&mut Chance) -> String) {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2_000 {
        let text = make(&mut chance);
        assert_eq!(Guard::shipped().judge(Field::Content, &text), Verdict::Pass, "{name}: {text}");
    }
}

#[test]
fn names_of_sources_and_revisions_are_accepted() {
    check("short revision", |chance| chance.hex(7));
    check("SHA-1", |chance| chance.hex(40));
    check("SHA-256", |chance| chance.hex(64));
    check("SHA-256 with its kind", |chance| format!("sha256:{}", chance.hex(64)));
    check("upper case", |chance| chance.hex(64).to_uppercase());
    check("UUID", |chance| {
        let hex = chance.hex(32);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    });
    check("number", |chance| chance.next().to_string());
    check("path", |chance| format!("src/module{}/file_{}.rs", chance.next() % 1_000, chance.next() % 1_000));
    check("note", |chance| format!("notes/page{}.md", chance.next()));
    check("address", |chance| format!("https://git.example.com/team/app/commit/{}", chance.hex(40)));
    check("sentence", |chance| format!("Release {} was deployed to staging", chance.hex(40)));
}
