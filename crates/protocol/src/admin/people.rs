//! Departments and members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MadeLinkJson, changed};

/// `POST /accounts/{id}/departments`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDepartment {
    pub name: String,
    /// The parent department.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// `PATCH /accounts/{id}/departments/{id}`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeDepartment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new parent; null moves it to the top level.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Option<String>>,
}

/// `POST /accounts/{id}/members`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateMember {
    pub name: String,
    /// `admin`, `head` or `member`.
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_until: Option<String>,
}

/// `POST /accounts/{id}/invitations`: a member, and a link that shows its key once.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InviteMember {
    pub name: String,
    /// `admin`, `head` or `member`.
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_until: Option<String>,
    /// The project that the key opens.
    pub project_id: String,
    /// What the key may do: `read` or `write`.
    pub access: String,
    /// The key's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The key's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// For how many hours the link can be opened; three days if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_hours: Option<u16>,
}

/// Somebody who was invited.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct InvitedJson {
    pub member: MemberJson,
    #[serde(flatten)]
    pub link: MadeLinkJson,
}

/// `PATCH /accounts/{id}/members/{id}`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The new department; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub department_id: Option<Option<String>>,
    /// The new end of access; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub access_until: Option<Option<String>>,
}

/// `DELETE /accounts/{id}/members/{id}`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMember {
    /// Who takes over the member's records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_over_to: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DepartmentJson {
    pub id: String,
    pub name: String,
    /// The parent department.
    pub parent_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberJson {
    pub id: String,
    pub name: String,
    pub role: String,
    pub department_id: Option<String>,
    pub access_until: Option<String>,
    pub created_at: String,
}

/// `GET /accounts/{id}/members/{id}/holdings`: what a member's leaving would hand over, revoke or delete.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HoldingsJson {
    /// Records in all projects that can still be read or restored, without drafts.
    pub records: u64,
    /// Keys that are not revoked.
    pub keys: u64,
    /// Uploaded session histories.
    pub sessions: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_that_keeps_removes_or_sets_is_read_as_it_was_written() {
        let check = |department_id: Option<Option<String>>, written: serde_json::Value| {
            let change =
                ChangeMember { name: None, role: None, department_id: department_id.clone(), access_until: None };
            let json = serde_json::to_value(&change).expect("it is written");
            assert_eq!(json, written);
            let read: ChangeMember = serde_json::from_value(json).expect("it is read");
            assert_eq!(read.department_id, department_id);
        };
        check(None, json!({}));
        check(Some(None), json!({"department_id": null}));
        check(Some(Some("sales".to_owned())), json!({"department_id": "sales"}));
    }
}
