/** `berth keys …` against a running service, as an operator types it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { credentialsOf, newHome, processOnBothEngines, start } from './process.ts'

const entry = join(import.meta.dirname, '..', 'bin', 'berth.mjs')

function berth(words: string[], env: Record<string, string>): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [entry, ...words], { env: { PATH: process.env.PATH, ...env } }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

processOnBothEngines(
  'the audit log is verified from the command line, which ends with 1 when it does not hold',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await start(t, home)
    const env = { ...home.env, PORT: new URL(running.address).port }
    await berth(['keys', 'rotate'], env)
    let seen = { out: '', code: 0 }
    for (let entries = 0; entries === 0; entries = JSON.parse(seen.out).entries)
      seen = await berth(['audit', 'verify'], env)
    const { verified, head } = JSON.parse(seen.out)
    assert.deepEqual([seen.code, verified], [0, true])
    assert.equal((await berth(['audit', 'verify', head], env)).code, 0)
    const other = await berth(['audit', 'verify', head.replace(/^\d+/, (at: string) => String(Number(at) + 7))], env)
    assert.equal(other.code, 1)
    assert.match(other.err, /"verified":false.*"missing"/)
    for (const words of [['audit'], ['audit', 'verify', 'a', 'b'], ['audit', 'look']])
      assert.equal((await berth(words, env)).code, 64)
  },
)

processOnBothEngines('keys are rotated, shown and retired from the command line', async (t, engine) => {
  const home = await newHome(t, engine)
  const running = await start(t, home)
  const env = { ...home.env, PORT: new URL(running.address).port }
  const before = JSON.parse((await berth(['keys', 'status'], env)).out)
  const rotated = await berth(['keys', 'rotate'], env)
  assert.equal(rotated.code, 0, rotated.err)
  const { activeKeyId } = JSON.parse(rotated.out)
  const after = JSON.parse((await berth(['keys', 'status'], env)).out)
  assert.equal(JSON.stringify(before).includes(activeKeyId), false)
  assert.ok(JSON.stringify(after).includes(activeKeyId))
  const refused = await berth(['keys', 'retire', activeKeyId], env)
  assert.deepEqual([refused.code, refused.out], [1, ''])
  assert.match(refused.err, /^berth: /)

  const { operatorToken } = credentialsOf(home)
  const elsewhere = { ...env, BERTH_DATA: join(home.folder, 'elsewhere') }
  assert.match((await berth(['keys', 'status'], elsewhere)).err, /BERTH_OPERATOR_TOKEN/)
  assert.equal((await berth(['keys', 'status'], { ...elsewhere, BERTH_OPERATOR_TOKEN: operatorToken })).code, 0)
  for (const words of [['kyes'], ['keys'], ['keys', 'rotate', 'now'], ['keys', 'retire'], ['serve', 'here']]) {
    const { code, err } = await berth(words, env)
    assert.deepEqual([code, /^berth: usage: /.test(err)], [64, true], err)
  }
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.match((await berth(['keys', 'status'], env)).err, /no service answers/)
})
