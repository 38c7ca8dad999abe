//! What is cut, in which order, and what never is.

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::Story;

fn moment() -> Timestamp {
    "2026-02-23T17:00:00Z".parse().expect("a moment")
}

fn draft() -> Draft {
    let mut draft = Draft::between("sm".parse().expect("a name"), "dev".parse().expect("a name"));
    draft.story_context = Story {
        story_id: "TOK-4A".into(),
        story_path: "docs/stories/story-TOK-4A.md".into(),
        story_status: "In Progress".into(),
        current_task: "Task 3: limits".into(),
        branch: "feat/token-optimization".into(),
    };
    draft.decisions = vec!["Compaction is a rule and no module".into()];
    draft.files_modified = vec!["docs/stories/story-TOK-4A.md".into()];
    draft.blockers = vec!["NOG-18 is not done".into()];
    draft.next_action = "Build task 3, then ask @qa".into();
    draft
}

#[test]
fn an_artifact_is_yaml_in_the_templates_order() {
    let compact = draft().compact(moment(), Door::Refuse, Tokenizer::default()).expect("fits");
    expect![[r#"
        handoff:
          version: "1.0"
          timestamp: "2026-02-23T17:00:00.000000Z"
          from_agent: "sm"
          to_agent: "dev"
          story_context:
            story_id: "TOK-4A"
            story_path: "docs/stories/story-TOK-4A.md"
            story_status: "In Progress"
            current_task: "Task 3: limits"
            branch: "feat/token-optimization"
          decisions:
            - "Compaction is a rule and no module"
          files_modified:
            - "docs/stories/story-TOK-4A.md"
          blockers:
            - "NOG-18 is not done"
          next_action: "Build task 3, then ask @qa"
          consumed: false
          source_sha256: "87f68dab1306659d3b8be70f66968744fd61f6baf8ceeb9db7409a772d965971"
    "#]]
    .assert_eq(&compact.yaml);
    assert_eq!(compact.tokens, Tokenizer::default().count(&compact.yaml));
    assert_eq!(compact.cuts, []);
}

#[test]
fn the_oldest_files_go_first_then_the_oldest_decisions_then_the_longest_texts() {
    let mut draft = draft();
    draft.story_context.current_task = "word ".repeat(41);
    draft.story_context.story_path = "docs/".repeat(21);
    draft.from_agent = "k9-x7-q3-z1-w5".parse().expect("a name");
    draft.to_agent = "j8-y6-p2-v4-u3".parse().expect("a name");
    draft.story_context.story_id = "id ".repeat(15);
    draft.story_context.story_status = "so ".repeat(11);
    draft.story_context.branch = "feat/".repeat(13);
    draft.next_action = "next ".repeat(53);
    draft.blockers = (1..=3).map(|n| format!("{n} {}", "stuck ".repeat(22))).collect();
    draft.files_modified = (1..=12).map(|n| format!("src/{n}{}", "/deep".repeat(20))).collect();
    draft.decisions = (1..=6).map(|n| format!("{n} {}", "why ".repeat(44))).collect();
    let long = draft.compact(moment(), Door::Refuse, Tokenizer::default()).expect("cut");
    let told: String = long.cuts.iter().map(|cut| format!("{:.56}\n", cut.to_string())).collect();
    expect![[r#"
        left out of decisions: 1 why why why why why why why why
        left out of files_modified: src/1/deep/deep/deep/deep/de
        left out of files_modified: src/2/deep/deep/deep/deep/de
        left out of files_modified: src/3/deep/deep/deep/deep/de
        left out of files_modified: src/4/deep/deep/deep/deep/de
        left out of files_modified: src/5/deep/deep/deep/deep/de
        left out of files_modified: src/6/deep/deep/deep/deep/de
        left out of files_modified: src/7/deep/deep/deep/deep/de
        left out of files_modified: src/8/deep/deep/deep/deep/de
        left out of files_modified: src/9/deep/deep/deep/deep/de
        left out of files_modified: src/10/deep/deep/deep/deep/d
        left out of files_modified: src/11/deep/deep/deep/deep/d
        left out of decisions: 2 why why why why why why why why
        left out of decisions: 3 why why why why why why why why
        left out of decisions: 4 why why why why why why why why
        left out of decisions: 5 why why why why why why why why
        shortened decisions from 47 to 36 tokens: 6 why why why 
        shortened files_modified from 45 to 44 tokens: …12/deep/
    "#]]
    .assert_eq(&told);
    assert!(long.tokens <= COMPACT_TOKENS_MAX, "{}", long.tokens);
}

#[test]
fn a_text_that_is_too_long_is_named_at_the_door_or_shortened_if_nobody_can_be_asked() {
    let mut long = draft();
    long.story_context.current_task = "word ".repeat(60);
    let refused = long.clone().compact(moment(), Door::Refuse, Tokenizer::default());
    let said = refused.expect_err("too long").to_string();
    assert_eq!(said, "current_task is 62 tokens long; expected at most 44");
    let compact = long.compact(moment(), Door::Shorten, Tokenizer::default()).expect("cut");
    assert!(compact.artifact.content().story_context.current_task.ends_with("word…"));
    assert!(compact.cuts[0].to_string().starts_with("shortened current_task from 62 to 4"));

    let mut many = draft();
    many.blockers = (0..4).map(|n| format!("blocker {n}")).collect();
    let refused = many.clone().compact(moment(), Door::Refuse, Tokenizer::default());
    let said = refused.expect_err("too many").to_string();
    assert_eq!(said, "blockers has 4 entries; expected at most 3");
    let compact = many.compact(moment(), Door::Shorten, Tokenizer::default()).expect("cut");
    assert_eq!(compact.artifact.content().blockers, ["blocker 1", "blocker 2", "blocker 3"]);
}

#[test]
fn secrets_do_not_travel_and_what_was_said_twice_is_said_once() {
    let mut draft = draft();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    draft.decisions = vec![token.clone(), "b".into(), " b\n".into(), token.clone()];
    draft.next_action = format!("push with {token}");
    let compact = draft.compact(moment(), Door::Refuse, Tokenizer::default()).expect("fits");
    assert!(!compact.yaml.contains(&token), "{}", compact.yaml);
    assert_eq!(compact.artifact.content().decisions, ["b", "[masked github-token]"]);
}

/// Texts that are many tokens for their length: rare signs, joined emoji, code, one long word.
fn hard() -> impl Strategy<Value = String> {
    let rare = prop_oneof![
        Just("𒀀".to_owned()),
        Just("👩‍👩‍👧‍👦".to_owned()),
        Just("鬱龘".to_owned()),
        Just("\"\\".to_owned()),
        Just("a-1_".to_owned()),
        Just("⟦∮⟧".to_owned()),
        Just("x{y}[0]->".to_owned()),
        Just("e\u{301}\u{302}".to_owned()),
        "[ -~]{1,4}",
        "\\PC{1,3}",
    ];
    prop_oneof![
        proptest::collection::vec(rare, 0..120).prop_map(|parts| parts.concat()),
        "[a-z]{0,1500}",
        Just("漢".repeat(900)),
        Just("=".repeat(3000)),
    ]
}

prop_compose! {
    fn any_draft()(
        names in ("[a-z][a-z0-9-]{0,15}", "[a-z][a-z0-9-]{0,15}"),
        singles in [hard(), hard(), hard(), hard(), hard(), hard()],
        decisions in proptest::collection::vec(hard(), 0..8),
        files_modified in proptest::collection::vec(hard(), 0..14),
        blockers in proptest::collection::vec(hard(), 0..5),
    ) -> Draft {
        let [story_id, story_path, story_status, current_task, branch, next_action] = singles;
        Draft {
            from_agent: names.0.parse().expect("a name"),
            to_agent: names.1.parse().expect("a name"),
            story_context: Story { story_id, story_path, story_status, current_task, branch },
            decisions, files_modified, blockers, next_action,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_comes_fits_and_no_list_is_dropped_whole(draft in any_draft(), cl in any::<bool>()) {
        let tokenizer = if cl { Tokenizer::Cl100kBase } else { Tokenizer::O200kBase };
        let compact = draft.clone().compact(moment(), Door::Shorten, tokenizer).expect("fits");
        prop_assert!(tokenizer.count(&compact.yaml) <= COMPACT_TOKENS_MAX);
        let again = draft.clone().compact(moment(), Door::Shorten, tokenizer).expect("fits");
        prop_assert_eq!(&again.yaml, &compact.yaml);

        let read = Artifact::read(&compact.yaml, tokenizer).expect("what is written can be read");
        prop_assert_eq!(&read.artifact, &compact.artifact);
        prop_assert_eq!(read.notes.len(), 0);

        let content = compact.artifact.content();
        let said = |texts: &[String]| texts.iter().any(|text| !clean(text).is_empty());
        for (before, after) in [
            (&draft.decisions, &content.decisions),
            (&draft.files_modified, &content.files_modified),
            (&draft.blockers, &content.blockers),
        ] {
            prop_assert_eq!(said(before), !after.is_empty());
        }
        // What is never cut for the sake of others is there as far as the door let it.
        let mut whole = draft.clone();
        let mut kept = content.clone();
        for ((field, before), (_, after)) in whole.singles().into_iter().zip(kept.singles()) {
            let before = clean(before);
            if weight(&before, tokenizer) <= field.tokens_max() {
                prop_assert_eq!(&before, after);
            } else {
                prop_assert!(weight(after, tokenizer) <= field.tokens_max());
                prop_assert!(after.contains('…'));
            }
        }
    }
}
