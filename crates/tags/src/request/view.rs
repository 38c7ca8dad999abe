//! One text, read once: its items, who approved them, who holds them, and what was answered.
//!
//! For whoever asks about many items of one file. It reads and never writes.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::parts::{self, Name};
use super::{Standing, adopt};
use crate::document::Document;
use crate::item::{self, Item, ItemKey};
use crate::record::{Approval, BodyHash, Holder, Holding, Record};

/// A request file that was read.
///
/// An item whose line was changed by its worker is found under its new name as under its old one.
pub struct Request<'t> {
    document: Document<'t>,
    items: Vec<Item>,
    holders: HashMap<ItemKey, Holder>,
    approvals: HashMap<ItemKey, Approval>,
    /// The old name and the new one of the item that was renamed, for each kind.
    renamed: HashMap<String, (ItemKey, ItemKey)>,
    responses: OnceCell<Responses>,
    hash: OnceCell<BodyHash>,
}

/// What stands under `## Response`.
#[derive(Default)]
struct Responses {
    /// What is said behind the name of each item.
    named: HashMap<ItemKey, Vec<String>>,
    /// Sections in which nothing is named, as they are written.
    unnamed: Vec<String>,
}

impl<'t> Request<'t> {
    /// Reads a text. Any bytes are one; at worst without items.
    pub fn read(text: &'t [u8]) -> Self {
        let document = Document::read(text);
        let items = item::list(&document);
        let (mut holders, mut approvals) = (HashMap::new(), HashMap::new());
        for (_, record) in parts::records(&document) {
            // Of two lines about one item the first counts.
            match record {
                Record::Approved(of, approval) => {
                    approvals.entry(of).or_insert(approval);
                }
                Record::Session(of, holder) => {
                    holders.entry(of).or_insert(holder);
                }
            }
        }
        let held: HashSet<_> = holders.keys().collect();
        let renamed = adopt::renamed(&items, &held);
        let (responses, hash) = (OnceCell::new(), OnceCell::new());
        Self { document, items, holders, approvals, renamed, responses, hash }
    }

    /// Returns the items, in the order of the text.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the hash of what a person approves.
    pub fn body_hash(&self) -> &BodyHash {
        self.hash.get_or_init(|| parts::body_hash(&self.document))
    }

    /// Returns who has an item, or had it last: a worker, or somebody by hand.
    pub fn holder_of(&self, item: &ItemKey) -> Option<&Holder> {
        self.names(item).into_iter().find_map(|name| self.holders.get(name))
    }

    /// Returns the worker's session that holds an item, or held it last.
    ///
    /// `None` also when somebody took it by hand since: then no worker has it.
    pub fn session_of(&self, item: &ItemKey) -> Option<&Holding> {
        self.holder_of(item).and_then(Holder::worker)
    }

    /// Returns the approval on record for an item, whether it still holds or not.
    pub fn approval_of(&self, item: &ItemKey) -> Option<&Approval> {
        self.names(item).into_iter().find_map(|name| self.approvals.get(name))
    }

    /// Tells whether a person's approval of an item is on record and covers the text as it is.
    ///
    /// An item inside the text is known by its line, so one that was changed after its approval has
    /// another name now. Whoever was approved under a name that is nowhere may be this one.
    pub fn standing(&self, item: &ItemKey) -> Standing {
        match self.approval_of(item).cloned() {
            None => match self.orphaned(item) {
                Some(approval) => Standing::Void(approval.clone()),
                None => Standing::Unrecorded,
            },
            Some(approval) if approval.hash == *self.body_hash() => Standing::Holds(approval),
            Some(approval) => Standing::Void(approval),
        }
    }

    /// Returns an approval of the same kind inside the text whose item is nowhere.
    fn orphaned(&self, item: &ItemKey) -> Option<&Approval> {
        let is_item = |key: &ItemKey| self.items.iter().any(|item| item.key == *key);
        let fits = |key: &ItemKey| !key.is_on_tags_line() && key.kind() == item.kind();
        let mut lost = self.approvals.iter().filter(|(key, _)| fits(key) && !is_item(key));
        lost.next().filter(|_| !item.is_on_tags_line()).map(|(_, approval)| approval)
    }

    /// Tells whether the item's present (or last) holder has answered.
    ///
    /// A worker has when a `## Response` links into its session, which nobody had before: an answer
    /// of an earlier round leads elsewhere, and one that was written by hand leads nowhere. The
    /// section names the item, or it names none and is about the Tags line. Of an item that never
    /// had a worker, any word under a `## Response` of its own is an answer.
    pub fn has_response(&self, item: &ItemKey) -> bool {
        let answers: fn(&str, &str) -> bool = |said, session| said.contains(session);
        let session = match self.holder_of(item) {
            Some(Holder::Worker(holding)) => format!("{}/", holding.session),
            Some(Holder::ByHand(_)) => return false,
            None => String::new(),
        };
        let Responses { named, unnamed } = self.responses();
        let said = self.names(item).into_iter().filter_map(|name| named.get(name)).flatten();
        if said.into_iter().any(|said| answers(said, &session)) {
            return true;
        }
        // A text in which some answers are named has none without a name, but by hand.
        let by_name_only = session.is_empty() && !named.is_empty();
        item.is_on_tags_line() && !by_name_only && unnamed.iter().any(|it| answers(it, &session))
    }

    /// Returns the old name and the new one, if the item was renamed.
    pub(super) fn renamed(&self, item: &ItemKey) -> Option<&(ItemKey, ItemKey)> {
        self.renamed.get(item.kind()).filter(|(old, new)| item == old || item == new)
    }

    /// Tells whether somebody's Session line is about an item of this kind that is nowhere.
    pub(super) fn has_orphans(&self, kind: &str) -> bool {
        let is_item = |key: &ItemKey| self.items.iter().any(|item| item.key == *key);
        self.holders.keys().any(|key| adopt::fits(key) && key.kind() == kind && !is_item(key))
    }

    /// The names under which something may be said of an item, its own first.
    fn names<'k>(&'k self, item: &'k ItemKey) -> Vec<&'k ItemKey> {
        let other = self.renamed(item).map(|(old, new)| if item == old { new } else { old });
        [Some(item), other].into_iter().flatten().collect()
    }

    fn responses(&self) -> &Responses {
        self.responses.get_or_init(|| {
            let mut found = Responses::default();
            let sections = parts::sections(&self.document).into_iter();
            for section in sections.filter(|section| section.name == Name::Response) {
                let entries = section.entries(&self.document);
                if entries.is_empty() && section.has_content(&self.document) {
                    found.unnamed.push(section.written(&self.document));
                }
                for (of, said) in entries {
                    found.named.entry(of).or_default().push(said.to_owned());
                }
            }
            found
        })
    }
}
