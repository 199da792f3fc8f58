//! Runs tests again in two variants: with a sender and a receiver that are connected by pipes, as between two hosts,
//! and with a source that is treated as a cold hard disk.

use crate::world::Variant;

macro_rules! variants {
    ($($module:ident { $($test:ident)* })*) => {
        mod two_hosts {
            use super::Variant;
            $(mod $module {
                $(
                    #[test]
                    fn $test() {
                        super::Variant::TwoHosts.of(crate::$module::$test);
                    }
                )*
            })*
        }
        mod disk_order_variant {
            use super::Variant;
            $(mod $module {
                $(
                    #[test]
                    fn $test() {
                        super::Variant::DiskOrder.of(crate::$module::$test);
                    }
                )*
            })*
        }
    };
}

variants! {
    whole {
        everything_is_mirrored_and_a_second_run_changes_nothing
        every_file_system_takes_every_change
        odd_names_and_kinds_and_great_depth
        source_and_destination_may_be_symbolic_links
        a_file_of_the_destination_that_has_other_names_is_not_written_to
        a_run_leaves_access_times_of_the_source_alone
    }
    destinations {
        an_inode_number_on_another_device_is_another_file
        times_of_any_year_are_kept
        where_times_are_coarse_nothing_is_copied_again
        metadata_that_is_not_kept_is_not_set_in_each_run
        a_file_whose_attributes_do_not_fit_is_copied_without_them
        metadata_that_cannot_be_stored_does_not_cause_a_copy_in_each_run
        times_that_are_not_kept_are_reported_and_cause_no_copies
        a_file_whose_attributes_cannot_be_listed_is_copied_without_them
        a_dry_run_sees_attributes_of_directories_too
        further_names_of_an_existing_file_are_linked_to_it
        a_removed_capability_is_removed_from_the_copy
        security_labels_of_the_destination_stay_and_are_not_a_difference
        a_dry_run_counts_deletions_and_does_not_adjust_new_entries
    }
    deletion {
        a_source_with_nothing_to_mirror_empties_nothing
        nothing_is_removed_without_delete
        nothing_is_removed_if_it_would_be_more_than_allowed
        nothing_is_removed_if_not_all_of_the_source_was_read
        left_out_entries_are_not_removed_either
        a_file_replaces_a_directory_only_with_delete
        a_directory_with_left_out_entries_is_not_replaced
        a_left_out_entry_is_not_replaced_by_a_directory
        a_quarantine_directory_is_not_replaced
        a_mount_in_the_destination_is_not_emptied
        leftovers_of_a_killed_run_are_removed_and_lookalikes_stay
    }
    options {
        a_dry_run_reports_what_a_run_does_and_changes_nothing
        equal_size_and_time_suffice_without_checksum
        copies_can_be_verified_and_synced
        a_bandwidth_limit_is_kept
        files_are_linked_to_those_of_the_previous_backup
        a_base_on_another_file_system_is_not_used
        mounts_in_the_source_can_be_left_out
        a_destination_inside_the_source_is_not_mirrored_into_itself
        changes_say_what_they_are
    }
    changing {
        a_file_that_grows_is_copied_as_it_was_and_again_later
        a_small_file_that_grows_large_is_copied_too
        an_edit_that_keeps_size_and_time_is_in_the_copy
        continuous_edits_that_keep_size_and_time_are_reported
        names_that_come_and_go_do_not_fail
        directories_replace_other_entries
    }
    links {
        several_workers_find_names_of_one_file_at_once
        more_names_than_a_file_can_have
        a_reused_inode_number_is_another_file
        links_that_lead_out_of_the_tree_are_cut
        a_name_that_becomes_another_file_does_not_affect_other_names
    }
    names {
        names_chosen_to_collide_are_kept_apart
        temporary_names_of_an_unseen_run_are_left_alone
        an_unfinished_directory_of_another_user_is_not_adopted
        where_case_is_ignored_no_name_replaces_another
        a_name_in_another_spelling_is_not_removed
    }
    counts {
        names_below_a_directory_that_could_not_be_created_are_counted
        many_names_below_a_directory_that_fails_at_once_are_counted
        runs_to_a_full_disk_do_not_alternate
        left_out_entries_are_named
        generated_files_of_the_kernel_are_not_copied
    }
    replacing {
        a_file_replaced_by_a_directory_is_reported_as_replaced
        entries_that_stay_are_not_reported_as_replaced
        a_failed_replacement_leaves_nothing_and_is_not_counted
        a_directory_replaces_a_file_on_every_file_system
    }
    meddling {
        an_attacker_who_swaps_entries_for_links_gains_nothing
        nothing_outside_is_read
    }
    reuse {
        a_file_that_was_renamed_is_not_copied
        a_file_that_stays_is_not_given_another_name
        two_files_do_not_become_one
        wrong_hints_do_no_harm
        a_file_that_only_differs_in_time_gets_the_time
        killed_at_every_change_of_a_rename
    }
    faults {
        killed_at_every_change
        every_change_fails_once
        a_new_tree_killed_at_every_change
    }
}
