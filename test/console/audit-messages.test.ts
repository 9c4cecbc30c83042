/** What activity and the audit log say: a sentence for each kind of line. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { AUDIT_MESSAGES } from '../../src/console/names/audit-messages.ts'
import { ROUTES } from '../../src/routes.ts'
import { SCREENS } from '../../src/screens.ts'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { root } from '../support/root.ts'
import { tamper } from '../support/states.ts'
import { onBothEngines } from '../support/world.ts'

/** The kinds of lines that no route and no form writes, as the sources name them. */
function kindsBeside(): string[] {
  const sources = globSync('src/**/*.ts', { cwd: root, exclude: ['src/platform/outbox/**'] }).map((file) =>
    readFileSync(`${root}/${file}`, 'utf8'),
  )
  return sources.flatMap((source) => [
    ...[...source.matchAll(/\brecordWrite\(.*?, '([\w ]+)'/g)].map(([, kind]) => kind!),
    ...[...source.matchAll(/\bauditAs: .*?'(\w+)'/g)].map(([, kind]) => kind!),
    ...[...source.matchAll(/\bappendAuditEntry\(ctx, \{[^}]*? type: '([\w -]+)'/g)].map(([, kind]) => kind!),
  ])
}

/** Operations that were removed. Their lines stay in the logs. */
const OF_EARLIER_VERSIONS = ['deleteAliasAsCli', 'assignAliasAsCli', 'deleteDeploymentAsCli', 'introspectToken']

test('no page says "since … ago"', () => {
  const sources = globSync('src/{console,pages,consent}/**/*.ts', { cwd: root })
  for (const file of sources)
    assert.doesNotMatch(readFileSync(`${root}/${file}`, 'utf8'), /\bsince (<[^>]*>|html`)?\$\{ago\(|'Since'/, file)
  assert.ok(sources.length > 60, `${sources.length} files`)
})

test('every kind of entry has a message, and every message has a kind', () => {
  const beside = kindsBeside()
  assert.ok(beside.includes('placed by operator') && beside.includes('endIdentity'), beside.join())
  const kinds = [
    // A file that is uploaded leaves no line.
    ...ROUTES.filter(({ method, fileBody, reads }) => method !== 'GET' && !fileBody && !reads).map(
      ({ operationId }) => operationId,
    ),
    ...SCREENS.filter(({ calls, method, writes }) => calls === undefined && (method === 'POST' || writes))
      // A theme and a time zone are cookies.
      .filter(({ name }) => !['changeTheme', 'changeTimeZone'].includes(name))
      .map(({ name }) => name),
    ...beside,
  ]
  for (const kind of kinds)
    assert.ok(Object.hasOwn(AUDIT_MESSAGES, kind), `${kind} has no sentence in src/console/names/audit-messages.ts`)
  // Reads that give clear values leave lines too: test/platform/outbox/secret-reads.test.ts.
  const reads = ROUTES.filter(({ method }) => method === 'GET').map(({ operationId }) => operationId)
  const known = new Set([...kinds, ...reads, ...OF_EARLIER_VERSIONS])
  for (const [kind, sentence] of Object.entries(AUDIT_MESSAGES)) {
    assert.ok(known.has(kind), `nothing writes a line of ${kind}`)
    assert.match(sentence, /^[a-z][^%]*(%[^%]*)?$/, kind)
  }
})

onBothEngines('a line names the variable that it is about, and never its value', async (world) => {
  const team = `teamId=${world.credentials.teamId}` as const
  await world.call('POST', `/v10/projects?${team}`, { name: 'web' })
  const body = { key: 'API_KEY', value: 'first-value', target: ['production'] }
  const { id } = (await world.call('POST', `/v10/projects/web/env?${team}`, body)).body.created
  await world.call('PATCH', `/v9/projects/web/env/${id}?${team}`, { value: 'second-value' })
  const activity = '/console/t/team/activity?type=editProjectEnv'
  const client = await openSignedInClient(world)
  const { text } = await client.get(activity)
  const path = `/console/t/team/projects/web/variables/${id}/history`
  assert.ok(text.includes(`changed the variable <a href="${path}" title="${id}">API_KEY</a> of web`), text)
  assert.doesNotMatch(text, /first-value|second-value/)
  await world.call('POST', '/v10/projects', { name: 'elsewhere' })
  const other = (await world.call('POST', '/v10/projects/elsewhere/env', { ...body, key: 'OTHER_KEY' })).body.created
  await tamper(world, 'audit', { subject_id: other.id }, { type: 'editProjectEnv' })
  const seen = (await client.get(activity)).text
  assert.ok(seen.includes(`changed the variable <code class="small">${other.id}</code>`), seen)
  assert.doesNotMatch(seen, /OTHER_KEY/, 'a variable that another account has by now')
})
