//! The gauntlet through chats: each attempt is written once and made on both platforms, the fake
//! Telegram and a real Matrix homeserver. The model is a puppet that makes whatever call it is
//! told to, and keeps every prompt.

mod chats;
mod entrances;
mod forum;
mod on_matrix;
mod on_telegram;
mod puppet;
mod routes;
mod stage;
mod tokens;

use on_matrix::OnMatrix;
use on_telegram::OnTelegram;

/// Makes every attempt a test of both platforms. A homeserver for each takes its time: the second
/// list has those that differ least between platforms, made there by `scripts/matrix-attempts`.
macro_rules! on_both {
    ([$($room:ident::$attempt:ident),* $(,)?] [$($alike:ident::$same:ident),* $(,)?]) => {
        mod telegram {
            $(#[test] fn $attempt() { super::$room::$attempt::<super::OnTelegram>(); })*
            $(#[test] fn $same() { super::$alike::$same::<super::OnTelegram>(); })*
        }
        mod matrix {
            $(#[test] fn $attempt() { super::$room::$attempt::<super::OnMatrix>(); })*
            $(
                #[test]
                #[ignore = "made by scripts/matrix-attempts"]
                fn $same() { super::$alike::$same::<super::OnMatrix>(); }
            )*
        }
    };
}

on_both! {
    [
        chats::b01_what_a_private_chat_learns_is_absent_from_a_group,
        routes::c01_a_chat_is_the_same_however_its_id_is_written,
        routes::c04_odd_ids_make_conversations_of_their_own,
    ]
    [
        chats::b03_a_global_write_waits_for_an_admin_and_keeps_who_asked,
        routes::c06_a_reply_leaves_by_the_bot_it_came_in_by,
        tokens::c07_a_token_of_one_agent_sees_nothing_of_anothers_chats,
        entrances::c09_a_code_is_not_guessed_used_twice_or_used_by_who_asked,
        entrances::c11_who_is_no_admin_approves_by_no_way,
        chats::b02_topics_groups_users_and_bots_are_apart,
        chats::b04_a_scope_hook_that_goes_wrong_opens_nothing,
        chats::b05_a_private_chats_words_reach_no_group_without_a_grant,
        routes::c02_nobody_stands_in_for_an_agent_that_does_not_serve,
        routes::c03_two_rules_alike_refuse_and_the_rest_goes_on,
        routes::c05_one_person_and_two_bots_are_two_conversations,
        tokens::c08_a_revoked_token_hears_no_further_message,
        entrances::c10_what_is_not_the_platform_is_refused_and_disturbs_no_chat,
        entrances::c12_an_agent_without_a_list_denies_whatever_others_allow,
        forum::one_bot_one_group_three_topics_three_agents,
        forum::a_token_lost_is_one_bot_lost,
    ]
}
