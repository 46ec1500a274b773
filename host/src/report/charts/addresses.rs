//! Virtual addresses, and the physical memory that was mapped at them.

use super::super::sharing::{self, GraphMemory, Shared, Sharing};
use super::super::units;
use super::canvas::{Anchor, Canvas, point, width_of};
use super::{Chart, Table, both};
use crate::report::markup::{Element, element};
use crate::results::{Allocation, ExperimentResult};

const TITLE: &str = "Addresses and physical memory";

/// Height of one address.
const ROW: f64 = 34.0;

/// The largest number of addresses that is drawn; the table has all.
const MOST_ROWS: usize = 32;

/// An address and the allocations at it.
struct Place<'e> {
    address: u64,
    allocations: Vec<&'e Allocation>,
}

pub(super) fn chart(experiment: &ExperimentResult) -> Option<Chart> {
    let sharing = sharing::of(experiment)?;
    let places = places(experiment, &sharing);
    let summary = summary(&places, &sharing);
    let (wide, narrow) = both(|width| draw(&places, &sharing, width, &summary));
    let mut note = "Measured: the addresses, and the used memory after each launch. Derived: CUDA \
                    reports no physical addresses, but memory that a launch adds is its own, \
                    and the rest of what it needs is shared with memory that was used before. \
                    Pieces of physical memory are numbered in the order of their first use; the \
                    lines show each graph's first launch."
        .to_owned();
    let unknown = |graph: &GraphMemory| matches!(graph.shared, Shared::SomeOf { .. });
    if sharing.graphs.iter().any(unknown) {
        note += " If a graph shares some of several pieces, it is not known which, and no line \
                 is drawn.";
    }
    if places.len() > MOST_ROWS {
        note += &format!(
            " The first {MOST_ROWS} of {} addresses are drawn.",
            places.len()
        );
    }
    Some(Chart {
        slug: "addresses",
        title: TITLE,
        summary,
        note,
        wide,
        narrow,
        table: table(experiment, &sharing),
    })
}

fn places<'e>(experiment: &'e ExperimentResult, sharing: &Sharing) -> Vec<Place<'e>> {
    let mut places: Vec<Place<'e>> = Vec::new();
    for graph in &sharing.graphs {
        for allocation in sharing::allocations(experiment, graph.graph) {
            match places
                .iter_mut()
                .find(|place| place.address == allocation.address)
            {
                Some(place) => place.allocations.push(allocation),
                None => places.push(Place {
                    address: allocation.address,
                    allocations: vec![allocation],
                }),
            }
        }
    }
    places
}

fn summary(places: &[Place<'_>], sharing: &Sharing) -> String {
    format!(
        "{} of {} are mapped to {} of physical memory of {} each.",
        units::count(places.len(), "address"),
        units::count(sharing.graphs.len(), "graph"),
        units::count(sharing.pieces, "piece"),
        units::bytes(sharing.piece_bytes),
    )
}

fn draw(places: &[Place<'_>], sharing: &Sharing, width: f64, summary: &str) -> Element {
    let shown = places.iter().take(MOST_ROWS);
    let rows = shown.len();
    let narrow = width < 500.0;
    let (box_width, block_width) = if narrow {
        (206.0, 82.0)
    } else {
        (300.0, 150.0)
    };
    let top = 22.0;
    let needed = rows.max(sharing.pieces.min(MOST_ROWS)) as f64 * ROW;
    let mut canvas = Canvas::new(width, top + needed + 6.0, TITLE, summary);
    canvas.text(1.0, 12.0, Anchor::Start, "muted", "virtual address");
    let right = width - 1.0;
    canvas.text(right, 12.0, Anchor::End, "muted", "physical memory");

    let pieces = sharing.pieces.min(MOST_ROWS);
    // Fewer pieces than addresses stand in the middle.
    let step = needed / pieces.max(1) as f64;
    let piece_y = |index: usize| top + step * (index as f64 + 0.5);
    let row_y = |index: usize| top + ROW * (index as f64 + 0.5);

    for graph in &sharing.graphs {
        let of_graph = |place: &Place<'_>| place.allocations.iter().any(|a| a.graph == graph.graph);
        let has = places.iter().take(rows).enumerate();
        let has = has
            .filter(|(_, place)| of_graph(place))
            .map(|(index, _)| row_y(index));
        let ys: Vec<f64> = has.collect();
        let (Some(first), Some(last)) = (ys.first(), ys.last()) else {
            continue;
        };
        // Which of a graph's addresses stood for which of its pieces is not known:
        // several addresses are bracketed, and tied as one.
        let mut from = (box_width + 1.0, (first + last) / 2.0);
        if ys.len() > 1 {
            from.0 += 8.0;
            for &y in &ys {
                canvas.line((box_width + 1.0, y), (from.0, y), "tie");
            }
            canvas.line((from.0, *first), (from.0, *last), "tie");
        }
        let held = match &graph.shared {
            Shared::All(held) => held.clone(),
            Shared::None | Shared::SomeOf { .. } => 0..0,
        };
        for piece in held
            .chain(graph.added.clone())
            .filter(|&piece| piece < pieces)
        {
            let to = (right - block_width, piece_y(piece));
            let bend = (to.0 - from.0) / 2.0;
            canvas.path(
                &format!(
                    "M{}C{} {} {}",
                    point(from),
                    point((from.0 + bend, from.1)),
                    point((to.0 - bend, to.1)),
                    point(to)
                ),
                "tie",
            );
        }
    }
    for (index, place) in shown.enumerate() {
        let y = row_y(index);
        let names = names(place);
        canvas.rect(
            (1.0, y - 14.0),
            (box_width, 28.0),
            "box",
            Some(&format!("{:#x}: {names}", place.address)),
        );
        let address = format!("{:#x}", place.address);
        canvas.text(9.0, y + 4.0, Anchor::Start, "", &address);
        let room = box_width - width_of(&address) - 26.0;
        let names = shortened(&names, room);
        canvas.text(box_width - 7.0, y + 4.0, Anchor::End, "muted", &names);
    }
    for piece in 0..pieces {
        let y = piece_y(piece);
        let size = units::bytes(sharing.piece_bytes);
        let corner = (right - block_width, y - 14.0);
        canvas.rect(
            corner,
            (block_width, 28.0),
            "block",
            Some(&format!("piece {piece}: {size}")),
        );
        let label = if narrow {
            format!("{piece}: {size}")
        } else {
            format!("piece {piece}: {size}")
        };
        canvas.text(
            right - block_width / 2.0,
            y + 4.0,
            Anchor::Middle,
            "",
            &label,
        );
    }
    if sharing.pieces > pieces {
        let more = format!("and {} more", sharing.pieces - pieces);
        canvas.add(element("desc").text(more));
    }
    canvas.finish()
}

/// `graph 3`, or `graph 0: A, B` where a graph's allocations have names.
fn names(place: &Place<'_>) -> String {
    let mut graphs: Vec<usize> = place.allocations.iter().map(|a| a.graph).collect();
    graphs.dedup();
    let named = graphs.iter().map(|&graph| {
        let of_graph = place.allocations.iter().filter(|a| a.graph == graph);
        let names: Vec<&str> = of_graph.map(|a| a.name.as_str()).collect();
        match names.as_slice() {
            ["x"] => format!("graph {graph}"),
            names => format!("graph {graph}: {}", names.join(", ")),
        }
    });
    named.collect::<Vec<_>>().join("; ")
}

/// As much of the text as there is room for.
fn shortened(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let letters = (room / width_of("x")).floor().max(1.0) as usize;
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn table(experiment: &ExperimentResult, sharing: &Sharing) -> Table {
    let mut rows = Vec::new();
    for graph in &sharing.graphs {
        for allocation in sharing::allocations(experiment, graph.graph) {
            rows.push(vec![
                graph.graph.to_string(),
                allocation.name.clone(),
                format!("{:#x}", allocation.address),
                units::bytes(allocation.bytes),
                pieces(&graph.added),
                match &graph.shared {
                    Shared::None => "none".to_owned(),
                    Shared::All(held) => pieces(held),
                    Shared::SomeOf { count, held } => format!("{count} of the {held} held"),
                },
            ]);
        }
    }
    Table {
        header: vec![
            "graph",
            "allocation",
            "address",
            "bytes requested",
            "pieces added, derived",
            "pieces shared, derived",
        ],
        rows,
    }
}

fn pieces(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => "none".to_owned(),
        1 => range.start.to_string(),
        _ => format!("{} to {}", range.start, range.end - 1),
    }
}
