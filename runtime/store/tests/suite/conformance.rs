//! Claims that hold for every store.

mod holding;
mod sessions;
mod spaces;
mod telling;

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
            $($(
                let Some(address) = crate::cluster::database().await else { return };
                let store = palisade_store::Postgres::connect(&address).await.unwrap();
                eprintln!("{}", stringify!($claim));
                $module::$claim(&store).await;
                store.close().await;
            )+)+
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
        audit_records_come_newest_first
        a_session_begins_with_what_was_said_elsewhere;
    spaces:
        a_value_is_found_as_it_was_kept
        a_space_holds_no_more_than_it_may
        spaces_and_tenants_never_see_each_other
        keys_are_sorted_and_narrowed_by_their_beginning
        what_cannot_be_a_key_or_a_space_is_refused
        many_keep_at_once_and_the_limit_holds;
}
