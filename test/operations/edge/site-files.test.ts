/** Files of accounts, as sites servers fetch them from the control plane. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { Deps } from '../../../src/context.ts'
import { type FileRules, openSiteFiles } from '../../../src/operations/edge/site-files.ts'
import { pathOf } from '../../../src/platform/verdict/plain-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { tamper } from '../../support/states.ts'
import { addFile, addOutput } from '../../support/stores/outputs.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { callEdgeAt } from '../../support/worlds/edge-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'

const file = (sha256: string, account: string) => `/sites/v1/files/${sha256}?account=${account}`
const manifest = (sha256: string, account: string) => `/sites/v1/outputs/${sha256}?account=${account}`

onBothEngines(
  'a file of an account is returned completely with its length, and a manifest of an output as JSON too',
  async (world) => {
    const { userId } = world.credentials
    const output = await addOutput(world, userId, '{"version":1}', ['a page', ''])
    const { ask, close } = await openInstance(world)
    for (const [content, { sha256 }] of ['{"version":1}', 'a page', ''].map(
      (text, at) => [text, output.files[at]!] as const,
    )) {
      const answer = await ask(file(sha256, userId))
      assert.deepEqual([answer.status, answer.text], [200, content])
      assert.deepEqual(
        [answer.headers['content-length'], answer.headers['content-type'], answer.headers['cache-control']],
        [String(content.length), 'application/octet-stream', 'no-store'],
      )
      const head = await ask(file(sha256, userId), undefined, 'HEAD')
      assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(content.length)])
    }
    const json = await ask(manifest(output.manifest.sha256, userId))
    assert.deepEqual([json.status, json.text, json.headers['content-type']], [200, '{"version":1}', 'application/json'])
    assert.equal((await ask(manifest(output.files[1]!.sha256, userId))).status, 404, 'no manifest')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'files of another account, condemned files, and files missing from the directory return 404',
  async (world) => {
    const { userId } = world.credentials
    const other = await world.user('other')
    const theirs = await addOutput(world, other.id, '{"theirs":1}')
    const ours = await addOutput(world, userId, '{"ours":1}')
    const condemned = await addFile(world, userId, 'condemned')
    await tamper(world, 'blob', { condemned_at: 1 }, { id: condemned.id })
    // Bytes that arrived, and that no row of the account names.
    const unnamed = Readable.from([Buffer.from('{"theirs":1}')])
    await world.deps.files.put(userId, unnamed, { sha1: undefined, size: undefined, max: 100 })
    const lost = await addFile(world, userId, 'lost')
    rmSync(join(world.deps.config.files.to, userId, lost.sha256.slice(0, 2), lost.sha256))
    const { ask, close } = await openInstance(world)
    const none = 'a1'.repeat(32)
    for (const method of ['GET', 'HEAD']) {
      const status = async (path: string) => (await ask(path, undefined, method)).status
      for (const pathFor of [file, manifest]) {
        assert.equal(await status(pathFor(theirs.manifest.sha256, userId)), 404)
        assert.equal(await status(pathFor(ours.manifest.sha256, other.id)), 404)
        assert.equal(await status(pathFor(none, userId)), 404)
        assert.equal(await status(pathFor(ours.manifest.sha256, userId)), 200)
      }
      assert.equal(await status(file(condemned.sha256, userId)), 404)
      assert.equal(await status(file(lost.sha256, userId)), 404)
    }
    assert.match((await ask(file(lost.sha256, userId))).text, /not in the directory of BERTH_FILES_TO/)
    await tamper(world, 'blob', { condemned_at: 1 }, { id: ours.manifest.id })
    assert.equal((await ask(manifest(ours.manifest.sha256, userId))).status, 404)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a file request needs GET or HEAD, the token, a complete SHA-256 and an account; no other reaches the store',
  async (world) => {
    const { userId } = world.credentials
    const { sha256 } = await addFile(world, userId, 'a page')
    const { ask, close } = await openInstance(world)
    for (const headers of [{}, { authorization: 'Bearer token-of-somebody-else' }])
      for (const pathFor of [file, manifest]) assert.equal((await ask(pathFor(sha256, userId), headers)).status, 401)
    assert.equal((await ask(`${file(sha256, userId)}&token=${SETTINGS.BERTH_SITES_TOKEN}`, {})).status, 401)
    const refused = await ask(file(sha256, userId), undefined, 'POST')
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, HEAD'])
    assert.equal((await ask('/sites/v1/snapshot', undefined, 'HEAD')).status, 405)
    for (const path of [
      `/sites/v1/files/${sha256}`,
      file(sha256, ''),
      file(sha256, '..'),
      file(sha256, `${userId}%00`),
      file(sha256, 'x'.repeat(65)),
      file(sha256.slice(1), userId),
      file(`${sha256}0`, userId),
      file(sha256.toUpperCase(), userId),
      file(`..%2f${sha256}`, userId),
    ])
      assert.equal((await ask(path)).status, 400, path)
    await close()
  },
  SETTINGS,
)

/** The files of a world alone, on a listener of their own, where a test says how patient it is. */
async function openFiles(world: World, t: TestContext, rules: FileRules, files: Partial<Deps['files']> = {}) {
  const opened: Readable[] = []
  const open: Deps['files']['open'] = async (...of) => {
    const bytes = await (files.open ?? world.deps.files.open)(...of)
    if (bytes !== undefined) opened.push(bytes)
    return bytes
  }
  const store = { ...world.deps.files, ...files, open }
  const siteFiles = openSiteFiles({ ...world.deps, files: store }, rules)
  const faults: unknown[] = []
  const server = createServer((request, response) => {
    const path = pathOf(request)
    siteFiles.answer(request, response, path, new URLSearchParams(request.url!.slice(path.length))).then(
      (answer) => answer && response.writeHead(answer.status, answer.headers).end(answer.body),
      (fault) => faults.push(fault),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const readers: Socket[] = []
  t.after(() => {
    for (const reader of readers) reader.destroy()
    server.closeAllConnections()
    server.close()
  })
  /** Asks, and reads nothing of the answer. */
  const stall = async (path: string) => {
    const before = opened.length
    const reader = connect({ port, host: '127.0.0.1' })
    reader.on('error', () => {})
    reader.pause()
    readers.push(reader)
    reader.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await eventually(() => opened.length > before)
    return reader
  }
  return { ask: (path: string) => callEdgeAt(`http://127.0.0.1:${port}`, path), stall, port, opened, faults }
}

/** More than the buffers of a connection take. */
const LARGE = Buffer.alloc(12 * 1024 * 1024, 'x')

onBothEngines(
  'stalled readers hold slots of their own account only, others of it get an error, and a late one gets its slot',
  async (world, t) => {
    const { userId } = world.credentials
    const other = await world.user('other')
    const [large, small, theirs] = [
      await addFile(world, userId, LARGE),
      await addFile(world, userId, 'small'),
      await addFile(world, other.id, 'theirs'),
    ]
    const rules = { maxTotal: 6, maxPerOwner: 2, maxWaiting: 1, timeoutMs: 300, stallMs: 60_000 }
    const { ask, stall } = await openFiles(world, t, rules)
    const stalled = [await stall(file(large.sha256, userId)), await stall(file(large.sha256, userId))]
    const busy = await ask(file(small.sha256, userId))
    assert.deepEqual([busy.status, busy.headers['retry-after']], [503, '1'])
    assert.deepEqual((await ask(file(theirs.sha256, other.id))).text, 'theirs')
    const waiting = [ask(file(small.sha256, userId)), ask(file(small.sha256, userId))]
    const first = await Promise.race(waiting)
    assert.equal(first.status, 503, 'one waits, and the next is refused at once')
    stalled[0]!.destroy()
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 503])
    assert.equal((await ask(file(small.sha256, userId))).text, 'small')
  },
  SETTINGS,
)

onBothEngines(
  'of the last turns an account takes never more than it leaves',
  async (world, t) => {
    const { userId } = world.credentials
    const other = await world.user('other')
    const [large, small, theirs] = [
      await addFile(world, userId, LARGE),
      await addFile(world, userId, 'small'),
      await addFile(world, other.id, 'theirs'),
    ]
    const { ask, stall } = await openFiles(world, t, { maxTotal: 3, maxPerOwner: 3, timeoutMs: 100, stallMs: 60_000 })
    await stall(file(large.sha256, userId))
    await stall(file(large.sha256, userId))
    assert.equal((await ask(file(small.sha256, userId))).status, 503)
    assert.equal((await ask(file(theirs.sha256, other.id))).status, 200)
  },
  SETTINGS,
)

onBothEngines(
  'after a stalled or disconnected reader the file is closed, and its slot is free',
  async (world, t) => {
    const { userId } = world.credentials
    const [large, small] = [await addFile(world, userId, LARGE), await addFile(world, userId, 'small')]
    const rules = { maxTotal: 2, maxPerOwner: 1, timeoutMs: 60_000, stallMs: 300 }
    const { ask, stall, opened, faults } = await openFiles(world, t, rules)
    const stalled = await stall(file(large.sha256, userId))
    const waits = ask(file(small.sha256, userId))
    await eventually(() => opened[0]!.destroyed)
    assert.equal((await waits).text, 'small')
    stalled.resume()
    await once(stalled, 'close')
    assert.ok(stalled.bytesRead < LARGE.length)

    const patient = await openFiles(world, t, { ...rules, stallMs: 600_000 })
    const leaving = await patient.stall(file(large.sha256, userId))
    leaving.destroy()
    await eventually(() => patient.opened[0]!.destroyed)
    assert.equal((await patient.ask(file(small.sha256, userId))).text, 'small')
    assert.deepEqual([faults, patient.faults], [[], []])
  },
  SETTINGS,
)

onBothEngines(
  'a reader that leaves while the disk does not answer is let go',
  async (world, t) => {
    const { userId } = world.credentials
    const { sha256 } = await addFile(world, userId, 'a page')
    const open = async () => new Readable({ read: () => {} })
    const { stall, opened } = await openFiles(world, t, {}, { open })
    const leaving = await stall(file(sha256, userId))
    leaving.destroy()
    await eventually(() => opened[0]!.destroyed)
  },
  SETTINGS,
)

onBothEngines(
  'a client that disconnects while it waits takes no slot',
  async (world, t) => {
    const { userId } = world.credentials
    const [large, small] = [await addFile(world, userId, LARGE), await addFile(world, userId, 'small')]
    const rules = { maxTotal: 2, maxPerOwner: 1, timeoutMs: 600_000, stallMs: 600_000 }
    let asked = 0
    const sizeOf: Deps['files']['sizeOf'] = async (...of) => {
      const size = await world.deps.files.sizeOf(...of)
      asked++
      return size
    }
    const { ask, stall, port, opened } = await openFiles(world, t, rules, { sizeOf })
    const holder = await stall(file(large.sha256, userId))
    const waiting = connect({ port, host: '127.0.0.1' })
    waiting.write(`GET ${file(small.sha256, userId)} HTTP/1.1\r\nhost: x\r\n\r\n`)
    // What follows a size is that it waits.
    await eventually(() => asked === 2)
    waiting.destroy()
    await once(waiting, 'close')
    holder.destroy()
    assert.equal((await ask(file(small.sha256, userId))).text, 'small')
    assert.equal(opened.length, 2)
  },
  SETTINGS,
)

onBothEngines(
  'a file that breaks off, or is shorter than recorded, ends the connection, so no reader takes a part for the whole',
  async (world, t) => {
    const { userId } = world.credentials
    const { sha256 } = await addFile(world, userId, 'ten bytes!')
    async function* broken() {
      yield Buffer.from('ten')
      throw new Error('EIO')
    }
    for (const open of [async () => Readable.from(broken()), async () => Readable.from([Buffer.from('ten')])]) {
      const { ask, faults } = await openFiles(world, t, {}, { open })
      await assert.rejects(ask(file(sha256, userId)), /aborted|hang up|ECONNRESET/)
      await eventually(() => faults.length === 1)
    }
  },
  SETTINGS,
)
