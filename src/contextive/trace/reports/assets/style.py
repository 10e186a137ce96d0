"""The style of the HTML report: light and dark, wide and narrow, screen and print."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --line: #d9dee5; --soft: #eef1f5; --text: #1b2129; --muted: #57606c; --link: #0b57b8;
  --complete: #2a9d57; --exception: #8a63d2; --partial: #d99a1c; --todo: #3a86d8; --open: #c3cad3;
  --complete-text: #14662f; --exception-text: #5f3bb0; --partial-text: #7a5200; --todo-text: #0f559f; --open-text: #9a2c22;
  --complete-tint: #ddf3e4; --exception-tint: #ece5fa; --partial-tint: #fbeecf; --todo-tint: #deecfb; --open-tint: #fbe6e3;
  --test-tint: #d8f1f0; --test-text: #0b5f5c; --test: #1f9e98; --cited: #fff6d6;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1318; --card: #171c23; --line: #2e3642; --soft: #202731; --text: #e5e9ef; --muted: #9ba6b4; --link: #7db4ff;
    --complete: #3fb56d; --exception: #a283ea; --partial: #e0a93b; --todo: #58a0ee; --open: #4a5461;
    --complete-text: #7fdba1; --exception-text: #c5b0f7; --partial-text: #f2c66b; --todo-text: #93c5fb;
    --open-text: #ff9b90; --complete-tint: #143524; --exception-tint: #2c2347; --partial-tint: #3a2d10;
    --todo-tint: #14304f; --open-tint: #43201d; --test-tint: #103837; --test-text: #7ddad5; --test: #35b8b1;
    --cited: #2b2a18;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { scroll-padding-top: 7rem; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 var(--sans); overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: 1.75rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; }
h3 { font-size: 1rem; font-weight: 600; }
code, pre, .path { font-family: var(--mono); font-size: .84em; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 9; }
.muted { color: var(--muted); }
.hidden-char { font: .72em var(--mono); background: var(--open-tint); color: var(--open-text); border-radius: 3px;
  padding: 0 .25em; margin: 0 .1em; unicode-bidi: isolate; white-space: nowrap; }

.wide { max-width: 84rem; margin: 0 auto; padding-inline: 1.25rem; }
header.top { background: var(--card); border-bottom: 1px solid var(--line); padding: 1.75rem 0 1.5rem; }
.title { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .25rem 1.5rem; }
.score { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1.75rem; align-items: center; margin-top: 1.1rem; }
.score .big { font-size: 3.1rem; font-weight: 700; letter-spacing: -.03em; line-height: 1; font-variant-numeric: tabular-nums; }
.score .big small { display: block; font-size: .85rem; font-weight: 400; letter-spacing: 0; color: var(--muted);
  margin-top: .35rem; }
.bar { display: block; width: 100%; height: .5rem; border-radius: 99px; background: var(--soft); overflow: hidden; }
.score .bar { height: 1.1rem; }
.bar .complete { fill: var(--complete); } .bar .exception { fill: var(--exception); } .bar .partial { fill: var(--partial); }
.bar .todo { fill: var(--todo); } .bar .open { fill: var(--open); }
.legend, .levels, .key { display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; list-style: none; padding: 0; margin: .7rem 0 0;
  font-size: .9rem; }
.legend li::before { content: "" / ""; display: inline-block; width: .75em; height: .75em; border-radius: 3px;
  margin-inline-end: .45em; background: var(--open); }
.legend .complete::before { background: var(--complete); } .legend .exception::before { background: var(--exception); }
.legend .partial::before { background: var(--partial); } .legend .todo::before { background: var(--todo); }
.legend b, .levels b { font-variant-numeric: tabular-nums; }
.levels { gap: .5rem 2rem; margin-top: 1.1rem; }
.levels li { display: grid; grid-template-columns: auto 9rem auto; gap: .7rem; align-items: center; }
.levels .name { font-weight: 600; font-size: .8rem; letter-spacing: .03em; }

#tools { position: sticky; top: 0; z-index: 5; background: color-mix(in srgb, var(--page) 92%, transparent);
  backdrop-filter: blur(6px); border-bottom: 1px solid var(--line); padding: .6rem 0; }
#tools .wide { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: center; }
#tools fieldset { display: flex; flex-wrap: wrap; gap: .3rem; border: 0; margin: 0; padding: 0; min-width: 0; }
#tools legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
#tools label.chip { display: inline-flex; gap: .4em; align-items: center; border: 1px solid var(--line); background: var(--card);
  border-radius: 99px; padding: .16rem .7rem; font-size: .82rem; cursor: pointer; user-select: none; }
#tools label.chip:has(:checked) { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link); font-weight: 600; }
#tools label.chip:has(:focus-visible) { outline: 2px solid var(--link); outline-offset: 2px; }
#tools .chip input { appearance: none; width: 0; height: 0; margin: 0; position: absolute; }
#tools .chip:has(:checked)::before { content: "\\2713"; color: var(--link); }
#search { flex: 1 1 14rem; min-width: 10rem; max-width: 26rem; font: inherit; font-size: .9rem; padding: .35rem .75rem;
  border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: inherit; }
button { font: inherit; font-size: .82rem; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; padding: .22rem .7rem; cursor: pointer; }
button:hover, #tools label.chip:hover { border-color: var(--muted); }
#shown { font-size: .85rem; color: var(--muted); font-variant-numeric: tabular-nums; }

.page { display: grid; grid-template-columns: minmax(0, 1fr); gap: 2rem; padding-top: 1.5rem; padding-bottom: 3rem; }
nav.contents { display: none; }
@media (min-width: 68rem) {
  .page.with-contents { grid-template-columns: 16rem minmax(0, 1fr); }
  nav.contents { display: block; position: sticky; top: 7rem; align-self: start; max-height: calc(100vh - 8rem);
    overflow-y: auto; font-size: .85rem; scrollbar-width: thin; }
}
nav.contents h2 { font-size: .85rem; color: var(--muted); margin: 0 0 .4rem; padding: 0 .5rem; }
nav.contents ol { list-style: none; padding: 0; margin: 0 0 1.25rem; }
nav.contents a { display: flex; justify-content: space-between; gap: .75rem; padding: .2rem .5rem; border-radius: 6px;
  color: inherit; text-decoration: none; }
nav.contents a:hover { background: var(--soft); }
nav.contents b { font-weight: 400; color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap; }
nav.contents b.all { color: var(--complete-text); }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; margin: 0 0 .9rem; overflow: clip; }
.spec { margin-bottom: 2.5rem; }
.spec > header { margin: 0 0 .9rem; }
.spec > header p { margin: .2rem 0 .6rem; font-size: .9rem; }
summary { cursor: pointer; }
summary:focus-visible { outline-offset: -2px; border-radius: 8px; }
.s > summary { display: grid; grid-template-columns: auto minmax(0, 1fr) minmax(5rem, 9rem) 6.5rem; gap: .2rem .9rem;
  align-items: center; padding: .75rem 1rem; list-style: none; }
.s > summary::-webkit-details-marker, .r > summary::-webkit-details-marker { display: none; }
.s > summary::before, .r > summary::before { content: "\\25B8" / ""; color: var(--muted); transition: transform .12s; }
.s[open] > summary::before, .r[open] > summary::before { transform: rotate(90deg); }
.s > summary:hover, .r > summary:hover { background: var(--soft); }
.s[open] > summary { border-bottom: 1px solid var(--line); }
.overview { list-style: none; padding: .5rem 0; margin-bottom: 2rem; }
.overview li { display: grid; grid-template-columns: minmax(0, 1fr) minmax(5rem, 14rem) 7.5rem; gap: .9rem; align-items: center;
  padding: .3rem 1rem; }
.n { text-align: end; font-size: .82rem; color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap; }
.s h3 .path { font-weight: 400; color: var(--muted); margin-inline-start: .6em; }
.r { border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 3.4rem; }
.r > summary { display: grid; grid-template-columns: auto 4.6rem minmax(0, 1fr) 9.2rem; gap: .2rem .75rem; padding: .6rem 1rem;
  align-items: baseline; list-style: none; }
.level { font-size: .74rem; font-weight: 700; letter-spacing: .04em; color: var(--muted); }
.level.must { color: var(--text); }
.status { justify-self: end; font-size: .76rem; font-weight: 600; border-radius: 99px; padding: .08rem .65rem;
  white-space: nowrap; }
.status::before { margin-inline-end: .4em; }
.status.complete { background: var(--complete-tint); color: var(--complete-text); }
.status.complete::before { content: "\\2713" / ""; }
.status.exception { background: var(--exception-tint); color: var(--exception-text); }
.status.exception::before { content: "\\2298" / ""; }
.status.missing_test, .status.missing_citation, .status.partial { background: var(--partial-tint); color: var(--partial-text); }
.status.missing_test::before, .status.missing_citation::before, .status.partial::before { content: "\\25D0" / ""; }
.status.todo { background: var(--todo-tint); color: var(--todo-text); }
.status.todo::before { content: "\\25F7" / ""; }
.status.not_started { background: var(--open-tint); color: var(--open-text); }
.status.not_started::before { content: "\\25CB" / ""; }
.r .body { padding: .2rem 1rem 1.1rem 2.6rem; font-size: .92rem; }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center; margin: 0 0 .7rem; font-size: .84rem;
  color: var(--muted); }

mark { color: inherit; background: none; text-decoration: underline 1.5px; text-underline-offset: .28em; }
mark[data-label]::after { content: attr(data-label); display: inline-block; font: 600 .68rem/1.35 var(--sans); border-radius: 4px;
  padding: 0 .4em; margin-inline: .4em .15em; white-space: nowrap; vertical-align: .08em; text-indent: 0; }
mark.both { text-decoration-color: var(--complete); }
mark.both::after { background: var(--complete-tint); color: var(--complete-text); }
mark.impl { text-decoration-color: var(--partial); }
mark.impl::after { background: var(--partial-tint); color: var(--partial-text); }
mark.test { text-decoration-color: var(--test); }
mark.test::after { background: var(--test-tint); color: var(--test-text); }
mark.exception { text-decoration-color: var(--exception); }
mark.exception::after { background: var(--exception-tint); color: var(--exception-text); }
mark.todo { text-decoration-color: var(--todo); text-decoration-style: dashed; }
mark.todo::after { background: var(--todo-tint); color: var(--todo-text); }
mark.open { text-decoration: underline dotted 1.5px var(--open-text); }
mark.open::after { background: var(--open-tint); color: var(--open-text); }
.full pre mark.both { background: var(--complete-tint); } .full pre mark.impl { background: var(--partial-tint); }
.full pre mark.test { background: var(--test-tint); } .full pre mark.exception { background: var(--exception-tint); }
.full pre mark.todo { background: var(--todo-tint); }

.cites { list-style: none; margin: 0; padding: 0; display: grid; gap: .8rem; }
.cites > li { min-width: 0; }
.cites .head { display: flex; flex-wrap: wrap; gap: .15rem .7rem; align-items: baseline; }
.kind { font-size: .76rem; font-weight: 700; border-radius: 4px; padding: .02rem .45rem; background: var(--soft);
  color: var(--text); }
.kind.citation { background: var(--partial-tint); color: var(--partial-text); }
.kind.implication { background: var(--complete-tint); color: var(--complete-text); }
.kind.test { background: var(--test-tint); color: var(--test-text); }
.kind.exception { background: var(--exception-tint); color: var(--exception-text); }
.kind.todo { background: var(--todo-tint); color: var(--todo-text); }
.reason { margin: .3rem 0 0; padding-inline-start: .7rem; border-inline-start: 3px solid var(--line); white-space: pre-line; }
.code { margin: .4rem 0 0; background: var(--soft); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto;
  padding: .45rem 0; line-height: 1.5; tab-size: 4; direction: ltr; text-align: left; display: flex; }
.code .numbers { padding: 0 .8em 0 .9em; text-align: end; color: var(--muted); user-select: none; }
.code .lines { flex: 1 0 auto; }
.code .lines span:not(.hidden-char) { display: block; padding-inline: .6em .9rem; }
.code .on { background: var(--cited); box-shadow: -3px 0 0 var(--partial); }
.full, .other { border-top: 1px solid var(--line); }
.r + .full { border-top: 0; }
.full > summary, .other > summary { padding: .55rem 1rem; font-size: .86rem; color: var(--muted); }
.full > summary:hover, .other > summary:hover { background: var(--soft); }
.full pre { margin: 0; padding: .3rem 1rem 1.1rem; white-space: pre-wrap; font-size: .84rem; line-height: 1.75; }
.other .cites { padding: .3rem 1rem 1rem; }

.notes > summary { padding: .8rem 1rem; font-weight: 600; }
.notes[open] > summary { border-bottom: 1px solid var(--line); }
.notes ol { list-style: none; margin: 0; padding: 0; }
.notes li { padding: .75rem 1rem; border-bottom: 1px solid var(--line); content-visibility: auto;
  contain-intrinsic-size: auto 5rem; }
.notes li:last-child { border: 0; }
.notes p { margin: 0; white-space: pre-line; }
.notes .where { font-size: .86rem; display: flex; flex-wrap: wrap; gap: .1rem .8rem; color: var(--muted); }
.notes .hint { margin-top: .4rem; padding: .35rem .7rem; border-radius: 6px; background: var(--soft); font-size: .9rem;
  white-space: pre-wrap; }
.notes .hint::before { content: "Hint: "; font-weight: 600; }
.notes.errors { border-color: var(--open-text); }
.notes.errors > summary { color: var(--open-text); }
.none { padding: 2.5rem 1rem; text-align: center; color: var(--muted); }
.key { margin: 0 0 1.25rem; font-size: .82rem; color: var(--muted); }
footer { border-top: 1px solid var(--line); padding: 1.25rem 0 2rem; font-size: .84rem; color: var(--muted); }
kbd { font: .85em var(--mono); border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 4px; padding: 0 .35em; }

@media (max-width: 44rem) {
  body { font-size: 15px; }
  .wide { padding-inline: .8rem; }
  .score { grid-template-columns: 1fr; row-gap: .9rem; }
  .levels li { grid-template-columns: 4.5rem minmax(5rem, 1fr) auto; width: 100%; }
  #tools { position: static; }
  html { scroll-padding-top: 1rem; }
  #search { max-width: none; flex-basis: 100%; }
  .overview li { grid-template-columns: minmax(0, 1fr) auto; gap: .15rem .9rem; }
  .overview .bar { grid-column: 1 / -1; grid-row: 2; }
  .s > summary { grid-template-columns: auto minmax(0, 1fr) auto; padding: .7rem .8rem; }
  .s > summary .bar { grid-column: 2 / -1; grid-row: 2; }
  .s h3 .path { display: block; margin: 0; }
  .r > summary { grid-template-columns: auto 1fr auto; padding: .6rem .8rem; }
  .r > summary .text { grid-column: 1 / -1; }
  .r > summary .status { grid-column: 3; grid-row: 1; }
  .r .body { padding: .2rem .8rem 1rem; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
@media (forced-colors: active) { .bar rect, .legend li::before, mark { forced-color-adjust: none; } }
@media print {
  :root { --page: #fff; --soft: #f3f4f6; }
  body { font-size: 10pt; }
  #tools, nav.contents, .skip, .copy { display: none !important; }
  .page.with-contents { grid-template-columns: 1fr; }
  .card { overflow: visible; border-radius: 0; }
  .s::details-content { content-visibility: visible; block-size: auto; }
  .r { content-visibility: visible; break-inside: avoid; }
  .code { overflow: hidden; }
  .bar, .status, .kind, mark::after { print-color-adjust: exact; }
  a { color: inherit; }
}
"""
STYLE_HASH = "sha256-bSqKAFAj59HBMl0IunPec8R9STVhRFUw24nvEvGGXi8="
"""A constant, so that a report need not load OpenSSL to compute it. A test checks it."""
