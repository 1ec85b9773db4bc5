"""The style of the page: one set of names, two sets of colours.

The colours of outcomes differ in lightness too, so that they can be told apart without seeing colour.

Example::

    f"<style>{STYLE}</style>"
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "card": "#f6f7f9",
    "ink": "#1b1f24",
    "quiet": "#5b6470",
    "rule": "#d9dde3",
    "bad": "#c2371b",
    "good": "#4f9ed6",
    "skip": "#9aa1ab",
    "odd": "#d9a300",
    "none": "#7a5aa8",
    "plus": "#dff3e4",
    "minus": "#fbe3df",
    "ghost": "#f0f2f5",
}
DARK = {
    "paper": "#12151a",
    "card": "#1b2027",
    "ink": "#e8ebf0",
    "quiet": "#9ea7b3",
    "rule": "#343b45",
    "bad": "#ff6a4d",
    "good": "#3b7fb5",
    "skip": "#7b838e",
    "odd": "#e3b341",
    "none": "#b39ddb",
    "plus": "#15351f",
    "minus": "#421c17",
    "ghost": "#1f252d",
}


def _colours(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


STYLE = f""":root{{color-scheme:light dark;{_colours(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{_colours(DARK)}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}}
main{{max-width:1080px;margin:0 auto;padding:28px 20px 60px}}
h1{{font-size:26px;line-height:1.25;margin:6px 0 14px;overflow-wrap:anywhere}}
h2{{font-size:18px;margin:22px 0 8px}} section>h2:first-child{{margin-top:0}}
h3{{font-size:14px;margin:16px 0 6px}}
p{{margin:6px 0}} ul{{margin:6px 0;padding-left:20px}}
section{{margin:22px 0}}
.culprit{{background:var(--card);border:1px solid var(--rule);border-left:4px solid var(--bad);
border-radius:8px;padding:16px 18px}}
.eyebrow,.quiet,footer,summary,dt{{color:var(--quiet)}}
.badge{{display:inline-block;padding:1px 10px;margin-right:6px;border-radius:10px;
font-weight:600;background:var(--skip);color:var(--paper)}}
.v-found{{background:var(--bad)}} .v-none{{background:var(--good)}} .v-inconclusive{{background:var(--odd)}}
pre{{margin:6px 0;padding:10px 12px;background:var(--card);border:1px solid var(--rule);border-radius:6px;
overflow-x:auto;font:13px/1.45 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;tab-size:4}}
.culprit pre{{background:var(--paper)}}
.diff code{{display:block;min-width:max-content;font:inherit}} .diff span{{display:block}}
.diff .plus{{background:var(--plus)}} .diff .minus{{background:var(--minus)}}
.diff .file{{font-weight:600}} .diff .hunk{{color:var(--quiet)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:8px 0}}
dd{{margin:0;overflow-wrap:anywhere}} dd,li{{white-space:pre-line}}
.wide{{overflow-x:auto}}
svg{{display:block;width:100%;min-width:640px;height:auto}}
svg text{{font:12px system-ui,"DejaVu Sans",sans-serif;fill:var(--quiet)}}
svg .label{{fill:var(--ink)}} svg .strong{{font-weight:700;fill:var(--bad)}}
svg .rule{{stroke:var(--rule)}} svg .cut{{stroke:var(--quiet);stroke-dasharray:3 4}}
svg .ghost{{fill:transparent}} svg g:hover .ghost{{fill:var(--ghost)}}
svg rect:hover{{opacity:.8}}
.legend{{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;padding:0;color:var(--quiet)}}
.dot{{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}}
.k-bad{{fill:var(--bad);background:var(--bad)}} .k-good{{fill:var(--good);background:var(--good)}}
.k-skip{{fill:var(--skip);background:var(--skip)}} .k-measured{{fill:var(--none);background:var(--none)}}
.k-void,.k-timeout,.k-infrastructure,.k-interrupted{{fill:var(--odd);background:var(--odd)}}
table{{border-collapse:collapse;width:100%}}
td,th{{text-align:left;padding:3px 12px 3px 0;vertical-align:top;font-weight:400}}
.trials th{{color:var(--quiet)}} .trials tr+tr{{border-top:1px solid var(--rule)}}
.belief th{{white-space:nowrap;width:1%}}
.belief td:last-child{{white-space:nowrap;width:1%;text-align:right;padding:3px 0}}
.bar span{{display:block;height:14px;margin-top:4px;min-width:1px;border-radius:3px;background:var(--bad)}}
summary{{cursor:pointer}}
footer{{margin-top:40px;font-size:13px}}
@media print{{details>*{{display:block}}}}
"""
