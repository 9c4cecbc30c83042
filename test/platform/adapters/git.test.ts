/** What git hosts answer that is not what their documentation says. docs/git-links.md. */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { GIT_CLIENTS, type GitAccess, type Provider } from '../../../src/platform/adapters/git.ts'
import { freePort } from '../../support/servers/free-port.ts'

const GITLAB = {
  ...{ id: 4711, name: 'Web', name_with_namespace: 'Acme / Web', path_with_namespace: 'acme/web', path: 'web' },
  namespace: { id: 7, name: 'Acme', path: 'acme', kind: 'group', full_path: 'acme' },
  ...{ web_url: 'https://gitlab.example/acme/web', default_branch: 'trunk' },
}
const BITBUCKET = {
  ...{ full_name: 'acme/web', name: 'Web', uuid: '{r}', workspace: { uuid: '{w}' }, mainbranch: { name: 'main' } },
  links: { html: { href: 'https://bitbucket.example/acme/web' } },
}

/** A request as the git host got it, and how it answers: `said` as JSON, unless `reply` does it. */
type Asked = { method?: string | undefined; url?: string | undefined; headers: IncomingHttpHeaders; body: unknown }

let said: unknown
let reply: ((response: ServerResponse) => void) | undefined
let asked: Asked[] = []
const server = createServer(async (request, response) => {
  const { method, url, headers } = request
  const body = Buffer.concat(await request.toArray()).toString()
  asked.push({ method, url, headers, body: body === '' ? undefined : JSON.parse(body) })
  if (reply === undefined) response.end(JSON.stringify(said))
  else reply(response)
})
before(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
after(() => new Promise((resolve) => server.close(resolve)))

function accessWith(username: string | null = null): GitAccess {
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, token: 'glpat-secret', username }
}

async function read(provider: Provider, answer: unknown) {
  reply = undefined
  said = answer
  return GIT_CLIENTS[provider].readRepository(accessWith(), 'acme/web')
}

/** What each call gets where the host replies so. */
async function outcomes(replying: typeof reply, access = accessWith()) {
  reply = replying
  const { gitlab, bitbucket } = GIT_CLIENTS
  const hook = { url: 'https://berth.example/hook', secret: null }
  const calls = [
    ...[gitlab.readRepository(access, 'acme/web'), bitbucket.readRepository(access, 'acme/web')],
    ...[gitlab.addHook(access, '4711', hook), bitbucket.addHook(access, 'acme/web', hook)],
    ...[gitlab.removeHook(access, '4711', '9'), bitbucket.removeHook(access, 'acme/web', '{9}')],
  ]
  return Promise.all(calls)
}

test('a repository is read from the documented response, and its branch is main where none is given', async () => {
  const gitlab = await read('gitlab', GITLAB)
  const shown = {
    ...{ projectId: '4711', projectName: 'Web', projectNameWithNamespace: 'Acme / Web', projectNamespace: 'acme' },
    ...{ projectOwnerId: 7, projectUrl: GITLAB.web_url },
  }
  const value = { shown, path: '4711', id: '4711', url: GITLAB.web_url, defaultBranch: 'trunk' }
  assert.deepEqual(gitlab, { value })
  const owned = await read('gitlab', { ...GITLAB, owner: { id: 8 }, default_branch: undefined })
  const byOwner = { ...value, shown: { ...shown, projectOwnerId: 8 }, defaultBranch: 'main' }
  assert.deepEqual(owned, { value: byOwner })
  const bitbucket = await read('bitbucket', { ...BITBUCKET, mainbranch: null })
  assert.deepEqual(bitbucket, {
    value: {
      shown: { name: 'Web', slug: 'web', owner: 'acme', uuid: '{r}', workspaceUuid: '{w}' },
      ...{ path: 'acme/web', id: '{r}', url: BITBUCKET.links.html.href, defaultBranch: 'main' },
    },
  })
})

for (const [provider, whole, wrong] of [
  ['gitlab', GITLAB, [{ id: '4711' }, { name: 1 }, { namespace: null }, { namespace: 'acme' }, { web_url: '' }]],
  [
    'bitbucket',
    BITBUCKET,
    [{ full_name: null }, { uuid: 7 }, { workspace: '{w}' }, { mainbranch: 'dev' }, { mainbranch: 1 }, { links: {} }],
  ],
] as const)
  test(`what ${provider} answers in another form is said to be not understood`, async () => {
    for (const answer of [null, [], 'text', 1, {}, ...wrong.map((part) => ({ ...whole, ...part }))])
      assert.deepEqual(await read(provider, answer), { fault: 'its answer was not understood' }, JSON.stringify(answer))
  })

test('a hook is created with its events and its secret, where it has one, and deleted by its id', async () => {
  const url = 'https://berth.example/hook'
  const gitlabEvents = { push_events: true, merge_requests_events: true, enable_ssl_verification: true }
  const events = ['repo:push', 'pullrequest:created', 'pullrequest:updated', 'pullrequest:fulfilled']
  const bitbucketHook = { description: 'Berth', url, active: true, events }
  reply = undefined
  for (const [provider, path, answer, id, at, body, secret] of [
    ['gitlab', '4711', { id: 9 }, '9', '/api/v4/projects/4711/hooks', { url, ...gitlabEvents }, { token: 's' }],
    ['bitbucket', 'a b/c', { uuid: '{9}' }, '{9}', '/2.0/repositories/a%20b/c/hooks', bitbucketHook, { secret: 's' }],
  ] as const) {
    said = answer
    asked = []
    const { addHook, removeHook } = GIT_CLIENTS[provider]
    assert.deepEqual(await addHook(accessWith(), path, { url, secret: null }), { value: id })
    assert.deepEqual(await addHook(accessWith('ann'), path, { url, secret: 's' }), { value: id })
    assert.deepEqual(await removeHook(accessWith(), path, id), { value: true })
    assert.deepEqual(
      asked.map(({ method, url, body }) => [method, url, body]),
      [
        ['POST', at, body],
        ['POST', at, { ...body, ...secret }],
        ['DELETE', `${at}/${encodeURIComponent(id)}`, undefined],
      ],
    )
    const basic = `Basic ${Buffer.from('ann:glpat-secret').toString('base64')}`
    assert.deepEqual(
      asked.map(({ headers }) => [headers.authorization, headers.accept, headers['content-type']]),
      [
        ['Bearer glpat-secret', 'application/json', 'application/json'],
        [basic, 'application/json', 'application/json'],
        ['Bearer glpat-secret', 'application/json', undefined],
      ],
    )
  }
})

/** TABLE answers → the reason that is said, of a call that needs the answer and of one that deletes a hook. */
const ANSWERS: readonly [what: string, reply: (response: ServerResponse) => void, needed: string, deleted?: string][] =
  [
    ['300', (response) => response.writeHead(300).end('no JSON'), 'it answered 300', 'it answered 300'],
    [
      'a redirect, which is not followed',
      (response) => response.writeHead(302, { location: '/there' }).end(),
      'it answered 302',
      'it answered 302',
    ],
    ['403', (response) => response.writeHead(403).end('no JSON'), 'it answered 403', 'it answered 403'],
    ['404', (response) => response.writeHead(404).end(), 'it answered 404'],
    ['500', (response) => response.writeHead(500).end(), 'it answered 500', 'it answered 500'],
    ['204', (response) => response.writeHead(204).end(), 'its answer was not understood'],
    ['text', (response) => response.end('<html>'), 'its answer was not JSON', 'its answer was not JSON'],
    [
      'more than 256 KiB',
      (response) => response.end(`"${'x'.repeat(256 * 1024)}"`),
      'its answer was too large',
      'its answer was too large',
    ],
    [
      'nothing, and ends the connection',
      (response) => response.destroy(),
      'it could not be reached',
      'it could not be reached',
    ],
  ]

for (const [what, replying, needed, deleted] of ANSWERS)
  test(`a git host that answers ${what}: the reason is said`, async () => {
    asked = []
    const gone = deleted === undefined ? { value: true } : { fault: deleted }
    const expected = [...Array.from({ length: 4 }, () => ({ fault: needed })), gone, gone]
    assert.deepEqual(await outcomes(replying), expected)
    assert.equal(asked.length, 6)
  })

test('a git host that does not answer is waited for five seconds', async (t) => {
  const timeout = AbortSignal.timeout
  const limits: number[] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    limits.push(ms)
    return timeout(1)
  })
  const late = { fault: 'it did not answer in time' }
  assert.deepEqual(await outcomes(() => {}), Array(6).fill(late))
  assert.deepEqual(limits, Array(6).fill(5000))
  server.closeAllConnections()
})

test('a git host at which no server listens could not be reached', async () => {
  const closed = { ...accessWith(), baseUrl: `http://127.0.0.1:${await freePort()}` }
  assert.deepEqual(await outcomes(undefined, closed), Array(6).fill({ fault: 'it could not be reached' }))
})
