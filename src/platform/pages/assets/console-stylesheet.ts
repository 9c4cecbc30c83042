/** The console's additions to the stylesheet: a wide frame, navigation, tables. Steps of a quarter of a rem, one accent color. */
export const CONSOLE_STYLESHEET = `
.console > header { max-width: none; padding: .75rem 1rem; border-bottom: 1px solid var(--line); background: var(--paper); margin: 0 }
.console { --radius: 8px; --wide: 73rem }
.console > header .bar { display: grid; flex: 1; grid-template-columns: minmax(0, 1fr) minmax(12rem, 24rem) minmax(0, 1fr); gap: .5rem 1rem; align-items: center; max-width: var(--wide); margin: 0 auto }
.console > header .bar .search input { padding: .35rem .7rem; min-height: 2.25rem }
.console nav ul { list-style: none; display: flex; gap: .25rem; margin: 0; padding: 0; overflow-x: auto; scrollbar-width: thin }
.console nav.tabs { border-bottom: 1px solid var(--line); background: var(--paper); padding: 0 .25rem }
.console nav.tabs ul { max-width: calc(var(--wide) + 1.5rem); margin: 0 auto }
.console nav.tabs a[aria-current] { scroll-initial-target: nearest }
@property --before { syntax: '<length>'; inherits: false; initial-value: 0px }
@property --after { syntax: '<length>'; inherits: false; initial-value: 0px }
@keyframes edges { 0% { --before: 0px; --after: 3rem } 10%, 90% { --before: 3rem; --after: 3rem } 100% { --before: 3rem; --after: 0px } }
@supports (animation-timeline: scroll()) { .console nav.tabs ul { scroll-padding-inline: 3.5rem; animation: edges linear both; animation-timeline: scroll(self inline);
  mask-image: linear-gradient(to right, transparent, #000 var(--before), #000 calc(100% - var(--after)), transparent) } }
.console nav.tabs a { display: block; font-weight: 500; padding: .7rem .75rem; color: var(--soft); text-decoration: none; white-space: nowrap; border-bottom: 2px solid transparent }
.console nav.tabs a:hover { color: var(--ink) }
.console nav.tabs a[aria-current] { color: var(--ink); border-color: var(--main) }
.console main { max-width: calc(var(--wide) + 3rem); margin: 0 auto; padding: 1.5rem 1rem 4rem; background: transparent; border: 0; border-radius: 0 }
.console .top { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: center; justify-content: space-between; margin-bottom: 1.25rem }
.console .top h1 { margin: 0 }
.console .top > .state, .console .top > turbo-frame { margin-right: auto }
.console .crumbs { font-size: .9rem; margin: 0 0 .25rem }
.console .crumbs ol { display: flex; flex-wrap: wrap; list-style: none; margin: 0; padding: 0; color: var(--soft) }
.console .crumbs li { overflow-wrap: anywhere }
.console .crumbs li + li::before { content: '/'; margin: 0 .4rem }
.console .card { background: var(--paper); border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem 1.25rem; margin: 0 0 1rem }
.console .card > :last-child { margin-bottom: 0 }
.console .card h2:first-child { margin-top: 0 }
.console .grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); list-style: none; padding: 0; margin: 0 0 1rem }
.console .grid > * { margin: 0 }
.console table { width: 100%; border-collapse: collapse; font-size: .95rem }
.console .sheet { overflow-x: auto; border: 1px solid var(--line); border-radius: var(--radius); margin: 0 0 1rem; background: var(--paper) }
.console th { text-align: left; font-weight: 600; font-size: .85rem; color: var(--soft); white-space: nowrap }
.console th, .console td { padding: .6rem .9rem; border-bottom: 1px solid var(--line); vertical-align: baseline }
.console tr:last-child > td { border-bottom: 0 }
.console td { overflow-wrap: break-word }
.console td code, .console td a, .console td.long { overflow-wrap: anywhere }
.console td:has(> code:not(.name)) { min-width: 12.8rem }
.console .advice { margin: .25rem 0 0 }
.console .notice turbo-frame { display: block; min-height: 1.5rem }
.console td time { white-space: nowrap }
.console dd > code, .console td code { user-select: all }
.console td.act, .console th.act { text-align: right; white-space: nowrap }
.console td form { display: inline }
.console code, .console pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.console pre { white-space: pre-wrap; padding: .75rem 1rem; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius); margin: 0 0 1rem }
.console dl.facts { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .4rem 1.25rem; margin: 0 0 1rem }
.console dl.facts dt { color: var(--soft) }
.console dl.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere }
.console dl.facts dd + dd { grid-column: 2 }
.console .state { display: inline-flex; gap: .4rem; align-items: center; font-size: .875rem; white-space: nowrap }
.console .state::before { content: ''; width: .6rem; height: .6rem; border-radius: 50%; background: var(--soft); flex: none }
.console .state.warn::before { background: var(--warn) }
.console .notice.warn { border-color: var(--warn); background: var(--warn-note) }
.console .state.good::before { background: var(--good) }
.console .state.bad::before { background: var(--bad) }
.console .state.bad { color: inherit }
.console a.state { white-space: normal; overflow-wrap: anywhere }
.console .notice .state { font-size: inherit }
.console .empty { text-align: center; padding: 2.5rem 1.25rem }
.console .empty pre { text-align: left }
.console button.small, .console .button.small { padding: .25rem .7rem; min-height: 2.25rem; font-size: .875rem }
.console select, .console textarea, .console input[type=email], .console input[type=url], .console input[type=number], .console input[type=date] { width: 100%; padding: .6rem .7rem;
  font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--soft); border-radius: 6px }
.console textarea { min-height: 8rem; font: .9rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; resize: vertical }
.console .stack.card { max-width: 44rem }
.console .stack > * { max-width: 41.5rem }
.console .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); gap: 0 1.25rem; min-width: 0 }
.console .pair > * { min-width: 0; display: grid; grid-row: span 4; grid-template-rows: subgrid; align-content: start }
.console .pair label { align-self: end }
.console .hint { margin: .35rem 0 0 }
.console .stack > input[type=hidden] + * { margin-top: 0 }
.console label + .small { margin: 0 0 .4rem }
.console fieldset { min-width: 0; margin: 1.25rem 0 0 }
.console legend { font-size: 1rem }
.console fieldset fieldset { border: 0; border-radius: 0; border-top: 1px solid var(--line); margin: .75rem 0 0; padding: 0 }
.console fieldset fieldset:first-of-type { border-top: 0; margin: 0 }
.console fieldset fieldset legend { padding: .75rem 0 0; margin: 0; float: left; width: 100%; font-size: .9rem; color: var(--soft) }
.console fieldset fieldset:first-of-type legend { padding-top: 0 }
.console fieldset fieldset .boxes { clear: both }
.console select, .console input:not([type=checkbox], [type=radio]) { min-height: 2.875rem }
.console button, .console .button { white-space: nowrap; flex: none }
.console label.bare { display: inline; margin: 0 }
.console form.row { display: inline-flex; gap: .5rem; align-items: center }
.console form.row select, .console form.search select { width: auto }
.console h1 code { font-weight: inherit }
.console h1.named { display: flex; gap: .6rem; align-items: center }
.console h1.named img, .console h2.named img { vertical-align: middle; border-radius: 6px; object-fit: contain; margin-right: .4rem }
.console .boxes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); gap: 0 1rem }
.console form:has([name=may][value=all]:checked) .levels { display: none }
.console .level { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; padding: .6rem 0; border-top: 1px solid var(--line) }
.console .level:first-of-type { border-top: 0 }
.console .level > div { flex: 1 1 14rem; min-width: 0 }
.console .level label { margin: 0 }
.console .level p { margin: 0 }
.console .level select { flex: none; width: 10.5rem }
.console .field-fault { color: var(--bad); font-size: .9rem; margin: .25rem 0 0 }
.console details > summary { cursor: pointer; padding: .25rem 0 }
.console details.menu { position: relative }
.console > header .bar > .right { justify-self: end; max-width: 100% }
.console .trail { display: flex; flex-wrap: wrap; align-items: center; min-width: 0 }
.console .trail > a { font-weight: 600; color: var(--ink); text-decoration: none; overflow-wrap: anywhere }
.console .trail > a:hover { text-decoration: underline }
.console .trail > * + *::before { content: '/'; margin: 0 .6rem; color: var(--soft); font-weight: 400 }
.console .trail > details.menu { display: flex; align-items: center }
.console .trail details.menu > summary { border-color: transparent; padding-inline: .35rem }
.console .trail details.menu > summary:hover { background: var(--note) }
.console .person { width: 1.6rem; height: 1.6rem; border-radius: 50%; display: inline-grid; place-items: center; background: var(--main); color: var(--on-main); font-size: .8rem; line-height: 1; text-transform: uppercase }
.console details.menu > summary { list-style: none; display: inline-flex; align-items: center; gap: .35rem; padding: .35rem .7rem; border: 1px solid var(--line); border-radius: 6px; color: var(--ink); font-weight: 600 }
.console details.menu > summary::-webkit-details-marker { display: none }
.console details.menu > summary::after { content: '▾'; color: var(--soft) }
.console details.menu > div { position: absolute; z-index: 2; top: calc(100% + .25rem); left: 0; min-width: 14rem; max-width: 80vw; max-height: 60vh; overflow-y: auto; background: var(--paper); border: 1px solid var(--line); border-radius: var(--radius); padding: .5rem; box-shadow: 0 6px 24px rgb(0 0 0 / .18) }
.console details.menu.right > div { left: auto; right: 0 }
.console details.menu a, .console details.menu button { display: block; width: 100%; text-align: left; padding: .45rem .6rem; border-radius: 6px; color: var(--ink); text-decoration: none; background: none; border: 0; font-weight: 400; min-height: 0 }
.console details.menu a:hover, .console details.menu button:hover { background: var(--note) }
.console details.menu a[aria-current] { font-weight: 600 }
.console .ways { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: center; margin: 0 }
.console .top h2 { margin: 0 }
.console .ways.near { gap: .5rem; margin: 0 0 1rem }
.console .button.quiet[aria-current] { border-color: var(--main); background: var(--note) }
.console details.filters > summary { font-weight: 600 }
.console details.filters[open] > summary { margin-bottom: .5rem }
@media (min-width: 40rem) { @supports selector(details::details-content) {
  .console details.filters > summary { display: none }
  .console details.filters::details-content { content-visibility: visible; block-size: auto }
} }
.console form.filter { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: flex-end }
.console form.filter > div { flex: 1 1 11rem }
.console form.filter label { margin: 0 0 .25rem; font-size: .875rem }
.console .copy { user-select: all; cursor: copy }
.console .copyable { display: inline-grid; grid-template-columns: minmax(0, 1fr) auto; gap: .5rem; align-items: center; max-width: 100%; vertical-align: middle }
.console .copyable code { min-width: 0; overflow-wrap: anywhere }
.console button.copies { display: none; min-height: 1.75rem; padding: 0 .5rem }
@media (scripting: enabled) { .console button.copies { display: inline-flex } }
.console textarea.tall { min-height: 16rem }
.console .field-fault { margin: .25rem 0 0 }
.console ol.log { list-style: none; margin: 0; padding: 0; max-height: 40rem; overflow-y: auto; font-size: .75rem }
.console ol.log li { display: grid; grid-template-columns: 3rem minmax(0, 1fr); gap: .75rem; content-visibility: auto; contain-intrinsic-height: 1.25rem }
.console ol.log li > a { text-align: right; text-decoration: none; font-variant-numeric: tabular-nums }
.console ol.log code { white-space: pre-wrap; overflow-wrap: anywhere; background: none; padding: 0 }
.console ol.log .fatal code { color: var(--bad) }
.console ol.log li:target { background: var(--note) }
.console .notice h2 { margin: 0 0 .5rem; font-size: 1rem }
.console .notice ul { margin: 0; padding-left: 1.25rem }
.console .card > form { margin: 0 }
.console details.twice { margin: 0 }
.console details.twice > summary { display: inline-flex; list-style: none; padding: .6rem 1.1rem }
.console details.twice > summary::-webkit-details-marker { display: none }
.console details.twice[open] > summary { margin-bottom: .75rem }
.console .danger-zone { border-color: var(--bad); border-left-width: 4px }
.console .danger-zone h2 { color: var(--bad) }
.console .steps { padding-left: 1.5rem; margin: 0 }
.console .steps > li { margin: 0 0 1rem; padding-left: .25rem }
.console .steps > li::marker { font-weight: 650 }
.console .steps h3 { margin: 0 0 .5rem }
.console .qr svg { width: 13rem; height: auto; background: #fff; border-radius: 8px; padding: .25rem }
.console main:focus { outline: none }
.console .skip { position: absolute; left: -100vw }
.console .skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem 1rem; z-index: 3 }
.console .secret { white-space: pre-wrap; user-select: all }
.console .page-links { display: flex; gap: 1rem; justify-content: flex-end }
@media (max-width: 40rem) {
  .console dl.facts { grid-template-columns: 1fr; gap: 0 }
  .console dl.facts dd { margin: 0 0 .5rem }
  .console dl.facts dd + dd { grid-column: auto }
  .console > header .bar { grid-template-columns: minmax(0, 1fr) auto }
  .console > header .bar .search { order: 1; grid-column: 1 / -1 }
  .console > header .tag { display: none }
  .console > header .called { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap }
  .console .sheet { position: relative; overflow: hidden }
  .console .sheet thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
  .console .sheet tr { display: block; padding: .75rem 1rem; border-bottom: 1px solid var(--line) }
  .console .sheet tr:last-child { border-bottom: 0 }
  .console .sheet td, .console .sheet tbody th { display: flow-root; width: auto; padding: .15rem 0 .15rem 7.25rem; border: 0; overflow-wrap: anywhere }
  .console .sheet [data-label]::before { content: attr(data-label); float: left; width: 6.75rem; margin-left: -7.25rem; color: var(--soft); font-size: .875rem; line-height: 1.6 }
  .console .sheet tr > :first-child, .console .sheet td.act { padding-left: 0; text-align: left }
  .console .sheet tr > :first-child::before, .console .sheet td.act::before { content: none }
  .console .sheet td:empty { display: none }
  .console .sheet td.act { padding-top: .5rem }
  .console .sheet td:has(> code) { min-width: 0 }
  .console .sheet form.row { flex-wrap: wrap; max-width: 100% }
}

.console .drawing { margin: 0 }
.console td.number, .console th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.console td.share { width: 60%; vertical-align: middle }
.console td .bar svg { display: block; width: 100%; height: .75rem }
.console td .bar .main { fill: var(--main) }
@media (max-width: 40rem) {
  .console .sheet tr:has(> td.share) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .15rem .75rem; align-items: center }
  .console .sheet tr > td.share, .console .sheet td.share ~ td.number { width: auto; padding: 0 }
  .console .sheet tr:has(> td.share) > :first-child { grid-column: 1 / -1 }
  .console .sheet td.share::before, .console .sheet td.share ~ td.number::before { content: none }
  .console .sheet td.number { text-align: left; white-space: normal }
}
.console .drawing svg { display: block; width: 100%; height: 10rem; border-bottom: 1px solid var(--soft) }
.console .plot { display: grid; grid-template-columns: max-content 1fr; gap: .25rem .75rem }
.console .plot .scale { display: flex; flex-direction: column; justify-content: space-between; margin: 0; text-align: right; font-size: .875rem; line-height: 1; color: var(--soft) }
.console .plot .ends { grid-column: 2 }
.console .drawing .ends { display: flex; justify-content: space-between; gap: 1rem; margin: 0; font-size: .875rem; color: var(--soft) }
.console .drawing figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .875rem; margin: .5rem 0 }
.console .drawing .key::before { content: ''; display: inline-block; width: .75rem; height: .75rem; margin-right: .35rem; background: currentColor }
.console .drawing .key { color: var(--ink) }
.console .drawing .good { fill: var(--good) } .console .drawing .key.good::before { background: var(--good) }
.console .drawing .bad { fill: var(--bad) } .console .drawing .key.bad::before { background: var(--bad) }
.console .drawing .main { fill: var(--main) } .console .drawing .key.main::before { background: var(--main) }
.console .drawing .soft { fill: var(--soft) } .console .drawing .key.soft::before { background: var(--soft) }
@media (min-width: 48rem) { .console > header { padding: .75rem 1.5rem } .console nav.tabs { padding: 0 .75rem } .console main { padding: 2rem 1.5rem 5rem } }
`
