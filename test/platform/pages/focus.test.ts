/** Where a page puts the focus. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupedCheckboxesField, radios } from '../../../src/console/fields.ts'
import { withFocus } from '../../../src/platform/pages/face/focus.ts'
import { type Html, html } from '../../../src/platform/pages/html.ts'

const HIDDEN = html`<input type="hidden" name="form" value="1">`
const form = (...fields: Html[]) => html`<form method="post" action="/x">${HIDDEN}${fields}<button>Save</button></form>`
const field = (name: string) => html`<input type="text" name="${name}" value="${'a > b'}">`
const focusedIn = (page: Html) =>
  [...withFocus(page).markup.matchAll(/name="(\w+)"[^<]* autofocus>/g)].map(([, name]) => name)

test('the first wrong field has the focus, else the first field of the only form', () => {
  assert.deepEqual(focusedIn(form(field('a'), field('b'))), ['a'])
  assert.deepEqual(
    focusedIn(html`${form(html``)}${form(html`<input type="radio" name="r">`, html`<select name="s"></select>`)}`),
    ['s'],
  )
  const username = html`<input type="text" name="username" value="me" autocomplete="username" hidden>`
  assert.deepEqual(focusedIn(form(username, field('password'))), ['password'])
  const wrong = html`<textarea name="w" aria-invalid="true"></textarea>`
  assert.deepEqual(focusedIn(html`${form(field('a'))}${form(field('b'), wrong, wrong)}`), ['w'])
})

test('the first box of a wrong choice has the focus, and no box of a right one', () => {
  const choices = [['created', 'Created', 'now']] as const
  const groups = [['Projects', choices.map(([value, words]) => [value, words] as const), 'all']] as const
  const shown = (wrong: string) => {
    const error = { message: '', field: wrong, typed: {}, extra: {} }
    const boxes = groupedCheckboxesField('events', 'Events', groups, { chosen: [], error, whole: 'groups' })
    return form(field('url'), boxes, radios('may', 'Access', choices, { error }))
  }
  assert.deepEqual(focusedIn(shown('events')), ['groups'])
  assert.deepEqual(focusedIn(shown('may')), ['may'])
  assert.deepEqual(focusedIn(shown('other')), ['url'])
})

test('a page of several forms, of none with fields, or of one that removes something begins at its top', () => {
  const search = html`<form action="/search"><input type="search" name="q"></form>`
  const removal = html`<form method="post">${field('typed')}<button class="btn danger">Remove</button></form>`
  for (const page of [html`${form(field('a'))}${form(field('b'))}`, form(html``), search, removal])
    assert.equal(withFocus(page).markup, page.markup)
})

test('a form below a card, a list or in a table is not what a page begins with; below the breadcrumbs it is', () => {
  const card = html`<section class="card"><h2>Next steps</h2></section>`
  const list = html`<ol class="rows"><li>one</li></ol>`
  for (const above of [card, list, html`<dl><dt>a</dt></dl>`]) {
    const page = html`${above}${form(field('a'))}`
    assert.equal(withFocus(page).markup, page.markup)
  }
  const table = html`<table><tr><td>${form(field('role'))}</td></tr></table>`
  assert.equal(withFocus(table).markup, table.markup)
  const crumbs = html`<nav class="crumbs" aria-label="Breadcrumb"><ol><li>Projects</li></ol></nav>`
  assert.deepEqual(focusedIn(html`${crumbs}<section class="card">${form(field('a'))}</section>${card}`), ['a'])
})
