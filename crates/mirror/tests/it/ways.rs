//! What holds for a mirroring holds for others: the same tests with two engines that talk through pipes, as
//! from one host to another, and with a source that is taken to be on a cold disk with an arm.

use crate::world::Way;

macro_rules! ways {
    ($($module:ident { $($test:ident)* })*) => {
        mod afar {
            use super::Way;
            $(mod $module {
                $(
                    #[test]
                    fn $test() {
                        super::Way::Afar.of(crate::$module::$test);
                    }
                )*
            })*
        }
        mod by_place {
            use super::Way;
            $(mod $module {
                $(
                    #[test]
                    fn $test() {
                        super::Way::ByPlace.of(crate::$module::$test);
                    }
                )*
            })*
        }
    };
}

ways! {
    whole {
        everything_is_mirrored_and_nothing_is_left_to_do
        every_file_system_takes_every_change
        odd_names_and_kinds_and_great_depth
        the_destination_may_be_a_link_and_the_source_too
        a_file_of_the_destination_that_has_other_names_is_not_written_to
        a_run_leaves_access_times_of_the_source_alone
    }
    places {
        a_number_on_another_device_is_another_file
        times_of_any_year_are_kept
        where_times_are_coarse_nothing_is_copied_again
        what_is_not_kept_there_is_not_set_each_time
        a_file_whose_attributes_do_not_fit_is_copied_without
        what_the_destination_cannot_hold_is_not_paid_for_in_each_run
        times_that_the_destination_does_not_keep_are_said_and_not_paid_for
        a_file_whose_attributes_cannot_be_listed_is_copied_without
        a_dry_run_sees_attributes_of_directories_too
        further_names_of_a_file_that_is_there_are_linked_to_it
        a_capability_that_is_no_more_goes
        labels_of_the_destination_stay_and_are_no_difference
        a_dry_run_counts_what_would_go_and_what_is_new_is_not_adjusted
    }
    deletion {
        a_source_of_which_nothing_is_mirrored_empties_nothing
        nothing_is_removed_unless_asked_for
        more_than_was_allowed_is_not_removed_at_all
        nothing_is_removed_if_not_all_of_the_source_was_read
        what_is_left_out_is_not_removed_either
        a_directory_gives_way_to_a_file_only_if_things_may_be_removed
        a_directory_with_something_that_is_left_out_gives_way_to_nothing
        what_is_left_out_gives_way_to_no_directory
        files_in_quarantine_give_way_to_nothing
        what_is_mounted_in_the_destination_is_not_emptied
        what_a_killed_run_left_goes_and_what_only_looks_like_it_stays
    }
    options {
        a_dry_run_tells_what_a_run_does_and_changes_nothing
        equal_size_and_time_are_equal_unless_contents_are_asked_for
        copies_can_be_verified_and_synced
        a_limit_is_kept
        files_are_linked_to_those_of_the_backup_before
        a_backup_on_another_file_system_is_of_no_use
        what_is_mounted_in_the_source_can_be_left_out
        a_destination_inside_the_source_is_not_mirrored_into_itself
        changes_say_what_they_are
    }
    changing {
        a_file_that_grows_is_copied_as_it_was_and_again_later
        a_small_file_that_grows_large_is_copied_too
        an_edit_that_keeps_size_and_time_is_in_the_copy
        edits_that_do_not_end_and_keep_size_and_time_are_told
        names_that_come_and_go_are_no_failure
        directories_take_the_place_of_other_things
    }
    links {
        names_of_one_file_are_found_by_several_at_once
        more_names_than_a_file_can_have
        a_number_that_is_used_again_is_another_file
        links_that_lead_out_of_the_tree_are_no_more
        who_becomes_another_file_takes_no_other_names_along
    }
    names {
        names_that_were_made_to_collide_are_kept_apart
        what_a_run_that_was_not_seen_has_at_hand_is_left_to_it
        a_directory_of_somebody_else_is_not_gone_on_with
        where_capitals_do_not_count_no_name_takes_the_place_of_another
        a_name_that_was_spelled_otherwise_is_not_removed
    }
    counts {
        names_below_what_could_not_be_made_are_counted
        many_names_below_a_directory_that_fails_at_once_are_counted
        runs_to_a_full_disk_do_not_alternate
        what_is_left_out_is_named
        what_the_kernel_makes_up_is_not_taken_for_files
    }
    replacing {
        a_file_that_gives_way_to_a_directory_is_told_as_replaced
        what_has_to_stay_is_not_told_as_replaced_nor_counted
        what_cannot_be_put_in_place_leaves_nothing_and_is_not_counted
        a_directory_takes_the_place_of_a_file_on_every_file_system
    }
    meddling {
        who_swaps_things_for_links_gains_nothing
        nothing_outside_is_read
    }
    reuse {
        a_file_that_was_renamed_is_not_copied
        a_file_that_stays_is_not_given_another_name
        two_files_do_not_become_one
        what_is_said_wrongly_does_no_harm
        a_file_that_only_has_another_time_is_given_that
        killed_at_every_change_of_a_rename
    }
    faults {
        killed_at_every_change
        every_change_fails_once
        a_new_tree_killed_at_every_change
    }
}
