//! Colours and lines, for light pages and for dark ones.
//!
//! Plain classes and no variables: programs that turn SVG into print know no more.

use std::fmt::Write;

use crate::standing::{Hue, Stroke};

const BASE: &str = "\
text{font-family:Inter,'Segoe UI','Helvetica Neue',Arial,'Liberation Sans',sans-serif;\
font-size:12px;fill:#1d2530}\
.page{fill:#fff}\
.title{font-size:20px;font-weight:650}\
.summary{font-size:13px;fill:#5b6675}\
.small{font-size:11px;fill:#5b6675}\
.name{font-size:14px;font-weight:600}\
.strong{font-weight:600}\
.middle{text-anchor:middle}\
.node{fill:#f4f6f9;stroke:#3b4757;stroke-width:1.5}\
.person{fill:#fff7e8}\
.inner{fill:none;stroke:#3b4757;stroke-width:1}\
.icon{fill:#3b4757}\
.dot{fill:#1d2530}\
.card{fill:#fff;stroke-width:1.25}\
.sign{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}\
.mark{fill:none;stroke:#8a94a3;stroke-width:1.25;stroke-linejoin:round;stroke-linecap:round}\
.edge{fill:none;stroke-width:1.75}\
.heavy{stroke-width:3.25}\
.dotted{stroke-dasharray:1.5 5;stroke-linecap:round;stroke-width:2.25}\
.dashed{stroke-dasharray:7 5}\
.hollow{fill:#fff;stroke-width:1.25}\
.card.dotted{stroke-width:1.75}\
.white{fill:#fff}\
";

const DARK: &str = "\
text{fill:#e6ebf2}\
.page{fill:#12171f}\
.summary,.small{fill:#9aa6b6}\
.node{fill:#1e2630;stroke:#a9b4c2}\
.person{fill:#2c2718}\
.inner{stroke:#a9b4c2}\
.icon{fill:#c9d2de}\
.dot{fill:#e6ebf2}\
.card,.hollow{fill:#171d26}\
.white{fill:#12171f}\
";

/// The style sheet.
pub(super) fn sheet() -> String {
    let light = hues(Hue::on_light);
    let dark = hues(Hue::on_dark);
    format!("<style>{BASE}{light}@media (prefers-color-scheme:dark){{{DARK}{dark}}}</style>")
}

fn hues(shade: fn(Hue) -> &'static str) -> String {
    let mut rules = String::new();
    for hue in Hue::ALL {
        let (name, shade) = (hue.word(), shade(hue));
        let _ = write!(rules, ".{name}{{stroke:{shade}}}.f-{name}{{fill:{shade}}}");
    }
    rules
}

pub(super) fn stroke_class(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Plain => "plain",
        Stroke::Heavy => "heavy",
        Stroke::Dotted => "dotted",
        Stroke::Dashed => "dashed",
    }
}

/// The arrows: a full one where work arrives, an open one where something came back.
pub(super) fn markers() -> String {
    let mut defs = String::from("<defs>");
    let frame = "viewBox=\"0 0 12 12\" markerWidth=\"12\" markerHeight=\"12\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"";
    for hue in Hue::ALL {
        let name = hue.word();
        let _ = write!(
            defs,
            "<marker id=\"to-{name}\" refX=\"11\" refY=\"6\" {frame}>\
             <path class=\"f-{name}\" d=\"M1 1L11 6L1 11L3.5 6Z\"/></marker>\
             <marker id=\"back-{name}\" refX=\"11\" refY=\"6\" {frame}>\
             <path class=\"hollow {name}\" d=\"M2 1.5L10.5 6L2 10.5Z\"/></marker>"
        );
    }
    defs.push_str("</defs>");
    defs
}
