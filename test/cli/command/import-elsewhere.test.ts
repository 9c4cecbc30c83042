/** What another server has and Berth does not is reported to the user, or left out. docs/moving-in.md. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { readProject } from '../../../src/cli/command/import/project.ts'
import { openServer, type Server } from '../../../src/cli/command/import/server.ts'
import { toggleDifference } from '../../../src/cli/command/import/settings.ts'
import { berth } from '../../support/clients/command.ts'
import { openWorld } from '../../support/world.ts'

const ENDED = { pagination: { next: null } }

/** A server that answers these paths, and 404 to all others; and what was asked. */
async function answering(
  t: TestContext,
  answers: Record<string, unknown>,
): Promise<{ origin: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url!, 'http://stand-in')
    seen.push(pathname)
    const answer = answers[pathname]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { error: { code: 'not_found', message: 'not here' } }))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** The command, from such a server into a team here. */
async function openImport(t: TestContext, answers: Record<string, unknown>) {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const { origin } = await answering(t, answers)
  const address = await world.listen()
  const env = { BERTH_DATA: world.folder, BERTH_TOKEN: world.credentials.token, PORT: new URL(address).port }
  const run = (...words: string[]) => berth(['import', '--from', origin, '--token', 't', ...words], env)
  return {
    address,
    run,
    inTeam: (...words: string[]) => run('--team', 'team', ...words),
    /** As `inTeam`, with the service here at another port. */
    inTeamAt: (PORT: string, ...words: string[]) =>
      berth(['import', '--from', origin, '--token', 't', '--team', 'team', ...words], { ...env, PORT }),
  }
}

const TEAM = { '/v2/teams/team': { id: 'team_1' } }
const HOOK = { events: ['project.created'] }

test('what an installation created is left out, and what cannot be copied of an account is reported', async (t) => {
  const { inTeam } = await openImport(t, {
    ...TEAM,
    '/v9/projects': {
      projects: [
        { id: 'prj_1', name: 'web' },
        { id: 'prj_2', name: 'Bad--Name' },
      ],
      ...ENDED,
    },
    '/v9/projects/web': {
      id: 'prj_1',
      name: 'web',
      autoAssignCustomDomainsUpdatedBy: 'eve',
      gitForkProtection: null,
      protectionBypass: { a: {} },
    },
    '/v9/projects/web/env': { envs: [] },
    '/v9/projects/web/domains': { domains: [] },
    '/v9/projects/Bad--Name': { id: 'prj_2', name: 'Bad--Name' },
    '/v9/projects/Bad--Name/env': { envs: [] },
    '/v9/projects/Bad--Name/domains': { domains: [] },
    '/v1/webhooks': [
      { ...HOOK, url: 'https://hooks.example.com/app', configurationId: 'icfg_1' },
      { ...HOOK, url: 'https://hooks.example.com/both', projectIds: ['prj_1', 'prj_2'] },
      { ...HOOK, url: 'https://hooks.example.com/web', projectIds: ['prj_1'] },
    ],
    '/v1/drains': {
      drains: [{ name: 'app', delivery: { endpoint: 'https://logs.example.com' }, source: { kind: 'integration' } }],
    },
    '/v2/teams/team/members': {
      members: [
        { username: 'ada', role: 'MEMBER' },
        { username: 'eve', email: '', role: 'MEMBER' },
      ],
    },
    '/v1/env': { data: [{ key: 'SHARED' }] },
  })
  const { code, out, err } = await inTeam('--yes', '--json')
  assert.equal(code, 1, err)
  const { counts, failed, todo } = JSON.parse(out)
  assert.deepEqual(
    failed.map(({ what }: { what: string }) => what),
    ['Bad--Name', 'webhook https://hooks.example.com/both'],
  )
  assert.equal(failed[1].message, 'it is for the projects Bad--Name, web, one of them is not here')
  assert.deepEqual(
    [counts.webhook.created, counts.webhook.failed, counts.drain.created + counts.drain.failed],
    [1, 1, 0],
  )
  // Not reported: who changed a setting there, a secret that bypasses a protection, and a setting that is null.
  assert.deepEqual(
    todo.map((line: string) => line.replace(/ \S+$/, '')),
    [
      'web: make a new secret that bypasses its protection, and give it to whatever used the other',
      'invite ada, whose address cannot be read',
      'invite eve, whose address cannot be read',
      'make the shared variable SHARED by hand, and give it to its',
      'webhook https://hooks.example.com/web: give its receiver the new secret',
    ],
  )
  // What the server there does not say is left as it is here.
  const again = JSON.parse((await inTeam('--projects', 'web', '--yes', '--json')).out)
  assert.deepEqual([again.counts.project.unchanged, again.counts.project.changed], [1, 0])
})

test('an import that ends by an error shows what it did, and the new secrets, which no later run shows', async (t) => {
  const { inTeam, inTeamAt, address } = await openImport(t, {
    ...TEAM,
    '/v9/projects': { projects: [], ...ENDED },
    '/v1/webhooks': [{ ...HOOK, url: 'https://hooks.example.com/all' }],
    '/v2/teams/team/members': { members: [{ username: 'ada', email: 'ada@example.com', role: 'MEMBER' }] },
  })
  // A proxy in front of the service here whose login ends before the invitation.
  const proxy = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    if (method === 'POST' && url.includes('/members')) {
      response.writeHead(401, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ error: { code: 'forbidden', message: 'Sign in again.' } }))
    }
    const body = await Array.fromAsync(request)
    const sent = { 'content-type': 'application/json', authorization: String(headers.authorization) }
    const answer = await fetch(`${address}${url}`, {
      method,
      headers: sent,
      ...(body.length > 0 && { body: Buffer.concat(body) }),
    })
    response.writeHead(answer.status, { 'content-type': String(answer.headers.get('content-type')) })
    response.end(await answer.text())
  }).listen(0, '127.0.0.1')
  t.after(() => void proxy.close())
  await new Promise((resolve) => proxy.once('listening', resolve))
  const port = String((proxy.address() as AddressInfo).port)
  const { code, out, err } = await inTeamAt(port, '--yes', '--json')
  assert.deepEqual([code, JSON.parse(out).error.message.includes('Sign in again.')], [1, true], err)
  assert.match(err, /Interrupted\. Until then:\n1 webhook: created 1, /)
  assert.match(err, /webhook https:\/\/hooks\.example\.com\/all: give its receiver the new secret whsec_/)
  const again = JSON.parse((await inTeam('--yes', '--json')).out)
  assert.deepEqual([again.counts.webhook.unchanged, again.counts.member.created], [1, 1])

  // Nothing was done, and nothing is said.
  const none = await inTeamAt('1', '--yes')
  assert.deepEqual([none.code, none.err.includes('Interrupted')], [1, false], none.err)
})

test('what is left to do is whole after an import: no later run shows its secrets', async (t) => {
  const { inTeam } = await openImport(t, {
    ...TEAM,
    '/v9/projects': { projects: [], ...ENDED },
    '/v1/env': { data: Array.from({ length: 501 }, (_, at) => ({ key: `K${at}` })) },
    '/v1/webhooks': [{ ...HOOK, url: 'https://hooks.example.com/all' }],
  })
  const { code, out } = await inTeam('--yes')
  assert.equal(code, 0, out)
  assert.match(out, /K500 by hand[\s\S]*give its receiver the new secret whsec_/)
  assert.doesNotMatch(out, /more: see --json/)
})

test('a report shows 500 lines of one kind, and nothing of an empty kind', async (t) => {
  const shared: { key: string }[] = Array.from({ length: 500 }, (_, at) => ({ key: `K${at}` }))
  const { inTeam } = await openImport(t, {
    ...TEAM,
    '/v9/projects': { projects: [], ...ENDED },
    '/v1/env': { data: shared },
  })
  const exact = await inTeam('--dry-run')
  assert.match(exact.out, /^there is nothing to copy\n\nTo do by hand:\n {2}make the shared variable K0 by hand/)
  assert.doesNotMatch(exact.out, /more: see --json|^0 /m)
  shared.push({ key: 'LAST' })
  const more = await inTeam('--dry-run')
  assert.match(more.out.slice(-200), /K499 by hand, .*\n {2}… and 1 more: see --json\n$/)
})

test('a server that does not accept the token is reported before anything is read', async (t) => {
  const { run, inTeam } = await openImport(t, { '/v9/projects': { projects: [], ...ENDED } })
  const alone = await run('--dry-run')
  assert.deepEqual(
    [alone.code, /has no user for the token: is this the address of the API/.test(alone.err)],
    [1, true],
    alone.err,
  )
  const team = await inTeam('--dry-run')
  assert.deepEqual([team.code, /does not take the token, or the team "team"(?!;)/.test(team.err)], [1, true], team.err)
})

test('a server that fails or limits is not taken for one that does not take the token', async (t) => {
  for (const [status, expected] of [
    [
      429,
      /\/v2\/user limits how often it is asked \(boom\): wait 27778 hours; run the same command again later, it goes on/,
    ],
    [
      503,
      /\/v2\/user answers 503 \(boom\), again and again; run the same command again later, it goes on where it was/,
    ],
    [401, /does not take the token\n {2}because: .*boom/],
    [400, /\/v2\/user: boom/],
  ] as const) {
    const server = createServer((_, response) => {
      response.writeHead(status, {
        'content-type': 'application/json',
        'retry-after': status === 429 ? '99999999' : '0',
      })
      response.end(JSON.stringify({ error: { message: 'boom' } }))
    }).listen(0, '127.0.0.1')
    t.after(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, err } = await berth(['import', '--from', from, '--token', 't', '--dry-run'], { BERTH_TOKEN: 't' })
    assert.equal(code, 1)
    assert.match(err, expected)
    assert.equal(/does not take the token/.test(err), status === 401)
  }
  const { err } = await berth(['import', '--from', 'x', '--token', 't'])
  assert.match(err, /--from: x is not an address/, 'before it asks about --yes')
})

test('a project without a name is reported as what the server returned', async (t) => {
  const { inTeam } = await openImport(t, {
    ...TEAM,
    '/v9/projects': { projects: [{ name: 'web' }], ...ENDED },
    '/v9/projects/web': { id: 'prj_1' },
  })
  for (const words of [['--projects', 'web'], ['--yes']]) {
    const { code, err } = await inTeam('--dry-run', ...words)
    assert.equal(code, 1)
    assert.match(err, /\/v9\/projects\/web answered an object .*missing required property `name`/)
  }
})

test('a project that is removed during the import is skipped; a list that the server lacks is not an empty one', async (t) => {
  const lists = { '/v9/projects/web/domains': { domains: [] } }
  const { origin, seen } = await answering(t, { ...lists, '/v9/projects/web': { id: 'prj_1', name: 'web' } })
  const lacking = openServer({ origin, token: 't' })
  await assert.rejects(readProject(lacking, 'web'), /web\/env: not here/)
  assert.equal(
    seen.filter((path) => path === '/v9/projects/web').length,
    2,
    'it is looked whether the project is there',
  )

  const answers: Record<string, unknown> = { ...lists, '/v9/projects/web': { id: 'prj_1', name: 'web' } }
  const removed = await answering(t, answers)
  const server = openServer({ origin: removed.origin, token: 't' })
  const { find } = server
  // The project is found, and is gone before its lists are asked for.
  server.find = async (path) => {
    const found = await find(path)
    delete answers['/v9/projects/web']
    return found
  }
  assert.equal(await readProject(server, 'web'), undefined)
})

test('a repository is named as each git host names it', async () => {
  const written: unknown[] = []
  const here = { write: async (...said: unknown[]) => void written.push(said) } as unknown as Server
  const ofGitlab = { type: 'gitlab', projectNamespace: 'acme', projectNameWithNamespace: 'web' }
  for (const [link, repo] of [
    [{ type: 'github', org: 'acme', repo: 'web' }, 'acme/web'],
    [{ type: 'bitbucket', owner: 'acme', slug: 'web' }, 'acme/web'],
    [ofGitlab, 'acme/web'],
    [{ ...ofGitlab, projectUrl: 'https://gitlab.example.com/acme/sub/web' }, 'acme/sub/web'],
  ] as const) {
    const [first, ...others] = toggleDifference({ link }, undefined)
    await first!.send(here, 'prj_1')
    assert.deepEqual(written.pop(), ['POST', '/v9/projects/prj_1/link', { type: link.type, repo }])
    assert.deepEqual(others, [])
  }
})
