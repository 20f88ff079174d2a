//! The table as a picture: nDCG@10 per set, one bar per ranker.

use std::fmt::Write;

use super::Row;

const BAR: usize = 26;
const GAP: usize = 34;
const HEIGHT: usize = 260;
const LEFT: usize = 46;
const TOP: usize = 40;
const COLOURS: [&str; 4] = ["#b8b8b8", "#8fb3d9", "#4f86c6", "#1f3f7a"];

pub(crate) fn svg(rows: &[Row]) -> String {
    let mut rankers: Vec<&str> = Vec::new();
    let mut sets: Vec<&str> = Vec::new();
    for row in rows {
        if !rankers.contains(&row.ranker) {
            rankers.push(row.ranker);
        }
        if !sets.contains(&row.set.as_str()) {
            sets.push(&row.set);
        }
    }
    let group = rankers.len() * BAR + GAP;
    let width = LEFT + sets.len() * group + GAP;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">nDCG@10 by set and ranker</text>\n",
        TOP + HEIGHT + 60
    );
    for row in rows {
        let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
        let ranker = place(&rankers, row.ranker);
        let x = LEFT + place(&sets, &row.set) * group + ranker * BAR;
        let height = row.quality.ndcg * HEIGHT as f64;
        let y = (TOP + HEIGHT) as f64 - height;
        let colour = COLOURS[ranker % COLOURS.len()];
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{}\" height=\"{height:.1}\" fill=\"{colour}\"/>",
            BAR - 3
        );
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{:.1}\">{:.1}</text>", y - 3.0, 100.0 * row.quality.ndcg);
    }
    for (at, set) in sets.iter().enumerate() {
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{set}</text>", LEFT + at * group, TOP + HEIGHT + 16);
    }
    for (at, ranker) in rankers.iter().enumerate() {
        let (x, y) = (LEFT + at * 130, TOP + HEIGHT + 32);
        let colour = COLOURS[at % COLOURS.len()];
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{ranker}</text>", x + 16, y + 10);
    }
    out.push_str("</svg>\n");
    out
}
