/** Colors of every page, light and dark. */
const COLOURS = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59616b; --line: #d5d9de; --paper: #fff; --ground: #f5f6f8;
  --main: #1f4fd8; --on-main: #fff; --bad: #b3261e; --good: #1a6b3a; --warn: #9a6700; --note: #eef2fd; --warn-note: #fdf4dc }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #b4bcc7; --line: #4a525e; --paper: #1c2127;
  --ground: #0f1216; --main: #9db7ff; --on-main: #0d1a40; --bad: #ffb4ab; --good: #8fd6a8; --warn: #f0b849; --note: #232b3d; --warn-note: #352b15 } }
`

/** The stylesheet of all pages, for small and large windows. No images or external fonts. */
export const STYLESHEET = `${COLOURS}*, ::before, ::after { box-sizing: border-box }
[hidden] { display: none !important }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between;
  max-width: 44rem; margin: 0 auto; padding: 1rem 1rem 0; color: var(--soft); font-size: .9rem }
header form { display: flex; gap: .75rem; align-items: center }
.brand { font-weight: 650; color: var(--ink); text-decoration: none; font-size: 1.1rem }
main { max-width: 44rem; margin: 1rem auto 3rem; padding: 1.5rem 1rem; background: var(--paper); border-block: 1px solid var(--line) }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 0 }
h3.named { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center }
h3.named img { width: 24px; height: 24px; border-radius: 4px; object-fit: contain; flex: none }
p, ul { margin: 0 0 1rem }
a { color: var(--main) }
::placeholder { color: var(--soft); opacity: 1 }
.soft { color: var(--soft) }
small, .small { font-size: .875rem }
.app { display: flex; gap: 1rem; align-items: flex-start }
.app img { width: 48px; height: 48px; border-radius: 8px; border: 1px solid var(--line); object-fit: contain; flex: none }
ul.plain { list-style: none; padding: 0 }
ul.rows > li { padding: .6rem 0; border-top: 1px solid var(--line) }
ul.rows > li:last-child { border-bottom: 1px solid var(--line) }
.tag { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .8rem; color: var(--soft); white-space: nowrap }
.tag.write { color: var(--ink); border-color: currentColor; font-weight: 600 }
.scope { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; align-items: baseline }
.scope > span:first-child { flex: 1 1 16rem }
fieldset { margin: 2rem 0 0; border: 1px solid var(--line); border-radius: 8px; padding: .5rem 1rem 1rem }
legend { font-weight: 650; font-size: 1.1rem; padding: 0 .35rem; margin-left: -.35rem }
label { display: block; font-weight: 600; margin: 1rem 0 .25rem }
label.choice { display: flex; gap: .65rem; align-items: flex-start; font-weight: 400; margin: 0; padding: .5rem 0; min-height: 2.75rem }
label.choice input { margin: .25rem 0 0; width: 1.15rem; height: 1.15rem; flex: none }
.choices { max-height: 22rem; overflow-y: auto; border-top: 1px solid var(--line); margin-top: .5rem }
input[type=text], input[type=password], input[type=search] { width: 100%; padding: .6rem .7rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--soft); border-radius: 6px }
input, button { accent-color: var(--main) }
button, .button { font: inherit; font-weight: 600; padding: .6rem 1.1rem; min-height: 2.75rem; border-radius: 6px; cursor: pointer; text-decoration: none;
  background: var(--main); color: var(--on-main); border: 1px solid var(--main); display: inline-flex; align-items: center }
.quiet { background: transparent; color: var(--ink); border-color: var(--soft) }
.danger { background: var(--bad); border-color: var(--bad); color: var(--paper) }
header .quiet { padding: .25rem .7rem; min-height: 2rem; font-weight: 400; font-size: .9rem }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0 0; align-items: center }
form + p.small { margin-top: 1rem }
.search { display: flex; gap: .5rem; align-items: center }
.notice { padding: .75rem 1rem; border-radius: 8px; background: var(--note); margin: 0 0 1rem; border-left: 4px solid var(--main) }
.notice.bad { border-color: var(--bad) }
.notice > :last-child { margin-bottom: 0 }
.bad { color: var(--bad) }
.notice.bad { color: inherit }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px }
[aria-invalid=true] { border-color: var(--bad); border-width: 2px }
@media (min-width: 48rem) { main { padding: 2rem 2.5rem; border: 1px solid var(--line); border-radius: 12px } header { padding: 1.5rem .5rem 0 } }
`
