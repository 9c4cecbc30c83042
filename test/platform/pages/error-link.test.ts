/** The error above a form says what its field says. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { field, formErrorNotice } from '../../../src/console/action.ts'
import { withErrorLink } from '../../../src/platform/pages/face/error-link.ts'
import { html } from '../../../src/platform/pages/html.ts'

const error = {
  message: 'Invalid request: `url` should be <b>public</b>.',
  field: 'url',
  typed: {},
  extra: {},
}

test('the error above a form is that of its field, with its label, and a link to it', () => {
  const { markup } = withErrorLink(html`${formErrorNotice(error)}<form>${field('url', 'URL', { error })}</form>`)
  const said = '“URL” should be &lt;b&gt;public&lt;/b&gt;.'
  assert.ok(markup.includes(`<div class="grow"><a href="#url">${said}</a></div></div><form>`), markup)
  assert.equal(markup.split(said).length, 3)
})

test('an error of no field on the page stays as it is', () => {
  const page = html`${formErrorNotice(error)}<form>${field('name', 'Name', { error })}</form>`
  assert.equal(withErrorLink(page), page)
  assert.match(page.markup, /Invalid request: `url`/)
})
