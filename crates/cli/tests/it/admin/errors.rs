//! What the commands say when something is wrong: what happened, and what to do.

use super::house::House;
use crate::process::Place;

fn check(done: &crate::process::Done, expected: &str) {
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (1, "", &*format!("error: {expected}\n")));
}

#[test]
fn without_a_credential_the_error_names_both_and_where_they_come_from() {
    let place = Place::new();
    let expected = "no credential; pass --operator-token (MNEMON_OPERATOR_TOKEN) or an admin's --key (MNEMON_API_KEY), or save a key with `mnemon login`";
    for verb in [&["account", "list"][..], &["audit"], &["compact"], &["key", "list"], &["record", "list"]] {
        check(&place.run(verb), expected);
    }
    let json = place.run(&["usage", "--json"]);
    assert_eq!((json.code, json.err), (1, format!("{{\"error\":\"{expected}\"}}\n")));
}

#[test]
fn without_a_service_the_error_says_how_to_start_one() {
    let place = Place::new();
    let done = place.run(&["account", "list", "--url", "http://127.0.0.1:9", "--operator-token", "mnp_x"]);
    assert_eq!(done.code, 1);
    let expected = "error: no answer from http://127.0.0.1:9; is the service running? Start it with `mnemon serve`";
    assert!(done.err.starts_with(expected), "{}", done.err);
}

#[test]
fn refusals_of_the_service_are_shown_in_its_words() {
    let house = House::open();
    let absent = "01980000-0000-7000-8000-00000000dead";
    check(&house.admin(&["account", "list"]), "this requires the operator token");
    check(&house.admin(&["compact"]), "this requires the operator token");
    check(&house.admin(&["account", "show", absent]), "no such account");
    check(&house.admin(&["member", "show", absent]), "no such member");
    check(&house.admin(&["member", "show", "Adnim"]), "no member is called `Adnim`; members: admin");
    check(&house.admin(&["key", "revoke", absent, "--yes"]), "no such key");
    for typed in ["../accounts", "x?purge=true", "x#y", "%", "."] {
        check(&house.admin(&["record", "forget", typed]), "no such record");
        check(&house.admin(&["member", "list", "--account", typed]), "no such account");
    }
    check(&house.admin(&["member", "create", "N", "--role", "king"]), "role must be one of admin, head, member");
    check(&house.admin(&["usage", "--days", "0"]), "days must be between 1 and 366");
    check(&house.admin(&["audit", "--limit", "1001"]), "limit must be between 1 and 1000");
    let plans = "plan must be one of free, starter, pro, enterprise, unlimited";
    check(&house.operator(&["account", "create", "N", "--plan", "gold"]), plans);
    let until = "paid_until must be an RFC 3339 time, for example 2027-01-31T00:00:00Z";
    check(&house.operator(&["account", "create", "N", "--paid-until", "tomorrow"]), until);
}

#[test]
fn with_the_operators_token_the_account_or_project_must_be_named() {
    let house = House::open();
    for verb in [&["department", "list"][..], &["member", "list"], &["audit"], &["plan", "show"], &["guard", "show"]] {
        check(&house.operator(verb), "--account is required with the operator token");
    }
    for verb in [&["key", "list"][..], &["workspace", "list"], &["usage"], &["record", "list"]] {
        check(&house.operator(verb), "--project is required with the operator token");
    }
}

#[test]
fn credentials_come_from_the_environment_too_and_the_operators_goes_first() {
    let house = House::open();
    let mut command = house.place.command(&["account", "list"]);
    command.env("MNEMON_URL", &house.service.url).env("MNEMON_API_KEY", &house.key);
    let as_admin = crate::process::Done::of(command.output().expect("the binary runs"));
    check(&as_admin, "this requires the operator token");
    command.env("MNEMON_OPERATOR_TOKEN", &house.token);
    let as_operator = crate::process::Done::of(command.output().expect("the binary runs"));
    assert_eq!((as_operator.code, as_operator.err.as_str()), (0, ""));
}
