/** A row of a table that begins with a link is that link as a whole. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataTable } from '../../src/console/fields.ts'
import { icon } from '../../src/platform/pages/face/icons.ts'
import { avatar } from '../../src/platform/pages/face/initials.ts'
import { type Html, html } from '../../src/platform/pages/html.ts'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'

const ROW = /<tr class="hit"><td[^>]*>.*?<a class="to( [\w -]+)?" href="([^"]+)"/g
const LINK = html`<a href="/console/a">a</a>`

function rowsOf(...firsts: Html[]): string[] {
  const rows = firsts.map((first) => html`<tr><td>${first}</td><td>${LINK}</td></tr>`)
  return dataTable('Table', ['One', 'Two'], rows).markup.match(/<tr[^>]*><td.*?<\/tr>/g) ?? []
}

test('a row that begins with a link into the console is that link, whatever is drawn before it', () => {
  const styled = html`<div class="line one">${avatar('Ada')}<div><a class="medium" href="/console/a">a</a></div></div>`
  const chosen = html`<label class="choose"><input type="checkbox" aria-label="Choose a"></label>${LINK}`
  for (const row of rowsOf(LINK, styled, html`${icon('folder')} ${LINK}`, chosen)) {
    const [[, , to] = [], ...others] = row.matchAll(ROW)
    assert.deepEqual([to, others], ['/console/a', []], row)
    assert.equal(row.split('class="to').length, 2, row)
  }
  assert.match(rowsOf(styled)[0]!, /class="to medium"/)
})

test('a row that begins with a text, a filter within a sentence or a link elsewhere has no link as a whole', () => {
  const sentence = html`<span class="line">${avatar('Ada')}${LINK}</span>`
  for (const row of rowsOf(html`a ${LINK}`, sentence, html`<a href="https://example.com">a</a>`))
    assert.doesNotMatch(row, /class="(?:hit|to)/)
})

onBothEngines('rows of projects, teams and users open what they show', async (world) => {
  await seedProject(world, 'web')
  await world.call('POST', '/v10/projects/web/env', { key: 'KEY', value: 'x', target: ['preview'] })
  await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
  const client = await openSignedInClient(world)
  const web = '/console/t/admin/projects/web'
  for (const path of [`${web}/variables`, `${web}/domains`, '/console/operator/people', '/console/operator/teams']) {
    const [row] = (await client.get(path)).text.matchAll(ROW)
    const to = row?.[2] ?? assert.fail(path)
    assert.ok(to.startsWith(`${path}/`), `${path}: ${to}`)
    assert.equal((await client.get(to)).status, 200, to)
  }
})
