"""How the pages of releases look: light or dark, wide or narrow, with bars that are as wide as there is room."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #566072; --paper: #fbfaf7; --card: #fff; --line: #e4e0d8;
  --rail: #efeae0; --span: #c9a5bd; --dot: #7a3b69 }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e6df; --soft: #aab2bf; --paper: #16181d; --card: #1e2128;
  --line: #363b45; --rail: #2c3038; --span: #7d5470; --dot: #e9a8d3 } }
body { color: var(--ink); background: var(--paper) } p.lead, th, caption, .small { color: var(--soft) } a { color: var(--dot) }
.box, table { background: var(--card) } .box, th, td { border-color: var(--line) } h1, h2, td, th { overflow-wrap: anywhere }

.rows { margin-top: 1.2rem }
.rows caption { text-align: left; font-size: .85rem; padding: .2rem .6rem; background: var(--paper) }
.rows thead th { vertical-align: bottom; border-bottom-width: 2px }
.rows tbody th { color: var(--ink); font-size: 1rem; font-weight: 500 }
.narrow { display: none } .rows .number { white-space: nowrap } .rows tr:hover > * { background: var(--rail) }
.rows .picture { width: 34%; min-width: 9rem; padding-left: 1rem; padding-right: 1rem }

.bar { position: relative; height: 16px; background: linear-gradient(var(--rail), var(--rail)) no-repeat 0 50% / 100% 2px }
.bar i { position: absolute; top: 4px; height: 8px; border-radius: 4px }
.bar .span { background: var(--span); min-width: 2px } .bar .zero { width: 1px; background: var(--soft); top: 0; height: 16px }
.bar .dot { width: 9px; height: 9px; margin-left: -4.5px; top: 3.5px; border-radius: 50%; background: var(--dot) }
.bar .cut { width: 0; height: 0; top: 2px; border: 6px solid transparent; border-radius: 0 }
.bar .right { right: -13px; border-left-color: var(--dot) } .bar .left { left: -13px; border-right-color: var(--dot) }

@media (max-width: 640px) { body { margin: 1rem auto } .narrow { display: inline }
  .rows, .rows caption, .rows tbody { display: block; width: auto }
  .rows thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden }
  .rows tr { display: flex; flex-wrap: wrap; column-gap: 1rem; align-items: baseline; padding: .5rem .6rem;
    border-bottom: 1px solid var(--line) }
  .rows tbody th, .rows td { border: 0; padding: 0 } .rows tbody th { font-weight: 600 } .rows td:empty { display: none }
  .rows td.number::before { content: attr(data-name) ": "; color: var(--soft); font-size: .85rem }
  .rows .picture { flex-basis: 100%; padding: .2rem .9rem } }
@media print { body { background: #fff } tr { break-inside: avoid } }
"""
