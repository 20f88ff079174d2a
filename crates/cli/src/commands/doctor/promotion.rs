//! May this standby become the primary? Compares what it has received with what the others have.

use anyhow::{Context, bail};
use mnemon_server::config::DatabaseConfig;
use mnemon_store::postgres::{Position, received};

use crate::storage::{cause, without_password};

/// Says that a standby may be promoted, or which one has to be instead.
pub async fn check(candidate: &str, database: &DatabaseConfig) -> anyhow::Result<String> {
    let name = without_password(candidate);
    let own = received(candidate).await.map_err(|error| anyhow::anyhow!("{name}: {}", cause(&error)))?;
    if !own.is_standby {
        bail!("{name} is a primary already");
    }
    if let Ok(primary) = received(database.url.expose()).await
        && !primary.is_standby
    {
        bail!("the primary still takes writes; stop it before another server becomes the primary");
    }
    let others = database.replicas.iter().map(|url| url.expose().as_str()).filter(|url| *url != candidate);
    let mut compared = 0;
    for other in others {
        let other_name = without_password(other);
        let position = received(other).await.map_err(|error| anyhow::anyhow!(cause(&error)));
        let position = position.with_context(|| {
            format!(
                "can't tell: {other_name} does not answer, and may have received more than {name}; bring it back first"
            )
        })?;
        compare(&name, &own, &other_name, &position)?;
        compared += 1;
    }
    if compared == 0 {
        bail!("there is nothing to compare with; list all standbys in database.replicas");
    }
    Ok(format!("{name} has received everything up to {}, and no other standby has more: promote it", own.shown))
}

fn compare(name: &str, own: &Position, other_name: &str, other: &Position) -> anyhow::Result<()> {
    if own.system != other.system {
        bail!("{name} and {other_name} are not copies of one database");
    }
    if other.received > own.received {
        bail!(
            "don't promote {name}: it lacks {} bytes of changes that {other_name} has received; promote that one",
            other.received - own.received
        );
    }
    Ok(())
}
