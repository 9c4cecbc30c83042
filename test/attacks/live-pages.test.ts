/** A thousand open pages of one account that is written all the time: what others feel of it, and what memory it takes. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, openSignedInClient } from '../support/clients/browser-client.ts'
import { stampOf } from '../support/clients/event-client.ts'
import { credentialsOf, newHome, processOnBothEngines, type RunningService, startService } from '../support/process.ts'
import type { World } from '../support/world.ts'
import { sayFigure } from './form.ts'

/** As many as a user may have open. */
const PAGES_OF_ONE = 100
const MEMBERS = 10
const PAGES = PAGES_OF_ONE * MEMBERS
const SECONDS = 15

processOnBothEngines(
  'a thousand open pages of one account that is written ten times a second: another account is served as before, and memory is bounded',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await startService(t, home, { BERTH_RATE_LIMITS: 'off' })
    const { token, operatorToken, teamId } = credentialsOf(home)
    const call = callerOf(running, token)
    const operator = callerOf(running, operatorToken)
    const made = await operator('POST', '/operator/v1/users', { email: 'n@example.com', username: 'n' })
    const { id } = (await made.json()) as { id: string }
    const given = await operator('POST', '/operator/v1/tokens', { userId: id })
    const other = callerOf(running, ((await given.json()) as { token: string }).token)
    assert.equal((await call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).status, 200)
    assert.equal((await other('POST', '/v10/projects', { name: 'web' })).status, 200)
    const members = await openMembers(running, operator, teamId)
    const client = members[0]!
    const page = '/console/t/team/projects/web/variables'
    const write = async (n: number) => {
      const variable = { key: `K${n % 50}`, value: `v${n}`, type: 'encrypted', target: ['preview'] }
      const answer = await call('POST', `/v10/projects/web/env?teamId=${teamId}&upsert=true`, variable)
      assert.equal(answer.status, 201, await answer.text())
    }
    // The work itself takes memory too: it is done once without the pages.
    const work = async () => {
      const took: number[] = []
      for (let n = 0; n < SECONDS * 10; n++) {
        const next = sleep(100)
        await write(n)
        const began = performance.now()
        assert.equal((await other('GET', '/v9/projects/web')).status, 200)
        took.push(performance.now() - began)
        await next
      }
      return took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.99)]!
    }
    for (let n = 0; n < 30; n++) await client.get(page)
    const alone = await work()
    const before = residentMiB(running)
    const pages = await openPages(running, members, page)
    t.after(() => {
      for (const socket of pages.sockets) socket.destroy()
    })
    const p99 = await work()
    const grown = residentMiB(running) - before
    sayFigure(
      `live pages, ${engine}: ${PAGES} open, ${pages.asked()} asked for again, p99 of another account ${p99.toFixed(1)} ms (${alone.toFixed(1)} ms without), ${grown.toFixed(1)} MiB more`,
    )
    const open = /^berth_live_pages (\d+)$/m.exec(await (await operator('GET', '/metrics')).text())?.[1]
    assert.equal(Number(open), PAGES)
    assert.ok(pages.asked() >= 20, `${pages.asked()} pages were asked for again`)
    assert.ok(p99 < 100, `p99 ${p99} ms`)
    assert.ok(grown < 60, `${grown} MiB more`)
  },
)

type Caller = (method: string, path: string, body?: object) => Promise<Response>

function callerOf({ address }: RunningService, token: string): Caller {
  return (method, path, body) =>
    fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
}

/** As much of a world as a browser without a window needs, over real connections. */
function browserOf({ address }: RunningService, operator: Caller, userId: string): World {
  const inject = async ({
    method,
    url,
    payload,
    headers,
  }: {
    method: string
    url: string
    payload?: string
    headers: object
  }) => {
    const answer = await fetch(`${address}${url}`, {
      method,
      redirect: 'manual',
      headers: headers as Record<string, string>,
      ...(payload !== undefined && { body: payload }),
    })
    return {
      statusCode: answer.status,
      payload: await answer.text(),
      headers: { ...Object.fromEntries(answer.headers), 'set-cookie': answer.headers.getSetCookie() },
    }
  }
  const ask = async (...asked: Parameters<Caller>) => ({ body: await (await operator(...asked)).json() })
  return { app: { inject }, operator: ask, credentials: { userId } } as unknown as World
}

/** Members of the team, each signed in. */
async function openMembers(running: RunningService, operator: Caller, teamId: string): Promise<Client[]> {
  const members: Client[] = []
  for (let n = 0; n < MEMBERS; n++) {
    const made = await operator('POST', '/operator/v1/users', { email: `m${n}@example.com`, username: `m${n}` })
    const { id } = (await made.json()) as { id: string }
    const placed = await operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role: 'DEVELOPER' })
    assert.ok(placed.ok, await placed.text())
    members.push(await openSignedInClient(browserOf(running, operator, id), id, `m${n}`))
  }
  return members
}

/** Opens the page a thousand times. Each asks for itself again when it is notified of a change, as a browser does. */
async function openPages({ address }: RunningService, members: Client[], page: string) {
  const since = stampOf((await members[0]!.get(page)).text)
  const cookies = members.map(({ cookies }) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
  const { hostname, port } = new URL(address)
  const path = `/console/live?${new URLSearchParams({ page, since })}`
  const sockets: Socket[] = []
  let open = 0
  let asked = 0
  for (let n = 0; n < PAGES; n++) {
    const cookie = cookies[n % MEMBERS]!
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\n\r\n`),
    )
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (bytes.includes('text/event-stream')) open++
      if (!bytes.includes('event: change')) return
      asked++
      // What is in progress at the end of the test is cut off.
      fetch(`${address}${page}`, { headers: { cookie } })
        .then((answer) => answer.arrayBuffer())
        .catch(() => {})
    })
    sockets.push(socket)
    // Users open pages, and not all at once.
    if (n % 50 === 49) await sleep(20)
  }
  for (let waited = 0; open < PAGES; waited++) {
    assert.ok(waited < 600, `${open} of ${PAGES} streams are open`)
    await sleep(100)
  }
  return { sockets, asked: () => asked }
}

/** The memory that the process has resident now, in MiB. */
function residentMiB({ child }: RunningService): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
}
