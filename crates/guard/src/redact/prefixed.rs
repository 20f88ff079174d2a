//! Keys that are known by their first characters: one row each.

use super::Finding;
use super::bytes::Alphabet::{self, Base32, Base62, Base64, Base64Url, Dotted, Encoded, Hex};
use super::bytes::run;
use super::plausible::{is_random_tail, is_varied};
use super::view::View;

/// A kind of key: prefix, then a tail of one alphabet whose length lies within bounds.
pub(super) struct Prefixed {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
    check: Check,
}

/// What a tail has to pass.
#[derive(Clone, Copy)]
enum Check {
    /// Enough entropy.
    Random,
    /// Six digits of CRC-32 over everything before them, in base62.
    Mnemon,
    /// No capital words such as `EXAMPLE`, which documentation uses.
    NotExample,
    /// Its last eight digits are the CRC-32 of what stands before.
    HexCrc,
}

const fn row(kind: &'static str, prefix: &'static str, alphabet: Alphabet, least: usize, most: usize) -> Prefixed {
    Prefixed { kind, prefix, alphabet, least, most, check: Check::Random }
}

const fn checked(row: Prefixed, check: Check) -> Prefixed {
    Prefixed { check, ..row }
}

/// All of them. Where one prefix begins another, the longer comes first.
pub(super) const PREFIXED: &[Prefixed] = &[
    checked(row("mnemon-key", "mnm_", Base62, 49, 49), Check::Mnemon),
    checked(row("mnemon-oauth-token", "mno_", Base62, 49, 49), Check::Mnemon),
    checked(row("mnemon-operator-token", "mnp_", Base62, 49, 49), Check::Mnemon),
    row("github-token", "ghp_", Base62, 36, 255),
    row("github-token", "gho_", Base62, 36, 255),
    row("github-token", "ghu_", Base62, 36, 255),
    row("github-token", "ghs_", Dotted, 36, 600),
    row("github-token", "ghr_", Base62, 36, 255),
    row("github-fine-grained-token", "github_pat_", Base64Url, 60, 255),
    row("gitlab-token", "glpat-", Dotted, 20, 300),
    row("gitlab-token", "gldt-", Base64Url, 20, 64),
    row("gitlab-token", "glrt-", Dotted, 20, 300),
    row("gitlab-token", "glptt-", Base64Url, 20, 64),
    row("gitlab-token", "glcbt-", Base64Url, 20, 80),
    row("gitlab-token", "gloas-", Base64Url, 32, 80),
    row("gitlab-token", "glft-", Base64Url, 20, 64),
    row("gitlab-token", "glsoat-", Base64Url, 20, 64),
    row("gitlab-token", "glimt-", Base64Url, 20, 64),
    row("gitlab-token", "glagent-", Base64Url, 20, 64),
    checked(row("aws-access-key-id", "AKIA", Base32, 16, 16), Check::NotExample),
    checked(row("aws-access-key-id", "ASIA", Base32, 16, 16), Check::NotExample),
    checked(row("aws-access-key-id", "ABIA", Base32, 16, 16), Check::NotExample),
    row("aws-bedrock-key", "ABSK", Base64, 100, 200),
    row("alibaba-access-key", "LTAI", Base62, 16, 24),
    row("google-api-key", "AIza", Base64Url, 35, 35),
    row("google-oauth-token", "ya29.", Base64Url, 24, 1200),
    row("google-oauth-secret", "GOCSPX-", Base64Url, 28, 28),
    row("anthropic-key", "sk-ant-", Base64Url, 40, 200),
    row("openrouter-key", "sk-or-v1-", Hex, 64, 64),
    row("langfuse-key", "sk-lf-", Base64Url, 36, 36),
    row("openai-key", "sk-proj-", Base64Url, 40, 220),
    row("openai-key", "sk-svcacct-", Base64Url, 40, 220),
    row("openai-key", "sk-admin-", Base64Url, 40, 220),
    row("openai-key", "sk-", Base62, 32, 80),
    row("huggingface-token", "hf_", Base62, 34, 40),
    row("replicate-token", "r8_", Base62, 37, 40),
    row("groq-key", "gsk_", Base62, 48, 60),
    row("perplexity-key", "pplx-", Base62, 48, 64),
    row("xai-key", "xai-", Base62, 70, 100),
    row("pinecone-key", "pcsk_", Base64Url, 60, 90),
    row("stripe-key", "sk_live_", Base62, 24, 247),
    row("stripe-key", "sk_test_", Base62, 24, 247),
    row("stripe-key", "rk_live_", Base62, 24, 247),
    row("stripe-key", "rk_test_", Base62, 24, 247),
    row("stripe-webhook-secret", "whsec_", Base64, 32, 64),
    row("slack-token", "xoxb-", Base64Url, 40, 255),
    row("slack-token", "xoxp-", Base64Url, 40, 255),
    row("slack-token", "xoxa-", Base64Url, 40, 255),
    row("slack-token", "xoxr-", Base64Url, 40, 255),
    row("slack-token", "xoxs-", Base64Url, 40, 255),
    row("slack-token", "xoxe.", Dotted, 40, 255),
    row("slack-token", "xoxc-", Base64Url, 40, 255),
    row("slack-token", "xoxd-", Encoded, 40, 400),
    row("slack-app-token", "xapp-", Base64Url, 40, 255),
    row("twilio-key", "SK", Hex, 32, 32),
    row("mailgun-key", "key-", Hex, 32, 32),
    row("brevo-key", "xkeysib-", Base64Url, 64, 100),
    row("npm-token", "npm_", Base62, 36, 36),
    row("pypi-token", "pypi-AgE", Base64Url, 60, 400),
    row("rubygems-token", "rubygems_", Hex, 48, 48),
    row("crates-token", "cio", Base62, 32, 32),
    row("docker-token", "dckr_pat_", Base64Url, 27, 40),
    row("docker-token", "dckr_oat_", Base64Url, 27, 40),
    row("digitalocean-token", "dop_v1_", Hex, 64, 64),
    row("digitalocean-token", "doo_v1_", Hex, 64, 64),
    row("digitalocean-token", "dor_v1_", Hex, 64, 64),
    row("heroku-key", "HRKU-", Base64Url, 36, 70),
    row("cloudflare-origin-key", "v1.0-", Base64Url, 140, 200),
    row("vault-token", "hvs.", Base64Url, 24, 300),
    row("vault-token", "hvb.", Base64Url, 24, 300),
    row("vault-token", "hvr.", Base64Url, 24, 300),
    row("databricks-token", "dapi", Hex, 32, 32),
    row("shopify-token", "shpat_", Hex, 32, 32),
    row("shopify-token", "shpca_", Hex, 32, 32),
    row("shopify-token", "shppa_", Hex, 32, 32),
    row("shopify-token", "shpss_", Hex, 32, 32),
    row("square-token", "sq0atp-", Base64Url, 22, 22),
    row("square-token", "sq0csp-", Base64Url, 43, 43),
    row("facebook-token", "EAACEdEose0cBA", Base62, 20, 300),
    row("linear-key", "lin_api_", Base62, 40, 40),
    row("notion-token", "ntn_", Base62, 43, 60),
    row("notion-token", "secret_", Base62, 43, 43),
    row("figma-token", "figd_", Base64Url, 40, 50),
    checked(row("grafana-token", "glsa_", Base64Url, 41, 41), Check::HexCrc),
    row("grafana-token", "glc_", Base64, 32, 400),
    row("newrelic-key", "NRAK-", Base62, 27, 27),
    row("sentry-token", "sntrys_", Base64Url, 60, 400),
    row("sentry-token", "sntryu_", Hex, 64, 64),
    row("dynatrace-token", "dt0c01.", Dotted, 89, 89),
    row("postman-key", "PMAK-", Base64Url, 59, 59),
    row("planetscale-token", "pscale_tkn_", Dotted, 32, 64),
    row("planetscale-token", "pscale_pw_", Dotted, 32, 64),
    row("planetscale-token", "pscale_oauth_", Dotted, 32, 64),
    row("supabase-token", "sbp_", Hex, 40, 40),
    row("supabase-token", "sb_secret_", Base64Url, 31, 64),
    row("doppler-token", "dp.pt.", Base62, 40, 44),
    row("doppler-token", "dp.st.", Dotted, 40, 64),
    row("age-secret-key", "AGE-SECRET-KEY-1", Base62, 58, 58),
    row("atlassian-token", "ATATT3xFfGF0", Dotted, 100, 300),
    row("bitbucket-token", "ATBB", Base62, 32, 40),
    row("dropbox-token", "sl.", Base64Url, 130, 2000),
    row("circleci-token", "CCIPAT_", Base64Url, 40, 80),
    row("circleci-token", "CCIPRJ_", Base64Url, 40, 80),
    row("buildkite-token", "bkua_", Hex, 40, 40),
    row("fly-token", "fo1_", Base64Url, 43, 60),
    row("fly-token", "fm2_", Base64, 100, 1500),
    row("tailscale-key", "tskey-", Base64Url, 24, 80),
    row("onepassword-token", "ops_eyJ", Base64Url, 200, 2000),
    row("jfrog-token", "AKCp", Base62, 66, 80),
    row("mapbox-token", "sk.eyJ", Dotted, 60, 200),
    row("elastic-key", "essu_", Base64, 40, 120),
    row("netlify-token", "nfp_", Base62, 36, 40),
    row("typeform-token", "tfp_", Base64Url, 40, 70),
    row("easypost-key", "EZAK", Base62, 54, 54),
    row("duffel-token", "duffel_live_", Base64Url, 43, 43),
    row("sonar-token", "squ_", Hex, 40, 40),
    row("sonar-token", "sqp_", Hex, 40, 40),
    row("readme-key", "rdme_", Base62, 70, 70),
    row("prefect-key", "pnu_", Base62, 36, 36),
    row("pulumi-token", "pul-", Hex, 40, 40),
    row("nvidia-key", "nvapi-", Base64Url, 60, 80),
    row("tavily-key", "tvly-", Base64Url, 28, 64),
    row("langsmith-key", "lsv2_", Base64Url, 40, 64),
    row("vercel-token", "vcp_", Base62, 24, 100),
    row("posthog-key", "phx_", Base62, 40, 64),
    row("discord-token", "mfa.", Base64Url, 84, 84),
];

impl Prefixed {
    /// Alphabet and least length of the tail.
    pub(super) fn form(&self) -> (Alphabet, usize) {
        (self.alphabet, self.least)
    }

    /// Is it one of our own, with a checksum at its end?
    pub(super) fn is_mnemon(&self) -> bool {
        matches!(self.check, Check::Mnemon)
    }
}

/// The key that starts at `at`, where the row's prefix was found.
pub(super) fn match_at(row: &Prefixed, text: &View<'_>, at: usize) -> Option<Finding> {
    // A checksum proves a key of ours wherever it stands.
    let is_free = row.is_mnemon() || !text.is_inside_word(at);
    if !is_free || !text[at..].starts_with(row.prefix) {
        return None;
    }
    let tail = run(text, at + row.prefix.len(), row.alphabet, row.most);
    // Signs at the end belong to the sentence or the file name around the key.
    let end = tail.start + text[tail.clone()].trim_end_matches(['.', '-']).len();
    let length = end - tail.start;
    let fits = (row.least..=row.most).contains(&length) && passes(row.check, &text[at..end], row.prefix.len());
    fits.then(|| Finding::new(row.kind, at..end))
}

fn passes(check: Check, key: &str, prefix: usize) -> bool {
    match check {
        Check::Random => is_random_tail(&key[prefix..]),
        // Three in a hundred have no digit.
        Check::NotExample => !key.contains("EXAMPLE") && is_varied(key),
        Check::Mnemon => {
            let (body, checksum) = key.split_at(key.len() - 6);
            checksum.as_bytes() == base62_digits(crc32fast::hash(body.as_bytes()))
        }
        Check::HexCrc => {
            let (body, checksum) = key.split_at(key.len() - 8);
            // Some issuers count the prefix in, some do not; either proves the key.
            let body = body.trim_end_matches('_');
            let sums = [crc32fast::hash(body.as_bytes()), crc32fast::hash(&body.as_bytes()[prefix..])];
            sums.iter().any(|sum| format!("{sum:08x}").eq_ignore_ascii_case(checksum)) || is_random_tail(&key[prefix..])
        }
    }
}

/// A CRC-32 as six digits of base62, most significant first.
pub(super) fn base62_digits(mut number: u32) -> [u8; 6] {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(number % 62) as usize];
        number /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_ours_with_a_wrong_checksum_is_no_key() {
        let body = format!("mnm_{}", "0123456789abc".repeat(4)[..43].to_owned());
        let checksum = base62_digits(crc32fast::hash(body.as_bytes()));
        let key = format!("{body}{}", String::from_utf8(checksum.to_vec()).unwrap());
        assert!(match_at(&PREFIXED[0], &View::plain(&key), 0).is_some());
        assert!(match_at(&PREFIXED[0], &View::plain(&format!("key{key}")), 3).is_some());
        let broken = key.replace("abc", "abd");
        assert!(match_at(&PREFIXED[0], &View::plain(&broken), 0).is_none());
    }

    #[test]
    fn longer_prefixes_come_first() {
        for (at, row) in PREFIXED.iter().enumerate() {
            for later in &PREFIXED[at + 1..] {
                assert!(!later.prefix.starts_with(row.prefix), "{} hides {}", row.prefix, later.prefix);
            }
        }
    }
}
