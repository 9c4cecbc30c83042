/** Uploads of files: what is taken, what is refused, and what is there afterwards. docs/deploying-sites.md: Files. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { collectFiles } from '../../../src/delivery/uploads/collect.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { beginUpload, cliHeaders, DAY_MS, sha1Of, thereIs, upload } from './uploading.ts'

const sha256Of = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')

function refused(
  answer: { status: number; body: { error: { code: string; message: string } } },
  status: number,
  sentence: RegExp,
) {
  assert.equal(answer.status, status)
  assert.match(answer.body.error.message, sentence)
}

/** Files that are being written, or were and should be gone. */
const arriving = ({ deps }: World) => readdirSync(join(deps.config.files.to, 'arriving'))

onBothEngines('a file is accepted in every form of clients, with the response that they expect', async (world) => {
  const forms: [string, Record<string, string>][] = [
    ['as the CLI', cliHeaders('as the CLI')],
    ['as an SDK', { 'x-vercel-digest': sha1Of('as an SDK') }],
    ['capitals', { 'x-now-digest': sha1Of('capitals').toUpperCase() }],
    ['size alone', { 'x-now-size': '10' }],
    ['nothing said', {}],
    ['', cliHeaders('')],
  ]
  for (const [text, headers] of forms) {
    const answer = await upload(world.call, text, headers)
    assert.deepEqual([answer.status, answer.body], [200, { urls: [] }], text)
  }
  const { files, blobs, uploads, used } = await thereIs(world)
  const { userId } = world.credentials
  assert.deepEqual(files, forms.map(([text]) => `${userId}/${sha256Of(text)}`).sort())
  assert.deepEqual(
    blobs.map(({ account_id, sha256, size, refs, condemned_at }) => ({
      account_id,
      sha256,
      size,
      refs,
      condemned_at,
    })),
    forms.map(([text]) => ({
      account_id: userId,
      sha256: sha256Of(text),
      size: text.length,
      refs: 0,
      condemned_at: null,
    })),
  )
  assert.deepEqual(
    uploads.map(({ sha1, blob_id }) => `${sha1} ${blob_id}`),
    forms.map(([text], at) => `${sha1Of(text)} ${blobs[at]!.id}`).sort(),
  )
  assert.deepEqual(used, [forms.length * 4096])
  assert.deepEqual(arriving(world), [])
})

onBothEngines(
  'a file in chunks, without size and digest, is taken from a socket, and so is one of many pieces',
  async (world) => {
    const address = await world.listen()
    const token = world.credentials.token
    const begun = beginUpload(address, token, ['Transfer-Encoding: chunked'])
    begun.socket.write('5\r\nhello\r\n')
    begun.socket.write('7\r\n, sites\r\n0\r\n\r\n')
    assert.match(await begun.answered, /^HTTP\/1\.1 200 .*\{"urls":\[\]\}/s)
    begun.socket.destroy()
    const large = randomBytes(3 * 1024 * 1024 + 1)
    const answer = await fetch(`${address}/v2/files`, {
      method: 'POST',
      body: large,
      headers: { authorization: `Bearer ${token}`, ...cliHeaders(large) },
    })
    assert.deepEqual([answer.status, await answer.json()], [200, { urls: [] }])
    const { files, used } = await thereIs(world)
    const { userId } = world.credentials
    assert.deepEqual(files, [sha256Of('hello, sites'), sha256Of(large)].map((name) => `${userId}/${name}`).sort())
    assert.deepEqual(used, [4096 + 3 * 1024 * 1024 + 4096])
  },
)

onBothEngines(
  'a file that differs from its announced digest or size is refused with a message, and not stored',
  async (world) => {
    const { call } = world
    refused(await upload(call, 'mine', { 'x-now-digest': sha1Of('yours') }), 400, /has the SHA-1 .* was announced/)
    refused(
      await upload(call, 'mine', { 'x-now-size': '5' }),
      400,
      /has 4 bytes, and the header x-now-size announces 5/,
    )
    refused(await upload(call, 'mine', { 'x-now-digest': 'abc' }), 400, /x-now-digest should be a SHA-1/)
    refused(await upload(call, 'mine', { 'x-now-size': '-1' }), 400, /x-now-size should be the number of bytes/)
    refused(await upload(call, 'mine', { 'x-now-size': String(100 * 1024 * 1024 + 1) }), 413, /at most 100 MiB/)
    const address = await world.listen()
    const chunked = beginUpload(address, world.credentials.token, ['Transfer-Encoding: chunked', 'x-now-size: 6'])
    chunked.socket.write('4\r\nmine\r\n0\r\n\r\n')
    assert.match(await chunked.answered, /^HTTP\/1\.1 400 .*has 4 bytes, and 6 were announced/s)
    chunked.socket.destroy()
    const large = beginUpload(address, world.credentials.token, [`Content-Length: ${100 * 1024 * 1024 + 1}`])
    assert.match(await large.answered, /^HTTP\/1\.1 413 /)
    large.socket.destroy()
    assert.deepEqual(await thereIs(world), { files: [], blobs: [], uploads: [], used: [] })
    assert.deepEqual(arriving(world), [])
  },
)

onBothEngines('the same file again returns 200, is stored once and counted once, and is touched', async (world) => {
  await upload(world.call, 'again')
  const before = await thereIs(world)
  world.deps.clock.set(Date.now() + DAY_MS)
  assert.equal((await upload(world.call, 'again')).status, 200)
  const after = await thereIs(world)
  assert.ok(after.uploads[0]!.touched_at >= before.uploads[0]!.touched_at + DAY_MS / 2)
  assert.deepEqual({ ...after, uploads: [] }, { ...before, uploads: [] })
  const raced = await Promise.all(Array.from({ length: 20 }, () => upload(world.call, 'raced')))
  assert.deepEqual(new Set(raced.map(({ status }) => status)), new Set([200]))
  const { files, blobs, uploads, used } = await thereIs(world)
  assert.deepEqual([files.length, blobs.length, uploads.length, used], [2, 2, 2, [2 * 4096]])
})

onBothEngines(
  'concurrent uploads are accepted up to the limit of the account, and the others get an error that says what to remove',
  async (world) => {
    const names = Array.from({ length: 12 }, (_, at) => `file ${at}`)
    const raced = await Promise.all(names.map((name) => upload(world.call, name)))
    const taken = raced.filter(({ status }) => status === 200)
    assert.equal(taken.length, 5)
    for (const answer of raced.filter(({ status }) => status !== 200)) {
      refused(answer, 409, /may take 20 KiB together\. Remove deployments first/)
      assert.equal(answer.body.error.code, 'budget_used_up')
    }
    const { files, uploads, used } = await thereIs(world)
    // Those that came and found no room take some until they are collected.
    assert.deepEqual([uploads.length, used], [5, [files.length * 4096]])
    const there = names[raced.findIndex(({ status }) => status === 200)]!
    assert.equal((await upload(world.call, there)).status, 200, 'what is there takes no room')
    refused(await upload(world.call, 'one more'), 409, /Remove deployments first/)
    refused(await upload(world.call, 'one more', {}), 409, /Remove deployments first/)
    const other = await world.user('other')
    assert.equal((await upload(other.call, 'one more')).status, 200, 'another account does not feel it')
  },
  { BERTH_FILES_PER_ACCOUNT: '20KiB' },
)

onBothEngines(
  'a file without a size that outgrows the room of the account is refused while it comes',
  async (world) => {
    const address = await world.listen()
    const begun = beginUpload(address, world.credentials.token, ['Transfer-Encoding: chunked'])
    begun.socket.write(`3000\r\n${'x'.repeat(0x3000)}\r\n`)
    assert.match(await begun.answered, /^HTTP\/1\.1 409 .*budget_used_up/s)
    begun.socket.destroy()
    assert.deepEqual((await thereIs(world)).files, [])
    assert.deepEqual(arriving(world), [])
  },
  { BERTH_FILES_PER_ACCOUNT: '8KiB' },
)

onBothEngines('no response reveals the files of another account, and each account has its own bytes', async (world) => {
  const other = await world.user('other')
  const secret = 'the secret of others'
  const theirs = await upload(other.call, secret)
  const mine = await upload(world.call, secret)
  assert.deepEqual([theirs.status, theirs.text], [mine.status, mine.text])
  const { files, used } = await thereIs(world)
  assert.deepEqual(files, [`${other.id}/${sha256Of(secret)}`, `${world.credentials.userId}/${sha256Of(secret)}`].sort())
  assert.deepEqual(used, [4096, 4096])
  const team = `/v2/files?teamId=${world.credentials.teamId}` as const
  const stranger = await other.call.try('POST', team, Buffer.from(secret), cliHeaders(secret))
  assert.equal(stranger.status, 403)
  assert.equal((await upload(world.as(undefined), secret)).status, 401)
})

onBothEngines('only a role that can create deployments can upload', async (world) => {
  const { teamId } = world.credentials
  for (const [role, status] of [
    ['MEMBER', 200],
    ['DEVELOPER', 200],
    ['VIEWER', 403],
    ['BILLING', 403],
  ] as const) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    const answer = await user.call.try('POST', `/v2/files?teamId=${teamId}`, Buffer.from('x'), cliHeaders('x'))
    assert.equal(answer.status, status, role)
  }
  assert.deepEqual((await thereIs(world)).files, [`${teamId}/${sha256Of('x')}`])
})

onBothEngines('60 concurrent uploads all return 200, and none is in the audit log', async (world) => {
  const address = await world.listen()
  const lines = () => world.deps.db.read.selectFrom('audit').select('type').where('type', '=', 'uploadFile').execute()
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const bytes = Buffer.alloc(40_000, at)
      const headers = { authorization: `Bearer ${world.credentials.token}`, ...cliHeaders(bytes) }
      const answer = await fetch(`${address}/v2/files`, { method: 'POST', body: bytes, headers })
      return [answer.status, await answer.text()]
    }),
  )
  assert.deepEqual(answers, Array(60).fill([200, '{"urls":[]}']))
  assert.equal((await thereIs(world)).files.length, 60)
  assert.deepEqual(await lines(), [])
})

onBothEngines('an upload that is interrupted halfway stores nothing', async (world) => {
  const address = await world.listen()
  const begun = beginUpload(address, world.credentials.token, ['Content-Length: 1000'])
  begun.socket.write('half')
  await eventually(() => arriving(world).length === 1)
  begun.socket.destroy()
  await eventually(() => arriving(world).length === 0)
  assert.deepEqual(await thereIs(world), { files: [], blobs: [], uploads: [], used: [] })
})

onBothEngines(
  'a file whose token expires during the upload is refused, and takes space until it is collected',
  async (world) => {
    const address = await world.listen()
    const { body } = await world.call('POST', '/v3/user/tokens', { name: 'short' })
    const begun = beginUpload(address, body.bearerToken, ['Content-Length: 9000'])
    begun.socket.write('x'.repeat(8999))
    await eventually(() => arriving(world).length === 1)
    await world.call('DELETE', `/v3/user/tokens/${body.token.id}`)
    begun.socket.write('x')
    assert.match(await begun.answered, /^HTTP\/1\.1 (401|403) /)
    begun.socket.destroy()
    await eventually(async () => (await thereIs(world)).used.length === 1)
    const { files, uploads, used } = await thereIs(world)
    assert.deepEqual([files.length, uploads, used], [1, [], [3 * 4096]])
    const { clock } = world.deps
    clock.set(clock.now() + DAY_MS + 1)
    await collectFiles(world.deps, clock.now())
    const after = await thereIs(world)
    assert.deepEqual([after.blobs, after.used], [[], []])
  },
)

onBothEngines('a duplicate or contradictory digest or size is refused', async (world) => {
  const address = await world.listen()
  for (const said of [
    [`x-now-digest: ${sha1Of('x')}`, `x-now-digest: ${sha1Of('y')}`],
    ['x-now-size: 1', 'x-now-size: 1'],
    [`x-now-digest: ${sha1Of('x')}`, `x-vercel-digest: ${sha1Of('y')}`],
  ]) {
    const begun = beginUpload(address, world.credentials.token, ['Content-Length: 1', ...said])
    begun.socket.write('x')
    assert.match(await begun.answered, /^HTTP\/1\.1 400 .*(there once|the same)/s)
    begun.socket.destroy()
  }
  assert.deepEqual((await thereIs(world)).files, [])
})
