//! Secrets that are known by their shape: several parts, a head and a foot, a place in a header. `kinds.rs` names them.

use super::bytes::Alphabet::{Base32, Base62, Base64, Base64Url, Digits, Dotted, Hex};
use super::bytes::{byte_at, from_base64, run, run_before};
use super::plausible::{is_jumbled, is_mixed, is_placeholder, is_random, is_varied};
use super::view::View;
use super::{Finding, MARK};

pub(super) fn private_key(text: &View<'_>, at: usize) -> Option<Finding> {
    let head_end = at + 11 + text.get(at + 11..)?.bytes().take(64).position(|b| b == b'\n' || b == b'-')?;
    let label = &text[at + 11..head_end];
    let kind = match label {
        _ if label.contains("PGP PRIVATE KEY") => "pgp-private-key",
        _ if label.contains("OPENSSH PRIVATE KEY") => "ssh-private-key",
        _ if label.contains("PRIVATE KEY") => "private-key",
        _ => return None,
    };
    let body = head_end + text[head_end..].bytes().take_while(|b| *b == b'-').count();
    let body_end = body + text[body..].bytes().zip(ahead(text, body)).take_while(|(b, next)| is_pem(*b, *next)).count();
    let letters = text[body..body_end].bytes().filter(|b| Base64.has(*b)).count();
    if letters < 40 {
        return None;
    }
    // The foot goes too when it is there; a key that was cut off is still a key.
    let foot = text[body_end..].strip_prefix("-----END").map_or(0, |_| {
        let foot = &text[body_end + 5..];
        5 + foot.find("-----").map_or(foot.len().min(3), |end| end + 5)
    });
    Some(Finding::new(kind, at..body_end + foot))
}

/// The bytes one further on, to distinguish the dashes of a footer from the dash of a header line.
fn ahead(text: &str, at: usize) -> impl Iterator<Item = u8> + '_ {
    text.as_bytes()[at..].iter().copied().skip(1).chain([0])
}

/// Base64 lines, also inside JSON strings and quoted lists, and header lines such as `Proc-Type:`.
fn is_pem(byte: u8, next: u8) -> bool {
    Base64.has(byte)
        || matches!(byte, b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'"' | b',' | b':' | b'.')
        || (byte == b'-' && next != b'-')
}

pub(super) fn putty_key(text: &View<'_>, at: usize) -> Option<Finding> {
    let start = at + "private-lines:".len();
    let is_body = |b: &u8| Base64.has(*b) || b.is_ascii_whitespace() || *b == b'\\';
    let length = text.as_bytes()[start..].iter().take_while(|b| is_body(b)).count();
    (length >= 64).then(|| Finding::new("putty-private-key", start..start + length))
}

/// Three parts of which the first starts like a JSON object; five make an encrypted token. Each part is read only
/// when the one before it fits.
pub(super) fn jwt(text: &View<'_>, at: usize) -> Option<Finding> {
    if text.is_inside_word(at) || !text[at..].starts_with("eyJ") {
        return None;
    }
    let mut end = at;
    for (place, least) in [16, 8, 16].into_iter().enumerate() {
        if place > 0 && byte_at(text, end) != Some(b'.') {
            return None;
        }
        let part = text.token_run(end + usize::from(place > 0));
        if part.len() < least {
            return None;
        }
        end = part.end;
    }
    let rest = run(text, end, Dotted, usize::MAX);
    let token = text[at..rest.end].trim_end_matches(['.', '-']);
    Some(Finding::new("jwt", at..at + token.len()))
}

pub(super) fn sendgrid_key(text: &View<'_>, at: usize) -> Option<Finding> {
    let first = run(text, at + 3, Base64Url, 22);
    let second = run(text, first.end + 1, Base64Url, 43);
    let fits = text[at..].starts_with("SG.") && first.len() == 22 && byte_at(text, first.end) == Some(b'.');
    (fits && second.len() == 43 && is_random(&text[second.clone()]))
        .then(|| Finding::new("sendgrid-key", at..second.end))
}

pub(super) fn telegram_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let bot = run_before(text, at, Digits, 10);
    let tail = run(text, at + 1, Base64Url, 35);
    (bot.len() >= 8 && tail.len() == 35 && is_random(&text[tail.clone()]))
        .then(|| Finding::new("telegram-bot-token", bot.start..tail.end))
}

pub(super) fn slack_webhook(text: &View<'_>, at: usize) -> Option<Finding> {
    webhook("slack-webhook", text, at + "hooks.slack.com/services/".len(), 40)
}

pub(super) fn discord_webhook(text: &View<'_>, at: usize) -> Option<Finding> {
    webhook("discord-webhook", text, at + "/api/webhooks/".len(), 60)
}

pub(super) fn teams_webhook(text: &View<'_>, at: usize) -> Option<Finding> {
    webhook("teams-webhook", text, at + "webhook.office.com/webhookb2/".len(), 60)
}

/// The path of an address that is itself the permission to post.
fn webhook(kind: &'static str, text: &str, start: usize, least: usize) -> Option<Finding> {
    let is_path = |b: &u8| Dotted.has(*b) || matches!(b, b'/' | b'@');
    let length = text.as_bytes().get(start..)?.iter().take(400).take_while(|b| is_path(b)).count();
    let path = text[start..start + length].trim_end_matches(['.', '-', '/']);
    (path.len() >= least && is_random(path)).then(|| Finding::new(kind, start..start + path.len()))
}

pub(super) fn terraform_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let head = run_before(text, at, Base62, 14);
    let tail = run(text, at + ".atlasv1.".len(), Base64Url, 80);
    (head.len() == 14 && tail.len() >= 60).then(|| Finding::new("terraform-token", head.start..tail.end))
}

pub(super) fn mailchimp_key(text: &View<'_>, at: usize) -> Option<Finding> {
    let head = run_before(text, at, Hex, 32);
    let data_center = run(text, at + 3, Base62, 2);
    let is_number = !data_center.is_empty() && text[data_center.clone()].bytes().all(|b| b.is_ascii_digit());
    let fits = head.len() == 32 && is_number && is_random(&text[head.clone()]);
    fits.then(|| Finding::new("mailchimp-key", head.start..data_center.end))
}

pub(super) fn azure_storage_key(text: &View<'_>, at: usize) -> Option<Finding> {
    let start = at + text[at..].find('=')? + 1;
    let key = run(text, start, Base64, 90);
    ((43..=90).contains(&key.len()) && is_random(&text[key.clone()])).then(|| Finding::new("azure-storage-key", key))
}

/// The signature of a shared-access address; it may contain `%2B` and the like.
pub(super) fn azure_signature(text: &View<'_>, at: usize) -> Option<Finding> {
    let before = byte_at(text, at.checked_sub(1)?)?;
    let start = at + 4;
    let is_value = |b: &u8| Base64Url.has(*b) || matches!(b, b'%' | b'+' | b'/');
    let length = text.as_bytes()[start..].iter().take(200).take_while(|b| is_value(b)).count();
    let value = start..start + length;
    let fits = matches!(before, b'?' | b'&' | b';') && (43..200).contains(&length) && is_random(&text[value.clone()]);
    fits.then(|| Finding::new("azure-signature", value))
}

pub(super) fn azure_client_secret(text: &View<'_>, at: usize) -> Option<Finding> {
    let head = run_before(text, at, Dotted, 3);
    let is_tail = |b: &u8| Dotted.has(*b) || *b == b'~';
    let length = text.as_bytes()[at + 3..].iter().take(40).take_while(|b| is_tail(b)).count();
    let length = text[at + 3..at + 3 + length].trim_end_matches('.').len();
    let fits = head.len() == 3 && (31..=34).contains(&length) && text[at..].starts_with("8Q~");
    fits.then(|| Finding::new("azure-client-secret", head.start..at + 3 + length))
}

/// A token after `Bearer`, of a kind that no row knows.
pub(super) fn bearer_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let start = at + "bearer ".len();
    let is_token = |b: &u8| Dotted.has(*b) || matches!(b, b'+' | b'/' | b'=' | b'~');
    let length = text.as_bytes()[start..].iter().take(4_096).take_while(|b| is_token(b)).count();
    let token = text[start..start + length].trim_end_matches(['.', '-']);
    let fits = token.len() >= 20 && is_random(token) && !is_placeholder(token) && !text.is_inside_word(at);
    fits.then(|| Finding::new("bearer-token", start..start + token.len()))
}

pub(super) fn basic_credentials(text: &View<'_>, at: usize) -> Option<Finding> {
    let value = run(text, at + "basic ".len(), Base64, 400);
    // Prose has "basic" before words; only after the header's name is it a credential.
    let before = &text.as_bytes()[at.saturating_sub(32)..at];
    let is_header = before.to_ascii_lowercase().windows(13).any(|window| window == b"authorization");
    (is_header && (12..=400).contains(&value.len())).then(|| Finding::new("basic-credentials", value))
}

pub(super) fn okta_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let value = run(text, at + "ssws ".len(), Base64Url, 60);
    (value.len() >= 40 && is_random(&text[value.clone()])).then(|| Finding::new("okta-token", value))
}

pub(super) fn airtable_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let id = run(text, at + 3, Base62, 14);
    let tail = run(text, id.end + 1, Hex, 64);
    let fits = !text.is_inside_word(at) && id.len() == 14 && byte_at(text, id.end) == Some(b'.') && tail.len() == 64;
    fits.then(|| Finding::new("airtable-token", at..tail.end))
}

pub(super) fn twitter_bearer(text: &View<'_>, at: usize) -> Option<Finding> {
    let is_first = at.checked_sub(1).is_none_or(|before| byte_at(text, before) != Some(b'A'));
    if !is_first || !text[at..].starts_with("AAAAAAAAAAAAAAAAAAAA") {
        return None;
    }
    let is_value = |b: &u8| Base62.has(*b) || matches!(b, b'%' | b'=');
    let length = text.as_bytes()[at..].iter().take(201).take_while(|b| is_value(b)).count();
    // No boundary is asked for: the percent sign inside is lost where escapes are undone, and is no part of an image.
    let fits = (90..=200).contains(&length) && text[at..at + length].contains('%');
    (fits && is_random(&text[at + 20..at + length])).then(|| Finding::new("twitter-bearer-token", at..at + length))
}

/// `machine … login … password …`, the line of a `.netrc`.
pub(super) fn netrc_password(text: &View<'_>, at: usize) -> Option<Finding> {
    let line_start = (at.saturating_sub(200)..=at).find(|start| text.is_char_boundary(*start))?;
    let line = text[line_start..at].rsplit('\n').next()?;
    let start = at + " password ".len();
    let length = text.as_bytes()[start..].iter().take(200).take_while(|b| b.is_ascii_graphic()).count();
    let value = &text[start..start + length];
    let fits = line.contains("machine ")
        && line.contains(" login ")
        && length >= 4
        && !value.starts_with(['[', '{', '$', '<', '‹']);
    fits.then(|| Finding::new("netrc-password", start..start + length))
}

/// The id of a bot in base64, which is all digits; a time; a signature.
pub(super) fn discord_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let time = run(text, at + 1, Base64Url, 6);
    if time.len() != 6 || byte_at(text, time.end) != Some(b'.') {
        return None;
    }
    let signature = run(text, time.end + 1, Base64Url, 40);
    let id = run_before(text, at, Base62, 26);
    let is_id = |length: &usize| {
        let start = at.checked_sub(*length).filter(|start| *start >= id.start);
        let digits = start.and_then(|start| from_base64(&text[start..at]));
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    };
    // Seventeen to nineteen digits. What only begins like one has to look random in all its parts.
    let is_alike =
        || id.len() >= 23 && text[id.clone()].starts_with(['M', 'N', 'O']) && is_jumbled(&text[signature.clone()]);
    let length = [26, 24, 23].into_iter().find(is_id).or_else(|| is_alike().then_some(id.len()))?;
    let fits = (27..=40).contains(&signature.len()) && is_varied(&text[signature.clone()]);
    fits.then(|| Finding::new("discord-token", at - length..signature.end))
}

/// How far from its id the secret half of an AWS key is looked for, on both sides.
const BESIDE_BYTES_MAX: usize = 200;

/// The forty letters beside the id of an AWS key, or beside what was put in the place of one.
pub(super) fn aws_secret_beside(text: &View<'_>, at: usize) -> Option<Finding> {
    const LENGTH: usize = 40;
    let is_id = text[at..].starts_with('A') && run(text, at, Base32, 20).len() == 20;
    if !is_id && !text[at..].starts_with(MARK) {
        return None;
    }
    let start = text.floor_char_boundary(at.saturating_sub(BESIDE_BYTES_MAX));
    let end = text.floor_char_boundary(text.len().min(at + BESIDE_BYTES_MAX));
    let mut from = start;
    while from < end {
        // Base64, but no padding: `key=` may come before it.
        let is_letter = |b: &u8| Base64.has(*b) && *b != b'=';
        let length = text.as_bytes()[from..].iter().take(LENGTH + 1).take_while(|b| is_letter(b)).count();
        if length == LENGTH && is_mixed(&text[from..from + LENGTH]) {
            return Some(Finding::new("aws-secret-key", from..from + LENGTH));
        }
        let run = text.as_bytes()[from..].iter().take_while(|b| is_letter(b)).count();
        from += run.max(1);
    }
    None
}

/// Seventy-six letters and digits, a mark, four more.
pub(super) fn azure_devops_token(text: &View<'_>, at: usize) -> Option<Finding> {
    let head = run_before(text, at, Base62, 76);
    let tail = run(text, at + 4, Base62, 4);
    let fits = text[at..].starts_with("AZDO") && head.len() == 76 && tail.len() == 4;
    fits.then(|| Finding::new("azure-devops-token", head.start..tail.end))
}

/// How far the type of a JSON web key is looked for, on both sides of a member.
const JWK_BYTES_MAX: usize = 1_500;

/// The private members of a JSON web key.
pub(super) fn jwk_secret(text: &View<'_>, at: usize) -> Option<Finding> {
    let after = |from: usize, byte: u8| {
        let blanks = run_of_blanks(text, from);
        (byte_at(text, from + blanks) == Some(byte)).then_some(from + blanks + 1)
    };
    let name_end = at + 2 + text[at + 1..].find('"')?;
    let value = run(text, after(after(name_end, b':')?, b'"')?, Base64Url, 1_400);
    if !(32..=1_400).contains(&value.len()) || byte_at(text, value.end) != Some(b'"') {
        return None;
    }
    let start = text.floor_char_boundary(at.saturating_sub(JWK_BYTES_MAX));
    let end = text.floor_char_boundary(text.len().min(value.end + JWK_BYTES_MAX));
    let is_key = text[start..at].contains("\"kty\"") || text[value.end..end].contains("\"kty\"");
    (is_key && is_varied(&text[value.clone()])).then(|| Finding::new("jwk-private-key", value))
}

fn run_of_blanks(text: &str, at: usize) -> usize {
    text.as_bytes().get(at..).unwrap_or_default().iter().take(8).take_while(|b| b.is_ascii_whitespace()).count()
}
