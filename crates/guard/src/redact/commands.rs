//! Passwords that a command is given: `curl -u ana:…`, `mysql -p…`, `sshpass -p …`.

use super::Finding;
use super::plausible::is_placeholder;
use super::value::argument_after;
use super::view::View;

/// How a command takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// `user:password`, attached or after a space or `=`.
    UserAnd,
    /// Attached to the flag alone: after a space comes the database.
    Attached,
    /// Attached or after a space.
    Any,
}

use Taking::{Attached, UserAnd};

/// How far the command is looked for before its flag.
const COMMAND_BYTES_MAX: usize = 300;

/// The password that one of the commands takes behind the flag, which was found at `at`.
pub(super) fn match_at(
    kind: &'static str,
    flag: &str,
    commands: &[&str],
    taking: Taking,
    text: &View<'_>,
    at: usize,
) -> Option<Finding> {
    if !text[at..].starts_with(flag) {
        return None;
    }
    let argument = argument_after(text, at + flag.len())?;
    if taking == Attached && !argument.is_attached {
        return None;
    }
    let (mut start, end) = (argument.start, argument.end);
    if taking == UserAnd {
        start += text[start..end].find(':')? + 1;
    }
    let is_secret = is_password(&text[start..end]) && is_given_to(text, at, commands);
    is_secret.then(|| Finding::new(kind, start..end))
}

/// Ports, templates and stand-ins are none.
fn is_password(value: &str) -> bool {
    let has_letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    let is_number = value.len() >= 6 && value.bytes().all(|b| b.is_ascii_digit());
    value.len() >= 4
        && (has_letter || is_number)
        && !value.starts_with(['$', '{', '<', '‹', '*', '[', '(', '-'])
        && !value.contains([' ', '('])
        && !is_placeholder(value)
}

/// Is one of the commands before the flag, on the same line and in the same part of it?
fn is_given_to(text: &View<'_>, at: usize, commands: &[&str]) -> bool {
    let start = text.floor_char_boundary(at.saturating_sub(COMMAND_BYTES_MAX));
    let command = text[start..at].rsplit(['\n', ';', '|', '&']).next().unwrap_or_default();
    let start = at - command.len();
    let is_word = |place: usize, name: &str| {
        let next = command.as_bytes().get(place + name.len());
        !text.is_inside_word(start + place) && !next.is_some_and(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
    };
    commands.iter().any(|name| command.match_indices(name).any(|(place, _)| is_word(place, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::kinds::{Form, KINDS};

    fn check(text: &str, expected: Option<&str>) {
        let view = View::plain(text);
        let found = KINDS.iter().find_map(|row| {
            let Form::Flag(flags, commands, taking) = row.form else { return None };
            let places = flags.iter().flat_map(|flag| text.match_indices(flag));
            let mut found = places.filter_map(|(at, flag)| match_at(row.kind, flag, commands, taking, &view, at));
            found.next().map(|finding| text[finding.span].to_owned())
        });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn passwords_of_commands_are_found() {
        let word = ["Zq4", "n8Vr"].concat();
        for text in [
            "curl -u ana:{} https://x.example",
            "$ curl -s -uana:{} x",
            "curl --user 'ana:{}' x",
            "curl --user=ana:{} x",
            "mysql -h db -u root -p{} shop",
            "mysqldump -p'{}' shop > dump.sql",
            "sshpass -p {} ssh ana@host",
            "docker login -u ana -p {} registry.example",
            "redis-cli -h cache -a {} ping",
        ] {
            check(&text.replace("{}", &word), Some(&word));
        }
    }

    #[test]
    fn ports_databases_templates_and_other_commands_stay() {
        for text in [
            "docker run --name mysql -p 3306:3306 -p127.0.0.1:80:80 mysql",
            "mysql -u root -p shop_2024",
            "mysql -p$PASSWORD -p{password} -p<password>",
            "curl -u \"$USER:$TOKEN\" x; curl -u ana: x",
            "id -u ana:Zq4n8Vr; sort -u a:Zq4n8Vr",
            "mkdir -p build-2024/x1y2z3",
        ] {
            check(text, None);
        }
    }
}
