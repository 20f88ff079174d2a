//! Benches: each subcommand is a module that measures one guarantee of the service and prints what it found. Recorded
//! runs are in `bench/runs/`.

#![expect(clippy::print_stdout, reason = "a bench prints its findings")]

mod agent;
mod backup;
mod console;
mod faults;
mod figures;
mod filters;
mod freshness;
mod gate;
mod gateway;
mod guard;
mod hooks;
mod languages;
mod life;
mod load;
mod locomo;
mod natural;
mod operations;
mod postgres;
mod ranker;
mod real_texts;
mod recall;
mod recall_speed;
mod several;
mod similar;
mod tokens;
mod validate;

use clap::{Parser, Subcommand};

/// The same as in the binary `mnemon`, so that the bench measures what runs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "mnemon-bench", about = "Measures Mnemon against its bars")]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// What the local agent adds to a call, and what it costs while idle
    Agent(agent::Args),
    /// Backups under load, killed ones between them: what is lost, and whether a restored service answers the same
    Backup(backup::Args),
    /// What every page of the console weighs and takes at 100,000 records, on both engines
    Console(console::Args),
    /// What the service survives: kills, power loss, failing and full disks, damage, bad and slow clients
    Faults(faults::Args),
    /// What the filters of a search cost: exclude_stale, tags and times
    Filters(filters::Args),
    /// Whether what holds comes first: facts that changed, in every way a fact can
    Freshness(freshness::Args),
    /// What the gate by meaning keeps out, and what it costs, as a curve over its bar
    Gate(gate::Args),
    /// What a call to another system costs, and how a misbehaving one affects others
    Gateway(gateway::Args),
    #[command(hide = true)]
    GatewayUpstream(gateway::UpstreamArgs),
    /// What the guard catches, what it wrongly rejects, and what a verdict costs
    Guard(guard::Args),
    /// How long an assistant's hooks take, with the service near and away
    Hooks(hooks::Args),
    /// How the service grows with records and with idle tenants, and whether it stays within a limit of memory
    Growth(operations::growth::Args),
    /// How well questions find facts in and across languages, and what unrelated ones find
    Languages(languages::Args),
    /// Thirty commits: how many wrong facts an assistant is shown, with `validate`, without it, and by a full-text
    /// index
    Life(life::Args),
    /// What a call costs the server, compared with a floor that answers a fixed body
    Load(load::Args),
    #[command(hide = true)]
    LoadServer(load::ServerArgs),
    /// How well sessions of dialogues are found, by kind of question, and what phrases of time add
    Locomo(locomo::Args),
    /// How well questions find facts with which they share no word
    Natural(natural::Args),
    /// Whether figures agree with a mixed load over many projects, and what it costs to be watched
    Operations(operations::Args),
    /// What PostgreSQL can carry: batched saves, several nodes, fresh searches, and its own full-text search
    Postgres(postgres::Args),
    /// How well searches find what they should, on labelled sets
    Recall(recall::Args),
    /// What a search, a save and a cold start cost, by the size of the workspace
    RecallSpeed(recall_speed::Args),
    /// Whether other choices for the last places find more of an answer that lies in several records
    Several(several::Args),
    /// Of what a save calls nearly the same, how much is about the same fact
    Similar(similar::Args),
    /// Whether memory settles under a steady load, and what it is for
    Steady(operations::steady::Args),
    /// The text that an assistant reads for ten hits, for `bench/tokens/run` to count
    Tokens(tokens::Args),
    /// What `mnemon validate` finds, asks and sends in a repository of 2,000 files
    Validate(validate::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().bench {
        Bench::Agent(args) => agent::run(&args),
        Bench::Backup(args) => backup::run(&args),
        Bench::Console(args) => console::run(&args),
        Bench::Faults(args) => faults::run(&args),
        Bench::Filters(args) => filters::run(&args),
        Bench::Freshness(args) => freshness::run(&args),
        Bench::Gate(args) => gate::run(&args),
        Bench::Gateway(args) => gateway::run(&args),
        Bench::GatewayUpstream(args) => gateway::run_upstream(&args),
        Bench::Guard(args) => guard::run(&args),
        Bench::Hooks(args) => hooks::run(&args),
        Bench::Growth(args) => operations::growth::run(&args),
        Bench::Languages(args) => languages::run(&args),
        Bench::Life(args) => life::run(&args),
        Bench::Load(args) => load::run(&args),
        Bench::LoadServer(args) => load::run_server(&args),
        Bench::Locomo(args) => locomo::run(&args),
        Bench::Natural(args) => natural::run(&args),
        Bench::Operations(args) => operations::run(&args),
        Bench::Postgres(args) => postgres::run(&args),
        Bench::Recall(args) => recall::run(&args),
        Bench::RecallSpeed(args) => recall_speed::run(&args),
        Bench::Several(args) => several::run(&args),
        Bench::Similar(args) => similar::run(&args),
        Bench::Steady(args) => operations::steady::run(&args),
        Bench::Tokens(args) => tokens::run(&args),
        Bench::Validate(args) => validate::run(&args),
    }
}
