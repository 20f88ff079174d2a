//! Three nodes behind HAProxy on one PostgreSQL: the short forms. `mnemon-bench nodes` runs the long ones.

use std::time::Duration;

use mnemon_testkit::faults::nodes::{
    Nodes, durable_cluster, kill_server, restart_server, synchronous_pair, url_of_both,
};
use mnemon_testkit::postgres::fresh_database;

use crate::program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_see_each_others_saves_and_revocations_and_calls() {
    let (database, scratch) = (fresh_database().await, tempfile::tempdir().unwrap());
    let nodes = Nodes::start(program(), &database.url, scratch.path()).await.unwrap();
    assert_eq!(nodes.read_your_writes(300).await.unwrap(), 300);
    assert_eq!(nodes.revocations(20).await.unwrap(), 20);
    // 25 calls a second: nodes may lag behind each other by a second, and fewer calls than that pass in it.
    let passed = nodes.rate_limit(110, Duration::from_millis(40)).await.unwrap();
    assert!((60..=85).contains(&passed), "{passed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_a_node_loses_and_doubles_nothing() {
    let (database, scratch) = (fresh_database().await, tempfile::tempdir().unwrap());
    let mut nodes = Nodes::start(program(), &database.url, scratch.path()).await.unwrap();
    let fault = async |nodes: &mut Nodes| {
        nodes.kill_node(1).await?;
        nodes.kill_node(2).await?;
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(database.sql(sql)?)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

/// Unless the balancer ends the calls of a node that hangs, they wait for as long as it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hangs_keeps_nobody_waiting_behind_the_guides_balancer() {
    const HANGS: Duration = Duration::from_secs(12);
    // The bench asks for 2.5 seconds; the rest allows for other tests running at the same time.
    const WAIT_MAX: Duration = Duration::from_secs(7);
    let (database, scratch) = (fresh_database().await, tempfile::tempdir().unwrap());
    let mut nodes = Nodes::start(program(), &database.url, scratch.path()).await.unwrap();
    let fault = async |nodes: &mut Nodes| {
        nodes.pause_node(1, true)?;
        tokio::time::sleep(HANGS).await;
        nodes.pause_node(1, false)?;
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(database.sql(sql)?)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
    assert!(report.answer_max < WAIT_MAX && report.searches_out_max < WAIT_MAX, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_postgresql_loses_and_doubles_nothing() {
    let (cluster, scratch) = (durable_cluster().unwrap(), tempfile::tempdir().unwrap());
    let mut nodes = Nodes::start(program(), &cluster.url("postgres"), scratch.path()).await.unwrap();
    let fault = async |nodes: &mut Nodes| {
        let mut longest = Duration::ZERO;
        for _ in 0..3 {
            kill_server(&cluster)?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            restart_server(&cluster)?;
            longest = longest.max(nodes.until_back().await?);
        }
        Ok(longest)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
    assert!(report.failed > 0, "the database was away for three seconds");
    assert_eq!(report.other_words, Vec::<String>::new(), "callers are told that storage is unavailable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_has_everything_that_was_acknowledged() {
    let ((primary, standby), scratch) = (synchronous_pair().unwrap(), tempfile::tempdir().unwrap());
    let url = url_of_both(&primary, &standby, "postgres");
    let mut nodes = Nodes::start(program(), &url, scratch.path()).await.unwrap();
    let fault = async |nodes: &mut Nodes| {
        kill_server(&primary)?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        standby.promote()?;
        nodes.until_back().await
    };
    let report = nodes.under_load(fault, |sql| Ok(standby.sql("postgres", sql)?)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_are_told_in_time_while_a_table_is_locked() {
    let (cluster, scratch) = (durable_cluster().unwrap(), tempfile::tempdir().unwrap());
    let nodes = Nodes::start(program(), &cluster.url("postgres"), scratch.path()).await.unwrap();
    let report = nodes.with_locked_table(&cluster, 100, Duration::from_secs(8)).await.unwrap();
    // Two seconds are promised; the third allows for other tests running at the same time.
    assert!(report.is_passed(Duration::from_secs(3)), "{report:?}");
}
