//! What holds of every layout, whatever the graph.

use proptest::prelude::*;

use super::*;

const AIR: Spacing = Spacing { between: 4, port: 2, bend: 2 };

fn graphs() -> impl Strategy<Value = Graph> {
    let size = (1..40_i32, 1..9_i32).prop_map(|(w, h)| Size { w, h });
    (1..9_usize).prop_flat_map(move |nodes| {
        let join = (0..nodes, 0..nodes, size.clone());
        let join = join.prop_map(|(from, to, label)| Join { from, to, label });
        let edges = proptest::collection::vec(join, 0..14);
        let nodes = proptest::collection::vec(size.clone(), nodes);
        (nodes, edges).prop_map(|(nodes, edges)| Graph { nodes, edges })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_lies_on_anything_else_and_every_edge_arrives(graph in graphs()) {
        let mut placed = layout(&graph, AIR);
        placed.stack(|_, _| 3);
        for layer in &placed.layers {
            for pair in layer.windows(2) {
                let (left, right) = (placed.items[pair[0]], placed.items[pair[1]]);
                let end = left.x - left.size.w / 2 + left.size.w;
                prop_assert!(end < right.x - right.size.w / 2, "{left:?} {right:?}");
            }
        }
        for item in &placed.items {
            prop_assert!(item.x - item.size.w / 2 >= 0, "{item:?}");
            prop_assert!(item.x - item.size.w / 2 + item.size.w <= placed.width);
            prop_assert!(item.y >= 0 && item.y + item.size.h <= placed.height);
        }
        for (edge, join) in graph.edges.iter().enumerate() {
            let links: Vec<_> = placed.links.iter().filter(|link| link.edge == edge).collect();
            for link in &links {
                let (upper, lower) = (placed.items[link.upper], placed.items[link.lower]);
                prop_assert_eq!(upper.layer + 1, lower.layer);
            }
            let ends = |what: What| links.iter().any(|link| {
                placed.items[link.upper].what == what || placed.items[link.lower].what == what
            });
            prop_assert!(ends(What::Node(join.from)) && ends(What::Node(join.to)));
            prop_assert!(ends(What::Label(edge)));
        }
    }
}

#[test]
fn a_row_of_agents_stands_in_one_column() {
    let label = Size { w: 9, h: 1 };
    let edges = (0..3).map(|at| Join { from: at, to: at + 1, label }).collect();
    let placed = layout(&Graph { nodes: vec![Size { w: 12, h: 3 }; 4], edges }, AIR);
    let middles: Vec<i32> = placed.items.iter().map(|item| item.x).collect();
    assert!(middles.iter().all(|x| *x == middles[0]), "{middles:?}");
    assert_eq!(placed.layers.len(), 7);
}
