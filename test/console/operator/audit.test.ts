/** The audit log of the operator: by operation and by day, with exact times, and as a file that can be verified. docs/operations.md: Audit log. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendAuditEntry } from '../../../src/platform/outbox/audit-chain.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const AUDIT = '/console/operator/audit'
const DAY_MS = 86_400_000

onBothEngines('operations are chosen by their sentences, and lines say their exact time', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const all = (await client.get(AUDIT)).text
  assert.match(all, /<option value="createProject">created the project …<\/option>/)
  assert.match(all, /<datalist id="named">.*<option value="admin"><\/option>/)
  const chosen = (await client.get(`${AUDIT}?type=createProject`)).text
  assert.match(chosen, /<option value="createProject" selected>/)
  assert.match(
    chosen,
    /<td data-label="When"><time[^>]*>just now<\/time><br><span class="soft small"><time[^>]*>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</,
  )
  assert.match((await client.get(`${AUDIT}?type=gone`)).text, /<option value="gone" selected>gone</)
})

onBothEngines('a line says who acted: a user by name, the operator token, and a timer with its kind', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await world.operator('POST', '/operator/v1/users', { username: 'lena', email: 'lena@example.com' })
  const { db, clock } = world.deps
  const entry = { stamp: clock.stamp(), account_id: null, token_id: null, subject_id: null, fields_json: '[]' }
  const timer = { ...entry, actor_kind: 'timer', actor_id: 'builds', type: 'endIdentity' }
  await db.write((tx) => appendAuditEntry({ db: tx, deps: world.deps }, timer))
  const who = async (type: string) => {
    const { text } = await client.get(`${AUDIT}?type=${type}`)
    return /<td data-label="Who">(.*?)<\/td>/.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '')
  }
  assert.deepEqual(await Promise.all(['createProject', 'operatorCreateUser', 'endIdentity'].map(who)), [
    'admin',
    'operator',
    'timer builds',
  ])
})

onBothEngines('who acted and where is chosen by a name, or by an id', async (world) => {
  const { teamId } = world.credentials
  const lena = await world.user('lena')
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'ours' })
  await lena.call('POST', '/v10/projects', { name: 'hers' })
  const client = await openSignedInClient(world)
  const projects = async (query: string) => {
    const { text } = await client.get(`${AUDIT}?type=createProject&${query}`)
    return [...text.matchAll(/created the project <span[^>]*>(\w+)</g)].map(([, project]) => project)
  }
  assert.deepEqual(await projects('actor=lena'), ['hers'])
  assert.deepEqual(await projects('actor=+Lena@example.com'), ['hers'])
  assert.deepEqual(await projects(`actor=${lena.id}`), ['hers'])
  assert.deepEqual(await projects('account=team'), ['ours'])
  assert.deepEqual(await projects(`account=${teamId}&actor=admin`), ['ours'])
  assert.deepEqual(await projects('actor=none'), [])
  assert.match((await client.get(`${AUDIT}?actor=operator`)).text, /id="actor"[^>]* value="operator"/)
})

onBothEngines('a period holds both of its days, and a page of it links to older ones of it alone', async (world) => {
  const { clock } = world.deps
  // Within one day, so that none ends while the test runs.
  const day = Math.ceil(clock.now() / DAY_MS) * DAY_MS
  const name = (at: number) => new Date(at).toISOString().slice(0, 10)
  for (const [at, project] of ['one', 'two', 'three'].entries()) {
    clock.set(day + at * DAY_MS + 3_600_000)
    await world.call('POST', '/v10/projects', { name: project })
  }
  const client = await openSignedInClient(world)
  const projects = async (from: string, to: string) => {
    const { text } = await client.get(`${AUDIT}?type=createProject&from=${from}&to=${to}`)
    return [...text.matchAll(/created the project <span[^>]*>(\w+)</g)].map(([, project]) => project)
  }
  const [first, second, third] = [0, 1, 2].map((at) => name(day + at * DAY_MS)) as [string, string, string]
  assert.deepEqual(await projects('', ''), ['three', 'two', 'one'])
  assert.match((await client.get(AUDIT)).text, />From \(UTC\)<\/label>[\s\S]*>To \(UTC\)<\/label>/)
  assert.deepEqual(await projects(second, ''), ['three', 'two'])
  assert.deepEqual(await projects('', second), ['two', 'one'])
  assert.deepEqual(await projects(second, second), ['two'])
  assert.deepEqual(await projects(third, first), [])
  const api = await world.operator('GET', `/operator/v1/audit?type=createProject&since=${day + DAY_MS}&limit=1`)
  const older = `until=${api.body.pagination.next}`
  const { body } = await world.operator('GET', `/operator/v1/audit?type=createProject&since=${day + DAY_MS}&${older}`)
  assert.deepEqual([body.entries.length, body.pagination.next], [1, null])
  for (const wrong of ['2026-13-40', 'yesterday', '1969-01-01']) {
    const refused = await client.get(`${AUDIT}?from=${wrong}`)
    assert.equal(refused.status, 400, wrong)
    assert.match(refused.text, /should be a day such as/)
    assert.equal((await client.get(`${AUDIT}/export?to=${wrong}`)).status, 400, wrong)
  }
})

onBothEngines('the export is the file of the command, of the days that are chosen', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
  const today = new Date(world.deps.clock.now()).toISOString().slice(0, 10)
  const page = (await client.get(`${AUDIT}?from=${today}`)).text
  assert.ok(page.includes(`href="${AUDIT}/export?from=${today}"`))
  const file = await client.get(`${AUDIT}/export`)
  assert.equal(file.headers['content-disposition'], 'attachment; filename="audit.jsonl"')
  const [first, ...entries] = file.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual([first.format, first.version], ['berth-audit-export', 1])
  assert.ok(entries.some(({ type }) => type === 'createProject'))
  let hash = first.previous.hash
  for (const {
    hash: own,
    position,
    stamp,
    account_id,
    actor_kind,
    actor_id,
    token_id,
    type,
    subject_id,
    fields_json,
  } of entries) {
    const said = [hash, position, stamp, account_id, actor_kind, actor_id, token_id, type, subject_id, fields_json]
    hash = createHash('sha256').update(JSON.stringify(said)).digest('base64url')
    assert.equal(own, hash)
  }
  const later = new Date(world.deps.clock.now() + 2 * DAY_MS).toISOString().slice(0, 10)
  assert.equal((await client.get(`${AUDIT}/export?from=${later}`)).text.trimEnd().split('\n').length, 1)
})
