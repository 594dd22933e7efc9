//! Claims that hold for every store.

mod events;
mod holding;
mod requests;
mod sessions;
mod spaces;
mod telling;
pub(crate) mod tenants;

use std::pin::Pin;

use palisade_store::Postgres;

/// Holds claims against a store in memory, one in a file, and one in a server.
macro_rules! hold {
    ($($module:ident: $($claim:ident)+;)+) => {
        mod memory {
            $($(#[tokio::test] async fn $claim() { super::$module::$claim(&palisade_store::Memory::new()).await })+)+
        }
        mod sqlite {
            $($(#[tokio::test]
            async fn $claim() {
                let folder = tempfile::tempdir().unwrap();
                let store = palisade_store::Sqlite::open(folder.path().join("store.db")).await.unwrap();
                super::$module::$claim(&store).await;
            })+)+
        }
        /// STO-11
        #[tokio::test]
        async fn all_of_it_holds_for_postgres() {
            // A loop over boxed futures: written out, this one test has no room for all of them on its stack.
            type Claim = for<'a> fn(&'a Postgres) -> Pin<Box<dyn Future<Output = ()> + 'a>>;
            let claims: &[(&str, Claim)] = &[$($((stringify!($claim), {
                fn boxed(store: &Postgres) -> Pin<Box<dyn Future<Output = ()> + '_>> {
                    Box::pin($module::$claim(store))
                }
                boxed
            })),+),+];
            for (name, claim) in claims {
                let Some(address) = crate::cluster::database().await else { return };
                let store = Postgres::connect(&address).await.unwrap();
                eprintln!("{name}");
                claim(&store).await;
                store.close().await;
            }
        }
    };
}

hold! {
    sessions:
        a_session_is_found_as_it_was_made
        what_is_not_fit_is_refused
        ids_and_names_are_taken_once
        the_most_recently_updated_comes_first
        lists_are_narrowed_and_paged
        sessions_are_found_by_name_and_by_beginning
        attributes_are_merged_deeply
        pinning_decides_nothing
        tenants_never_see_each_other
        a_cleared_session_keeps_all_but_what_was_said
        a_deleted_session_leaves_nothing_behind;
    holding:
        one_run_holds_a_session
        a_write_of_somebody_who_was_replaced_is_refused
        a_run_that_is_over_is_not_taken_over
        a_message_is_answered_once
        a_run_begins_with_what_was_read_or_not_at_all
        many_write_at_once_and_nothing_is_lost
        of_many_who_claim_one_wins;
    telling:
        entries_are_numbered_without_a_gap
        a_batch_is_written_whole_or_not_at_all
        a_call_is_meant_once_and_has_one_result
        anything_a_model_can_say_is_kept
        usage_adds_up
        what_was_used_up_stays_when_a_session_goes
        a_sum_of_what_is_gone_never_runs_over
        audit_records_come_newest_first
        a_session_begins_with_what_was_said_elsewhere;
    spaces:
        a_value_is_found_as_it_was_kept
        a_space_holds_no_more_than_it_may
        spaces_and_tenants_never_see_each_other
        keys_are_sorted_and_narrowed_by_their_beginning
        what_cannot_be_a_key_or_a_space_is_refused
        many_keep_at_once_and_the_limit_holds;
    tenants:
        a_tenant_is_found_as_it_was_made
        what_is_no_tenant_is_refused
        an_id_of_a_tenant_is_taken_once_and_for_all
        tenants_are_listed_by_their_ids
        a_change_of_a_tenant_leaves_the_rest
        the_local_tenant_is_there_and_stays
        a_deleted_tenant_leaves_nothing_behind
        a_tenant_is_not_deleted_while_a_run_of_it_is_held
        nothing_is_written_for_a_tenant_that_was_deleted
        of_many_who_make_the_same_tenant_one_does
        a_key_is_found_by_its_hash_alone
        a_key_of_another_tenant_is_not_there
        a_revoked_key_stays_revoked
        what_is_no_key_is_refused
        of_many_who_add_the_same_key_one_does;
    events:
        events_come_back_in_their_order
        the_same_event_may_be_told_again_and_another_may_not
        a_gap_and_what_is_too_much_is_refused
        an_event_of_somebody_who_was_replaced_is_refused
        an_event_of_a_run_that_was_left_behind_is_refused
        events_of_another_tenant_are_not_there
        events_go_with_their_session
        many_tell_at_once_and_every_event_is_there_once
        runs_that_did_not_end_are_found
        runs_that_did_not_end_come_in_pages;
    requests:
        a_request_is_done_once
        the_same_key_for_another_request_is_a_conflict
        a_request_that_came_to_nothing_may_be_tried_again
        keys_of_requests_are_of_their_tenant
        a_lease_that_lapsed_lets_another_begin
        what_is_no_request_is_refused
        of_many_who_begin_the_same_request_one_works_on_it;
}
