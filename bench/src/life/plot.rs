//! The story as a picture: the share of wrong facts after each commit, a line for each memory.

use std::fmt::Write;

use super::Line;

const WIDTH: usize = 640;
const HEIGHT: usize = 260;
const LEFT: usize = 46;
const TOP: usize = 40;
const COLOURS: [&str; 3] = ["#1f3f7a", "#4f86c6", "#b05050"];

pub(crate) fn svg(lines: &[Line]) -> String {
    let commits = lines.first().map_or(1, |line| line.shares.len());
    let highest = lines.iter().flat_map(|line| &line.shares).copied().fold(0.1, f64::max);
    let top = (highest * 10.0).ceil() / 10.0;
    let x = |commit: usize| LEFT as f64 + (WIDTH * commit) as f64 / (commits - 1).max(1) as f64;
    let y = |share: f64| (TOP + HEIGHT) as f64 - share / top * HEIGHT as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">Wrong facts shown as if they held, by commit</text>\n",
        LEFT + WIDTH + 24,
        TOP + HEIGHT + 64
    );
    for step in 0..=5 {
        let share = top * f64::from(step) / 5.0;
        let (line, right) = (y(share), LEFT + WIDTH);
        let _ = writeln!(out, "<line x1=\"{LEFT}\" y1=\"{line:.1}\" x2=\"{right}\" y2=\"{line:.1}\" stroke=\"#ddd\"/>");
        let _ = writeln!(out, "<text x=\"8\" y=\"{:.1}\">{:.0} %</text>", line + 4.0, 100.0 * share);
    }
    for commit in (0..commits).filter(|commit| *commit == 0 || (commit + 1) % 5 == 0) {
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{}\">{}</text>", x(commit) - 4.0, TOP + HEIGHT + 16, commit + 1);
    }
    for (line, colour) in lines.iter().zip(COLOURS) {
        let points = line.shares.iter().enumerate().map(|(commit, share)| format!("{:.1},{:.1}", x(commit), y(*share)));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
    }
    for (at, (line, colour)) in lines.iter().zip(COLOURS).enumerate() {
        let (left, top) = (LEFT + at * 190, TOP + HEIGHT + 34);
        let _ = writeln!(out, "<rect x=\"{left}\" y=\"{top}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", left + 16, top + 10, line.name);
    }
    out.push_str("</svg>\n");
    out
}
