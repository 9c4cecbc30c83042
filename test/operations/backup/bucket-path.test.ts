/** A server of buckets below a path, as Supabase and radosgw behind a proxy have it: the path is signed with everything else. docs/backup.md: Off-site backups. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { openBucket } from '../../../src/platform/adapters/s3.ts'
import { BUCKET, bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'

const PATH = '/storage/v1/s3'
const never = new AbortController().signal

test('every request to a bucket below a path is taken by a server that verifies signatures', async (t) => {
  const server = await strictServer(t, PATH)
  const folder = mkdtempSync(join(tmpdir(), 'berth-bucket-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'large.db')
  writeFileSync(file, Buffer.alloc(9 * 1024 * 1024, 'berth'))
  for (const endpoint of [server.endpoint, `${server.endpoint}/`]) {
    const { s3 } = readConfig(bucketSettings(endpoint))
    assert.equal(s3!.endpoint, server.endpoint)
    const bucket = await openBucket(s3!, BUCKET, [1])
    await bucket.put('nightly/one.json', '{"a":1}', never)
    await bucket.upload('nightly/large.db', file, never)
    assert.equal(String(await bucket.get('nightly/one.json', never)), '{"a":1}')
    const bytes = readFileSync(file)
    assert.ok((await buffer(bucket.read('nightly/large.db', bytes.length, never))).equals(bytes))
    assert.deepEqual(await bucket.list('nightly/', never), ['nightly/large.db', 'nightly/one.json'])
    await bucket.remove('nightly/one.json', never)
    assert.equal(await bucket.get('nightly/one.json', never), undefined)
  }
  assert.deepEqual([...server.objects.keys()], ['nightly/large.db'])
})

test('an endpoint with a user, a query or a fragment is refused, and without a path it is as before', () => {
  for (const wrong of [
    'https://a:b@s3.example.com/x',
    'https://s3.example.com/x?y',
    'https://s3.example.com/#x',
    's3.example.com/x',
  ])
    assert.throws(() => readConfig(bucketSettings(wrong)), /^Error: BERTH_S3_ENDPOINT must be /)
  for (const [text, endpoint] of [
    ['https://s3.example.com', 'https://s3.example.com'],
    ['https://s3.example.com:9000/', 'https://s3.example.com:9000'],
    ['https://x.supabase.co/storage/v1/s3', 'https://x.supabase.co/storage/v1/s3'],
    ['https://s3.example.com/a/../b//', 'https://s3.example.com/b'],
  ] as const)
    assert.equal(readConfig(bucketSettings(text)).s3!.endpoint, endpoint)
})
