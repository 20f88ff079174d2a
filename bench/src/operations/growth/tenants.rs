//! Growth with tenants that do nothing.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::place::tenant;
use super::{Figures, WRITERS};
use crate::figures::rounded;
use crate::operations::http::Http;
use crate::operations::service::Service;
use crate::operations::verdict;

/// An idle tenant may take this much memory.
const TENANT_BYTES_MAX: f64 = 1_024.0;

#[derive(Serialize)]
pub(super) struct Tenants {
    tenants: u64,
    resident_mb: f64,
    bytes_each: f64,
}

pub(super) async fn measure(binary: &Path, numbers: &[u64], figures: &mut Figures) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    println!("{:>9} {:>12} {:>16}", "tenants", "memory", "bytes per tenant");
    let mut least: Option<(u64, u64)> = None;
    for &tenants in numbers {
        let resident = resident_with(binary, tenants).await?;
        let (fewest, base) = *least.get_or_insert((tenants, resident));
        let each = resident.saturating_sub(base) as f64 / tenants.saturating_sub(fewest).max(1) as f64;
        let row = Tenants { tenants, resident_mb: rounded(resident as f64 / 1e6, 1), bytes_each: rounded(each, 0) };
        println!("{tenants:>9} {:>9.1} MB {:>16.0}", row.resident_mb, row.bytes_each);
        figures.tenants.push(row);
    }
    // The last number counts: the caches of storage fill with the first tenants, and do not grow with the others.
    if let Some(Tenants { tenants, bytes_each, .. }) = figures.tenants.last() {
        let bar = format!("an idle tenant of {tenants} takes {bytes_each:.0} bytes of memory (at most 1 KB)");
        figures.verdicts.push(verdict(*bytes_each <= TENANT_BYTES_MAX, bar));
    }
    Ok(())
}

/// The memory of a service with this many tenants, none of which has called since its start.
async fn resident_with(binary: &Path, tenants: u64) -> Result<u64> {
    let scratch = tempfile::tempdir()?;
    let dir = scratch.path().join("data");
    let service = Service::start(binary, &dir, &[])?;
    let address = service.address;
    let makers = (0..WRITERS as u64).map(|maker| async move {
        let mut http = Http::connect(address).await?;
        for number in (maker..tenants).step_by(WRITERS) {
            tenant(&mut http, &format!("Tenant {number}")).await?;
        }
        anyhow::Ok(())
    });
    futures_util::future::try_join_all(makers).await?;
    service.stop()?;
    let service = Service::start(binary, &dir, &[])?;
    let mut http = Http::connect(service.address).await?;
    let key = tenant(&mut http, "Busy").await?;
    http.call(&key, "remember", &json!({"content": "one busy tenant among many"})).await?;
    let resident = service.resident_bytes()?;
    service.stop()?;
    Ok(resident)
}
