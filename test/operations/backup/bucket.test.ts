/** What a bucket says that ends an upload, so that no half of a backup is taken for whole. docs/backup.md: Off-site backups. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { openBackupDestination } from '../../../src/operations/backup/destination.ts'
import { openBucket } from '../../../src/platform/adapters/s3.ts'
import { BUCKET, bucketSettings } from '../../support/servers/bucket-server.ts'

const MIB = 1024 * 1024
const never = new AbortController().signal

/** A file of two parts, a server with scripted responses, and the requests it got. */
async function uploading(t: TestContext, answer: (request: IncomingMessage, file: string) => string) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bucket-'))
  const file = join(folder, 'large.db')
  writeFileSync(file, Buffer.alloc(9 * MIB))
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    await buffer(request)
    seen.push(`${request.method} ${new URL(request.url!, 'http://bucket').search}`)
    response.writeHead(200, { etag: '"tag"' }).end(answer(request, file))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = readConfig({ ...bucketSettings(endpoint), BERTH_DATA: folder, BERTH_BACKUP_TO: `s3://${BUCKET}/x` })
  const bucket = await openBucket(config.s3!, BUCKET, [1, 1, 1])
  return { folder, config, upload: () => bucket.upload('large.db', file, never), seen }
}

test('a server that begins no upload in parts does not speak S3', async (t) => {
  const { upload, seen } = await uploading(t, () => '<html>')
  await assert.rejects(upload(), /does it speak S3/)
  assert.deepEqual(seen, ['POST ?uploads='])
})

test('a file that is truncated during its upload is not a backup, and its parts are removed', async (t) => {
  const { upload, seen } = await uploading(t, ({ method }, file) => {
    if (method === 'PUT') truncateSync(file, 8 * MIB)
    return '<UploadId>1</UploadId>'
  })
  await assert.rejects(upload(), /large\.db became shorter while it was uploaded/)
  assert.deepEqual(seen, ['POST ?uploads=', 'PUT ?partNumber=1&uploadId=1', 'DELETE ?uploadId=1'])
})

test('in the data directory only copies of interrupted checks are removed, once they are a day old', async (t) => {
  const { folder, config } = await uploading(t, () => '')
  for (const name of ['backup-check-old', 'backup-check-new', 'old']) mkdirSync(join(folder, name))
  for (const name of ['backup-check-old', 'old', 'large.db']) utimesSync(join(folder, name), 1, 1)
  const place = await openBackupDestination(config)
  const make = async (there: string) => {
    const file = join(there, 'a.db')
    for (const path of [file, `${file}.json`]) writeFileSync(path, 'x')
    return { file }
  }
  await place.store(make, never)
  assert.deepEqual(readdirSync(folder).sort(), ['backup-check-new', 'large.db', 'old'])
})

test('a deeper key in a bucket, and a file without a manifest, is not a backup of the destination', async (t) => {
  const keys = ['x/a.db', 'x/a.db.json', 'x/half.db', 'x/other/b.db', 'x/other/b.db.json', 'x/note.json']
  const { config } = await uploading(t, () => keys.map((key) => `<Key>${key}</Key>`).join(''))
  assert.deepEqual(await (await openBackupDestination(config)).list(never), ['a.db'])
})
