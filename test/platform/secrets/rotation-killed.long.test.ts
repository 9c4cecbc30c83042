/** A rotation of the root key that is killed loses no value. docs/variables.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { callOver } from '../../support/call.ts'
import { iterations } from '../../support/iterations.ts'
import { root } from '../../support/root.ts'
import { ENGINES, newDatabase, type World } from '../../support/world.ts'
import { everyValueOpens, fill, KEYS } from './rotation-world.ts'

for (const engine of ENGINES) {
  test(`a rotation killed at random times loses no value [${engine}]`, { timeout: 300_000 }, async (t) => {
    const KILLS = iterations(2, 10)
    const COUNT = 250
    const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const database = engine === 'postgres' ? await newDatabase() : `sqlite:${join(folder, 'berth.db')}`
    let child = await startChild(folder, database)
    t.after(() => child.process.kill('SIGKILL'))
    await fill(child, COUNT)
    const started = performance.now()
    await child.operator('POST', `${KEYS}/rotate`)
    let wholeMs = performance.now() - started
    let cutShort = 0
    for (let round = 0; cutShort < KILLS && round < 40; round++) {
      const rotation = child.operator.try('POST', `${KEYS}/rotate`).then(
        () => 'done',
        () => 'interrupted',
      )
      // The kill comes at a random time of the rotation.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * wholeMs))
      child.process.kill('SIGKILL')
      if ((await rotation) === 'interrupted') cutShort++
      // It was over before the kill: rotations have become faster than the first one was.
      else wholeMs *= 0.7
      await child.ended
      child = await startChild(folder, database)
      await everyValueOpens(child, COUNT)
    }
    assert.equal(cutShort, KILLS, `${cutShort} rotations were interrupted`)
    const { activeKeyId } = (await child.operator('POST', `${KEYS}/rotate`)).body
    const { keys } = (await child.operator('GET', KEYS)).body
    for (const { id, references } of keys) {
      assert.equal(references, id === activeKeyId ? COUNT : 0)
      if (id !== activeKeyId) assert.equal((await child.operator('DELETE', `${KEYS}/${id}`)).status, 204)
    }
    child.process.kill('SIGKILL')
    await child.ended
    child = await startChild(folder, database)
    await everyValueOpens(child, COUNT)
    child.process.kill('SIGTERM')
    await child.ended
  })
}

async function startChild(folder: string, database: string) {
  const env = {
    PATH: process.env.PATH,
    BERTH_DATA: folder,
    DATABASE_URL: database,
    PORT: '0',
    BERTH_LOG_LEVEL: 'error',
    // On PostgreSQL what was asked counts on over a kill.
    BERTH_RATE_LIMITS: 'off',
  }
  const child = spawn(process.execPath, [join(root, 'bin', 'berth.mjs')], { env })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      said += chunk
      const found = /listening on (\S+)/.exec(said)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`the service did not start: ${said}`)))
  })
  const { token, operatorToken } = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'))
  const as = (bearer: string): World['call'] =>
    callOver(async (method, path, body) => {
      const answer = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, headers: {}, text, body: text === '' ? undefined : JSON.parse(text) }
    })
  return { process: child, ended, call: as(token), operator: as(operatorToken) }
}
