//! The stories that every engine has to pass, unchanged. An engine's test file names its constructor once:
//!
//! ```text
//! mnemon_store_conformance::conformance!(|| Box::pin(make_engine()));
//! ```
//!
//! To add a story: write it in the file of its subject, and put its name into the list below.

mod audit;
mod console;
mod credentials;
mod damaged;
mod fixtures;
mod forgetting;
mod idempotency;
mod integrations;
mod isolation;
mod listing;
mod log;
mod model;
mod nodes;
mod oauth;
mod people;
mod reading;
mod records;
mod remove_member;
mod retention;
mod sessions;
mod sources;
mod superseding;
mod trail;
mod walls;

pub use audit::*;
pub use console::*;
pub use credentials::*;
pub use damaged::*;
pub use fixtures::*;
pub use forgetting::*;
pub use idempotency::*;
pub use integrations::*;
pub use isolation::*;
pub use listing::*;
pub use log::*;
pub use model::*;
pub use nodes::*;
pub use oauth::*;
pub use people::*;
pub use reading::*;
pub use records::*;
pub use remove_member::*;
pub use retention::*;
pub use sessions::*;
pub use sources::*;
pub use superseding::*;
pub use trail::*;
pub use walls::*;

/// Declares one test per story, each with an engine of its own.
#[macro_export]
macro_rules! conformance {
    ($make:expr) => {
        $crate::conformance!(@each $make;
            a_saved_record_comes_back_whole
            odd_texts_come_back_byte_for_byte
            a_record_from_elsewhere_keeps_its_past
            records_are_read_onward
            knowledge_from_elsewhere_is_taken_over_where_there_is_none
            load_keeps_the_order_and_leaves_out_what_is_not_there
            a_record_read_before_shows_every_change
            known_and_unknown_records_come_in_the_order_asked_for
            concurrent_saves_take_consecutive_places
            a_duplicate_is_equal_in_five_things
            a_duplicate_brings_given_values_up_to_date
            a_forgotten_record_is_no_duplicate
            a_full_project_takes_duplicates_and_nothing_else
            a_project_has_a_limit_of_workspaces
            concurrent_saves_never_exceed_the_limit
            a_record_takes_the_place_of_others
            a_key_is_replaced_within_sight
            what_is_not_there_is_not_replaced
            a_duplicate_takes_the_place_of_others
            replacing_works_at_the_limit
            a_repeated_replace_changes_nothing
            concurrent_replaces_leave_one_winner
            records_are_listed_by_source
            records_that_say_the_same_are_found_in_every_workspace
            records_are_listed_by_given_fact_key
            forgetting_takes_what_is_alive
            a_living_record_has_a_place
            a_forgotten_record_can_be_restored_for_a_while
            restoring_respects_the_limit
            a_deleted_workspace_comes_back_empty
            records_of_a_deleted_workspace_come_back_one_by_one
            a_deleted_workspace_can_be_restored_for_a_while
            restored_records_join_a_workspace_that_took_the_name
            a_workspace_outlives_its_records
            a_repeated_key_answers_as_the_first_call
            keys_are_apart_per_member_and_project
            a_key_counts_within_its_window
            the_key_is_looked_at_first
            concurrent_uses_of_a_key_store_one_record
            following_the_log_leads_to_the_living_records
            following_while_others_write_converges
            a_tail_tells_what_became_of_known_records
            a_tail_tells_that_a_record_was_brought_up_to_date
            a_tail_hands_out_what_is_known_of_sources
            a_short_tail_leaves_no_sighting_behind
            a_tail_tells_that_its_workspace_is_gone
            a_workspace_knows_its_audiences
            a_saved_hash_is_known_to_its_audience
            a_sighting_that_says_nothing_new_takes_no_place
            a_duplicate_makes_its_hash_the_newest
            an_observed_hash_is_known_and_confirmed
            several_hashes_of_one_content_stay_together
            digests_of_one_content_stay_together
            a_source_keeps_its_moments
            a_sighting_that_others_hide_moves_no_moment
            workspaces_know_their_sources_apart
            a_source_that_is_gone_comes_back_with_any_hash
            a_restored_record_keeps_what_was_known_of_its_source
            the_latest_life_knows_best
            what_is_known_of_sources_ends_with_its_workspace
            a_record_tells_with_which_keys_it_was_saved_and_what_happened_to_it
            a_look_is_kept_if_it_saw_something_else_and_the_latest_twenty_stay
            what_was_forgotten_is_listed_by_when_it_was
            tags_are_changed_without_another_text
            nothing_is_taken_over_into_a_workspace_that_is_not_living
            the_first_account_comes_whole_or_not_at_all
            a_credential_tells_all_that_follows
            the_keys_in_a_members_name_are_listed_with_their_maker
            a_link_gives_its_key_a_secret_once
            a_key_is_changed_until_it_is_revoked
            a_change_to_a_credential_shows_at_once
            a_revocation_is_seen_by_all_who_ask_after_it
            a_viewer_has_its_place_in_the_tree
            accounts_do_not_mix
            a_failing_act_fails_alone
            the_audit_log_is_newest_first
            the_audit_log_is_searched
            a_key_is_seen
            figures_tell_how_many_records_lived
            a_closed_store_refuses
            projects_do_not_see_each_other
            an_unknown_project_is_empty_and_takes_nothing
            random_acts_agree_with_a_model
            a_member_with_records_needs_an_heir
            a_leaving_member_hands_everything_over
            an_index_follows_a_hand_over
            knowledge_of_sources_is_joined_by_the_newest
            a_member_without_records_simply_leaves
            who_left_saves_nothing
            the_operators_token_is_made_once
            accounts_are_listed_page_by_page
            a_deleted_project_is_gone_for_every_reader
            a_department_in_use_stays
            changed_people_show_at_once
            usage_adds_up
            the_guard_is_told_once
            a_mark_of_the_guard_goes_when_its_text_is_released
            a_portion_ends_with_its_bytes
            records_are_listed_newest_first
            lists_are_narrowed_in_every_way
            a_members_holdings_are_counted
            any_record_is_found_alive_or_not
            workspaces_and_sizes_are_told_by_audience
            a_purged_record_is_gone
            a_purge_makes_room_once
            a_project_keeps_a_limit_of_forgotten_records
            what_ended_long_ago_goes_in_pieces
            following_while_records_are_purged_converges
            the_newest_snapshot_stays
            a_snapshot_does_not_bring_back_what_was_purged
            compacting_changes_nothing_to_be_seen
            strangers_run_nothing
            a_client_comes_back_and_is_replaced
            a_code_makes_one_connection
            a_code_used_wrongly_is_used_up
            a_code_used_twice_ends_what_it_gave
            a_code_used_at_once_by_many_leaves_nothing
            a_connection_ends_at_once
            a_code_dies_with_its_key
            connections_are_listed_with_their_last_use
            ended_connections_and_unused_clients_go
            a_console_session_leads_to_its_key_until_it_ends
            a_console_session_goes_on_with_another_key
            open_console_sessions_are_listed_and_ended
            nodes_are_listed_while_they_tell_of_themselves
            an_integration_is_kept_changed_and_removed
            the_first_look_pins_and_later_ones_do_not
            tools_are_accepted_by_the_hash_that_was_seen
            integrations_are_their_projects_alone
            credentials_are_resealed_together
            a_session_grows_at_its_end
            a_short_part_is_taken_up_by_the_next
            one_of_many_appends_at_a_place
            over_the_volume_the_oldest_parts_go
            sessions_are_apart_and_listed
            a_deleted_session_is_gone
            sessions_leave_with_their_member
        );
    };
    (@each $make:expr; $($story:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $story() {
            let make: $crate::MakeEngine = $make;
            $crate::$story(make).await;
        }
    )*};
}
