//! The unit that is handed out. No systemd runs here: `systemd-analyze` reads the unit, and its own command runs with
//! its own environment, with the directories of a test.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::operations::request;
use crate::process::{Done, Place, signal};

const UNIT: &str = include_str!("../../../../ops/systemd/mnemon.service");
const BACKUPS: &str = include_str!("../../../../docs/operations/backup.md");
const SETTINGS: &str = include_str!("../../../server/mnemon.default.toml");
const PATIENCE: Duration = Duration::from_secs(30);

/// All values that the unit gives a setting.
fn values(name: &str) -> Vec<&'static str> {
    UNIT.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

fn analyze(arguments: &[&str], unit: &Path) -> Done {
    let output = Command::new("systemd-analyze").args(arguments).arg(unit).output();
    Done::of(output.expect("systemd-analyze runs; on Debian: apt-get install systemd"))
}

/// The unit, with a program that is there.
fn unit_of(place: &Place) -> std::path::PathBuf {
    let command = values("ExecStart")[0];
    place.write(
        "mnemon.service",
        &UNIT.replace(command, &command.replace("/usr/bin/mnemon", env!("CARGO_BIN_EXE_mnemon"))),
    )
}

#[test]
fn systemd_accepts_every_line_of_the_unit() {
    let place = Place::new();
    let done = analyze(&["verify", "--man=no"], &unit_of(&place));
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    let wrong = place.write("wrong.service", &UNIT.replace("ProtectSystem=strict", "ProtectSystem=sometimes"));
    let done = analyze(&["verify", "--man=no"], &wrong);
    assert!(
        done.err.contains("protect system") || done.err.contains("ProtectSystem"),
        "a wrong line is noticed: {}",
        done.err
    );
}

#[test]
fn the_unit_exposes_little() {
    let place = Place::new();
    let unit = unit_of(&place);
    // The threshold is in tenths: 20 is the bar of 2.0.
    let done = analyze(&["security", "--offline=true", "--threshold=20"], &unit);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let strict = analyze(&["security", "--offline=true", "--threshold=1"], &unit);
    assert_ne!(strict.code, 0, "the threshold is looked at");
}

/// The unit's command in the places of a test. Its settings file is the one that the guide installs; what a test has to
/// change stands in the unit's file of secrets, and `more` after it.
fn start_by_the_unit(place: &Place, journal: &File, more: &str) -> Child {
    let (data, etc) = (place.path().join("var"), place.path().join("etc"));
    for folder in [&data, &etc] {
        std::fs::create_dir(folder).expect("a folder");
    }
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).expect("as StateDirectoryMode says");
    std::fs::write(etc.join("mnemon.toml"), SETTINGS).expect("the settings");
    let secrets = format!("MNEMON_LISTEN=127.0.0.1:0\nMNEMON_METRICS_LISTEN=\n{more}");
    std::fs::write(etc.join("environment"), secrets).expect("secrets");
    let here = |text: &str| {
        let text = text.replace("/var/lib/mnemon", &data.display().to_string());
        text.replace("/etc/mnemon", &etc.display().to_string()).replace("/usr/bin/mnemon", env!("CARGO_BIN_EXE_mnemon"))
    };
    let secrets = values("EnvironmentFile")[0].strip_prefix('-').expect("it need not be there");
    let secrets = std::fs::read_to_string(here(secrets)).expect("the file is where the unit looks");
    let settings = values("Environment").join(" ");
    let variables = settings.split(' ').chain(secrets.lines()).map(|pair| pair.split_once('=').expect("NAME=value"));
    let mask = values("UMask")[0];
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {mask} && exec {}", here(values("ExecStart")[0]))]);
    command.env_clear().envs(variables.map(|(name, value)| (name.to_owned(), here(value))));
    command.current_dir(here(values("WorkingDirectory")[0])).stdin(Stdio::null());
    // So does systemd tell a service that its output is the journal.
    let about = journal.metadata().expect("it is there");
    command.env("JOURNAL_STREAM", format!("{}:{}", about.dev(), about.ino()));
    let (out, errors) = (journal.try_clone().expect("a handle"), journal.try_clone().expect("a handle"));
    command.stdout(out).stderr(errors).spawn().expect("a shell runs")
}

/// The guide's two units for backups, with a program and directories that are there.
fn units_of_the_guide(place: &Place) -> [String; 2] {
    let block = BACKUPS.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the units");
    let here = place.path().display().to_string();
    let block = block.replace("/usr/bin/mnemon", env!("CARGO_BIN_EXE_mnemon"));
    let block =
        block.replace("/var/backups", &format!("{here}/backups")).replace("/var/lib/mnemon", &format!("{here}/data"));
    let (service, timer) = block.split_once("# mnemon-backup.timer\n").expect("both units");
    [service, timer].map(str::to_owned)
}

#[test]
fn the_guides_backup_runs_as_it_stands_and_removes_what_is_older_than_a_week() {
    let place = Place::new();
    drop(place.serve(&[]));
    let [service, timer] = units_of_the_guide(&place);
    let units = [place.write("mnemon-backup.service", &service), place.write("mnemon-backup.timer", &timer)];
    for unit in &units {
        let done = analyze(&["verify", "--man=no"], unit);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", unit.display());
    }
    let folder = place.path().join("backups/mnemon");
    std::fs::create_dir_all(&folder).expect("a folder");
    let old = folder.join("mnemon-20200101T000000Z.db");
    let file = File::create(&old).expect("a backup from long ago");
    let week = Duration::from_secs(8 * 24 * 60 * 60);
    let made = file.metadata().and_then(|about| about.modified()).expect("a time");
    file.set_modified(made - week).expect("a time of its own");
    for name in ["ExecStart=", "ExecStartPost="] {
        let line = service.lines().find_map(|line| line.strip_prefix(name)).expect("a command");
        let output =
            Command::new("sh").args(["-c", &format!("exec {line}")]).env_clear().current_dir(place.path()).output();
        let done = Done::of(output.expect("a shell runs"));
        assert_eq!(done.code, 0, "{line}: {}", done.err);
    }
    let left: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("one").path()).collect();
    assert!(left.len() == 1 && left[0] != old, "{left:?}");
}

/// The address in the line of the log that names it.
fn listening_at(journal: &Path) -> String {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(journal).expect("the journal");
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = lines.rfind(|line| line["fields"]["message"] == "listening");
        if let Some(address) = found.and_then(|line| line["fields"]["address"].as_str().map(str::to_owned)) {
            return address;
        }
        assert!(began.elapsed() < PATIENCE, "it does not listen: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_units_command_serves_by_its_environment_keeps_its_key_to_itself_and_stops_in_time() {
    let place = Place::new();
    let path = place.write("journal", "");
    let journal = File::options().append(true).open(&path).expect("a file");
    let mut child = start_by_the_unit(&place, &journal, "");
    let address = listening_at(&path);
    let ready = request(&address, "GET", "/health/ready", "none", "");
    assert!(ready.contains("\"ready\""), "{ready}");
    let file = place.path().join("var/first-start.txt");
    let (secrets, logged) = (std::fs::read_to_string(&file), std::fs::read_to_string(&path));
    let (secrets, logged) = (secrets.expect("the secrets are kept"), logged.expect("the journal"));
    assert!(secrets.contains("mnm_") && secrets.contains("mnp_"), "{secrets}");
    assert!(!logged.contains("mnm_") && !logged.contains("mnp_"), "{logged}");
    assert!(logged.contains(&file.display().to_string()), "{logged}");
    for entry in std::fs::read_dir(place.path().join("var")).expect("the data") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", entry.file_name());
    }
    signal(&child.id().to_string(), "TERM");
    let (asked, stop_max) = (Instant::now(), values("TimeoutStopSec")[0].parse().expect("seconds"));
    assert!(child.wait().expect("it ends").success());
    assert!(asked.elapsed() < Duration::from_secs(stop_max), "{:?}", asked.elapsed());
}

#[test]
fn while_its_database_is_away_the_units_command_waits_says_so_and_stops_when_told() {
    let place = Place::new();
    let path = place.write("journal", "");
    let journal = File::options().append(true).open(&path).expect("a file");
    let away = "MNEMON_DATABASE=postgres://mnemon@127.0.0.1:1/mnemon\n";
    let mut child = start_by_the_unit(&place, &journal, away);
    let logged = || std::fs::read_to_string(&path).expect("the journal");
    let began = Instant::now();
    while logged().matches("waiting for postgres://mnemon@127.0.0.1:1/mnemon").count() < 3 {
        assert_eq!(child.try_wait().expect("a state"), None, "it ended: {}", logged());
        assert!(began.elapsed() < PATIENCE, "it does not say that it waits: {}", logged());
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child.id().to_string(), "TERM");
    assert!(child.wait().expect("it ends").success(), "{}", logged());
}

#[test]
fn systemd_starts_the_service_again_however_often_it_ends() {
    assert_eq!((values("Restart"), values("StartLimitIntervalSec")), (vec!["on-failure"], vec!["0"]));
}
