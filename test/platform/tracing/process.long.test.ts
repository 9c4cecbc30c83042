/** OpenTelemetry loads only with a receiver, SIGTERM sends pending spans, and nothing waits for an unavailable one. docs/operations.md: Traces. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { startOtlpReceiver } from '../../support/servers/otlp-receiver.ts'
import { ENGINES, openWorld } from '../../support/world.ts'

/** A hook that says which modules of OpenTelemetry, and of src/platform/tracing, the program loads. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry|src.platform.tracing/.test(url)) process.stderr.write('LOADED ' + url + '\\n')
    return next(url, context)
  },
})`)}`

processOnBothEngines('nothing of OpenTelemetry is loaded until a receiver is set', async (t, engine) => {
  const home = await newHome(t, engine)
  const words = [process.execPath, '--import', HOOK, join(root, 'bin', 'berth.mjs')]
  const without = await startService(t, home, {}, words)
  assert.equal((await fetch(`${without.address}/sign-in`)).status, 200)
  await without.kill('SIGTERM')
  const loaded = [...without.err().matchAll(/^LOADED (\S+)$/gm)].map(([, url]) => url!)
  assert.deepEqual(
    loaded.filter((url) => !url.endsWith('/src/platform/tracing/traces.ts')),
    [],
  )
  assert.equal(loaded.length, 1)
  const having = await startService(
    t,
    home,
    { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` },
    words,
  )
  await having.kill('SIGTERM')
  assert.match(having.err(), /^LOADED \S+@opentelemetry\/sdk-trace/m)
})

test('SIGTERM sends the spans that wait, and ends with 0', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const running = await startService(t, await newHome(t, 'sqlite'), { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint })
  assert.equal((await fetch(`${running.address}/sign-in`)).status, 200)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.ok(receiver.spans.some(({ name }) => name === 'GET /sign-in'))
})

for (const engine of ENGINES) {
  test(`a receiver that is unavailable or hangs costs spans and nothing else, and a stop still ends [${engine}]`, async (t) => {
    const receiver = await startOtlpReceiver(t)
    receiver.hang()
    for (const endpoint of [receiver.endpoint, `http://127.0.0.1:${await freePort()}`]) {
      const running = await startService(t, await newHome(t, engine), { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
      for (let at = 0; at < 50; at++) assert.equal((await fetch(`${running.address}/sign-in`)).status, 200)
      assert.equal(await running.kill('SIGTERM'), 0)
      const world = await openWorld(engine, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
      for (let at = 0; at < 50; at++)
        assert.equal((await world.call('POST', '/v10/projects', { name: `web-${at}` })).status, 200)
      await world.close()
    }
  })
}
