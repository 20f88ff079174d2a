//! A secret of every kind goes wherever people write one, to its last letter; and what only looks like one stays.

use mnemon_guard::{Field, Guard, Verdict, canary, redact};

/// The ways in which people write down a text that holds a secret.
const FORMS: &[(&str, &str)] = &[
    ("env", "LOG=info\nVALUE={}\nPORT=80"),
    ("env, quoted", "export VALUE='{}'"),
    ("JSON", "{\"port\": 80, \"value\": {json}, \"on\": true}"),
    ("YAML", "service:\n  value: {}\n  port: 80"),
    ("header", "GET / HTTP/1.1\nX-Value: {}\nAccept: */*"),
    ("URL", "https://api.acme.io/v1?value={url}&page=2"),
    ("prose", "Ana says that it is {}, and Ben agrees."),
    ("prose, at the end", "For staging we use {}."),
    ("table", "| name | value |\n| --- | --- |\n| staging | {} |"),
    ("table without blanks", "|staging|{}|ana|"),
    ("Markdown", "Use `{}` for staging, **not** the old one."),
    ("Rust", "const VALUE: &str = {json};"),
    ("Python", "value = {json}  # staging"),
    ("JavaScript", "const value = {json};"),
    ("Go", "value := {json}"),
    ("Java", "private static final String VALUE = {json};"),
    ("C#", "var value = {json};"),
    ("Ruby", "VALUE = {json}.freeze"),
    ("shell", "run --value '{}' --port 80"),
];

fn written(form: &str, text: &str) -> String {
    let json = serde_json::json!(text).to_string();
    form.replace("{json}", &json).replace("{url}", &percent_encoded(text)).replace("{}", text)
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let code = |b: u8| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    text.bytes().map(code).collect()
}

/// A part of the secret that can still be read; short ones may be words of the form around it.
fn survivor<'s>(secret: &'s str, redacted: &str) -> Option<&'s str> {
    const PART: usize = 8;
    let starts = (0..secret.len().saturating_sub(PART)).filter(|at| secret.is_char_boundary(*at));
    let part = |at: usize| secret.get(at..at + PART).filter(|part| part.bytes().all(|b| b.is_ascii_alphanumeric()));
    starts
        .filter_map(part)
        .find(|part| redacted.contains(*part))
        .or_else(|| redacted.contains(secret).then_some(secret))
}

#[test]
fn nothing_of_a_secret_survives_in_any_form() {
    let mut missed = Vec::new();
    for seed in 0..12 {
        for (kind, secret) in canary::drawn(seed) {
            for (form, pattern) in FORMS {
                let text = written(pattern, &secret.text);
                let redacted = redact(&text);
                let left = redacted.text.replace(&format!("[redacted:{kind}]"), "");
                // A name inside of `session=…; Path=/` is no part of the secret.
                let hidden = secret.hidden.split("; ").max_by_key(|part| part.len()).unwrap_or_default();
                if let Some(part) = survivor(hidden, &left) {
                    missed.push(format!("{kind}, {form}: {part} in {left}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} survive:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_password_of_words_goes() {
    for word in
        [["hunter2", "secret"], ["Sommer", "2024x"], ["blue", "Horse9"], ["corpdb", "pass42"]].map(|w| w.concat())
    {
        for form in ["DB_PASSWORD={}", "\"dbPassword\": \"{}\"", "  password: {}\n", "export PGPASSWORD='{}'"] {
            let redacted = redact(&form.replace("{}", &word)).text.into_owned();
            assert_eq!(redacted, form.replace("{}", "[redacted:password]"));
        }
    }
}

#[test]
fn look_alikes_stay() {
    for text in [
        "see 3f786850e387550fdab836ed7e6dc881de23001b and 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b",
        "src/re_export_types.rs, re_export_all_public_types_of_v2, re_ExportTypesAndValuesOfModule_1",
        "<b class=\"fw_bold fw_bold_2xl_responsive_utility\">",
        "key_prefix, key_value_store_of_the_second_region_2024, key_3f786850e387550fdab836ed7e6dc881",
        "pa-11y, pa-11y-ci-reporter-html-for-continuous-integration-2024",
        "fc-cache, fc-list : family, fc-3f786850",
        "sk_buff, sk_test_mode_enabled_for_all_accounts, e2b_template_id_of_the_sandbox",
        "napi_create_function, napi_get_value_string_utf8, NAPI_AUTO_LENGTH",
        "rnd_seed_for_the_second_experiment_2024, rndRandomNumberGeneratorState2",
        "jina_embeddings_v2_base_en_with_eight_thousand_tokens",
        "Module.Nested.SomeVeryLongNameOfAClassInThere, Options.global.withAnotherLongNameOfAMember",
        "storage_key: user-settings-2024, STORAGE_KEY = \"app.settings.v2\"",
        "password: password1, DB_PASSWORD=changeme, POSTGRES_PASSWORD=postgres",
        "key id [redacted:aws-access-key-id] of commit 3f786850e387550fdab836ed7e6dc881de23001b",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn an_aws_secret_goes_with_its_id_and_stays_without() {
    let id = canary::of("aws-access-key-id");
    let secret = ["q8Zk2LmX0aVb7Rt5Wy3N", "e/Jc4GhT+9sKdP1oUfBz"].concat();
    for form in ["{id} {}", "{id}\n{}", "{}\t{id}", "id: {id}\nother half: {}", "| {id} | {} |", "aws {id}:{} eu"] {
        let redacted = redact(&form.replace("{id}", &id).replace("{}", &secret)).text.into_owned();
        assert!(!redacted.contains(&secret), "{redacted}");
        assert!(redacted.contains("[redacted:aws-secret-key]"), "{redacted}");
    }
    assert_eq!(redact(&format!("digest {secret} of the page")).count, 0);
}

#[test]
fn what_is_left_of_a_text_may_be_remembered() {
    for (kind, secret) in canary::all() {
        let text = format!("How the {kind} of the staging service looks: {}", secret.text);
        let left = redact(&text).text;
        assert_ne!(Guard::shipped().judge(Field::Content, &left), Verdict::Refuse, "{left}");
    }
}
