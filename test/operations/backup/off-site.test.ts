/** Backups in a bucket: with a server of another project, and with one that checks signatures and fails on demand. docs/backup.md: Off-site backups. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { openBackupDestination } from '../../../src/operations/backup/destination.ts'
import { NoBackup } from '../../../src/operations/backup/verify.ts'
import { writeStreamAtomically } from '../../../src/platform/adapters/atomic-file.ts'
import { type Bucket, openBucket } from '../../../src/platform/adapters/s3.ts'
import { BUCKET, bucketSettings, independentServer, refuse, strictServer } from '../../support/servers/bucket-server.ts'

const MIB = 1024 * 1024
const never = new AbortController().signal
const NO_WAIT = [1, 1, 1]

function bucketAt(endpoint: string, change: Record<string, string> = {}): Promise<Bucket> {
  return openBucket(readConfig({ ...bucketSettings(endpoint), ...change }).s3!, BUCKET, NO_WAIT)
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bucket-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

for (const kind of ['independent', 'strict'] as const) {
  test(`a download from a bucket equals the upload, in parts if it is large [${kind}]`, async (t) => {
    const { endpoint } = kind === 'strict' ? await strictServer(t) : await independentServer(t)
    const bucket = await bucketAt(endpoint)
    const folder = folderOf(t)
    for (const size of [0, 1, 8 * MIB, 17 * MIB + 5]) {
      const bytes = randomBytes(size)
      const [from, to] = [join(folder, `${size}.db`), join(folder, `${size}.back`)]
      writeFileSync(from, bytes)
      await bucket.upload(`nightly/${size}.db`, from, never)
      await writeStreamAtomically(to, bucket.read(`nightly/${size}.db`, size, never))
      assert.equal(sha256(readFileSync(to)), sha256(bytes), `${size} bytes`)
    }
    await bucket.put('nightly/a.b_c-d', 'text', never)
    assert.equal(String(await bucket.get('nightly/1.db', never)).length > 0, true)
    assert.equal(await bucket.get('nightly/none', never), undefined)
    const names = ['nightly/0.db', 'nightly/1.db', `nightly/${17 * MIB + 5}.db`, `nightly/${8 * MIB}.db`]
    const listed = (await bucket.list('nightly/', never)).filter((name) => name.endsWith('.db'))
    assert.deepEqual(listed.sort(), names.sort())
    assert.deepEqual(await bucket.list('other/', never), [])
    await bucket.remove('nightly/1.db', never)
    await bucket.remove('nightly/1.db', never)
    assert.equal(await bucket.get('nightly/1.db', never), undefined)
  })
}

test('an object that is shorter than its manifest says is read to its end', async (t) => {
  const server = await strictServer(t)
  const bucket = await bucketAt(server.endpoint)
  for (const size of [0, 5, 8 * MIB]) {
    server.objects.set('nightly/short.db', randomBytes(size))
    const pieces = await Array.fromAsync(bucket.read('nightly/short.db', 17 * MIB, never))
    assert.equal(Buffer.concat(pieces).length, size)
  }
})

test('a backup whose manifest alone was left in a bucket is one that is not there', async (t) => {
  const { endpoint, objects } = await strictServer(t)
  const manifest = { format: 1, bytes: 9, sha256: 'x', rows: {}, migrations: [] }
  objects.set('nightly/gone.db.json', Buffer.from(JSON.stringify(manifest)))
  const settings = { ...bucketSettings(endpoint), BERTH_DATA: folderOf(t), BERTH_BACKUP_TO: `s3://${BUCKET}/nightly/` }
  const place = await openBackupDestination(readConfig(settings))
  const read = (name: string) => place.read(name, () => assert.fail(name), never)
  await assert.rejects(read('gone.db'), NoBackup)
  await assert.rejects(read('none.db'), NoBackup)
})

test('an error of a server names the setting to change, and is not retried', async (t) => {
  const server = await strictServer(t)
  for (const [change, wanted] of [
    [{ BERTH_S3_SECRET_ACCESS_KEY: 'wrong' }, /BERTH_S3_SECRET_ACCESS_KEY is not the secret of/],
    [{ BERTH_S3_ACCESS_KEY_ID: 'other' }, /does not know the key BERTH_S3_ACCESS_KEY_ID/],
    [{ BERTH_S3_REGION: 'eu-central-1' }, /BERTH_S3_REGION is another one/],
  ] as const) {
    const before = server.asked.length
    const bucket = await bucketAt(server.endpoint, change)
    await assert.rejects(bucket.put('x', 'y', never), wanted)
    assert.equal(server.asked.length, before + 1)
  }
  const config = readConfig(bucketSettings(server.endpoint))
  const nowhere = await openBucket(config.s3!, 'other-bucket', NO_WAIT)
  await assert.rejects(nowhere.put('x', 'y', never), /for the bucket other-bucket: there is no such bucket/)
  const bucket = await bucketAt(server.endpoint)
  server.fault = (_, response) => {
    response.writeHead(301, { location: 'https://elsewhere.example' }).end()
    return true
  }
  await assert.rejects(bucket.list('', never), /is in another region/)
  server.fault = (_, response) => {
    response.end(Buffer.alloc(5 * MIB))
    return true
  }
  await assert.rejects(bucket.list('', never), /answered with more than/)
  assert.equal(server.objects.size, 0)
})

test('a temporary error is retried, and a permanent one is reported', async (t) => {
  const server = await strictServer(t)
  const bucket = await bucketAt(server.endpoint)
  const failTimes = (times: number, how: (response: import('node:http').ServerResponse) => void) => {
    let left = times
    server.fault = (_, response) => {
      if (left-- <= 0) return false
      how(response)
      return true
    }
  }
  for (const how of [
    (response: import('node:http').ServerResponse) => refuse(response, [503, 'SlowDown', 'slow down']),
    (response: import('node:http').ServerResponse) => void response.socket?.destroy(),
  ]) {
    failTimes(3, how)
    await bucket.put('x', 'y', never)
    failTimes(4, how)
    await assert.rejects(bucket.put('x', 'y', never), /refused \(SlowDown\)|does not answer: .*; see BERTH_S3_ENDPOINT/)
  }
  const stop = AbortSignal.abort()
  await assert.rejects(bucket.put('x', 'y', stop), /the service stops/)
})

test('an interrupted upload leaves nothing that looks intact, and none of its parts', async (t) => {
  const server = await strictServer(t)
  const bucket = await bucketAt(server.endpoint)
  const folder = folderOf(t)
  const file = join(folder, 'berth-2026.db')
  writeFileSync(file, randomBytes(17 * MIB))
  for (const [what, isCut] of [
    ['the second part', (query: URLSearchParams) => query.get('partNumber') === '2'],
    ['the end', (query: URLSearchParams, method: string) => method === 'POST' && query.has('uploadId')],
  ] as const) {
    server.fault = ({ query, method }, response) => {
      if (!isCut(query, method)) return false
      response.socket?.destroy()
      return true
    }
    await assert.rejects(bucket.upload('nightly/berth-2026.db', file, never), /does not answer/, what)
    assert.deepEqual([server.objects.size, server.uploads.size], [0, 0], what)
  }
  // A server may answer 200 to the end of an upload, and say in the body that it failed.
  server.fault = ({ query, method }, response) => {
    if (method !== 'POST' || !query.has('uploadId')) return false
    refuse(response, [200, 'InternalError', 'try again'])
    return true
  }
  await assert.rejects(bucket.upload('nightly/berth-2026.db', file, never), /did not complete the upload: try again/)
  assert.deepEqual([server.objects.size, server.uploads.size], [0, 0])

  // The backup came, and its manifest did not: it is none.
  const config = readConfig({ ...bucketSettings(server.endpoint), BERTH_DATA: folder })
  const place = await openBackupDestination(config)
  server.fault = ({ key, method }, response) => {
    if (method !== 'PUT' || !key.endsWith('.json')) return false
    refuse(response, [403, 'AccessDenied', 'no'])
    return true
  }
  const make = async (at: string) => {
    writeFileSync(join(at, 'berth-1.db'), 'x')
    writeFileSync(join(at, 'berth-1.db.json'), '{}')
    return { file: join(at, 'berth-1.db') }
  }
  await assert.rejects(place.store(make, never), /the key may not do that in this bucket/)
  assert.deepEqual([[...server.objects.keys()], await place.list(never)], [['nightly/berth-1.db'], []])
  server.fault = () => false
  await place.store(make, never)
  assert.deepEqual(await place.list(never), ['berth-1.db'])
})
