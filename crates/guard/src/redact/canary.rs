//! A false secret of every kind, made at run time: for tests that watch where secrets may surface. No source file
//! holds one, so redacting our own sources changes nothing.

use super::prefixed::{PREFIXED, base62_digits};

/// A text with a false secret in it.
#[derive(Debug, Clone)]
pub struct Canary {
    /// The whole text, as somebody might write it.
    pub text: String,
    /// The part that must never be seen again.
    pub hidden: String,
}

/// One canary of every kind, by the kind's name.
pub fn all() -> Vec<(&'static str, Canary)> {
    let mut canaries: Vec<(&'static str, Canary)> = Vec::new();
    for row in PREFIXED {
        let canary = row.canary();
        canaries.push((row.kind, bare(canary)));
    }
    canaries.extend(shaped());
    canaries.extend(placed());
    canaries.extend(assigned());
    canaries
}

/// What real texts put right before a key. None of them is part of it, though many end in a letter or a digit.
pub const BOUNDARIES: &[&str] = &[
    "\t",
    " ",
    "\n",
    "\"",
    "'",
    "(",
    "=",
    ":",
    ",",
    "/",
    "-",
    "_",
    "7",
    "é",
    "中",
    // Escapes of JSON and of languages, once and twice.
    "\\n",
    "\\t",
    "\\r",
    "\\\\n",
    "\\\\t",
    "\\\\\\\\n",
    "\\\"",
    "\\\\\\\"",
    "\\u003d",
    "\\\\u003d",
    "\\u0022",
    "\\x3d",
    "\\u{3d}",
    // Percent codes, mails, markup.
    "%3D",
    "%20",
    "%0A",
    "%22",
    "%253D",
    "=3D",
    "&quot;",
    "&#61;",
    "&amp;quot;",
    // Colours of terminals, whole, escaped, and without their escape character.
    "\u{1b}[32m",
    "\u{1b}[0;1m",
    "\\u001b[32m",
    "\\x1b[32m",
    "\\033[32m",
    "\\e[1m",
    "[32m",
    "^[[32m",
    // Characters that nobody sees.
    "x\u{ad}",
    "x\u{200b}",
    "x\u{2060}",
    "x\u{feff}",
];

/// The secret of the first canary of a kind; empty for an unknown kind.
pub fn of(kind: &str) -> String {
    all().into_iter().find(|(name, _)| *name == kind).map(|(_, canary)| canary.hidden).unwrap_or_default()
}

fn bare(secret: String) -> Canary {
    Canary { text: secret.clone(), hidden: secret }
}

fn inside(before: &str, hidden: String, after: &str) -> Canary {
    Canary { text: format!("{before}{hidden}{after}"), hidden }
}

const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `length` letters that look random and are always the same.
fn letters(alphabet: &[u8], length: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ length as u64;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            char::from(alphabet[(state >> 33) as usize % alphabet.len()])
        })
        .collect()
}

impl super::prefixed::Prefixed {
    fn canary(&self) -> String {
        let (alphabet, length) = self.canary_form();
        let mut key = format!("{}{}", self.prefix, letters(alphabet, length));
        if self.is_mnemon() {
            key.truncate(key.len() - 6);
            let checksum = base62_digits(crc32fast::hash(key.as_bytes()));
            key.extend(checksum.map(char::from));
        }
        key
    }

    fn canary_form(&self) -> (&'static [u8], usize) {
        let (alphabet, least) = self.form();
        match alphabet {
            super::bytes::Alphabet::Hex => (HEX, least),
            super::bytes::Alphabet::Base32 => (BASE32, least),
            _ => (BASE62, least),
        }
    }
}

fn shaped() -> Vec<(&'static str, Canary)> {
    let long = |length: usize| letters(BASE62, length);
    let hex = |length: usize| letters(HEX, length);
    let pem = |label: &str| {
        let body = long(64);
        inside(&format!("-----BEGIN {label}-----\n"), body.clone(), &format!("\n-----END {label}-----"))
    };
    let jwt = format!("eyJ{}.eyJ{}.{}", long(33), long(40), long(43));
    vec![
        ("private-key", pem("RSA PRIVATE KEY")),
        ("ssh-private-key", pem("OPENSSH PRIVATE KEY")),
        ("putty-private-key", inside("Private-Lines: 2\n", format!("{}\n{}", long(64), long(40)), "\nPrivate-MAC: 0")),
        ("pgp-private-key", pem("PGP PRIVATE KEY BLOCK")),
        ("jwt", bare(jwt)),
        ("sendgrid-key", bare(format!("SG.{}.{}", long(22), long(43)))),
        ("telegram-bot-token", bare(format!("{}:AA{}", letters(b"123456789", 9), long(33)))),
        (
            "slack-webhook",
            inside("https://hooks.slack.com/services/", format!("T{}/B{}/{}", long(10), long(10), long(24)), ""),
        ),
        (
            "discord-webhook",
            inside("https://discord.com/api/webhooks/", format!("{}/{}", letters(b"123456789", 18), long(68)), ""),
        ),
        (
            "teams-webhook",
            inside(
                "https://acme.webhook.office.com/webhookb2/",
                format!("{}@{}/IncomingWebhook/{}", hex(36), hex(36), hex(32)),
                "",
            ),
        ),
        ("terraform-token", bare(format!("{}.atlasv1.{}", long(14), long(67)))),
        ("mailchimp-key", bare(format!("{}-us{}", hex(32), 12))),
        ("azure-storage-key", inside("AccountName=acme;AccountKey=", format!("{}==", long(86)), ";")),
        (
            "azure-signature",
            inside("https://acme.blob.core.windows.net/c?sv=2022-11-02&sig=", format!("{}%3D", long(43)), ""),
        ),
        ("azure-client-secret", bare(format!("{}8Q~{}", long(3), long(34)))),
        ("bearer-token", inside("Authorization: Bearer ", long(40), "")),
        ("basic-credentials", inside("Authorization: Basic ", long(28), "")),
        ("okta-token", inside("Authorization: SSWS ", long(42), "")),
        ("airtable-token", bare(format!("pat{}.{}", long(14), hex(64)))),
        ("twitter-bearer-token", bare(format!("{}{}%3D{}", "A".repeat(22), long(30), long(50)))),
        ("netrc-password", inside("machine git.example login ana password ", long(12), "")),
        ("connection-string", inside("postgres://app:", long(14), "@db.example/app")),
        ("url-password", inside("https://ana:", long(14), "@git.example/repo")),
    ]
}

/// Secrets that a place or a neighbour gives away.
fn placed() -> Vec<(&'static str, Canary)> {
    let long = |length: usize| letters(BASE62, length);
    let hex = |length: usize| letters(HEX, length);
    let word = || format!("Zq4{}", long(7));
    let uuid = format!("{}-{}-4{}-8{}-{}", hex(8), hex(4), hex(3), &hex(7)[..3], hex(12));
    vec![
        ("discord-token", bare(format!("MTIzNDU2Nzg5MDEyMzQ1Njc4.{}.{}", long(6), long(38)))),
        ("discord-token", bare(format!("MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.{}.{}", long(6), long(38)))),
        ("azure-devops-token", bare(format!("{}AZDO{}", long(76), long(4)))),
        ("aws-access-key-id", bare(format!("AKIA{}", letters(b"BCDEFGHJKLMNQRSTUVWXYZ", 16)))),
        ("slack-token", bare(format!("xoxd-{}%2B{}%3D%3D", long(40), long(40)))),
        ("jwk-private-key", inside("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"", long(43), "\",\"use\":\"sig\"}")),
        ("jwk-private-key", inside("{\"k\": \"", long(43), "\", \"kty\": \"oct\"}")),
        ("connection-string", inside("postgres://scott:", long(3), "@db.acme.io/shop")),
        ("connection-string", inside("jdbc:oracle:thin:scott/", word(), "@//db.acme.io:1521/shop")),
        ("url-password", inside("sftp to ana:", word(), "@files.acme.io")),
        ("url-token", inside("https://", long(40), "@git.acme.io/repo.git")),
        ("url-token", inside("https://", long(40), ":x-oauth-basic@git.acme.io/repo.git")),
        ("command-password", inside("curl -u ana:", word(), " https://api.acme.io")),
        ("command-password", inside("mysql -u root -p", word(), " shop")),
        ("command-password", inside("sshpass -p '", word(), "' ssh ana@host")),
        ("docker-auth", inside("{\"auths\":{\"r.acme.io\":{\"auth\":\"", login(&long(12)), "\"}}}")),
        ("cookie", inside("Cookie: ", format!("theme=dark; sid={}", long(32)), "")),
        ("cookie", inside("Set-Cookie: ", format!("session={}; Path=/", long(32)), "")),
        ("api-key", inside("HEROKU_API_KEY=", uuid.clone(), "")),
        ("client-secret", inside("client_secret: ", uuid, "")),
        ("secret-key", inside("PrivateKey = ", format!("{}=", long(43)), "")),
        ("token", inside("tool --token ", long(32), " run")),
    ]
}

/// The base64 of `ana:` and a password; three bytes at a time, so no padding is needed.
fn login(password: &str) -> String {
    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let login = format!("anna:{password}0");
    let digits = |three: &[u8]| {
        let bits = three.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(BASE64[(bits >> shift) as usize & 63]))
    };
    login.as_bytes().chunks_exact(3).flat_map(digits).collect()
}

fn assigned() -> Vec<(&'static str, Canary)> {
    let given = |name: &str, length: usize| inside(&format!("{name}="), letters(BASE62, length), "");
    let said = |name: &str| inside(&format!("{name}: "), letters(BASE62, 12), "");
    vec![
        ("password", given("DB_PASSWORD", 12)),
        ("password", given("DB_PASS", 12)),
        ("password", given("REDIS_PW", 12)),
        ("password", said("Passwort")),
        ("password", said("contraseña")),
        ("password", said("mot de passe ")),
        ("password", said("пароль")),
        ("aws-secret-key", given("aws_secret_access_key", 40)),
        ("aws-session-token", given("AWS_SESSION_TOKEN", 120)),
        ("client-secret", given("client_secret", 32)),
        ("api-key", given("API_KEY", 32)),
        ("access-key", given("access_key", 32)),
        ("secret-key", given("SECRET_KEY", 50)),
        ("token", given("auth_token", 32)),
        ("secret", given("SESSION_SECRET", 32)),
    ]
}
