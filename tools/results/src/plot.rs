//! Plots as SVG: lines over an axis, and bars in groups. No script, no outside font: a browser shows them as they are.

use std::fmt::Write;

const LEFT: f64 = 64.0;
const TOP: f64 = 44.0;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 260.0;
const COLOURS: [&str; 4] = ["#1f3f7a", "#c8702a", "#4f9d69", "#8a8a8a"];

pub(crate) struct Axis {
    pub(crate) title: &'static str,
    pub(crate) is_logarithmic: bool,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    pub(crate) fn linear(title: &'static str, ticks: &[f64]) -> Axis {
        let ticks = ticks.iter().map(|tick| (*tick, crate::table::grouped(tick))).collect();
        Axis { title, is_logarithmic: false, ticks }
    }

    /// From zero to the first round number that no value is above.
    pub(crate) fn up_to<'a>(title: &'static str, values: impl Iterator<Item = &'a String>) -> Axis {
        let highest = values.filter_map(|value| value.parse().ok()).fold(1.0, f64::max);
        let power = 10_f64.powf(highest.log10().floor());
        let step = [0.2, 0.5, 1.0, 2.0]
            .map(|step| step * power)
            .into_iter()
            .find(|step| highest / step <= 6.0)
            .unwrap_or(power);
        let ticks: Vec<f64> = (0..=(highest / step).ceil() as usize).map(|tick| step * tick as f64).collect();
        Axis::linear(title, &ticks)
    }

    pub(crate) fn logarithmic(title: &'static str, ticks: &[(f64, &str)]) -> Axis {
        let ticks = ticks.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
        Axis { title, is_logarithmic: true, ticks }
    }

    /// Where a value is between the first tick (0) and the last one (1).
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let (first, last) = (scale(self.ticks[0].0), scale(self.ticks[self.ticks.len() - 1].0));
        (scale(value) - first) / (last - first)
    }
}

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) fn lines(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    let mut out = opened(title);
    horizontals(&mut out, y);
    for (at, name) in &x.ticks {
        let left = LEFT + WIDTH * x.place(*at);
        let _ = writeln!(
            out,
            "<text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            TOP + HEIGHT + 18.0
        );
    }
    x_title(&mut out, x.title);
    for (one, colour) in series.iter().zip(COLOURS) {
        let at = |(a, b): &(f64, f64)| (LEFT + WIDTH * x.place(*a), TOP + HEIGHT * (1.0 - y.place(*b)));
        let points: Vec<String> = one.points.iter().map(at).map(|(a, b)| format!("{a:.1},{b:.1}")).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        if one.points.len() <= 20 {
            for (a, b) in one.points.iter().map(at) {
                let _ = writeln!(out, "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
        }
    }
    legend(&mut out, &series.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
    closed(out)
}

/// One group of bars for each name; each bar carries its figure as it was printed.
pub(crate) fn bars(title: &str, y: &Axis, series: &[&str], groups: &[(String, Vec<String>)]) -> String {
    let mut out = opened(title);
    horizontals(&mut out, y);
    let wide = WIDTH / groups.len() as f64;
    let bar = (wide * 0.76 / series.len() as f64).min(60.0);
    for (group, (name, values)) in groups.iter().enumerate() {
        let middle = LEFT + wide * (group as f64 + 0.5);
        let _ = writeln!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            TOP + HEIGHT + 18.0
        );
        let first = middle - bar * values.len() as f64 / 2.0;
        for (at, (value, colour)) in values.iter().zip(COLOURS).enumerate() {
            let Ok(number) = value.parse::<f64>() else { continue };
            let (left, tall) = (first + bar * at as f64, HEIGHT * y.place(number));
            let top = TOP + HEIGHT - tall;
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{colour}\"/>",
                bar - 2.0
            );
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{}</text>",
                left + bar / 2.0 - 1.0,
                top - 4.0,
                crate::table::grouped(value)
            );
        }
    }
    legend(&mut out, series);
    closed(out)
}

fn opened(title: &str) -> String {
    let (wide, tall) = (LEFT + WIDTH + 36.0, TOP + HEIGHT + 76.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{tall}\" viewBox=\"0 0 {wide} {tall}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{title}</text>\n"
    )
}

fn closed(mut out: String) -> String {
    out.push_str("</svg>\n");
    out
}

fn horizontals(out: &mut String, y: &Axis) {
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"36\" font-size=\"11\" fill=\"#555\">{}</text>", y.title);
    for (value, name) in &y.ticks {
        let line = TOP + HEIGHT * (1.0 - y.place(*value));
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{line:.1}\" x2=\"{}\" y2=\"{line:.1}\" stroke=\"#ddd\"/>",
            LEFT + WIDTH
        );
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0, line + 4.0);
    }
}

fn x_title(out: &mut String, title: &str) {
    let (middle, low) = (LEFT + WIDTH / 2.0, TOP + HEIGHT + 36.0);
    let _ = writeln!(
        out,
        "<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#555\">{title}</text>"
    );
}

fn legend(out: &mut String, names: &[&str]) {
    let (wide, low) = (WIDTH / names.len().max(3) as f64, TOP + HEIGHT + 50.0);
    for (at, (name, colour)) in names.iter().zip(COLOURS).enumerate() {
        let left = LEFT + wide * at as f64;
        let _ = writeln!(out, "<rect x=\"{left:.1}\" y=\"{low}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{}\">{name}</text>", left + 18.0, low + 10.0);
    }
}
