//! `mnemon doctor`: what works, what does not, and what to do about it.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::process::Place;

#[test]
fn a_service_in_good_health_is_all_ok() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (url, key) = (service.url.clone(), service.key());
    let done = place.run(&["doctor", "--url", &url, "--key", &key]);
    let here = place.path().display();
    let expected = format!(
        "ok      configuration: valid; data in {here}/mnemon-data\nok      service is alive: {url}/health/live answers\nok      \
         searches work: {url}/health/ready answers\nok      saves work: {url}/health/writable answers\nok      API key: \
         accepted; 5 tools available\n"
    );
    assert_eq!((done.code, done.out), (0, expected));
    let json = place.run(&["doctor", "--json", "--url", &url, "--key", &key]).json();
    assert_eq!(json["ok"], true);
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(5));
}

#[test]
fn each_fault_is_found_and_has_its_advice() {
    let place = Place::new();
    let service = place.serve(&[]);
    let url = service.url.clone();
    let check = |arguments: &[&str], expected: &str| {
        let done = place.run(&[&["doctor"], arguments].concat());
        assert_eq!((done.code, done.err.as_str()), (1, ""), "{arguments:?}");
        assert!(done.out.contains(expected), "{arguments:?}: {}", done.out);
    };
    check(&["--url", &url], "FAILED  API key: no API key; pass --key or set MNEMON_API_KEY.");
    check(&["--url", &url], &format!("ok      saves work: {url}/health/writable answers\nFAILED  API key: no API key"));
    let rejected = format!("FAILED  API key: {url} rejected the API key; check that you copied all of it");
    check(&["--url", &url, "--key", "mnm_wrong"], &rejected);
    let address = "FAILED  configuration: the configuration has 1 mistake(s):\n  - server.listen must be an address";
    check(&["--url", &url, "--key", &service.key(), "--listen", "nonsense"], address);
    drop(service);
    let away =
        format!("FAILED  service is alive: no answer from {url}; is the service running? Start it with `mnemon serve`");
    check(&["--url", &url, "--key", "k"], &away);
    let told = place.run(&["doctor", "--url", &url, "--key", "k"]).out;
    assert!(told.lines().all(|line| line.matches("no answer").count() <= 1), "each cause once: {told}");
    let json = place.run(&["doctor", "--json", "--url", &url, "--key", "k"]);
    assert_eq!((json.code, &json.json()["ok"]), (1, &json!(false)));
    assert_eq!(json.json()["findings"][0]["ok"], true);
}

#[test]
fn a_data_directory_is_read_as_a_whole_beside_its_service_and_damage_is_named() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (url, key) = (service.url.clone(), service.key());
    let saved = place.run(&["remember", "the boiler is in the cellar", "--url", &url, "--key", &key, "--json"]).json();
    let doctor = |more: &[&str]| place.run(&[&["doctor", "--data-dir", "data"], more].concat());
    let well = doctor(&["--url", &url, "--key", &key]);
    assert_eq!(well.code, 0, "{}", well.out);
    assert!(well.out.contains("ok      data directory: 1 records in "), "{}", well.out);
    assert!(well.out.contains("ok      room on the disk: ") && well.out.contains("MB free"), "{}", well.out);
    assert!(well.out.contains("ok      file permissions: only the owner can read the data"), "{}", well.out);
    service.stop();
    assert_eq!(doctor(&["--restore-check"]).code, 0);
    let nothing = place.run(&["doctor", "--restore-check", "--data-dir", "elsewhere"]);
    assert!(nothing.code == 1 && nothing.out.contains("there is no data of mnemon in "), "{nothing:?}");
    let file = place.data_dir().join("mnemon.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let open = doctor(&["--restore-check"]);
    assert!(
        open.code == 1 && open.out.contains("others can read ") && open.out.contains("run: chmod go-rwx"),
        "{open:?}"
    );
    let mut bytes = std::fs::read(&file).expect("it can be read");
    let text = b"the boiler is in the cellar";
    let at = bytes.windows(text.len()).position(|window| window == text).expect("the text is in the file");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("it can be written");
    let damaged = doctor(&["--restore-check"]);
    let named = format!("the checksum does not match in 1 of 1 records: {}", saved["id"].as_str().expect("an id"));
    assert!(damaged.code == 1 && damaged.out.contains(&named), "{damaged:?}");
}
