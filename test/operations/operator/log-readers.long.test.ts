/** Readers of the log that hang or go away. docs/operations.md: Log. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { launch } from './process-with-log.ts'

test('a disconnected log reader blocks nothing: the service keeps serving, counts dropped lines, and stops in order', {
  timeout: 300_000,
}, async (t) => {
  const { child, address, ready, dropped, ended } = await launch(t, 'pipe')
  await once(child.stdout!, 'data')
  child.stdout!.destroy()
  await ready()
  for (let at = 0; at < 50; at++) assert.equal((await fetch(`${address}/healthz`)).status, 200)
  assert.ok((await dropped()) >= 45)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

test('a stalled log reader uses bounded memory, and blocks no request', { timeout: 300_000 }, async (t) => {
  const { child, address, ready, dropped, ended } = await launch(t, 'pipe')
  child.stdout!.pause()
  await ready()
  const ask = async () => {
    for (let at = 0; at < 1500; at++) await (await fetch(`${address}/healthz`)).text()
  }
  while ((await dropped()) === 0) await Promise.all(Array.from({ length: 10 }, ask))
  assert.equal((await fetch(`${address}/readyz`)).status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
